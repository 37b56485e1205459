#include "client/ch/outcome.h"

#include <cstdio>

#define XXH_INLINE_ALL  // other libraries of the process export XXH names
#include <xxhash.h>

#include "base/check.h"
#include "client/ch/text.h"

namespace scyper::ch {
namespace {

constexpr size_t kOrderLinesResult = 8;  // r_lines of tpcc_order_status
constexpr std::string_view kFirstRunYear = "2013";

bool is_run_time(std::string_view timestamp) {
  // years of more than four digits do not occur
  return timestamp.size() >= 19 && timestamp.substr(0, 4) >= kFirstRunYear;
}

void append_field(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

// Lines of "supply,item,quantity,amount[,delivery time]".
void append_order_lines(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    size_t comma = 0;
    for (int i = 0; i < 4 && comma != std::string_view::npos; ++i) comma = line.find(',', comma + (i > 0));
    if (comma != std::string_view::npos && is_run_time(line.substr(comma + 1))) {
      append_field(out, line.substr(0, comma + 1));
      out += '@';
    } else {
      append_field(out, line);
    }
    if (end == std::string_view::npos) return;
    out += "\\n";
    text.remove_prefix(end + 1);
  }
}

void append_result(std::string& out, Procedure procedure, size_t index, std::string_view text) {
  if (procedure == Procedure::kOrderStatus && index == kOrderLinesResult) return append_order_lines(out, text);
  if (result_types(procedure)[index].id == TypeId::kTimestamp && is_run_time(text)) {
    out += '@';
  } else {
    append_field(out, text);
  }
}

}  // namespace

void append_outcome(std::string& out, Procedure procedure, std::span<const Datum> results) {
  const auto types = result_types(procedure);
  CHECK(results.size() == types.size());
  out += procedure_name(procedure);
  std::string text;
  for (size_t i = 0; i < results.size(); ++i) {
    out += '|';
    if (results[i].null) {
      out += "\\N";
      continue;
    }
    text.clear();
    append_text(text, results[i], types[i]);
    append_result(out, procedure, i, text);
  }
}

void append_outcome(std::string& out, Procedure procedure, std::span<const std::optional<std::string_view>> texts) {
  CHECK(texts.size() == result_types(procedure).size());
  out += procedure_name(procedure);
  for (size_t i = 0; i < texts.size(); ++i) {
    out += '|';
    if (texts[i].has_value()) {
      append_result(out, procedure, i, *texts[i]);
    } else {
      out += "\\N";
    }
  }
}

void append_failure(std::string& out, Procedure procedure, std::string_view sqlstate) {
  out += procedure_name(procedure);
  out += "|!";
  out += sqlstate;
}

uint64_t extend_digest(uint64_t digest, std::string_view line) {
  return XXH3_64bits_withSeed(line.data(), line.size(), digest);
}

std::string digest_text(uint64_t digest) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(digest));
  return text;
}

void TableDigest::add(const TableInfo& table, std::span<const Datum> row) {
  std::string line;
  append_copy_row(line, row, table.columns);
  line.pop_back();
  add_copy_line(table, line);
}

void TableDigest::add_copy_line(const TableInfo& table, std::string_view line) {
  line_.clear();
  for (const Column& column : table.columns) {
    const size_t end = line.find('\t');
    const std::string_view field = line.substr(0, end);
    CHECK((end == std::string_view::npos) == (&column == &table.columns.back()));
    if (column.type.id == TypeId::kTimestamp && is_run_time(field)) {
      line_ += '@';
    } else {
      line_ += field;
    }
    if (end == std::string_view::npos) break;
    line_ += '\t';
    line.remove_prefix(end + 1);
  }
  const XXH128_hash_t hash = XXH3_128bits(line_.data(), line_.size());
  sum_ += static_cast<unsigned __int128>(hash.high64) << 64 | hash.low64;
  ++rows_;
}

std::string TableDigest::text() const {
  char hex[33];
  std::snprintf(hex, sizeof(hex), "%016llx%016llx", static_cast<unsigned long long>(sum_ >> 64),
                static_cast<unsigned long long>(sum_));
  return std::to_string(rows_) + ":" + hex;
}

}  // namespace scyper::ch
