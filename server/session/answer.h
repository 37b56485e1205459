#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "node_parts.h"
#include "primary/engine.h"
#include "query/queries.h"
#include "query/result.h"

namespace scyper::server {

// What one run of a statement gives: rows in batches, then its tag. Threads: cancel() any, all else one.
class Answer {
 public:
  virtual ~Answer() = default;
  const std::vector<query::ResultColumn>& columns() const { return columns_; }
  // Appends the next rows to *rows, which has columns(); false: there are no more, and what follows is known.
  virtual StatusOr<bool> next(query::ResultSet* rows) = 0;
  virtual void cancel() {}
  const std::string& tag() const { return tag_; }
  uint64_t affected_rows() const { return affected_rows_; }
  const std::vector<std::string>& notices() const { return notices_; }
  const std::optional<query::Receipt>& receipt() const { return receipt_; }

 protected:
  std::vector<query::ResultColumn> columns_;
  std::string tag_;
  uint64_t affected_rows_ = 0;
  std::vector<std::string> notices_;
  std::optional<query::Receipt> receipt_;  // of queries
};

// An answer that is there already.
std::unique_ptr<Answer> make_answer(query::ResultSet result, std::optional<query::Receipt> receipt = std::nullopt);
// A command without rows.
std::unique_ptr<Answer> make_answer(std::string tag);
// One column of text.
std::unique_ptr<Answer> make_answer(std::string tag, const std::string& column, const std::string& value);

struct QueryRun {
  std::string_view sql;
  std::span<const SqlType> parameters;
  std::span<const Datum> arguments;
  query::QueryOptions options;
  bool is_here = false;                                   // this node answers
  RequestProtocol protocol = RequestProtocol::kPostgres;  // that it is counted by
};
// A query on a snapshot: of this node, or of the one that the primary's ticket names. 25006 when the statement writes.
StatusOr<std::unique_ptr<Answer>> run_query(NodeParts* node, const QueryRun& run);

}  // namespace scyper::server
