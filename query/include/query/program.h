#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "query/exec_context.h"
#include "query/result.h"
#include "storage/table.h"

namespace scyper::query {

// What decides the partition of one access (HyPer IV.C): an argument, every element of an array argument, or a
// constant.
struct Route {
  enum class Kind : uint8_t { kArgument, kArrayArgument, kConstant };
  Kind kind = Kind::kArgument;
  uint32_t argument = 0;
  int64_t constant = 0;
  friend bool operator==(const Route&, const Route&) = default;
};

// What classification needs to know of a program and all that it calls.
struct Footprint {
  bool writes = false;
  bool writes_shared = false;  // needs to run alone
  bool reads_partitioned = false;
  bool all_partitions = false;    // reads a partitioned table without knowing the partition
  bool is_beyond_routes = false;  // some partition is decided by what no route tells
  bool is_planned = false;        // the order of rows may depend on sizes and samples of tables
  bool is_volatile = false;       // its outcome is no function of database, arguments and transaction time
  bool is_long = false;           // its queries are estimated to take longer than a worker spends on a read
  uint32_t hidden_keys = 0;       // searches in indexes on expressions and in partial ones
  std::vector<Route> routes;
};

struct ChunkOpening;
struct ProgramParts;  // what the compiler makes (query/compile/program_parts.h)

// One compiled statement or routine body for one catalog version. Immutable but for the tier of its code.
// Threads: any number run it, each with its own context.
class Program {
 public:
  explicit Program(std::unique_ptr<ProgramParts> parts);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const std::vector<ResultColumn>& columns() const;
  const std::vector<SqlType>& parameter_types() const;
  const Footprint& footprint() const;
  std::string_view command() const;  // "SELECT", "INSERT", "CALL": for the tag
  uint64_t catalog_version() const;

  // Runs a statement within the context's transaction. Leaves commit and rollback to the caller.
  Outcome run(ExecContext* context, const Datum* arguments) const noexcept;
  // The same on up to so many threads, the caller's among them; scratch_bytes: of each of the others.
  Outcome run_shared(ExecContext* context, const Datum* arguments, uint32_t threads,
                     size_t scratch_bytes) const noexcept;
  // Runs a routine from generated code of another program.
  int32_t run_nested(ExecContext* context, const Datum* arguments, Datum* results) const noexcept;

  // For runtime functions: what generated code names by number.
  const storage::UpdateDescriptor* update_descriptor(int64_t number) const noexcept;
  const storage::Table& table(size_t number) const noexcept;
  const Program& callee(size_t number) const noexcept;
  const ChunkOpening& opening(int64_t number) const noexcept;

  ProgramParts& parts() { return *parts_; }
  const ProgramParts& parts() const { return *parts_; }

 private:
  std::unique_ptr<ProgramParts> parts_;
};

}  // namespace scyper::query
