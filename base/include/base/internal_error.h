#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace scyper {

// What a statement goes through before it runs, and what is made of it for others.
enum class Phase : uint8_t { kParsing, kBinding, kPlanning, kGenerating, kCompiling, kDefining, kShipping, kAnswering };
inline constexpr size_t kPhaseCount = 8;
std::string_view name_of(Phase phase);  // "parsing"

// A fault of the program itself that a statement has met.
struct InternalError {
  Phase phase = Phase::kParsing;
  std::string place;      // "query/bind/binder.cc:12: condition", or what an exception says
  std::string_view text;  // of the statement, or of the routine's body
};

// Counts the fault, writes one line of the log, and gives the statement's error: XX000, "internal error while parsing;
// please report", with the place as its detail.
Status internal_error(const InternalError& error);

// How the log names the statement: its fingerprint. Set once, at the start; without it the log has its text only.
void set_fingerprint(std::string (*fingerprint)(const InternalError& error));

// By phase, since the process began. Threads: any.
std::array<uint64_t, kPhaseCount> internal_error_counts();

// The exception that is being handled, as the statement's error. Only within catch.
Status status_of_exception(Phase phase, std::string_view text);

// The exception that is being handled, thrown on as one of that phase. Only within catch.
[[noreturn]] void throw_in_phase(Phase phase);

// Part of another phase's work.
template <class Work>
auto in_phase(Phase phase, Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (...) {
    throw_in_phase(phase);
  }
}

// Runs the work, which returns Status or StatusOr. What it throws becomes an error of the statement `text`, so that no
// fault in this code ends a process that works for others, too. The work must leave nothing half made: RAII.
template <class Work>
auto contained(Phase phase, std::string_view text, Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (...) {
    return status_of_exception(phase, text);
  }
}

}  // namespace scyper
