#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "client/ch/mix.h"
#include "client/ch/tables.h"
#include "storage/type.h"

namespace scyper::ch {

// What one call answered and what a table holds, as text that is equal on every engine that ran the same calls.
//
// A call is one line: the procedure's name, then its INOUT values as PostgreSQL's text, joined by '|':
//   tpcc_delivery|10
// NULL is \N; backslash and newline within a value are \\ and \n. A failed call is the name and '!' with the SQLSTATE:
//   tpcc_new_order|!TPCC1
// Times: now() differs between engines, so every timestamp from 2013 on is '@'. The generator makes none
// (GeneratorOptions::load_time), a run makes no others. The same in the lines of order_status' text.
// A row is one line of COPY's text format with the same rule for timestamps.
constexpr int64_t kRunTimeFrom = int64_t{4749} * 86'400 * 1'000'000;  // 2013-01-01

// Appends the line (without a newline at its end).
void append_outcome(std::string& out, Procedure procedure, std::span<const Datum> results);
void append_outcome(std::string& out, Procedure procedure, std::span<const std::optional<std::string_view>> texts);
void append_failure(std::string& out, Procedure procedure, std::string_view sqlstate);

// Continues a digest of lines; starts from 0. The order matters.
uint64_t extend_digest(uint64_t digest, std::string_view line);
std::string digest_text(uint64_t digest);  // 16 hex digits

// A digest of a table's rows in any order.
class TableDigest {
 public:
  void add(const TableInfo& table, std::span<const Datum> row);
  // A line of COPY's text format, without its newline.
  void add_copy_line(const TableInfo& table, std::string_view line);

  uint64_t rows() const { return rows_; }
  std::string text() const;  // "<rows>:<32 hex digits>"
  friend bool operator==(const TableDigest& a, const TableDigest& b) { return a.rows_ == b.rows_ && a.sum_ == b.sum_; }

 private:
  uint64_t rows_ = 0;
  unsigned __int128 sum_ = 0;
  std::string line_;  // scratch
};

}  // namespace scyper::ch
