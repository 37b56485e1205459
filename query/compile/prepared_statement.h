#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "compile/program_parts.h"
#include "parse/ast.h"
#include "query/database.h"

namespace scyper::query {

// A statement, and what preparing it has found out; only the database that made it looks inside.
class PreparedStatement final : public Prepared {
 public:
  Kind kind() const override { return kind_; }
  std::string_view text() const override { return text_; }
  const std::vector<SqlType>& parameter_types() const override { return parameter_types_; }
  const std::vector<ResultColumn>& columns() const override { return columns_; }

 private:
  friend class DatabaseImpl;

  // The statement itself, whose positions count.
  std::string_view sql() const { return std::string_view(text_).substr(path_bytes_); }

  Kind kind_ = Kind::kProgram;
  std::string text_;
  std::vector<std::string> search_path_;  // that the text begins with (query/search_path.h)
  std::shared_ptr<const SessionZone> zone_;
  size_t path_bytes_ = 0;
  bool is_copy_ = false;  // TO: statement_ is the query
  ast::StatementPtr statement_;
  size_t parameter_count_ = 0;
  std::vector<SqlType> parameter_types_;
  std::vector<ResultColumn> columns_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Program> program_;
};

}  // namespace scyper::query
