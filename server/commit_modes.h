#pragma once

#include <array>
#include <utility>

#include "primary/engine.h"

namespace scyper::server {

// As settings, etcd and status say them.
constexpr std::array kCommitModes{std::pair{"local", primary::CommitMode::kLocal},
                                  std::pair{"async", primary::CommitMode::kAsync},
                                  std::pair{"quorum", primary::CommitMode::kQuorum},
                                  std::pair{"quorum_durable", primary::CommitMode::kQuorumDurable}};

constexpr const char* commit_mode_name(primary::CommitMode mode) {
  for (const auto& [name, known] : kCommitModes) {
    if (known == mode) return name;
  }
  return "unknown";
}

}  // namespace scyper::server
