#include <algorithm>
#include <iterator>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/function_body.h"
#include "types/digits.h"
#include "types/md5.h"
#include "types/scalar.h"
#include "types/text.h"

namespace scyper::query {

// Declared where the builtins are listed (bind/builtins_text.cc).
extern const ir::External k_fn_num_nulls_of;
extern const ir::External k_fn_num_nonnulls_of;
extern const ir::External k_fn_concat_of;
extern const ir::External k_fn_concat_ws_of;
extern const ir::External k_fn_format_of;

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Words of PostgreSQL's grammar that need quotes as identifiers.
constexpr std::string_view kReserved[] = {"all",
                                          "analyse",
                                          "analyze",
                                          "and",
                                          "any",
                                          "array",
                                          "as",
                                          "asc",
                                          "asymmetric",
                                          "authorization",
                                          "between",
                                          "bigint",
                                          "binary",
                                          "bit",
                                          "boolean",
                                          "both",
                                          "case",
                                          "cast",
                                          "char",
                                          "character",
                                          "check",
                                          "coalesce",
                                          "collate",
                                          "collation",
                                          "column",
                                          "concurrently",
                                          "constraint",
                                          "create",
                                          "cross",
                                          "current_catalog",
                                          "current_date",
                                          "current_role",
                                          "current_schema",
                                          "current_time",
                                          "current_timestamp",
                                          "current_user",
                                          "dec",
                                          "decimal",
                                          "default",
                                          "deferrable",
                                          "desc",
                                          "distinct",
                                          "do",
                                          "else",
                                          "end",
                                          "except",
                                          "exists",
                                          "extract",
                                          "false",
                                          "fetch",
                                          "float",
                                          "for",
                                          "foreign",
                                          "freeze",
                                          "from",
                                          "full",
                                          "grant",
                                          "greatest",
                                          "group",
                                          "grouping",
                                          "having",
                                          "ilike",
                                          "in",
                                          "initially",
                                          "inner",
                                          "inout",
                                          "int",
                                          "integer",
                                          "intersect",
                                          "interval",
                                          "into",
                                          "is",
                                          "isnull",
                                          "join",
                                          "lateral",
                                          "leading",
                                          "least",
                                          "left",
                                          "like",
                                          "limit",
                                          "localtime",
                                          "localtimestamp",
                                          "national",
                                          "natural",
                                          "nchar",
                                          "none",
                                          "normalize",
                                          "not",
                                          "notnull",
                                          "null",
                                          "nullif",
                                          "numeric",
                                          "offset",
                                          "on",
                                          "only",
                                          "or",
                                          "order",
                                          "out",
                                          "outer",
                                          "overlaps",
                                          "overlay",
                                          "placing",
                                          "position",
                                          "precision",
                                          "primary",
                                          "real",
                                          "references",
                                          "returning",
                                          "right",
                                          "row",
                                          "select",
                                          "session_user",
                                          "setof",
                                          "similar",
                                          "smallint",
                                          "some",
                                          "substring",
                                          "symmetric",
                                          "table",
                                          "tablesample",
                                          "then",
                                          "time",
                                          "timestamp",
                                          "to",
                                          "trailing",
                                          "treat",
                                          "trim",
                                          "true",
                                          "union",
                                          "unique",
                                          "user",
                                          "using",
                                          "values",
                                          "varchar",
                                          "variadic",
                                          "verbose",
                                          "when",
                                          "where",
                                          "window",
                                          "with",
                                          "xmlattributes",
                                          "xmlconcat",
                                          "xmlelement",
                                          "xmlexists",
                                          "xmlforest",
                                          "xmlnamespaces",
                                          "xmlparse",
                                          "xmlpi",
                                          "xmlroot",
                                          "xmlserialize",
                                          "xmltable"};

void append_quoted(std::string* out, std::string_view text, char quote) {
  out->push_back(quote);
  for (char c : text) {
    if (c == quote) out->push_back(quote);
    out->push_back(c);
  }
  out->push_back(quote);
}

void append_identifier(std::string* out, std::string_view text) {
  bool plain = !text.empty() && (text[0] == '_' || (text[0] >= 'a' && text[0] <= 'z'));
  for (char c : text) plain &= c == '_' || (c >= 'a' && c <= 'z') || is_digit(c);
  if (plain && !std::binary_search(std::begin(kReserved), std::end(kReserved), text))
    out->append(text);
  else
    append_quoted(out, text, '"');
}

void append_literal(std::string* out, std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '\\') escaped += '\\';
    escaped += c;
  }
  if (escaped.size() != text.size()) out->append("E");
  append_quoted(out, escaped, '\'');
}

std::string shown(const SqlType& type, const Datum& value) {
  std::string text;
  append_datum(&text, type, value);
  return text;
}

// One conversion of format(): %[position$][-][width]type
class Formatter {
 public:
  Formatter(ExecContext* context, const Datum* args, int64_t count, const SqlType* types)
      : c_(context), args_(args), count_(count), types_(types) {}

  int32_t run(std::string_view format, std::string* out) {
    for (at_ = 0; at_ < format.size(); at_++) {
      if (format[at_] != '%') {
        out->push_back(format[at_]);
        continue;
      }
      format_ = format;
      if (int32_t outcome = conversion(out); outcome != 0) return outcome;
    }
    return 0;
  }

 private:
  bool peek(char* c) const { return at_ < format_.size() && ((*c = format_[at_]), true); }
  int32_t unterminated() {
    return c_->fail(
        with_hint(sql_error("22023", "unterminated format() type specifier"), "For a single \"%\" use \"%%\"."));
  }
  int32_t too_few() { return c_->fail("22023", "too few arguments for format()"); }

  bool number(int32_t* value) {
    size_t start = at_;
    int64_t sum = 0;
    while (at_ < format_.size() && is_digit(format_[at_]) && sum < INT32_MAX) sum = sum * 10 + (format_[at_++] - '0');
    *value = static_cast<int32_t>(std::min<int64_t>(sum, INT32_MAX));
    return at_ > start;
  }

  // The width that `*` or `*n$` takes from an argument.
  int32_t width_argument() {
    at_++;
    int32_t position = 0;
    if (number(&position)) {
      if (at_ >= format_.size()) return unterminated();
      if (format_[at_] != '$') return c_->fail("22023", "width argument position must be ended by \"$\"");
      at_++;
      if (position == 0) return c_->fail("22023", "format specifies argument 0, but arguments are numbered from 1");
      next_ = position;
    } else {
      next_++;
    }
    if (next_ >= count_) return too_few();
    const Datum& value = args_[next_];
    if (!is_integer(types_[next_].id)) {
      width_ = value.null ? 0 : std::atoi(shown(types_[next_], value).c_str());
    } else {
      width_ = value.null ? 0 : static_cast<int32_t>(value.lo);
    }
    return 0;
  }

  int32_t conversion(std::string* out) {
    char c = 0;
    at_++;
    if (!peek(&c)) return unterminated();
    if (c == '%') return out->push_back('%'), 0;
    width_ = 0;
    left_ = false;
    int32_t position = 0;
    bool has_position = false;
    int32_t first = 0;
    size_t start = at_;
    if (number(&first)) {
      if (!peek(&c)) return unterminated();
      if (c == '$') {
        if (first == 0) return c_->fail("22023", "format specifies argument 0, but arguments are numbered from 1");
        position = first;
        has_position = true;
        at_++;
      } else {
        at_ = start;
      }
    }
    while (peek(&c) && c == '-') left_ = true, at_++;
    if (!peek(&c)) return unterminated();
    if (c == '*') {
      if (int32_t outcome = width_argument(); outcome != 0) return outcome;
    } else {
      number(&width_);
    }
    if (!peek(&c)) return unterminated();
    if (width_ < 0) left_ = true, width_ = -width_;
    if (c != 's' && c != 'I' && c != 'L')
      return c_->fail(with_hint(
          sql_error("22023", absl::StrCat("unrecognized format() type specifier \"", std::string(1, c), "\"")),
          "For a single \"%\" use \"%%\"."));
    next_ = has_position ? position : next_ + 1;
    if (next_ >= count_) return too_few();
    return put(c, out);
  }

  int32_t put(char conversion, std::string* out) {
    const Datum& value = args_[next_];
    std::string text;
    if (value.null) {
      if (conversion == 'I') return c_->fail("22004", "null values cannot be formatted as an SQL identifier");
      if (conversion == 'L') text = "NULL";
    } else {
      std::string plain = shown(types_[next_], value);
      if (conversion == 'I')
        append_identifier(&text, plain);
      else if (conversion == 'L')
        append_literal(&text, plain);
      else
        text = plain;
    }
    size_t characters = character_count(text);
    size_t fill = characters < static_cast<size_t>(width_) ? static_cast<size_t>(width_) - characters : 0;
    if (!left_) out->append(fill, ' ');
    out->append(text);
    if (left_) out->append(fill, ' ');
    return 0;
  }

  ExecContext* c_;
  const Datum* args_;
  int64_t count_;
  const SqlType* types_;
  std::string_view format_;
  size_t at_ = 0;
  int64_t next_ = 0;
  int32_t width_ = 0;
  bool left_ = false;
};

int32_t hex_of(ExecContext* c, uint64_t value, Datum* out) {
  char text[16];
  char* at = text + sizeof(text);
  do {
    *--at = "0123456789abcdef"[value & 15];
    value >>= 4;
  } while (value != 0);
  return give_copy(c, out, {at, static_cast<size_t>(text + sizeof(text) - at)});
}

using Body = int32_t (*)(ExecContext*, const Datum*, int64_t, Datum*, const SqlType*) noexcept;

// Calls the function with the elements of the last argument instead of it. A NULL array has none.
int32_t spread(const ir::External& function, ExecContext* c, const Datum* args, int64_t count, Datum* out,
               const SqlType* types) {
  const int64_t before = count - 1;
  std::vector<Datum> all(args, args + before);
  std::vector<SqlType> kinds(types, types + before);
  if (args[before].null == 0) {
    const auto* array = reinterpret_cast<const ArrayValue*>(args[before].lo);
    all.insert(all.end(), array->elements, array->elements + array->size);
    kinds.resize(all.size(), element_of(types[before]));
  }
  const auto size = static_cast<int64_t>(all.size());
  all.emplace_back();  // never empty
  kinds.emplace_back();
  return reinterpret_cast<Body>(function.address)(c, all.data(), size, out, kinds.data());
}

extern "C" {

SCYPER_FUNCTION(bit_length) { return give(out, static_cast<int64_t>(args[0].size()) * 8); }
SCYPER_FUNCTION(initcap) {
  std::string_view text = text_of(args[0]);
  char* copy = c->scratch->allocate(text.size());
  if (copy == nullptr) return fail_memory(c);
  bool in_word = false;
  for (size_t i = 0; i < text.size(); i++) {
    copy[i] = in_word ? to_lower(text[i]) : to_upper(text[i]);
    in_word = is_letter(text[i]) || is_digit(text[i]);
  }
  return give(out, std::string_view(copy, text.size()));
}
SCYPER_FUNCTION(overlay) {
  std::string_view text = text_of(args[0]);
  std::string_view part = text_of(args[1]);
  int32_t start = int4(args[2]);
  int32_t length = count > 3 ? int4(args[3]) : text_length(part);
  int32_t behind = 0;
  if (start <= 0) return done(c, ValueError::kNegativeSubstringLength);
  if (__builtin_add_overflow(start, length, &behind)) return done(c, ValueError::kInt4Range);
  std::string_view parts[3] = {{}, part, substring_from(text, behind)};
  if (ValueError error = substring(text, 1, start - 1, &parts[0]); error != ValueError::kNone) return done(c, error);
  std::string_view result;
  ValueError error = concatenate(parts, 3, scratch_arena(c), &result);
  give(out, result);
  return done(c, error);
}
SCYPER_FUNCTION(translate) {
  std::string_view text = text_of(args[0]), from = text_of(args[1]), to = text_of(args[2]);
  char* begin = c->scratch->allocate(text.size() * 4);
  if (begin == nullptr) return fail_memory(c);
  char* end = begin;
  absl::flat_hash_map<std::string_view, std::string_view> replacements;
  for (size_t f = 0, t = 0; f < from.size();) {
    const std::string_view character = from.substr(f, character_size(from[f]));
    const std::string_view wanted = t < to.size() ? to.substr(t, character_size(to[t])) : std::string_view();
    replacements.emplace(character, wanted);  // the first of equal ones counts
    f += character.size();
    t += wanted.size();
  }
  for (size_t i = 0; i < text.size();) {
    std::string_view character = text.substr(i, character_size(text[i]));
    i += character.size();
    if (const auto found = replacements.find(character); found != replacements.end()) character = found->second;
    if (!character.empty()) std::memcpy(end, character.data(), character.size());
    end += character.size();
  }
  return give(out, std::string_view(begin, static_cast<size_t>(end - begin)));
}
SCYPER_FUNCTION(to_hex4) { return hex_of(c, static_cast<uint32_t>(args[0].lo), out); }
SCYPER_FUNCTION(to_hex8) { return hex_of(c, static_cast<uint64_t>(args[0].lo), out); }
SCYPER_FUNCTION(md5) {
  char text[kMd5HexSize];
  md5_hex(text_of(args[0]), text);
  return give_copy(c, out, {text, sizeof(text)});
}
SCYPER_FUNCTION(quote_ident) {
  std::string text;
  append_identifier(&text, text_of(args[0]));
  return give_copy(c, out, text);
}
SCYPER_FUNCTION(quote_literal) {
  std::string text;
  std::string value = types[0].id == TypeId::kUnknown ? std::string(text_of(args[0])) : shown(types[0], args[0]);
  if (types[0].id == TypeId::kChar) value.erase(value.find_last_not_of(' ') + 1);  // the cast to text that comes first
  append_literal(&text, value);
  return give_copy(c, out, text);
}
SCYPER_FUNCTION(quote_nullable) {
  if (args[0].null) return give(out, std::string_view("NULL"));
  return fn_quote_literal(c, args, count, out, types);
}
SCYPER_FUNCTION(format) {
  if (args[0].null) return give_null(out);
  std::string text;
  if (int32_t outcome = Formatter(c, args, count, types).run(text_of(args[0]), &text); outcome != 0) return outcome;
  return give_copy(c, out, text);
}
// A row as PostgreSQL shows it: (1,,"a b")
SCYPER_FUNCTION(record_text) {
  std::string text = "(";
  for (int64_t i = 0; i < count; i++) {
    if (i > 0) text += ',';
    if (args[i].null) continue;
    std::string field;
    append_datum(&field, types[i], args[i]);
    bool quoted = field.empty() || field.find_first_of("\"\\(), \t\n\r\v\f") != std::string::npos;
    if (!quoted) {
      text += field;
      continue;
    }
    text += '"';
    for (char ch : field) {
      if (ch == '"' || ch == '\\') text += ch;
      text += ch;
    }
    text += '"';
  }
  return give_copy(c, out, text + ")");
}
SCYPER_FUNCTION(num_nulls) {
  return give(out, std::count_if(args, args + count, [](const Datum& value) { return value.null != 0; }));
}
SCYPER_FUNCTION(num_nonnulls) {
  return give(out, std::count_if(args, args + count, [](const Datum& value) { return value.null == 0; }));
}
// The same functions with their arguments in an array: f(VARIADIC array).
SCYPER_FUNCTION(num_nulls_of) { return spread(k_fn_num_nulls, c, args, count, out, types); }
SCYPER_FUNCTION(num_nonnulls_of) { return spread(k_fn_num_nonnulls, c, args, count, out, types); }
SCYPER_FUNCTION(concat_of) { return spread(k_fn_concat, c, args, count, out, types); }
SCYPER_FUNCTION(concat_ws_of) { return spread(k_fn_concat_ws, c, args, count, out, types); }
SCYPER_FUNCTION(format_of) { return spread(k_fn_format, c, args, count, out, types); }
SCYPER_FUNCTION(type_of) { return give_copy(c, out, type_name(make_type(types[0].id))); }

}  // extern "C"

}  // namespace

SCYPER_TEXT_FUNCTIONS(SCYPER_DEFINE_FUNCTION)
SCYPER_DEFINE_FUNCTION(num_nulls_of)
SCYPER_DEFINE_FUNCTION(num_nonnulls_of)
SCYPER_DEFINE_FUNCTION(concat_of)
SCYPER_DEFINE_FUNCTION(concat_ws_of)
SCYPER_DEFINE_FUNCTION(format_of)

}  // namespace scyper::query
