#include "absl/strings/str_cat.h"
#include "runtime/function_body.h"

// What jsonb_to_record() and its kin check of documents (bind/json_records.h): they give them back.
namespace scyper::query {

// Declared where the builtins are listed (bind/builtins_jsonb.cc).
extern const ir::External k_fn_json_rows;
extern const ir::External k_fn_json_object;
extern const ir::External k_fn_json_array;

namespace {

bool starts_with(const Datum& document, char c) {
  const std::string_view text = text_of(document);
  const size_t first = text.find_first_not_of(" \t\n\r");
  return first != std::string_view::npos && text[first] == c;
}

extern "C" {

// (document, name of the function)
SCYPER_FUNCTION(json_rows) {
  *out = args[0];
  if (starts_with(args[0], '[')) return 0;
  const std::string function(text_of(args[1]));
  const char* what = function.starts_with("jsonb") ? " on a non-array"
                     : starts_with(args[0], '{')   ? " on an object"
                                                   : " on a scalar";
  return c->fail("22023", absl::StrCat("cannot call ", function, what));
}
// (document, name of a function that gives rows, or nothing)
SCYPER_FUNCTION(json_object) {
  *out = args[0];
  if (starts_with(args[0], '{')) return 0;
  const std::string function(text_of(args[1]));
  if (!function.empty())
    return c->fail("22023", absl::StrCat("argument of ", function, " must be an array of objects"));
  return c->fail(
      "22023", absl::StrCat("cannot call populate_composite on ", starts_with(args[0], '[') ? "an array" : "a scalar"));
}
// (document, key that it is the value of)
SCYPER_FUNCTION(json_array) {
  *out = args[0];
  if (starts_with(args[0], '[')) return 0;
  const int32_t outcome = c->fail("22P02", "expected JSON array");
  c->error.hint = absl::StrCat("See the value of key \"", std::string(text_of(args[1])), "\".");
  return outcome;
}

}  // extern "C"
}  // namespace

SCYPER_DEFINE_FUNCTION(json_rows)
SCYPER_DEFINE_FUNCTION(json_object)
SCYPER_DEFINE_FUNCTION(json_array)

}  // namespace scyper::query
