#include "server/call_outcome.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <random>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace scyper::server {

namespace {
constexpr uint32_t kRandomBits = 12;
}

uint64_t draw_client_id() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto us = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  return us << kRandomBits | (std::random_device()() & ((1u << kRandomBits) - 1));
}

bool is_worth_another(const Status& status) {
  const std::string state = sqlstate_of(status);
  return state.starts_with("08") || state == "25006" || state == "57P01" || state == "57P03" || state == "57014" ||
         state == "53300";
}

bool is_open_question(const Status& status) {
  const std::string state = sqlstate_of(status);
  return state.starts_with("08") || state == "57014";
}

bool is_of_execution(const Status& status) {
  static constexpr std::string_view kRefusals[] = {"08", "0A", "25", "26", "42", "53", "54", "55", "57", "58", "XX"};
  const std::string state = sqlstate_of(status);
  return std::none_of(std::begin(kRefusals), std::end(kRefusals), [&](auto each) { return state.starts_with(each); });
}

Status unknown_outcome(const Status& open) {
  return with_hint(sql_error("40003", absl::StrCat("whether the call was done is not known: ", open.message())),
                   "Look for what it does before it is sent as a new one.");
}

std::string primary_in(const std::string& hint) {
  static constexpr char kWords[] = "primary at ";
  const size_t at = hint.find(kWords);
  if (at == std::string::npos) return "";
  std::string address = hint.substr(at + sizeof(kWords) - 1);
  address = address.substr(0, address.find_first_of(" \n"));
  if (address.ends_with('.')) address.pop_back();
  return address;
}

}  // namespace scyper::server
