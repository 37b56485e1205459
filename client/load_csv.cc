#include "load_csv.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <span>
#include <utility>
#include <vector>

#include "csv.h"
#include "progress.h"
#include "query/value_text.h"
#include "server/packed.h"

namespace scyper::client {

namespace {

struct PendingRow {
  uint64_t line;
  std::string raw;
};

class CsvLoad {
 public:
  CsvLoad(const CsvLoadOptions& options, std::vector<query::ResultColumn> columns, Session::Loader loader)
      : options_(options), columns_(std::move(columns)), loader_(std::move(loader)) {}

  Status run(std::istream* in, Progress* progress) {
    if (!options_.reject_path.empty()) {
      reject_.open(options_.reject_path);
      if (!reject_) return absl::PermissionDeniedError("cannot write " + options_.reject_path);
    }
    Status status = read(in, progress);
    Status flushed = flush();
    return status.ok() ? flushed : status;
  }
  const CsvLoadResult& result() const { return result_; }

 private:
  Status read(std::istream* in, Progress* progress) {
    CsvReader reader(in, options_.delimiter);
    std::vector<CsvField> record;
    if (options_.has_header) {
      SCYPER_ASSIGN_OR_RETURN(bool is_any, reader.next(&record));
      if (is_any) SCYPER_RETURN_IF_ERROR(read_header(record));
    } else {
      for (size_t i = 0; i < columns_.size(); ++i) field_column_.push_back(i);
    }
    uint64_t bytes = 0;
    while (true) {
      SCYPER_ASSIGN_OR_RETURN(bool is_row, reader.next(&record));
      if (!is_row) break;
      SCYPER_RETURN_IF_ERROR(add(record, reader));
      if (rows_.size() >= options_.batch_rows) SCYPER_RETURN_IF_ERROR(flush());
      progress->add(reader.bytes_read() - std::exchange(bytes, reader.bytes_read()));
    }
    return {};
  }

  Status read_header(const std::vector<CsvField>& record) {
    for (const CsvField& field : record) {
      size_t column = 0;
      // a byte order mark, as spreadsheets write it
      std::string_view name = field.text;
      if (field_column_.empty() && name.starts_with("\xEF\xBB\xBF")) name.remove_prefix(3);
      while (column < columns_.size() && columns_[column].name != name) ++column;
      if (column == columns_.size()) {
        return sql_error("42703",
                         "column \"" + std::string(name) + "\" of relation \"" + options_.table + "\" does not exist");
      }
      if (std::find(field_column_.begin(), field_column_.end(), column) != field_column_.end()) {
        return sql_error("42701", "column \"" + std::string(name) + "\" specified more than once");
      }
      field_column_.push_back(column);
    }
    return {};
  }

  // Parses a record into values_; a bad one is rejected.
  Status add(std::vector<CsvField>& record, const CsvReader& reader) {
    if (record.size() > field_column_.size()) {
      return reject({reader.line(), reader.raw()}, sql_error("22P04", "extra data after last expected column"));
    }
    if (record.size() < field_column_.size()) {
      return reject(
          {reader.line(), reader.raw()},
          sql_error("22P04", "missing data for column \"" + columns_[field_column_[record.size()]].name + "\""));
    }
    size_t start = values_.size();
    values_.resize(start + columns_.size());
    for (size_t i = 0; i < record.size(); ++i) {
      CsvField& field = record[i];
      if (!field.is_quoted && field.text == options_.null_text) continue;
      const query::ResultColumn& column = columns_[field_column_[i]];
      Status parsed = server::check_text(field.text);
      if (parsed.ok())
        parsed = query::parse_value(column.type, field.text, &arena_, &values_[start + field_column_[i]]);
      if (!parsed.ok()) {
        values_.resize(start);
        return reject({reader.line(), reader.raw()}, with_detail(parsed, "column " + column.name));
      }
    }
    rows_.push_back({reader.line(), reader.raw()});
    return {};
  }

  Status reject(const PendingRow& row, const Status& why) {
    ++result_.rejected;
    if (reject_.is_open()) reject_ << row.raw;
    std::string detail = detail_of(why);
    std::fprintf(stderr, "line %llu: %s: %s%s%s%s\n", static_cast<unsigned long long>(row.line),
                 sqlstate_of(why).c_str(), std::string(why.message()).c_str(), detail.empty() ? "" : " (",
                 detail.c_str(), detail.empty() ? "" : ")");
    if (result_.rejected <= options_.errors_max) return {};
    return with_hint(sql_error("22P04", "more than " + std::to_string(options_.errors_max) + " bad rows"),
                     "Rows before were loaded. --errors-max allows more.");
  }

  Status flush() {
    Status status = load_range(0, rows_.size());
    rows_.clear();
    values_.clear();
    arena_.clear();
    return status;
  }

  // A load is all or nothing: halves find the rows that make it fail.
  Status load_range(size_t from, size_t to) {
    if (from == to) return {};
    std::span<const Datum> values(values_.data() + from * columns_.size(), (to - from) * columns_.size());
    Status status = loader_(values);
    if (status.ok()) {
      result_.rows += to - from;
      return {};
    }
    std::string sqlstate = sqlstate_of(status);
    // Only errors of data belong to rows; a lost connection or full memory would be asked again for every half.
    if (!sqlstate.starts_with("22") && !sqlstate.starts_with("23")) return status;
    if (to - from == 1) return reject(rows_[from], status);
    size_t middle = from + (to - from) / 2;
    SCYPER_RETURN_IF_ERROR(load_range(from, middle));
    return load_range(middle, to);
  }

  const CsvLoadOptions& options_;
  const std::vector<query::ResultColumn> columns_;
  const Session::Loader loader_;
  std::vector<size_t> field_column_;
  std::vector<Datum> values_;
  query::ValueArena arena_;  // of values_
  std::vector<PendingRow> rows_;
  std::ofstream reject_;
  CsvLoadResult result_;
};

}  // namespace

Status load_csv(Session* session, const CsvLoadOptions& options, CsvLoadResult* result) {
  *result = {};
  SCYPER_ASSIGN_OR_RETURN(auto columns, columns_of_table(session, options.table));
  SCYPER_ASSIGN_OR_RETURN(auto loader, session->open_load(options.table));
  CsvLoad load(options, std::move(columns), std::move(loader));
  if (options.path == "-") {
    Progress progress(options.table, 0, !options.is_quiet);
    Status status = load.run(&std::cin, &progress);
    *result = load.result();
    return status;
  }
  std::ifstream file(options.path, std::ios::binary);
  std::error_code error;
  uint64_t size = std::filesystem::file_size(options.path, error);
  if (!file || error) return absl::NotFoundError("cannot read " + options.path);
  Progress progress(options.table + " (bytes)", size, !options.is_quiet);
  Status status = load.run(&file, &progress);
  *result = load.result();
  return status;
}

}  // namespace scyper::client
