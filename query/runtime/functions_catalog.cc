#include <array>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/names_on_path.h"
#include "runtime/byte_char.h"
#include "runtime/catalog_map.h"
#include "runtime/function_body.h"
#include "storage/big_numeric.h"
#include "storage/time_modifier.h"

// Functions over objects of the catalog. Their first argument is a map of the catalog version (catalog_map.h).
namespace scyper::query {

Status unknown_object(std::string_view name, int64_t kind) {
  const std::string quoted = absl::StrCat("\"", std::string(name), "\" does not exist");
  constexpr int64_t kRelation = 0, kRoutine = 2, kSignature = 3, kSchema = 4, kRole = 5, kConfiguration = 8,
                    kDictionary = 9;
  if (kind == kRelation) return sql_error("42P01", "relation " + quoted);
  if (kind == kRoutine || kind == kSignature) return sql_error("42883", "function " + quoted);
  if (kind == kSchema) return sql_error("3F000", "schema " + quoted);
  if (kind == kConfiguration) return sql_error("42704", "text search configuration " + quoted);
  if (kind == kDictionary) return sql_error("42704", "text search dictionary " + quoted);
  return sql_error("42704", (kind == kRole ? "role " : "type ") + quoted);
}

// Declared where the builtins are listed (bind/builtins_sequence.cc).
extern const ir::External k_fn_char_of_text;
extern const ir::External k_fn_char_of_integer;
extern const ir::External k_fn_integer_of_char;

namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 11 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "character varying" and its modifier.
std::string with_modifier(std::string name, int64_t modifier) {
  constexpr int64_t kHeaderBytes = 4, kScaleBits = 16;
  std::string brackets;
  if (name.ends_with("[]")) {
    brackets = "[]";
    name.resize(name.size() - 2);
  }
  const int64_t value = modifier - kHeaderBytes;
  if (modifier < 0) {
    if (name == "character") name = "bpchar";
    if (name == "bit") name = "\"bit\"";  // bit alone is of one
  } else if (name == "numeric") {
    const SqlType type = make_modified_numeric(static_cast<int32_t>(value >> kScaleBits), static_cast<int32_t>(value));
    absl::StrAppend(&name, "(", numeric_precision(type), ",", numeric_scale(type), ")");
  } else if (name == "character" || name == "character varying") {
    absl::StrAppend(&name, "(", value, ")");
  } else if (name == "bit" || name == "bit varying") {
    absl::StrAppend(&name, "(", modifier, ")");
  } else if (name == "interval") {
    name += time_modifier_text(TypeId::kInterval, static_cast<int32_t>(modifier));
  } else if (name.starts_with("time")) {  // time, timestamp, with or without time zone
    name.insert(name.find(' '), time_modifier_text(TypeId::kTime, static_cast<int32_t>(modifier)));
  }
  return name + brackets;
}

// How PostgreSQL rounds sizes: half up at each step of 1024, but for the bytes below 10 kB.
std::string pretty_size(int64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"bytes", "kB", "MB", "GB", "TB", "PB"};
  constexpr int64_t kLimit = 10 * 1024;
  const bool is_negative = bytes < 0;
  uint64_t size = is_negative ? 0 - static_cast<uint64_t>(bytes) : static_cast<uint64_t>(bytes);
  size_t unit = 0;
  bool is_doubled = false;  // one bit more than the unit has, for rounding
  while (unit + 1 < kUnits.size() && size >= static_cast<uint64_t>(is_doubled ? 2 * kLimit - 1 : kLimit)) {
    size >>= is_doubled ? 10 : 9;
    is_doubled = true;
    unit++;
  }
  if (is_doubled) size = (size + 1) / 2;
  return absl::StrCat(is_negative ? "-" : "", size, " ", kUnits[unit]);
}

extern "C" {

// (map, numbers ...): the text of the object that they name, NULL where there is none.
SCYPER_FUNCTION(catalog_text) {
  std::string key, value;
  for (int64_t i = 1; i < count; i++) absl::StrAppend(&key, i == 1 ? "" : " ", args[i].lo);
  if (!find_entry({args[0].data(), args[0].size()}, key, &value)) return give_null(out);
  return give_copy(c, out, value);
}

// (map, text): what stands for the text, which may be itself.
SCYPER_FUNCTION(catalog_form) {
  std::string value;
  if (!find_entry({args[0].data(), args[0].size()}, {args[1].data(), args[1].size()}, &value)) return *out = args[1], 0;
  return give_copy(c, out, value);
}

// (map, number): the name, or the number where nothing has it.
SCYPER_FUNCTION(object_name) {
  std::string value;
  if (!find_entry({args[0].data(), args[0].size()}, absl::StrCat(args[1].lo), &value))
    value = args[1].lo == 0 ? "-" : absl::StrCat(args[1].lo);
  return give_copy(c, out, value);
}

// (map, name, kind, whether it must be there): the number.
SCYPER_FUNCTION(object_number) {
  const std::string_view name(args[1].data(), args[1].size()), map(args[0].data(), args[0].size());
  if (const std::string database = database_of_name(name); !database.empty()) {
    std::string own;
    if (find_entry(text_of(args[0]), "", &own) && own != database) return c->fail(cross_database(name));
  }
  const std::string key = lookup_key(static_cast<ObjectKind>(args[2].lo), name);
  std::string value;
  if (is_number(name))
    value = name;
  else if (name == "-")
    value = "0";
  else if (!find_entry(map, key, &value) && (key.starts_with(kOnPath) || !find_entry(map, name, &value)))
    return args[3].lo == 0 ? give_null(out) : c->fail(unknown_object(name, args[2].lo));
  return give(out, int64_t{std::strtoll(value.c_str(), nullptr, 10)});
}

// (map, type, modifier)
SCYPER_FUNCTION(format_type) {
  if (args[1].null != 0) return give_null(out);
  std::string name;
  if (args[1].lo == 0)
    name = "-";
  else if (!find_entry({args[0].data(), args[0].size()}, absl::StrCat(args[1].lo), &name))
    name = "???";
  return give_copy(c, out, args[2].null != 0 ? name : with_modifier(name, args[2].lo));
}

SCYPER_FUNCTION(char_of_text) {
  return give_copy(c, out, text_of_byte(byte_of_char({args[0].data(), args[0].size()})));
}

SCYPER_FUNCTION(char_of_integer) {
  if (args[0].lo < -128 || args[0].lo > 127) return c->fail("22003", "\"char\" out of range");
  return give_copy(c, out, text_of_byte(static_cast<unsigned char>(args[0].lo)));
}

// Signed, although comparisons are not: as PostgreSQL has it.
SCYPER_FUNCTION(integer_of_char) {
  return give(out, int64_t{static_cast<signed char>(byte_of_char({args[0].data(), args[0].size()}))});
}

SCYPER_FUNCTION(size_pretty) { return give_copy(c, out, pretty_size(args[0].lo)); }

}  // extern "C"

}  // namespace

SCYPER_CATALOG_FUNCTIONS(SCYPER_DEFINE_FUNCTION)
SCYPER_DEFINE_FUNCTION(char_of_text)
SCYPER_DEFINE_FUNCTION(char_of_integer)
SCYPER_DEFINE_FUNCTION(integer_of_char)

}  // namespace scyper::query
