#pragma once

#include <functional>

#include "drill.h"

namespace CLI {
class App;
}

namespace scyper::client {

// What the flags of `scyper drill` write to.
struct DrillFlags {
  DrillOptions drill;
  AuditorOptions auditor;
};
// The command with its kinds; what is given sets `run`. All outlive `app`.
void add_drill(CLI::App* app, CommonOptions* common, DrillFlags* flags, std::function<int()>* run);

}  // namespace scyper::client
