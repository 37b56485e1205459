#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace scyper::query {

constexpr std::string_view kFirstDatabaseName = "scyper", kMaintenanceDatabase = "postgres";

// Settings with which sessions begin, in the order in which they were given.
using InitialSettings = std::vector<std::pair<std::string, std::string>>;

// The one database of a node: its name, and what ALTER ROLE and ALTER DATABASE ... SET have given its sessions.
struct DatabaseDefinition {
  // By a role's number, 0 for all of them, and whether it holds in this database only.
  using Key = std::pair<uint32_t, bool>;

  std::string name{kFirstDatabaseName};  // CREATE DATABASE gives it another one, once
  std::map<Key, InitialSettings> settings;

  // Its own, or one that is always taken for it.
  bool is_called(std::string_view other) const {
    return other == name || other == kFirstDatabaseName || other == kMaintenanceDatabase;
  }
  void set(Key key, std::string_view setting, std::optional<std::string> value);  // none: it is taken away
  void forget_role(uint32_t role);
  // Those of a session of that role. Later ones count.
  InitialSettings of_session(uint32_t role) const;
};

}  // namespace scyper::query
