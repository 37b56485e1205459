#include "server/node_flags.h"

#include <CLI/CLI.hpp>

#include "server/server.h"

namespace scyper::server {

const char* const kNodeDescription =
    "ScyPer's database node.\nEvery setting can also stand in the configuration file (as key_with_underscores) or in a "
    "variable SCYPER_KEY_WITH_UNDERSCORES; flags win over variables, variables over the file.";

NodeFlags::NodeFlags(CLI::App* app) {
  app->set_version_flag("--version", std::string(kVersion));
  app->add_option("--config", config_path, "TOML file with settings")->envname("SCYPER_CONFIG");
  app->add_flag("--print-config", prints_config, "print the configuration that results, then end");
  for (const Setting& setting : settings()) {
    std::string flag = "--" + setting.key;
    for (char& c : flag) c = c == '_' ? '-' : c;
    std::string& value = values_[setting.key];
    CLI::Option* option = setting.is_switch ? app->add_flag(flag + "{true}", value, setting.help)
                                            : app->add_option(flag, value, setting.help);
    options_[setting.key] = option->group(setting.group);
  }
}

std::vector<Assignment> NodeFlags::given() const {
  std::vector<Assignment> out;
  for (const auto& [key, option] : options_) {
    if (option->count() > 0) out.emplace_back(key, values_.at(key));
  }
  return out;
}

}  // namespace scyper::server
