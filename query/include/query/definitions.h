#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "query/catalog.h"
#include "query/exec_context.h"

namespace scyper::query {

class Database;

// What transactions define themselves, one after the other: later statements of a transaction see it, others once it
// has committed. A transaction that defines something runs alone.
// Threads: that of its transactions. Fork: the child may roll its change log back.
class Definitions {
 public:
  virtual ~Definitions() = default;
  // As the transaction sees it.
  virtual std::shared_ptr<const Catalog> catalog() const = 0;
  // A statement that defines something, with its search_path and the names of its arguments (query/search_path.h).
  virtual Status define(ExecContext* context, std::string_view text, const Datum* arguments,
                        const std::vector<SqlType>& types) = 0;
  // The text as this transaction understands it, which sees its own temporary tables.
  virtual std::string with_temporary(std::string_view text) const = 0;
  // Of the last definition.
  const std::string& command_tag() const { return command_tag_; }
  virtual bool empty() const = 0;  // nothing is waiting for publish() or forget()
  // A statement runs on temporary tables whose rows go when the transaction commits.
  virtual void note_temporary_rows() = 0;
  // Whether what runs has defined something, also if that was committed since.
  bool has_changed() const { return has_changed_; }
  // Behind ChangeLog::commit(): what was defined is there for all.
  virtual void publish() = 0;
  // Behind ChangeLog::rollback_all().
  virtual void forget() = 0;

  // Of the transaction that this thread runs; nullptr: it may define nothing.
  static inline constinit thread_local Definitions* current = nullptr;
  class Scope {
   public:
    explicit Scope(Definitions* definitions) noexcept : saved_(current) {
      current = definitions;
      if (definitions != nullptr) definitions->has_changed_ = false;
    }
    ~Scope() { current = saved_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Definitions* const saved_;
  };
  // What runs now is none of the transaction's.
  struct Hidden : Scope {
    Hidden() noexcept : Scope(nullptr) {}
  };

 protected:
  bool has_changed_ = false;
  std::string command_tag_;
};

// As long as the database lives.
std::unique_ptr<Definitions> open_definitions(Database* database);

// The programs that a thread runs, one inside of the other.
class RunningProgram {
 public:
  explicit RunningProgram(const Program* program) noexcept : program_(program), caller_(innermost_) {
    innermost_ = this;
  }
  ~RunningProgram() { innermost_ = caller_; }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  const Program& program() const { return *program_; }
  const RunningProgram* caller() const { return caller_; }
  static const RunningProgram* innermost() { return innermost_; }
  // The rows of its transition tables, for the statements that it runs by EXECUTE.
  static void note_transition(size_t place, int64_t rows) { innermost_->transitions_[place] = rows; }
  int64_t transition(size_t place) const { return transitions_[place]; }

 private:
  const Program* const program_;
  RunningProgram* const caller_;
  int64_t transitions_[2] = {};
  static inline constinit thread_local RunningProgram* innermost_ = nullptr;
};

}  // namespace scyper::query
