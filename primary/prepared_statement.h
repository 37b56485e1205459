#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "placement.h"
#include "primary/engine.h"
#include "query/database.h"

namespace scyper::primary {

enum class CommandTag : uint8_t { kSelect, kInsert, kUpdate, kDelete, kMerge, kOther };
CommandTag tag_of(std::string_view command);
// PostgreSQL's command tags.
void set_command_tag(CommandTag kind, std::string_view command, uint64_t affected_rows, query::ResultSet* result);

// A statement's program for one catalog version. Immutable.
struct Binding {
  uint64_t catalog_version = 0;
  const query::Program* program = nullptr;  // nullptr: does not compile for this version, see failure
  const Classification* classification = nullptr;
  CommandTag tag = CommandTag::kSelect;
  bool is_volatile = false;
  bool is_planned = false;
  bool may_be_large = false;  // it may begin again as a large transaction (large_transactions.h)
  uint32_t role_id = 0;       // of the session that it runs for
  std::shared_ptr<const query::Program> owner;
  Status failure;
};

// The programs of bindings that have been replaced. A worker may still be looking at one, so they are freed when all
// workers stand still. Threads: any.
class RetiredBindings {
 public:
  void add(std::unique_ptr<const Binding> binding);
  // Only while no worker executes. The caller drops them, best after the workers have gone on.
  std::vector<std::unique_ptr<const Binding>> take();

 private:
  std::atomic<bool> is_empty_{true};
  Mutex mutex_;
  std::vector<std::unique_ptr<const Binding>> bindings_ ABSL_GUARDED_BY(mutex_);
};

// What clients hold of a statement. Its binding is replaced when the catalog has changed.
// Invariants: (1) a classification once published lives as long as the statement, so that admission reads it without
//   lock or reference count; equal ones are shared, so there are only as many as the statement has had different ones;
//   (2) a binding is read by workers only, and only with its transaction running or about to run.
// Threads: const functions any; bind() workers.
class PreparedStatement final : public Statement {
 public:
  // Compiles a kProgram statement for the current catalog.
  // procedure: its slot (procedures.h).
  static StatusOr<std::shared_ptr<PreparedStatement>> create(std::shared_ptr<const query::Prepared> prepared,
                                                             std::shared_ptr<query::Database> database,
                                                             RetiredBindings* retired, uint32_t procedure);
  ~PreparedStatement() override;

  const std::vector<SqlType>& parameter_types() const override { return prepared_->parameter_types(); }
  const std::vector<query::ResultColumn>& columns() const override { return prepared_->columns(); }
  std::string_view text() const override { return prepared_->text(); }

  const query::Prepared& prepared() const { return *prepared_; }
  bool is_program() const { return is_program_; }
  uint64_t number() const { return number_; }  // unique in the process, from 1
  uint32_t procedure() const { return procedure_; }
  // Programs only.
  const Classification& classification() const { return *classification_.load(std::memory_order_acquire); }
  const Binding* binding() const { return binding_.load(std::memory_order_acquire); }
  // Whether companions have been added for a program of this version.
  bool is_ready(const query::Program& program) const {
    return ready_version_.load(std::memory_order_relaxed) == program.catalog_version();
  }
  void set_ready(const query::Program& program) const {
    ready_version_.store(program.catalog_version(), std::memory_order_relaxed);
  }
  // The binding for the current catalog version, made when there is none. No DDL may run meanwhile. Never nullptr.
  const Binding* bind(uint64_t catalog_version) const;

 private:
  PreparedStatement(std::shared_ptr<const query::Prepared> prepared, std::shared_ptr<query::Database> database,
                    RetiredBindings* retired, uint32_t procedure);
  std::unique_ptr<Binding> make_binding() const;
  const Classification* share(Classification classification) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void publish(std::unique_ptr<Binding> binding, Classification classification) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<query::Database> database_;  // clients may hold statements longer than the engine
  const std::shared_ptr<const query::Prepared> prepared_;
  RetiredBindings* const retired_;
  const uint64_t number_;
  const uint32_t procedure_;
  const bool is_program_;
  mutable std::atomic<const Binding*> binding_{nullptr};
  mutable std::atomic<const Classification*> classification_{nullptr};
  mutable std::atomic<uint64_t> ready_version_{0};
  mutable Mutex mutex_;
  mutable std::unique_ptr<const Binding> owned_ ABSL_GUARDED_BY(mutex_);
  mutable std::vector<std::unique_ptr<const Classification>> classifications_ ABSL_GUARDED_BY(mutex_);
};

inline const PreparedStatement& prepared_of(const Transaction& transaction) {
  return static_cast<const PreparedStatement&>(*transaction.statement);
}

}  // namespace scyper::primary
