#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "query/value_text.h"
#include "storage/type.h"

namespace scyper::query {

// A statement without what callers vary from one to the next: comments, white space, case of keywords, and literals
// that are nothing but values.
struct NormalisedText {
  // SQL that means the same with `literals` as its parameters. The type of a number is part of it ("$1::int4"), so that
  // texts share it only where their literals have the same types.
  std::string text;
  std::vector<std::string> literals;  // as an input function reads them

  void clear() {
    text.clear();
    literals.clear();
  }
};

// False: the text stays as it is (DDL, parameters of its own, several statements, not understood).
// Literals that may decide a plan, a type or a name stay in the text: LIMIT, ORDER BY and GROUP BY, type modifiers,
// arguments of functions, patterns, bare select targets, NULL and booleans.
// What cannot be told from words alone (an untyped literal whose context gives no type, equal expressions in SELECT and
// GROUP BY) shows when `text` is prepared: it fails or has other columns, and the caller takes the original instead.
bool normalise(std::string_view sql, NormalisedText* out);

// The literals as arguments of a statement prepared from the text. What they point to lies in the arena.
// An error (a literal that its place's type does not read) is not the one to show: the original text gives that.
Status literal_values(const NormalisedText& normalised, const std::vector<SqlType>& types, ValueArena* arena,
                      std::vector<Datum>* values);

}  // namespace scyper::query
