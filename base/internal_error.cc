#include "base/internal_error.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <typeinfo>
#include <utility>

#include <cxxabi.h>

#include "base/bounded_work.h"
#include "base/deep_stack.h"
#include "base/invariant.h"
#include "stack_limit.h"

namespace scyper {

namespace {

// A fault with the phase that it happened in.
struct PhaseFault {
  Phase phase;
  std::string place;
};

constexpr std::string_view kPhaseNames[kPhaseCount] = {"parsing",   "binding",  "planning", "generating",
                                                       "compiling", "defining", "shipping", "answering"};
constexpr size_t kLoggedTextBytes = 200;  // of a statement, in the log
// Of a stack, what the functions below the recursion may need: parsing a view's text, LLVM, runtime functions.
constexpr size_t kStackReserveBytes = size_t{1} << 20;
constexpr size_t kStackBytesGuess = size_t{2} << 20;  // where the system does not say

std::atomic<uint64_t> counters_of_phases[kPhaseCount];
std::atomic<std::string (*)(const InternalError&)> fingerprint_of{nullptr};

// Where the repository's folders begin in the path of a source.
std::string_view in_repository(std::string_view file) {
  for (const std::string_view folder : {"/query/", "/base/", "/storage/", "/server/", "/primary/", "/tests/"}) {
    const size_t at = file.rfind(folder);
    if (at != std::string_view::npos) return file.substr(at + 1);
  }
  return file;
}

// One line without control characters.
std::string first_part(std::string_view text) {
  std::string part(text.substr(0, kLoggedTextBytes));
  std::replace_if(part.begin(), part.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  if (text.size() > kLoggedTextBytes) part += "...";
  return part;
}

std::string name_of_type(const std::type_info& type) {
  int failed = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(type.name(), nullptr, nullptr, &failed),
                                                    std::free);
  return name == nullptr ? type.name() : name.get();
}

// The lowest address that recursion over a statement may take the thread's stack to.
uintptr_t lowest_allowed() noexcept {
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  pthread_attr_t attributes;
  void* lowest = nullptr;
  size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return here - kStackBytesGuess / 2;
  const bool is_known = pthread_attr_getstack(&attributes, &lowest, &bytes) == 0 && lowest != nullptr;
  pthread_attr_destroy(&attributes);
  if (!is_known) return here - kStackBytesGuess / 2;
  // the same for a large stack: what fits here has to fit where it is replayed
  const uintptr_t used = bytes > kStackBytes ? bytes - kStackBytes : 0;
  return reinterpret_cast<uintptr_t>(lowest) + used + std::min(kStackReserveBytes, bytes / 4);
}

// Limits of the stack that the thread is on.
uintptr_t& stack_limit() noexcept {
  thread_local uintptr_t limit = lowest_allowed();
  return limit;
}

}  // namespace

std::string_view name_of(Phase phase) { return kPhaseNames[static_cast<size_t>(phase)]; }

void invariant_failed(const char* file, int line, const char* condition) {
  throw BrokenInvariant(
      std::string(in_repository(file)).append(":").append(std::to_string(line)).append(": ").append(condition));
}

void stack_exhausted() { throw StackExhausted(); }

bool is_stack_low() noexcept { return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) < stack_limit(); }

StackLimitScope::StackLimitScope(uintptr_t lowest, size_t bytes)
    : before_(std::exchange(stack_limit(), lowest + std::min(kStackReserveBytes, bytes / 4))) {}

StackLimitScope::~StackLimitScope() { stack_limit() = before_; }

Status internal_error(const InternalError& error) {
  counters_of_phases[static_cast<size_t>(error.phase)].fetch_add(1, std::memory_order_relaxed);
  const auto fingerprint = fingerprint_of.load(std::memory_order_relaxed);
  const std::string name = fingerprint == nullptr ? "-" : fingerprint(error);
  std::fprintf(stderr, "scyper: internal error while %s: statement %s: %s: %s\n",
               std::string(name_of(error.phase)).c_str(), name.c_str(), error.place.c_str(),
               first_part(error.text).c_str());
  std::string message = "internal error while ";
  message.append(name_of(error.phase)).append("; please report");
  return with_detail(sql_error("XX000", message), error.place);
}

void set_fingerprint(std::string (*fingerprint)(const InternalError& error)) {
  fingerprint_of.store(fingerprint, std::memory_order_relaxed);
}

std::array<uint64_t, kPhaseCount> internal_error_counts() {
  std::array<uint64_t, kPhaseCount> all{};
  for (size_t i = 0; i < kPhaseCount; ++i) all[i] = counters_of_phases[i].load(std::memory_order_relaxed);
  return all;
}

void throw_in_phase(Phase phase) {
  try {
    throw;
  } catch (const StackExhausted&) {
    throw;
  } catch (const BrokenInvariant& broken) {
    throw PhaseFault{phase, broken.what()};
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& other) {
    throw PhaseFault{phase, name_of_type(typeid(other)) + ": " + other.what()};
  }
}

Status status_of_exception(Phase phase, std::string_view text) {
  try {
    throw;
  } catch (const StackExhausted& exhausted) {
    return with_hint(sql_error("54001", exhausted.what()), "Nest the statement less deeply.");
  } catch (const WorkInterrupted& interrupted) {
    return sql_error("57014", interrupted.what());
  } catch (const std::bad_alloc&) {
    return sql_error("53200", "out of memory");
  } catch (const PhaseFault& fault) {
    return internal_error({fault.phase, fault.place, text});
  } catch (const BrokenInvariant& broken) {
    return internal_error({phase, broken.what(), text});
  } catch (const std::exception& other) {
    return internal_error({phase, name_of_type(typeid(other)) + ": " + other.what(), text});
  } catch (...) {
    return internal_error({phase, "an exception of an unknown type", text});
  }
}

}  // namespace scyper
