#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

namespace scyper {

// A broken rule of the code that turns a statement into a program. The statement fails, the process goes on:
// base/internal_error.h makes an error of it.
class BrokenInvariant : public std::logic_error {
 public:
  // place: "query/bind/binder.cc:12: condition"
  explicit BrokenInvariant(const std::string& place) : std::logic_error(place) {}
};

// The recursion over a statement has used up the stack of its thread. The statement fails with 54001.
class StackExhausted : public std::runtime_error {
 public:
  StackExhausted() : std::runtime_error("stack depth limit exceeded") {}
};

[[noreturn]] void invariant_failed(const char* file, int line, const char* condition);
[[noreturn]] void stack_exhausted();

// Whether the calling thread has little of its stack left.
bool is_stack_low() noexcept;

// The head of a function that recurses over a statement.
inline void check_stack() {
  if (is_stack_low()) [[unlikely]]
    stack_exhausted();
}

// The value of the key, which is there.
template <class Map, class Key>
auto& found_in(Map& map, const Key& key, std::source_location place = std::source_location::current()) {
  const auto it = map.find(key);
  if (it == map.end()) [[unlikely]]
    invariant_failed(place.file_name(), static_cast<int>(place.line()), "the key is in the map");
  return it->second;
}

}  // namespace scyper

// INVARIANT: CHECK for code that only reads a statement and writes a program: parse, bind, plan, codegen, ir, lowering
// and translation. A failure throws BrokenInvariant. What guards data, memory and running code stays a CHECK.
#define INVARIANT(condition) \
  (static_cast<bool>(condition) ? static_cast<void>(0) : ::scyper::invariant_failed(__FILE__, __LINE__, #condition))
