#pragma once

#include <vector>

#include "query/settings.h"

namespace scyper::server {

// What set_config() has changed, in messages between nodes. Message: v1::CallResult or v1::InteractResponse.
template <typename Message>
void write_changed_settings(const std::vector<query::ChangedSetting>& changed, Message* message) {
  for (const query::ChangedSetting& setting : changed) {
    auto* settings = setting.is_local ? message->mutable_changed_local_settings() : message->mutable_changed_settings();
    (*settings->mutable_values())[setting.name] = setting.value;
  }
}

// changed: null = nobody keeps them.
template <typename Message>
void read_changed_settings(const Message& message, std::vector<query::ChangedSetting>* changed) {
  if (changed == nullptr) return;
  for (const auto& [name, value] : message.changed_settings().values()) changed->push_back({name, value, false});
  for (const auto& [name, value] : message.changed_local_settings().values()) changed->push_back({name, value, true});
}

}  // namespace scyper::server
