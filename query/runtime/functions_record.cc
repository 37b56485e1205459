#include "runtime/functions_record.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/function_body.h"
#include "runtime/functions_jsonb.h"

namespace scyper::query {

std::string plain_name(const SqlType& type) {
  return type.id == TypeId::kArray ? type_name(make_array(make_type(type.element)))
                                   : type_name(without_modifiers(type));
}

Status check_returned_types(const std::vector<std::string>& given, const std::vector<std::string>& expected,
                            std::string_view message) {
  auto mismatch = [&](const std::string& detail) { return with_detail(sql_error("42804", message), detail); };
  if (given.size() != expected.size())
    return mismatch(absl::StrCat("Number of returned columns (", given.size(),
                                 ") does not match expected column count (", expected.size(), ")."));
  for (size_t i = 0; i < given.size(); i++)
    if (given[i] != expected[i])
      return mismatch(absl::StrCat("Returned type ", given[i], " does not match expected type ", expected[i],
                                   " in column ", i + 1, "."));
  return absl::OkStatus();
}

extern const ir::External k_fn_json_row;  // functions_json.cc

namespace {
struct FieldHead {
  SqlType type;
  uint32_t name_bytes, text_bytes;
  bool null;
};

// The value of a field as its type has it.
int32_t read_field(ExecContext* c, const ImageField& field, Datum* out) {
  if (field.null) return give_null(out);
  Status status = parse_datum(field.type, field.text, scratch_arena(c), out);
  return status.ok() ? 0 : c->fail(status);
}

// Another builtin function on values of this one.
int32_t call(const ir::External& function, ExecContext* c, const std::vector<Datum>& values,
             const std::vector<SqlType>& types, Datum* out) {
  using Function = int32_t (*)(ExecContext*, const Datum*, int64_t, Datum*, const SqlType*) noexcept;
  return reinterpret_cast<Function>(function.address)(c, values.data(), static_cast<int64_t>(values.size()), out,
                                                      types.data());
}

int32_t give_text(ExecContext* c, const ImageField& field, Datum* out) {
  return field.null ? give_null(out) : give_copy(c, out, field.text);
}
}  // namespace

std::string write_image(const std::vector<ImageField>& fields) {
  std::string image;
  for (const auto& field : fields) {
    FieldHead head{};
    head.type = field.type;
    head.name_bytes = static_cast<uint32_t>(field.name.size());
    head.text_bytes = static_cast<uint32_t>(field.text.size());
    head.null = field.null;
    image.append(reinterpret_cast<const char*>(&head), sizeof(head));
    image += field.name;
    image += field.text;
  }
  return image;
}

std::vector<ImageField> read_image(std::string_view image) {
  std::vector<ImageField> fields;
  while (!image.empty()) {
    FieldHead head;
    std::memcpy(static_cast<void*>(&head), image.data(), sizeof(head));
    image.remove_prefix(sizeof(head));
    fields.push_back({head.type, std::string(image.substr(0, head.name_bytes)), head.null,
                      std::string(image.substr(head.name_bytes, head.text_bytes))});
    image.remove_prefix(size_t{head.name_bytes} + head.text_bytes);
  }
  return fields;
}

namespace {
extern "C" {

SCYPER_FUNCTION(record_image_field) {
  std::vector<ImageField> fields = read_image(text_of(args[0]));
  auto position = static_cast<size_t>(args[1].lo);
  if (position >= fields.size() || fields[position].null) return give_null(out);
  SqlType to;
  std::memcpy(static_cast<void*>(&to), args[2].data(), sizeof(to));
  Datum value, assigned;
  if (int32_t failed = read_field(c, fields[position], &value); failed != 0) return failed;
  if (int32_t failed = cast_datum(c, value, fields[position].type, to, false, &assigned); failed != 0) return failed;
  std::string text;
  append_datum(&text, to, assigned);
  return give_copy(c, out, text);
}

// The first field is read first: it tells whether all of them fit.
SCYPER_FUNCTION(record_image_result) {
  std::vector<ImageField> fields = read_image(text_of(args[0]));
  auto position = static_cast<size_t>(args[1].lo);
  if (position > 0) return give_text(c, fields[position], out);
  std::vector<std::string> expected = absl::StrSplit(std::string(text_of(args[2])), ',', absl::SkipEmpty());
  std::vector<std::string> given;
  for (const auto& field : fields) given.push_back(plain_name(field.type));
  Status status = check_returned_types(given, expected, text_of(args[3]));
  if (!status.ok()) return c->fail(status);
  return give_text(c, fields[0], out);
}

SCYPER_FUNCTION(record_image_set) {
  if (args[0].null) return give_null(out);
  std::vector<ImageField> fields = read_image(text_of(args[0]));
  for (auto& field : fields) {
    if (field.name != text_of(args[1])) continue;
    field.null = args[2].null;
    field.text = field.null ? "" : std::string(text_of(args[2]));
    Datum value;
    if (int32_t failed = read_field(c, field, &value); failed != 0) return failed;
    if (!field.null) field.text.clear(), append_datum(&field.text, field.type, value);
    return give_copy(c, out, write_image(fields));
  }
  return c->fail("42703", absl::StrCat("record has no field \"", std::string(text_of(args[1])), "\""));
}

int32_t values_of(ExecContext* c, const Datum& image, bool names, std::vector<Datum>* values,
                  std::vector<SqlType>* types) {
  for (const auto& field : read_image(text_of(image))) {
    Datum value;
    if (names) {
      if (int32_t failed = give_copy(c, &value, field.name); failed != 0) return failed;
      values->push_back(value);
      types->push_back(make_type(TypeId::kText));
    }
    if (int32_t failed = read_field(c, field, &value); failed != 0) return failed;
    values->push_back(value);
    types->push_back(field.type);
  }
  return 0;
}

SCYPER_FUNCTION(record_image_text) {
  std::vector<Datum> values;
  std::vector<SqlType> kinds;
  if (int32_t failed = values_of(c, args[0], false, &values, &kinds); failed != 0) return failed;
  return call(k_fn_record_text, c, values, kinds, out);
}

SCYPER_FUNCTION(record_image_json) {
  std::vector<Datum> values;
  std::vector<SqlType> kinds;
  if (int32_t failed = values_of(c, args[0], true, &values, &kinds); failed != 0) return failed;
  return call(k_fn_jsonb_build_object, c, values, kinds, out);
}

SCYPER_FUNCTION(record_image_json_text) {
  std::vector<Datum> values;
  std::vector<SqlType> kinds;
  if (int32_t failed = values_of(c, args[0], true, &values, &kinds); failed != 0) return failed;
  return call(k_fn_json_row, c, values, kinds, out);
}

SCYPER_FUNCTION(record_image_null) {
  bool negated = args[1].lo != 0;
  if (args[0].null) return give_bool(out, !negated);
  std::vector<ImageField> fields = read_image(text_of(args[0]));
  return give_bool(
      out, std::all_of(fields.begin(), fields.end(), [&](const ImageField& field) { return field.null != negated; }));
}

}  // extern "C"

}  // namespace

SCYPER_RECORD_FUNCTIONS(SCYPER_DEFINE_FUNCTION)

}  // namespace scyper::query
