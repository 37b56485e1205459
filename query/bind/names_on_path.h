#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "bind/object_numbers.h"
#include "compile/search_path.h"

// Names in texts (nextval('s'), 'rows'::regclass), which search_path finds.
namespace scyper::query {

// object_numbers() has relations and routines that search_path finds by kOnPath and their bare names, too.
constexpr const char* kOnPath = " ";
std::string lookup_key(ObjectKind kind, std::string_view text);  // of a name as a text has it
// The database that a name begins with, as a text has it: database.schema.name. Empty: none.
std::string database_of_name(std::string_view text);
Status cross_database(std::string_view text);  // 0A000

// A sequence's name as a text has it, with the first schema of the path that has such a sequence. It stays as it is
// where it names a schema, or where public is to be looked into after all. Otherwise it gets a schema that is not
// there.
std::string sequence_on_path(const Catalog& catalog, std::span<const std::string> path, std::string_view text);

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
