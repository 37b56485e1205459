#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "block_history.h"
#include "claim.h"
#include "placement.h"
#include "primary/engine.h"
#include "query/open_cursor.h"
#include "reservations.h"
#include "sleeper.h"
#include "storage/logged_apply.h"
#include "storage/sequence.h"

namespace scyper::query {
struct Catalog;
}

namespace scyper::primary {

// A block of BEGIN ... COMMIT whose changes are not in the tables while its client thinks (tentative execution: Mühe,
// Kemper, Neumann, CIDR 2013). It is what its statements have changed so far, as
// physical redo, and what it has reserved. Each statement is one job on a worker: the redo is applied through a
// ChangeLog, the compiled statement runs, the log's redo becomes the block's new redo, and everything is taken back.
// COMMIT is one job too, which is not taken back. So forks, log, replay and secondaries see nothing new.
// Threads: its client's, or the worker's that runs its job.
struct TentativeBlock {
  struct Savepoint {
    size_t redo_bytes = 0;
    size_t held = 0;
  };
  struct Drawn {
    SequenceId id;
    storage::SequenceState state;
    bool is_drawn = false;
  };

  const BlockId id;
  int64_t time_us = 0;  // now(): of its first statement; 0 before that
  int64_t number = 0;   // txid_current(); 0: not asked for
  Placement placement;  // of its changes
  std::string redo;
  storage::RowPlaces places;
  std::vector<Reservations::Held> held;
  std::vector<Savepoint> savepoints;
  std::vector<Drawn> sequences;  // the last one: what lastval() gives. Numbers are not taken back
  uint64_t applied_bytes = 0;    // of redo, by all its jobs
  // The catalog that its redo and its reservations are for. null before its first job.
  std::shared_ptr<const query::Catalog> catalog;
  std::set<TableId> tables;  // of it, likewise
  bool is_noted = false;     // among the holders of BlockWaits
  // Of a block whose statements have to fit together (REPEATABLE READ, SERIALIZABLE). null: READ COMMITTED.
  std::unique_ptr<BlockHistory> history;

  bool has_changes() const { return !redo.empty() || !sequences.empty(); }
};

// A statement of a block, its COMMIT, or its wait for another. Owner: the client, which waits for it or leaves it in
// its queue (claim.h). A job that was left does nothing for the block.
struct TentativeJob : Transaction {
  enum class Kind : uint8_t { kStatement, kCommit, kWait };  // kWait: until another block has ended
  TentativeJob(TentativeBlock* of, Kind what) : block(of), kind(what) {
    done = &signal_kept<TentativeJob>;
    claim = &own_claim;
  }
  // nullptr: a transaction of its own.
  static TentativeJob* of(const Transaction& transaction) {
    if (transaction.done != &signal_kept<TentativeJob>) [[likely]]
      return nullptr;
    return const_cast<TentativeJob*>(static_cast<const TentativeJob*>(&transaction));
  }

  TentativeBlock* const block;
  const Kind kind;
  // Out: the statement needs the engine for itself (engine_transaction.h); nothing has happened.
  bool needs_exclusive = false;
  std::vector<query::OpenCursor> cursors;  // out
  std::unique_ptr<BlockStep> step;         // of a statement of a block with a history, which gets it
  Completion completion;
  Claim own_claim;
};

}  // namespace scyper::primary
