#pragma once

#include <string>
#include <vector>

#include "query/catalog.h"

namespace scyper::query {

// Names of the transition tables of a trigger, old rows first.
inline std::vector<std::string> transition_names(const Trigger& trigger) {
  std::vector<std::string> names;
  for (const std::string* name : {&trigger.old_table, &trigger.new_table})
    if (!name->empty()) names.push_back(*name);
  return names;
}

// While it lives, this thread compiles the function of a trigger, or a statement that such a function runs by EXECUTE.
// The names of its transition tables come before those of tables.
class TransitionScope {
 public:
  explicit TransitionScope(const Trigger* trigger) noexcept : saved_(current_) {
    current_ = trigger != nullptr && !(trigger->old_table.empty() && trigger->new_table.empty()) ? trigger : nullptr;
  }
  ~TransitionScope() { current_ = saved_; }
  TransitionScope(const TransitionScope&) = delete;
  TransitionScope& operator=(const TransitionScope&) = delete;

  // Null: no such function, or none with transition tables.
  static const Trigger* current() { return current_; }

 private:
  const Trigger* const saved_;
  static inline constinit thread_local const Trigger* current_ = nullptr;
};

}  // namespace scyper::query
