#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

// Statements as a server that keeps sessions sees them: what is about the session and what is for the database.
namespace scyper::query {

enum class CommandKind : uint8_t {
  kQuery,      // asks for rows and writes nothing, as far as its text says
  kOther,      // runs as a transaction
  kBegin,      // BEGIN, START TRANSACTION
  kCommit,     // COMMIT, END
  kRollback,   // ROLLBACK, ABORT
  kSavepoint,  // name
  kRelease,
  kRollbackTo,
  kSet,         // SET name = values; without values: TO DEFAULT
  kSetModes,    // SET TRANSACTION, SET SESSION CHARACTERISTICS: modes
  kReset,       // RESET name; "all"
  kShow,        // SHOW name; "all"
  kDeallocate,  // name; empty = ALL
  kDiscard,     // DISCARD ALL and its parts, UNLISTEN
  kPrepare,     // PREPARE name (types) AS body
  kExecute,     // EXECUTE name (values: the expressions)
  kDeclare,     // DECLARE name CURSOR FOR body
  kFetch,       // FETCH, MOVE: fetch says which rows
  kClose,       // CLOSE name; empty = ALL
  kCopyIn,      // COPY ... FROM STDIN
  kCopyOut,     // COPY ... TO STDOUT
};

// Which rows of a cursor: PostgreSQL's FETCH.
struct FetchCommand {
  enum class Direction : uint8_t { kForward, kBackward, kAbsolute, kRelative };
  Direction direction = Direction::kForward;
  int64_t count = 1;  // INT64_MAX = ALL
  bool is_move = false;
};

struct SessionCommand {
  CommandKind kind = CommandKind::kOther;
  std::string text;   // the statement, without its semicolon
  size_t offset = 0;  // where it begins in the whole text, in bytes
  std::string tag;    // of its kind, as PostgreSQL's command tags: "BEGIN", "SET"; empty for kQuery and kOther
  std::string name;   // of settings: in lower case; of kOther: "constraints" of SET CONSTRAINTS, "LOCK TABLE",
                      // "DROP DATABASE" with the database among the values
  std::vector<std::string> values;
  bool is_local = false;  // SET LOCAL
  bool is_chained = false;
  // Of a transaction: "read committed", "serializable"; whether it says READ ONLY or READ WRITE.
  std::string isolation;
  std::optional<bool> is_read_only;
  std::optional<bool> is_deferrable;
  // Of PREPARE and DECLARE: the statement, with blanks before it, so that positions in it are those in `text`.
  // Of LOCK TABLE: a query that does the same for a reader; `values` then has the mode, where it is for readers only.
  std::string body;
  std::vector<std::string> parameter_types;  // PREPARE: as SQL writes them; empty: not said
  // Of CREATE TABLE ... AS EXECUTE name (values): the bytes of `text` that EXECUTE and its values are.
  std::optional<std::pair<size_t, size_t>> execute;
  FetchCommand fetch;
  bool is_scrolling = false;  // DECLARE ... SCROLL
  bool is_held = false;       // DECLARE ... WITH HOLD
  bool locks_rows = false;    // of kQuery and DECLARE: FOR UPDATE, FOR SHARE or their kin
};

// The statements of a text, in order; empty for blank text. Errors as a parser's: 42601 with position. Threads: any.
StatusOr<std::vector<SessionCommand>> read_commands(std::string_view sql);

struct Catalog;
// A query of a sequence's row that calls nothing: it runs as a transaction and writes nothing all the same.
bool reads_sequence(const Catalog& catalog, std::string_view sql);

// The statement with other texts for its parameters. values: by number from 1.
StatusOr<std::string> with_parameter_values(std::string_view sql, const std::vector<std::string>& values);

// The statement with types given to some of its parameters: $2 becomes ($2::bigint). types: by number from 1, empty =
// none given.
StatusOr<std::string> with_parameter_types(std::string_view sql, const std::vector<std::string>& types);

}  // namespace scyper::query
