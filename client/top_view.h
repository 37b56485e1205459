#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/client.h"

// What `scyper top` shows of what it has seen: pure functions, without a terminal or a network.
namespace scyper::client {

// A node, as it answered last and the time before.
struct NodeSight {
  std::string address;
  std::string trouble;  // why it does not answer; empty = it does
  NodeStatus now;
  NodeStatus before;
  double seconds = 0;  // between the two; 0 = there is no time before, so no rate is known
};

// Of something that grows, a second; below 0: not known, as of a node that has just begun anew.
double rate_of(const NodeSight& sight, uint64_t (*read)(const NodeStatus&));

// What shall be told apart on a terminal.
enum class Emphasis : uint8_t { kPlain, kTitle, kHeading, kBad };
struct ViewLine {
  std::string text;
  Emphasis emphasis = Emphasis::kPlain;
};

// The whole picture; the nodes in the order in which they shall stand. `note`: at the right end of the first line.
std::vector<ViewLine> draw_view(const std::vector<NodeSight>& nodes, const std::string& note, size_t columns);

// Without anything that a terminal would obey, at most so many characters wide.
std::string clip(std::string_view text, size_t columns);

// {"nodes": [...]}: status and rates of each.
std::string view_json(const std::vector<NodeSight>& nodes, int64_t time_us);

}  // namespace scyper::client
