#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "query/database_definition.h"
#include "query/encodings.h"
#include "query/queries.h"
#include "query/role_mark.h"
#include "query/search_path.h"
#include "query/settings.h"

namespace scyper::server {

// The settings of one session (query/settings.h): what SET, SHOW and RESET see. Threads: one.
class SessionSettings {
 public:
  struct Owner {
    std::string user;
    query::SessionRoles roles = {};
    query::RoleIds role_ids = {};
    bool is_superuser = true;
    using SetRole = std::function<Status(const std::string& name, query::SessionRoles* roles, query::RoleIds* ids)>;
    // SET ROLE: whether it may; gives the roles of what comes.
    SetRole set_role = nullptr;
    // SET SESSION AUTHORIZATION, likewise. is_superuser: whether the role that it becomes is. Null: it may not.
    std::function<Status(const std::string& name, query::SessionRoles* roles, query::RoleIds* ids, bool* is_superuser)>
        set_session_role = nullptr;
    bool converts_texts = false;  // client_encoding may be any
  };
  // is_secondary: shown as in_hot_standby. temporary_schema: of the session's temporary tables.
  SessionSettings(Owner owner, bool is_secondary, std::string temporary_schema = "");

  // At the start of a session: values become the ones that RESET brings back. 42704 unknown, 22023 not a value of it,
  // 0A000 a value that is not supported.
  Status set_default(std::string_view name, const std::string& value);
  // Those of ALTER ROLE and ALTER DATABASE ... SET. One that cannot be set any more stays as it is.
  void begin_with(const query::InitialSettings& settings);
  Status set(std::string_view name, const std::vector<std::string>& values);
  Status reset(std::string_view name);  // "all": all of them
  // 42704 unknown.
  StatusOr<std::string> show(std::string_view name) const;
  // As PostgreSQL writes it: TimeZone. Empty: unknown.
  static std::string name_of(std::string_view name);
  // A transaction block remembers what SET changes, from here to its end. take_back(): as it was at the mark. A role
  // that may not be set any more stays as it is.
  using Mark = size_t;
  void begin_block();
  Mark mark() const { return changes_.size(); }
  void take_back(Mark mark);
  void end_block();
  // A transaction begins: its modes (transaction_read_only and its kin) are the session's defaults, or those of another
  // one.
  void begin_transaction();
  void begin_transaction(const SessionSettings& modes);
  // Names and values, sorted, for SHOW ALL.
  std::vector<std::pair<std::string, std::string>> all() const;
  // What differs from a new session's values, for current_setting().
  std::shared_ptr<const query::SettingValues> given() const;
  // Those that clients are told of, as their names are written in messages, with values changed since the last call.
  std::vector<std::pair<std::string, std::string>> take_reports();

  // The statement with what its names and times mean in this session.
  std::string with_path(std::string_view sql, bool has_temporary_tables = false) const;
  const std::string& temporary_schema() const { return temporary_schema_; }
  // Whether a transaction block reads one state of the database from its beginning to its end.
  bool is_isolated() const;  // REPEATABLE READ or SERIALIZABLE
  bool is_serializable() const;
  const query::Freshness& freshness() const { return freshness_; }
  int64_t statement_timeout_us() const { return statement_timeout_us_; }
  int64_t idle_timeout_us() const { return idle_timeout_us_; }  // in a transaction block; 0 = none
  uint32_t threads() const { return threads_; }
  // Of the client's texts; never null.
  const query::Encoding* client_encoding() const { return client_encoding_; }
  bool reports_receipts() const { return receipts_; }
  bool is_read_only() const { return is_read_only_; }  // the transaction

 private:
  struct Value {
    std::string value;
    std::string initial;
  };
  Status assign(std::string_view name, const std::string& value, Value* to);
  Status become(const std::string& user);
  Status use_encoding(const std::string& name);
  struct Change {
    std::string name;
    std::string before;
    bool is_new = false;  // a custom setting that did not exist
  };
  Value* to_change(const std::string& name);
  void set_mode(std::string_view name, const std::string& value);

  Owner owner_;
  std::map<std::string, Value, std::less<>> values_;
  mutable std::shared_ptr<const query::SettingValues> given_;  // null: to be made
  std::map<std::string, std::string> reported_;
  std::vector<std::string> schemas_;  // of search_path
  size_t before_temporary_ = 0;       // how many of them are searched before the temporary ones
  std::string temporary_schema_;
  std::string zone_;  // and the style of intervals, as a mark; the thread is in it, too; empty: as in a new session
  query::Freshness freshness_;
  int64_t statement_timeout_us_ = 0;
  int64_t idle_timeout_us_ = 0;
  const query::Encoding* client_encoding_ = query::find_encoding(query::kUtf8Encoding);
  uint32_t threads_ = 1;
  bool receipts_ = false;
  bool is_read_only_ = false;
  bool is_changed_ = true;  // since take_reports()
  bool is_in_block_ = false;
  std::vector<Change> changes_;  // of the block, the oldest first
};

// "fresh", "500ms", "lsn:42"; 22023 otherwise.
StatusOr<query::Freshness> parse_freshness(std::string_view text);

}  // namespace scyper::server
