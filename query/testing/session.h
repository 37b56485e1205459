#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "query/database.h"

namespace scyper::query {

// A database of one thread, for tests: every statement runs alone, at once, as its own transaction.
class Session {
 public:
  explicit Session(DatabaseOptions options, size_t scratch_bytes = size_t{256} << 20);
  ~Session();

  Status run(std::string_view sql, ResultSet* result = nullptr, std::span<const Datum> parameters = {});
  // A program of database().program_of(), with its companions there: the path that benchmarks measure.
  Status execute(const Program& program, std::span<const Datum> arguments, ResultSet* result);
  // The same with literals as parameters where query/normalise.h allows it, and whether it did.
  Status run_normalised(std::string_view sql, ResultSet* result, bool* is_normalised);
  // All statements of a text.
  Status script(std::string_view sql);
  // Rows as text: columns separated by '|', rows by '\n', NULL as "NULL"; or "ERROR sqlstate: message".
  std::string text(std::string_view sql);
  Database& database() { return *database_; }
  void set_time(int64_t microseconds) { context_->transaction_time_us = microseconds; }
  void set_threads(uint32_t threads) { threads_ = threads; }  // of one query
  uint64_t redo_bytes() const { return redo_bytes_; }
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  std::unique_ptr<Database> database_;
  std::unique_ptr<storage::ChangeLog> log_;
  std::unique_ptr<ScratchArena> scratch_;
  std::unique_ptr<ExecContext> context_;
  std::vector<std::string> notices_;
  uint64_t redo_bytes_ = 0;
  uint32_t threads_ = 1;
};

}  // namespace scyper::query
