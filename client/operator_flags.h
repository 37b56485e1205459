#pragma once

#include <functional>

#include "doctor.h"
#include "support_bundle.h"
#include "top.h"

namespace CLI {
class App;
}

namespace scyper::client {

// What the flags of `scyper doctor | top | support-bundle | completion | man` write to.
struct OperatorFlags {
  DoctorOptions doctor;
  TopOptions top;
  BundleOptions bundle;
  std::string shell;
  std::string page;
  std::string program = "scyper";
};
// The commands; the one that is given sets `run`. All outlive `app`.
void add_operator_commands(CLI::App* app, CommonOptions* common, OperatorFlags* flags, std::function<int()>* run);

}  // namespace scyper::client
