#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/ir.h"
#include "query/exec_context.h"
#include "query/foreign_table.h"
#include "query/value_text.h"

namespace scyper::query {

// Rows of a foreign file, a window of some hundred at a time, which generated code reads in place. What they point to
// lives until the next window. Threads: one. Owner: ForeignFiles.
class ForeignReader {
 public:
  // file: stays the caller's, who keeps it open.
  ForeignReader(const ForeignTable& table, int file);

  // The next window; no rows at the end. Polls the context's interrupt.
  Status fill(ExecContext* context);
  const Datum* rows() const { return rows_.data(); }
  size_t row_count() const { return row_count_; }
  bool is_interrupted() const { return is_interrupted_; }

 private:
  Status read_block(ExecContext* context);
  Status read_row();

  const ForeignTable& table_;
  const int file_;
  CopyLines lines_;
  uint64_t offset_ = 0;  // in the file
  std::unique_ptr<char[]> block_;
  ValueArena values_;
  std::vector<Datum> rows_;
  size_t row_count_ = 0;
  size_t text_bytes_ = 0;  // of the window's values
  bool is_interrupted_ = false;
};

// The files that a running query may read, and its readers. A statement without them reads no foreign table: redo must
// not depend on files, so transactions have none. Threads: one, the team's first. Fork: the child's, opened by its
// parent.
class ForeignFiles {
 public:
  ForeignFiles() = default;
  ~ForeignFiles();
  ForeignFiles(const ForeignFiles&) = delete;
  ForeignFiles& operator=(const ForeignFiles&) = delete;

  // Takes the descriptor.
  void add(const ForeignTable& table, int file) { files_.emplace_back(&table, file); }
  std::vector<int> descriptors() const;  // in the order they were added
  // A reader from the beginning, in place of the one before it at that place of the program. nullptr: no such file.
  ForeignReader* open(const ForeignTable& table, uint32_t depth, int64_t place);

  // Those of the program that this thread runs.
  class Scope {
   public:
    explicit Scope(ForeignFiles* files) noexcept : saved_(current_) { current_ = files; }
    ~Scope() { current_ = saved_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ForeignFiles* const saved_;
  };
  static ForeignFiles* current() { return current_; }

 private:
  static inline constinit thread_local ForeignFiles* current_ = nullptr;
  std::vector<std::pair<const ForeignTable*, int>> files_;
  std::map<std::pair<uint32_t, int64_t>, std::unique_ptr<ForeignReader>> readers_;  // by depth of calls, place
};

// About how many rows there are, for the optimiser; no file: a guess.
double estimate_foreign_rows(const ForeignTable& table, const std::string& directory);

#define SCYPER_FOREIGN_FUNCTIONS(X)                                                                       \
  X(rt_foreign_open, kI32, 3, false) /* context, number in ProgramResources::foreign, place -> value[0] = \
                                        ForeignReader*; 0A000: not in a query */                          \
  X(rt_foreign_fill, kI32, 2, false) /* context, ForeignReader* -> value[0] = rows, value[1] = how many */

#define SCYPER_DECLARE_RUNTIME(name, result, words, pure) extern const ir::External k_##name;
SCYPER_FOREIGN_FUNCTIONS(SCYPER_DECLARE_RUNTIME)
#undef SCYPER_DECLARE_RUNTIME

}  // namespace scyper::query
