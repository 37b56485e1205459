#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query/tracked_cursor.h"
#include "session/block_session.h"
#include "session/value_format.h"

namespace scyper::server {

// A session with prepared statements and cursors: PREPARE, EXECUTE, DECLARE, FETCH, MOVE, CLOSE, DISCARD, WHERE CURRENT
// OF, the cursors that routines leave open, pg_cursors and pg_prepared_statements. PostgreSQL's protocol keeps its own
// statements and portals beside them, under the same names (PostgreSQL 15, chapter 55.2.3).
// Invariant: the portals of a block end with it, others at the end of their statement or pipeline.
// Threads: as BlockSession.
class CursorSession : public BlockSession {
 protected:
  using BlockSession::BlockSession;

  // Its text has the types that the client gave, where they matter.
  struct Statement : SessionStatement {
    std::vector<int32_t> oids;  // of parameters, as the client gave them; 0 = not
    std::string shown;          // of one with a name: its text as the client gave it
    bool is_by_sql = false;     // PREPARE
    int64_t prepared_us = 0;
  };
  using StatementPointer = std::shared_ptr<const Statement>;
  struct Portal {
    StatementPointer statement;  // null: a cursor that a routine has left open
    std::vector<Datum> arguments;
    query::ValueArena memory;
    size_t bytes = 0;                // of the message that its arguments came in
    std::vector<Format> formats;     // of the columns that the client sees
    std::unique_ptr<Answer> answer;  // from the first Execute on
    query::ResultSet rows;           // of it, not all sent
    size_t next_row = 0;
    uint64_t row_count = 0;  // sent
    Status failure;          // what it ended with; nothing comes after it
    bool is_drained = false;
    bool is_done = false;
    // Of DECLARE. Rows are counted from 1: before the first 0, behind the last one more than there are.
    bool is_cursor = false;
    bool is_scrolling = false;  // all rows are in `rows`
    int64_t position = 0;
    std::vector<query::TrackedTable> tracked;  // behind the columns that the client sees (`formats`)
    bool locks_rows = false;
    StatementPointer at_row;  // what runs instead of `statement`, at the row of WHERE CURRENT OF
    bool is_held = false;     // WITH HOLD: all rows are in `rows`, and COMMIT keeps it
    bool is_kept = false;     // a transaction that has committed has left it
    size_t savepoints = 0;    // that its block had when it was made
    std::string text;         // that has declared it, as the client sent it
    int64_t opened_us = 0;
  };

  // --- statements and portals (cursor_session.cc) ---
  // oids: of parameters, as the client gives them; 0 = not.
  StatusOr<StatementPointer> prepare(std::string_view sql, std::vector<int32_t> oids);
  Status describe_parameters(Statement* statement);
  Status check_kept_bytes(size_t more) const;
  Status take_rows(Portal* portal);
  // What the client does not get while it thinks must not hold up others: unfinished results are read on into memory.
  // True: some are too large for that, and may wait only so long (held_rows_idle_ns).
  bool hold_results();
  // How long the client may think now, in nanoseconds; 0 = as long as it likes. holds_rows: of hold_results().
  int64_t thinking_ns(bool holds_rows) const;
  // At the end of a transaction: those WITH HOLD stay if it commits, and older ones in any case.
  void drop_portals(bool is_committed);
  void end_results(bool is_committed) override { drop_portals(is_committed); }
  void leave_savepoint(size_t number, bool is_undone) override;

  // --- PREPARE, EXECUTE and cursors as statements (session_cursors.cc) ---
  StatusOr<std::unique_ptr<Answer>> run_own_command(const query::SessionCommand& command) override;
  StatusOr<std::unique_ptr<Answer>> create_by_execute(const query::SessionCommand& command) override;
  StatusOr<std::unique_ptr<Answer>> fetch(const query::SessionCommand& command);
  static std::vector<query::ResultColumn> shown_columns(const Portal& portal);
  // UPDATE and DELETE ... WHERE CURRENT OF, at the row that the cursor stands on now; nullptr: another statement.
  StatusOr<StatementPointer> at_current_row(const Statement& statement);
  // What a command of the session gives, before it runs.
  StatusOr<std::vector<query::ResultColumn>> columns_of(const query::SessionCommand& command);
  std::shared_ptr<Portal> find_cursor(const std::string& name);

  // --- what the session shows of itself, and cursors of routines (session_views.cc) ---
  static int64_t now_us();
  std::shared_ptr<const query::SettingValues> settings_for(std::string_view sql) override;

  std::map<std::string, StatementPointer, std::less<>> statements_;
  std::map<std::string, std::shared_ptr<Portal>, std::less<>> portals_;
  std::string source_;  // the text in which the statement that runs came

 private:
  Status describe_typed(const std::string& text, const std::vector<std::string>& types, Statement* statement);
  Status describe_anywhere(const std::string& text, Statement* statement);
  void drain(Portal* portal, size_t held_bytes_max, size_t* held_bytes);

  Status prepare_by_name(const query::SessionCommand& command);
  StatusOr<std::unique_ptr<Answer>> execute_by_name(const query::SessionCommand& command);
  Status convert_arguments(const query::SessionCommand& command, const Statement& statement, query::ResultSet* values);
  Status declare(const query::SessionCommand& command);
  Status read_cursor(Portal* portal);
  StatusOr<StatementPointer> prepare_tracked(const query::SessionCommand& command, Portal* portal);
  StatusOr<std::string> current_row(const query::CurrentOf& current);
  Status close_cursor(const std::string& name);
  Status deallocate(const std::string& name);
  Status discard(const query::SessionCommand& command);

  std::string cursors_json();
  std::string statements_json() const;
  void take_open_cursors();
};

}  // namespace scyper::server
