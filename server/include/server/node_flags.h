#pragma once

#include <map>
#include <string>
#include <vector>

#include "server/config.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace scyper::server {

// scyperd's command line, from the table of settings. Must outlive the app that it is added to.
class NodeFlags {
 public:
  explicit NodeFlags(CLI::App* app);

  std::string config_path;
  bool prints_config = false;
  // What was given, once the app has parsed.
  std::vector<Assignment> given() const;

 private:
  std::map<std::string, std::string> values_;
  std::map<std::string, CLI::Option*> options_;
};

// What --help says at its top.
extern const char* const kNodeDescription;

}  // namespace scyper::server
