#pragma once

#include <string>
#include <string_view>

#include "bind/object_numbers.h"
#include "compile/search_path.h"

// Names in texts (nextval('s'), 'rows'::regclass), which search_path finds.
namespace scyper::query {

// object_numbers() has relations and routines that search_path finds by kOnPath and their bare names, too.
constexpr const char* kOnPath = " ";
std::string lookup_key(ObjectKind kind, std::string_view text);  // of a name as a text has it

// "pg_none.name" as it was written: name.
inline std::string_view without_no_schema(std::string_view text) {
  const bool has_it = text.starts_with(kNoSchema) && text.substr(kNoSchema.size()).starts_with('.');
  return has_it ? text.substr(kNoSchema.size() + 1) : text;
}

// While it lives, this thread binds the text of a rule: a default, a check, a generated column. Bare names of sequences
// in such a text mean those of public, whatever search_path the statement has.
class RuleTextScope {
 public:
  RuleTextScope() noexcept : saved_(is_on) { is_on = true; }
  ~RuleTextScope() { is_on = saved_; }
  RuleTextScope(const RuleTextScope&) = delete;
  RuleTextScope& operator=(const RuleTextScope&) = delete;
  static inline constinit thread_local bool is_on = false;

 private:
  const bool saved_;
};

}  // namespace scyper::query
