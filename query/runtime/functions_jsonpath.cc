#include "runtime/functions_jsonpath.h"

#include <memory>
#include <unordered_map>

#include "runtime/function_body.h"
#include "types/jsonb.h"
#include "types/jsonpath.h"

// jsonb_path_exists() and its kin, @? and @@.
namespace scyper::query {

namespace {

// The parsed path: a statement's constant path is parsed once per thread.
StatusOr<const JsonPath*> parsed_path(std::string_view text) {
  constexpr size_t kPathsMax = 64;
  static thread_local std::unordered_map<std::string, std::unique_ptr<JsonPath>> paths;
  static thread_local const std::pair<const std::string, std::unique_ptr<JsonPath>>* latest = nullptr;
  if (latest != nullptr && latest->first == text) return latest->second.get();
  auto found = paths.find(std::string(text));
  if (found == paths.end()) {
    auto path = std::make_unique<JsonPath>();
    SCYPER_RETURN_IF_ERROR(jsonpath_parse(text, path.get()));
    latest = nullptr;
    if (paths.size() >= kPathsMax) paths.clear();
    found = paths.emplace(std::string(text), std::move(path)).first;
  }
  latest = &*found;
  return latest->second.get();
}

// A call of one of the functions: document, path, variables, silent.
struct PathCall {
  Json document, variables = json_object();
  const JsonPath* path = nullptr;
  PathOptions options;

  // is_operator: no variables, and silent.
  Status read(const Datum* args, int64_t count, bool is_operator, bool with_zone) {
    SCYPER_ASSIGN_OR_RETURN(path, parsed_path(text_of(args[1])));
    document = json_read(text_of(args[0]));
    options.with_zone = with_zone;
    options.silent = is_operator || (count > 3 && args[3].lo != 0);
    if (count > 2) variables = json_read(text_of(args[2]));
    if (!is_operator) options.variables = &variables;
    return absl::OkStatus();
  }
  StatusOr<PathOutcome> run(std::vector<Json>* found) const { return jsonpath_run(*path, document, options, found); }
};

int32_t give_json(ExecContext* c, const Json& json, Datum* out) {
  const Status status = json_check_depth(json);
  return status.ok() ? give_copy(c, out, json_text(json)) : c->fail(status);
}

int32_t path_exists(ExecContext* c, const Datum* args, int64_t count, bool is_operator, bool with_zone, Datum* out) {
  PathCall call;
  if (const Status status = call.read(args, count, is_operator, with_zone); !status.ok()) return c->fail(status);
  const auto outcome = call.run(nullptr);
  if (!outcome.ok()) return c->fail(outcome.status());
  return *outcome == PathOutcome::kError ? give_null(out) : give_bool(out, *outcome == PathOutcome::kFound);
}

int32_t path_match(ExecContext* c, const Datum* args, int64_t count, bool is_operator, bool with_zone, Datum* out) {
  PathCall call;
  if (const Status status = call.read(args, count, is_operator, with_zone); !status.ok()) return c->fail(status);
  std::vector<Json> found;
  const auto outcome = call.run(&found);
  if (!outcome.ok()) return c->fail(outcome.status());
  if (found.size() == 1 && found[0].kind == JsonKind::kBoolean) return give_bool(out, found[0].boolean);
  const bool is_null = found.size() == 1 && found[0].kind == JsonKind::kNull;
  if (is_null || call.options.silent) return give_null(out);
  return c->fail("22038", "single boolean result is expected");
}

enum class Wanted : uint8_t { kRows, kArray, kFirst };

int32_t give_rows(ExecContext* c, const std::vector<Json>& found, Datum* out) {
  auto* array = reinterpret_cast<ArrayValue*>(c->scratch->allocate(sizeof(ArrayValue)));
  auto* elements = reinterpret_cast<Datum*>(c->scratch->allocate((found.size() + 1) * sizeof(Datum)));
  if (array == nullptr || elements == nullptr) return fail_memory(c);
  const auto size = static_cast<int32_t>(found.size());
  *array = ArrayValue{size, size, 1, TypeId::kJsonb, elements};
  for (size_t i = 0; i < found.size(); i++)
    if (const int32_t outcome = give_json(c, found[i], &elements[i]); outcome != 0) return outcome;
  *out = Datum{reinterpret_cast<int64_t>(array), 0, 0, 0, {}};
  return 0;
}

int32_t path_query(ExecContext* c, const Datum* args, int64_t count, Wanted wanted, bool with_zone, Datum* out) {
  PathCall call;
  if (const Status status = call.read(args, count, false, with_zone); !status.ok()) return c->fail(status);
  std::vector<Json> found;
  const auto outcome = call.run(&found);
  if (!outcome.ok()) return c->fail(outcome.status());
  if (wanted == Wanted::kRows) return give_rows(c, found, out);
  if (wanted == Wanted::kFirst) return found.empty() ? give_null(out) : give_json(c, found[0], out);
  Json array = json_array();
  array.items = std::move(found);
  return give_json(c, array, out);
}

extern "C" {

SCYPER_FUNCTION(jsonb_path_operator_exists) { return path_exists(c, args, count, true, false, out); }
SCYPER_FUNCTION(jsonb_path_operator_match) { return path_match(c, args, count, true, false, out); }
SCYPER_FUNCTION(jsonb_path_exists) { return path_exists(c, args, count, false, false, out); }
SCYPER_FUNCTION(jsonb_path_match) { return path_match(c, args, count, false, false, out); }
SCYPER_FUNCTION(jsonb_path_query) { return path_query(c, args, count, Wanted::kRows, false, out); }
SCYPER_FUNCTION(jsonb_path_query_array) { return path_query(c, args, count, Wanted::kArray, false, out); }
SCYPER_FUNCTION(jsonb_path_query_first) { return path_query(c, args, count, Wanted::kFirst, false, out); }
SCYPER_FUNCTION(jsonb_path_exists_tz) { return path_exists(c, args, count, false, true, out); }
SCYPER_FUNCTION(jsonb_path_match_tz) { return path_match(c, args, count, false, true, out); }
SCYPER_FUNCTION(jsonb_path_query_tz) { return path_query(c, args, count, Wanted::kRows, true, out); }
SCYPER_FUNCTION(jsonb_path_query_array_tz) { return path_query(c, args, count, Wanted::kArray, true, out); }
SCYPER_FUNCTION(jsonb_path_query_first_tz) { return path_query(c, args, count, Wanted::kFirst, true, out); }

}  // extern "C"
}  // namespace

SCYPER_DEFINE_FUNCTION(jsonb_path_operator_exists)
SCYPER_DEFINE_FUNCTION(jsonb_path_operator_match)
SCYPER_DEFINE_FUNCTION(jsonb_path_exists)
SCYPER_DEFINE_FUNCTION(jsonb_path_match)
SCYPER_DEFINE_FUNCTION(jsonb_path_query)
SCYPER_DEFINE_FUNCTION(jsonb_path_query_array)
SCYPER_DEFINE_FUNCTION(jsonb_path_query_first)
SCYPER_DEFINE_FUNCTION(jsonb_path_exists_tz)
SCYPER_DEFINE_FUNCTION(jsonb_path_match_tz)
SCYPER_DEFINE_FUNCTION(jsonb_path_query_tz)
SCYPER_DEFINE_FUNCTION(jsonb_path_query_array_tz)
SCYPER_DEFINE_FUNCTION(jsonb_path_query_first_tz)

}  // namespace scyper::query
