#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/config.h"

// How the table of settings is written: a kind for each type of field.
namespace scyper::server {

inline std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// member: a function from NodeConfig& to a reference of the field.
template <typename Member>
Setting text_setting(std::string key, std::string help, Member member) {
  return {std::move(key), std::move(help), false,
          [member](NodeConfig* config, std::string_view text) {
            member(*config) = std::string(text);
            return Status();
          },
          [member](const NodeConfig& config) { return quote(member(const_cast<NodeConfig&>(config))); }};
}

template <typename Member>
Setting switch_setting(std::string key, std::string help, Member member) {
  return {std::move(key), std::move(help), true,
          [member](NodeConfig* config, std::string_view text) {
            bool is_true = text == "true" || text == "1" || text == "yes" || text == "on";
            bool is_false = text == "false" || text == "0" || text == "no" || text == "off";
            if (!is_true && !is_false) {
              return absl::InvalidArgumentError(quote(text) + " is neither true nor false");
            }
            member(*config) = is_true;
            return Status();
          },
          [member](const NodeConfig& config) -> std::string {
            return member(const_cast<NodeConfig&>(config)) ? "true" : "false";
          }};
}

template <typename Member>
Setting number_setting(std::string key, std::string help, uint32_t least, uint32_t most, Member member) {
  return {std::move(key), std::move(help) + " (" + std::to_string(least) + " to " + std::to_string(most) + ")", false,
          [member, least, most](NodeConfig* config, std::string_view text) {
            uint32_t value = 0;
            auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
              return absl::InvalidArgumentError(quote(text) + " is not a number from " + std::to_string(least) +
                                                " to " + std::to_string(most));
            }
            member(*config) = value;
            return Status();
          },
          [member](const NodeConfig& config) { return std::to_string(member(const_cast<NodeConfig&>(config))); }};
}

template <typename Member>
Setting partitions_setting(std::string key, std::string help, Member member) {
  return {std::move(key), std::move(help), false,
          [member](NodeConfig* config, std::string_view text) -> Status {
            SCYPER_ASSIGN_OR_RETURN(member(*config), PartitionSet::parse(text));
            return {};
          },
          [member](const NodeConfig& config) { return quote(member(const_cast<NodeConfig&>(config)).to_string()); }};
}

// unit: what the field counts, in bytes or microseconds.
template <typename Member>
Setting quantity_setting(std::string key, std::string help, StatusOr<uint64_t> (*parse)(std::string_view),
                         std::string (*format)(uint64_t), uint64_t unit, uint64_t least, Member member) {
  return {std::move(key), std::move(help), false,
          [=](NodeConfig* config, std::string_view text) -> Status {
            SCYPER_ASSIGN_OR_RETURN(uint64_t value, parse(text));
            using Field = std::remove_reference_t<decltype(member(*config))>;
            if (value < least || value / unit > std::numeric_limits<Field>::max()) {
              return absl::InvalidArgumentError(quote(text) + " is out of range; the least is " + format(least));
            }
            member(*config) = static_cast<Field>(value / unit);
            return {};
          },
          [=](const NodeConfig& config) { return quote(format(member(const_cast<NodeConfig&>(config)) * unit)); }};
}

template <typename Enum, size_t n, typename Member>
Setting choice_setting(std::string key, std::string help, std::array<std::pair<const char*, Enum>, n> choices,
                       Member member) {
  std::string names;
  for (const auto& [name, value] : choices) names += (names.empty() ? "" : ", ") + std::string(name);
  return {std::move(key), std::move(help) + ": " + names, false,
          [=](NodeConfig* config, std::string_view text) {
            for (const auto& [name, value] : choices) {
              if (text != name) continue;
              member(*config) = value;
              return Status();
            }
            return absl::InvalidArgumentError(quote(text) + " is not one of " + names);
          },
          [=](const NodeConfig& config) {
            for (const auto& [name, value] : choices) {
              if (member(const_cast<NodeConfig&>(config)) == value) return quote(name);
            }
            return quote("?");
          }};
}

// The function from a configuration to that field.
#define SCYPER_FIELD(path) [](NodeConfig& config) -> auto& { return config.path; }

// Of settings_cluster.cc.
std::vector<Setting> multicast_settings();
std::vector<Setting> replication_settings();
std::vector<Setting> cluster_settings();

}  // namespace scyper::server
