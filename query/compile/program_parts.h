#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "jit/tiering.h"
#include "query/catalog.h"
#include "query/program.h"
#include "runtime/runtime.h"
#include "types/timezone.h"

namespace scyper::query {

class Compiler;

struct ProgramParts {
  std::string name;
  std::string command;
  uint64_t catalog_version = 0;
  std::vector<SqlType> parameter_types;
  std::vector<ResultColumn> columns;
  Footprint footprint;
  ProgramResources resources;
  std::vector<storage::TablePartition**> table_partitions;  // parallel to resources.tables
  std::vector<const storage::UpdateDescriptor*> updates;    // resources.updates
  std::vector<const Program*> callees;                      // owned by `routines`
  std::shared_ptr<const Catalog> catalog;                   // keeps tables and routines alive
  std::shared_ptr<void> routines;                           // the compiled routines of this catalog version
  std::shared_ptr<jit::TieredCode> code;
  std::vector<std::string> search_path;  // of dynamic SQL
  // Null: UTC. Of a routine it counts where the definition sets it; else it is the caller's.
  std::shared_ptr<const SessionZone> zone;
  bool sets_zone = false;
  SessionRoles roles;                      // that it was compiled for
  std::shared_ptr<const Trigger> trigger;  // of a trigger function
  uint8_t trigger_depth = 0;               // Routine::trigger_depth
  bool is_dynamic = false;                 // it runs statements that are not known yet, itself
  bool has_temporary_rows = false;         // uses temporary tables whose rows a commit deletes
  bool is_of_session = false;              // SessionRun may run it
  bool takes_locks = false;                // advisory ones, itself
  Compiler* compiler = nullptr;            // for dynamic SQL; none in a snapshot
};

// A program and what it calls, each once.
void visit_programs(const Program& program, std::vector<const Program*>* seen);
// Whether it reads partitioned tables beyond the one that its own rows are of: more of them, or any in what it calls.
bool reads_others(const Program& program);

}  // namespace scyper::query
