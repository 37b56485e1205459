#include "error_format.h"

#include <algorithm>
#include <vector>

#include "query/error_status.h"
#include "result_format.h"

namespace scyper::client {

namespace {

// Characters of a line shown before and after the position; as in psql, longer lines are cut with "...".
constexpr size_t kCharactersAround = 60;

// Characters of UTF-8 text as byte ranges.
std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    out.push_back(text.substr(i, end - i));
    i = end;
  }
  return out;
}

// "LINE 2: select x\n               ^\n"; position counts from 1.
std::string format_position(std::string_view statement, size_t position) {
  std::vector<std::string_view> characters = characters_of(statement);
  if (position > characters.size() + 1) return "";
  size_t at = position - 1, line_number = 1, start = 0;
  for (size_t i = 0; i < at; ++i) {
    if (characters[i] != "\n") continue;
    ++line_number;
    start = i + 1;
  }
  size_t end = at;
  while (end < characters.size() && characters[end] != "\n") ++end;
  std::string prefix = "LINE " + std::to_string(line_number) + ": ";
  size_t from = at - start > kCharactersAround ? at - kCharactersAround / 2 : start;
  size_t to = std::min(end, from + 2 * kCharactersAround);
  if (from > start) prefix += "...";
  std::string text;
  size_t caret = prefix.size();
  for (size_t i = from; i < to; ++i) {
    text += characters[i] == "\t" || characters[i] == "\r" ? " " : characters[i];
    if (i < at) ++caret;
  }
  return prefix + text + (to < end ? "..." : "") + "\n" + std::string(caret, ' ') + "^\n";
}

}  // namespace

std::string format_error(const Status& status, std::string_view statement, bool is_verbose) {
  std::string out;
  for (const std::string& notice : query::notices_of(status)) out += notice + "\n";
  out += "ERROR:  ";
  if (is_verbose) out += sqlstate_of(status) + ": ";
  out += std::string(status.message()) + "\n";
  if (int position = position_of(status); position > 0)
    out += format_position(statement, static_cast<size_t>(position));
  if (std::string detail = detail_of(status); !detail.empty()) out += "DETAIL:  " + detail + "\n";
  if (std::string hint = hint_of(status); !hint.empty()) out += "HINT:  " + hint + "\n";
  if (std::string context = query::context_of(status); !context.empty()) out += "CONTEXT:  " + context + "\n";
  return out;
}

std::string format_error_json(const Status& status) {
  std::string out = "{\"error\": {\"sqlstate\": " + json_string(sqlstate_of(status)) +
                    ", \"message\": " + json_string(std::string(status.message()));
  if (int position = position_of(status); position > 0) out += ", \"position\": " + std::to_string(position);
  if (std::string detail = detail_of(status); !detail.empty()) out += ", \"detail\": " + json_string(detail);
  if (std::string hint = hint_of(status); !hint.empty()) out += ", \"hint\": " + json_string(hint);
  if (std::string context = query::context_of(status); !context.empty())
    out += ", \"context\": " + json_string(context);
  return out + "}}\n";
}

}  // namespace scyper::client
