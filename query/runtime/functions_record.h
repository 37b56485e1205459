#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/functions.h"
#include "storage/type.h"

// Records filled by dynamic SQL, as wholes: what their columns are is known only when they run. Each is one value, an
// image: its fields' types, names and texts. NULL: not assigned yet.
namespace scyper::query {

// The variable of such a record that has its image, beside those of its fields; no identifier has a space first.
constexpr std::string_view kRecordImage = " image";

struct ImageField {
  SqlType type;
  std::string name;
  bool null = true;
  std::string text;  // as append_datum() has it
};

std::string write_image(const std::vector<ImageField>& fields);
std::vector<ImageField> read_image(std::string_view image);

// A type without length, precision and scale.
std::string plain_name(const SqlType& type);
// Whether a row has what a function returns, by plain_name(). 42804 with `message` and where it differs.
Status check_returned_types(const std::vector<std::string>& given, const std::vector<std::string>& expected,
                            std::string_view message);

// clang-format off: it does not come to rest on this list
// record_image_field: image, position, bytes of the SqlType it is assigned to -> its text, NULL beyond the last one
// record_image_result: image, position, types of the columns that the function returns, what for -> text
// record_image_set: image, name, text -> image
// record_image_text, record_image_json: image -> as a row is shown, as jsonb
// record_image_null: image, 1 = IS NOT NULL -> boolean
#define SCYPER_RECORD_FUNCTIONS(X) \
  X(record_image_field) X(record_image_result) X(record_image_set) X(record_image_text) X(record_image_json) X(record_image_json_text) \
  X(record_image_null)
// clang-format on

#define SCYPER_DECLARE_FUNCTION(name) extern const ir::External k_fn_##name;
SCYPER_RECORD_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
#undef SCYPER_DECLARE_FUNCTION

}  // namespace scyper::query
