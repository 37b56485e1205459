#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "node_parts.h"
#include "postgres/client_texts.h"
#include "postgres/login_attempts.h"
#include "postgres/message_stream.h"
#include "postgres/scram.h"
#include "postgres/user_file.h"
#include "postgres/wire_values.h"
#include "query/session_command.h"
#include "session/cursor_session.h"

namespace scyper::server::postgres {

// How many sessions each role has here. Threads: any.
class RoleSessions {
 public:
  // False: as many as it may have, at_most, are there already. Below 0: any number.
  bool add(uint32_t role, int32_t at_most);
  void remove(uint32_t role);

 private:
  absl::Mutex mutex_;
  std::map<uint32_t, int32_t> counts_ ABSL_GUARDED_BY(mutex_);
};

// Clients that have said who they are. Other clients hold no place. Threads: any.
class ConnectionSlots {
 public:
  // False: at_most are taken already.
  bool take(size_t at_most);
  void give() { taken_.fetch_sub(1); }
  size_t taken() const { return taken_.load(); }

 private:
  std::atomic<size_t> taken_{0};
};

// What all sessions of a node share. Constant, or safe for any thread.
struct SessionContext {
  NodeParts* node = nullptr;
  std::shared_ptr<TlsContexts> tls;       // null: none
  std::optional<UserFile> users;          // none: whoever comes from this machine
  std::string secret = random_bytes(32);  // of this process, for verifiers that are made up
  // A CancelRequest; called without locks.
  std::function<void(int32_t process, int32_t key)> cancel;
  Counter* statements = nullptr;
  Counter* refused = nullptr;  // at the start: password, limit, encryption
  mutable LoginAttempts attempts;
  mutable RoleSessions sessions;
  mutable ConnectionSlots slots;
};

// One client: PostgreSQL's frontend/backend protocol 3.0 (PostgreSQL 15, chapter 55).
// Invariants: (1) whatever comes, only this connection ends; (2) an error in an extended query is followed by nothing
// but
//   messages skipped until Sync; (3) a transaction block reads one snapshot and writes nothing; (4) the portals of a
//   block end with it, others at the next Sync.
// Threads: run() one; cancel(), hang_up() and end() any.
class Session final : public CursorSession {
 public:
  struct Start {
    int32_t process = 0;       // its number for CancelRequest
    bool is_loopback = false;  // from this machine
    bool is_local = false;     // by the Unix socket
    std::string address = {};  // the client's, without its port
  };
  Session(const SessionContext* context, int descriptor, Start start);
  ~Session() override;

  // Until the connection ends.
  void run();

  int32_t key() const { return key_; }
  // The node stops: the session ends after what it runs, or at once. Or: its time is over.
  void end();
  // Not even an answer any more.
  void cut_off();
  int descriptor() { return stream_.transport().descriptor(); }
  // Monotonic; past it the watcher calls end(). 0 = none.
  int64_t deadline_ns() const { return deadline_ns_.load(std::memory_order_relaxed); }
  // It has said who it is, and is one of postgres_connections_max.
  bool is_admitted() const { return is_admitted_.load(std::memory_order_relaxed); }

 private:
  // --- start (session_start.cc) ---
  bool start();
  Status check_start(const std::map<std::string, std::string>& parameters);
  bool encrypt();
  Status read_parameters(MessageReader* reader, std::map<std::string, std::string>* parameters);
  Status apply_parameters(const std::map<std::string, std::string>& parameters);
  Status authenticate(const std::string& user);
  Status authenticate_role(const query::Role& role, bool is_closed);
  Status check_password(const std::string& user, const std::optional<ScramVerifier>& known);
  Status enter_role(const query::Catalog* catalog);
  Status take_slot(bool is_superuser);
  Status become(const std::string& name, query::SessionRoles* roles, query::RoleIds* ids, bool* is_superuser) const;
  Status exchange_scram(const std::string& user, ScramExchange* exchange);
  StatusOr<std::string_view> read_password();
  void refuse(const Status& status);
  void send_greeting();
  void enter_activity();

  // --- messages (session.cc) ---
  void serve();
  // The next one; false: the connection has ended, and its client was told why.
  bool read_message(char* type, std::string_view* payload);
  // Tells the client why its connection ends.
  void end_with(const Status& status);
  bool handle(char type, std::string_view payload);
  bool handle_extended(char type, MessageReader* reader);
  void before_waiting();
  void send_ready();
  // The client's texts are in its client_encoding as it is now.
  void follow_encoding();
  // offset: of the statement in the text that the client counts in, in characters.
  void fail(const Status& status, int offset = 0);
  void send_engine_notice(std::string_view notice);

  // --- simple query (session.cc) ---
  void simple_query(std::string_view sql);
  Status run_message(std::string_view sql, int* offset);
  Status run_command(query::SessionCommand command);
  void end_message();

  // --- extended query (session_extended.cc) ---
  Status parse(MessageReader* reader);
  Status bind(MessageReader* reader);
  Status bind_values(MessageReader* reader, Portal* portal);
  Status convert_argument(const SqlType& type, int32_t oid, Format format, Portal* portal, std::string_view* bytes);
  Status describe(MessageReader* reader);
  Status execute(MessageReader* reader);
  Status close(MessageReader* reader);
  Status execute_cursor(const std::string& name, int32_t rows_max);
  void sync();
  // --- rows (session_rows.cc) ---
  // Rows of the portal, at most rows_max (0 = all), and what follows them.
  Status send_rows(Portal* portal, uint64_t rows_max);
  void send_complete(Portal* portal, const std::string& tag);
  Status append_row(const Portal& portal);

  // --- COPY (session_copy.cc) ---
  enum class CopyDirection : char { kIn = 'G', kOut = 'H' };
  void begin_copy(CopyDirection direction, Format format, size_t columns);
  // All rows of the portal, as the text that the COPY asks for.
  Status send_copy(std::string_view sql, Portal* portal);
  // COPY ... FROM STDIN: takes the messages that follow.
  StatusOr<std::unique_ptr<Answer>> run_copy_in(const std::string& sql) override;
  Status receive_copy(primary::CopyIn* copy, query::TextConverter* converter, const primary::StatementLimits& limits);
  StatusOr<std::unique_ptr<query::TextConverter>> converter_of_copy(std::string_view sql, bool is_binary) const;
  Status refuse_message(char type, const primary::CopyIn& copy);

  Status enter_pipeline(std::string_view sql) override;
  void warn(const char* sqlstate, const std::string& message) override;

  MessageWriter& writer() { return stream_.writer(); }

  const SessionContext* const context_;
  const Start start_;
  const int32_t key_;
  ClientTexts texts_;  // before the stream, whose writer uses it
  MessageStream stream_;
  std::string tls_end_point_;  // what SCRAM binds to; empty: no TLS
  query::SessionRoles roles_;  // at the start: its own
  query::RoleIds role_ids_;
  uint32_t counted_role_ = 0;  // in RoleSessions; 0: not there
  bool is_pipelined_ = false;  // an Execute of the protocol runs: Sync follows it, or more of its transaction
  std::vector<Datum> row_;     // as it is sent, and what was read anew for it
  query::ValueArena row_values_;
  bool skips_ = false;    // until Sync
  bool is_over_ = false;  // the connection: nothing more is said
  std::atomic<int64_t> deadline_ns_{0};
  std::atomic<bool> is_admitted_{false};
  std::atomic<bool> is_ending_{false};
};

}  // namespace scyper::server::postgres
