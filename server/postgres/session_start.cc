// How a connection begins: encryption, the start packet, the password, the greeting.
#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "audit_log.h"
#include "base/postgres_epoch.h"
#include "postgres/session.h"
#include "secondary_engine.h"
#include "server/packed.h"

namespace scyper::server::postgres {

namespace {

constexpr size_t kStartBytesMax = 10'000;  // as PostgreSQL's
constexpr size_t kPasswordBytesMax = 4'096;
constexpr int32_t kProtocol30 = 196'608, kCancelRequest = 80'877'102, kSslRequest = 80'877'103,
                  kGssRequest = 80'877'104;
constexpr int kMajorShift = 16, kMajor = 3;
// AuthenticationRequest
constexpr int32_t kAuthenticationOk = 0, kAuthenticationSasl = 10, kAuthenticationSaslContinue = 11,
                  kAuthenticationSaslFinal = 12;

Status protocol_violation(const char* what) { return sql_error("08P01", what); }

// "-c name=value" and "--name=value", with backslashes before blanks.
std::vector<std::string> words_of(std::string_view options) {
  std::vector<std::string> words;
  std::string word;
  for (size_t i = 0; i <= options.size(); ++i) {
    if (i == options.size() || options[i] == ' ' || options[i] == '\t' || options[i] == '\n') {
      if (!word.empty()) words.push_back(std::exchange(word, ""));
    } else {
      if (options[i] == '\\' && i + 1 < options.size()) ++i;
      word += options[i];
    }
  }
  return words;
}

}  // namespace

void Session::refuse(const Status& status) {
  if (context_->refused != nullptr) context_->refused->add(1);
  append_error("FATAL", status, &writer());
  stream_.flush();
}

bool Session::encrypt() {
  const bool can = context_->tls != nullptr && !stream_.transport().is_encrypted();
  if (!stream_.transport().write(can ? "S" : "N")) return false;
  if (!can) return true;
  // what came before the handshake was sent by who knows whom (CVE-2021-23214)
  if (stream_.has_input()) {
    refuse(protocol_violation("received unencrypted data after SSL request"));
    return false;
  }
  const auto tls = context_->tls->current();
  if (!tls.ok()) return false;
  tls_end_point_ = (*tls)->end_point();
  return stream_.transport().start_tls(**tls).ok();
}

bool Session::start() {
  std::string_view packet;
  bool has_asked_tls = false, has_asked_gss = false;
  while (true) {
    // whoever does not speak the protocol is not answered
    if (stream_.read_start(kStartBytesMax, &packet) != MessageStream::Got::kMessage) return false;
    MessageReader reader(packet);
    const int32_t code = reader.read_int32();
    if (code == kCancelRequest) {
      const int32_t process = reader.read_int32(), key = reader.read_int32();
      if (reader.is_at_end()) context_->cancel(process, key);
      return false;
    }
    if (code == kSslRequest && !std::exchange(has_asked_tls, true)) {
      if (!encrypt()) return false;
      continue;
    }
    if (code == kGssRequest && !std::exchange(has_asked_gss, true)) {
      if (!stream_.transport().write("N")) return false;
      continue;
    }
    if (!reader.is_whole() || code >> kMajorShift != kMajor) {
      refuse(sql_error("0A000", "unsupported frontend protocol " + std::to_string(code >> kMajorShift) + "." +
                                    std::to_string(code & 0xFFFF) + ": server supports 3.0 to 3.0"));
      return false;
    }
    std::map<std::string, std::string> parameters;
    Status status = read_parameters(&reader, &parameters);
    if (status.ok() && code > kProtocol30) {  // a later minor version: this is the newest one that is known
      writer().begin('v');
      writer().put_int32(kProtocol30);
      writer().put_int32(0);
      writer().end();
    }
    if (status.ok()) status = check_start(parameters);
    if (status.ok()) status = authenticate(user_);
    if (status.ok()) status = apply_parameters(parameters);
    if (!status.ok()) {
      refuse(status);
      return false;
    }
    send_greeting();
    return stream_.flush();
  }
}

Status Session::read_parameters(MessageReader* reader, std::map<std::string, std::string>* parameters) {
  while (true) {
    const std::string_view name = reader->read_string();
    if (name.empty()) break;
    const std::string_view value = reader->read_string();
    if (!check_text(name).ok() || !check_text(value).ok()) return protocol_violation("invalid startup packet layout");
    (*parameters)[std::string(name)] = value;
  }
  if (!reader->is_at_end()) {
    return protocol_violation("invalid startup packet layout: expected terminator as last byte");
  }
  return {};
}

Status Session::check_start(const std::map<std::string, std::string>& parameters) {
  const ServerOptions& options = context_->node->options;
  const auto value = [&](const char* name) {
    auto found = parameters.find(name);
    return found == parameters.end() ? std::string() : found->second;
  };
  if (is_ending_ || context_->node->stopping) return sql_error("57P01", "the node is stopping");
  user_ = value("user");
  if (user_.empty()) return sql_error("28000", "no PostgreSQL user name specified in startup packet");
  const bool may_be_plain = start_.is_local || options.insecure_listen;
  if (context_->tls != nullptr && !stream_.transport().is_encrypted() && !may_be_plain) {
    return with_hint(sql_error("28000", "connections without encryption are not accepted"),
                     "Connect with sslmode=require or better.");
  }
  const std::string replication = value("replication");
  if (!replication.empty() && replication != "false" && replication != "off" && replication != "0") {
    return sql_error("0A000", "PostgreSQL's replication protocol is not supported");
  }
  const auto catalog = context_->node->engine->catalog();
  const query::DatabaseDefinition known = catalog == nullptr ? query::DatabaseDefinition() : catalog->database;
  database_ = value("database");
  if (!database_.empty() && !known.is_called(database_) && database_ != user_) {
    return with_hint(sql_error("3D000", "database \"" + database_ + "\" does not exist"),
                     "A node has one database: " + known.name + ".");
  }
  return {};
}

// Whoever stands in the file of users comes in by that; else the role of that name says how.
Status Session::authenticate(const std::string& user) {
  const auto catalog = context_->node->engine->catalog();
  const query::Role* role = catalog == nullptr ? nullptr : catalog->roles.find(user);
  if (role != nullptr && role->id == query::kSuperuserId && role->verifier.empty()) role = nullptr;  // as without roles
  const bool is_listed = context_->users.has_value() && context_->users->find(user).has_value();
  const bool is_closed = context_->users.has_value() || (catalog != nullptr && catalog->roles.is_closed());
  Status status;
  if (is_listed) {
    status = check_password(user, context_->users->find(user));
  } else if (role != nullptr) {
    status = authenticate_role(*role, is_closed);
  } else if (is_closed) {
    status = check_password(user, std::nullopt);
  } else {
    // with tls_client_ca the certificate says who may come
    const bool is_certified = stream_.transport().is_encrypted() && !context_->node->options.tls_client_ca.empty();
    if (!start_.is_loopback && !is_certified) {
      status = with_hint(sql_error("28000", "no users are configured: only connections from this machine are accepted"),
                         "Set postgres_users, or create roles with passwords.");
    }
  }
  if (status.ok() && role != nullptr) status = enter_role(catalog.get());
  if (status.ok()) status = take_slot(role == nullptr || role->is_superuser);
  if (!status.ok()) {
    if (is_closed || role != nullptr) write_audit({user, start_.address, "postgres", "login"}, status);
    return status;
  }
  writer().begin('R');
  writer().put_int32(kAuthenticationOk);
  writer().end();
  return {};
}

// By its password, or by a certificate that names it. Before anybody is kept out, one without a password needs none.
Status Session::authenticate_role(const query::Role& role, bool is_closed) {
  const bool is_trusted = !is_closed && role.verifier.empty() && start_.is_loopback;
  const bool is_certified = stream_.transport().is_encrypted() && !context_->node->options.tls_client_ca.empty() &&
                            stream_.transport().certificate_name() == role.name;
  if (!is_certified && !is_trusted) {
    std::optional<ScramVerifier> known;
    const int64_t now_us = absl::ToUnixMicros(absl::Now()) - kPostgresEpochUs;
    const bool is_over = role.valid_until.has_value() && *role.valid_until < now_us;
    if (auto verifier = ScramVerifier::parse(role.verifier); verifier.ok() && !is_over) known = *std::move(verifier);
    SCYPER_RETURN_IF_ERROR(check_password(role.name, known));
  }
  if (!role.can_login) return sql_error("28000", "role \"" + role.name + "\" is not permitted to log in");
  return {};
}

// nullopt: there is no such user, or none with a password; the exchange is as others.
Status Session::check_password(const std::string& user, const std::optional<ScramVerifier>& known) {
  SCYPER_RETURN_IF_ERROR(context_->attempts.check(user, start_.address, monotonic_ns()));
  ScramExchange exchange(known.has_value() ? *known : ScramVerifier::make_up(user, context_->secret), tls_end_point_,
                         known.has_value());
  Status status = exchange_scram(user, &exchange);
  if (sqlstate_of(status) == "28P01")
    return sql_error("28P01", "password authentication failed for user \"" + user + "\"");
  return status;
}

// The session is the role's from here on.
Status Session::enter_role(const query::Catalog* catalog) {
  const query::Role* role = catalog->roles.find(user_);
  if (role->id != query::kSuperuserId) {
    roles_ = {user_, user_};
    role_ids_ = {role->id, role->id};
  }
  if (role->is_superuser || role->connections_max < 0) return {};
  if (!context_->sessions.add(role->id, role->connections_max))
    return sql_error("53300", "too many connections for role \"" + user_ + "\"");
  counted_role_ = role->id;
  return {};
}

// From here on it counts as one of the clients.
Status Session::take_slot(bool is_superuser) {
  const ServerOptions& options = context_->node->options;
  const size_t most = options.postgres_connections_max;
  const size_t kept = std::min<size_t>(options.postgres_superuser_connections, most - 1);
  if (context_->slots.take(is_superuser ? most : most - kept)) {
    is_admitted_ = true;
    return {};
  }
  if (is_superuser || context_->slots.taken() >= most)
    return with_hint(sql_error("53300", "sorry, too many clients already"), "See postgres_connections_max.");
  return with_hint(
      sql_error("53300", "remaining connection slots are reserved for non-replication superuser connections"),
      "See postgres_superuser_connections and postgres_connections_max.");
}

bool ConnectionSlots::take(size_t at_most) {
  size_t taken = taken_.load();
  while (taken < at_most) {
    if (taken_.compare_exchange_weak(taken, taken + 1)) return true;
  }
  return false;
}

bool RoleSessions::add(uint32_t role, int32_t at_most) {
  absl::MutexLock lock(&mutex_);
  int32_t& count = counts_[role];
  if (count >= at_most) return false;
  ++count;
  return true;
}

void RoleSessions::remove(uint32_t role) {
  absl::MutexLock lock(&mutex_);
  if (--counts_[role] == 0) counts_.erase(role);
}

Status Session::exchange_scram(const std::string& user, ScramExchange* exchange) {
  writer().begin('R');
  writer().put_int32(kAuthenticationSasl);
  if (!tls_end_point_.empty()) writer().put_string(kScramPlus);
  writer().put_string(kScram);
  writer().put_byte(0);
  writer().end();
  SCYPER_ASSIGN_OR_RETURN(const std::string_view first, read_password());
  MessageReader reader(first);
  const std::string_view mechanism = reader.read_string();
  const int32_t size = reader.read_int32();
  const std::string_view message = reader.read_bytes(size < 0 ? 0 : static_cast<size_t>(size));
  if (!reader.is_at_end()) return protocol_violation("malformed SASLInitialResponse");
  SCYPER_ASSIGN_OR_RETURN(const std::string challenge, exchange->first(mechanism, message));
  writer().begin('R');
  writer().put_int32(kAuthenticationSaslContinue);
  writer().put_bytes(challenge);
  writer().end();
  SCYPER_ASSIGN_OR_RETURN(const std::string_view last, read_password());
  // others may have guessed for the same name meanwhile
  std::string proof;
  SCYPER_RETURN_IF_ERROR(context_->attempts.judge(user, start_.address, monotonic_ns(), [&]() -> Status {
    SCYPER_ASSIGN_OR_RETURN(proof, exchange->final(last));
    return {};
  }));
  writer().begin('R');
  writer().put_int32(kAuthenticationSaslFinal);
  writer().put_bytes(proof);
  writer().end();
  return {};
}

StatusOr<std::string_view> Session::read_password() {
  if (!stream_.flush()) return sql_error("08006", "the client has gone");
  char type = 0;
  std::string_view payload;
  const MessageStream::Got got = stream_.read(kPasswordBytesMax, &type, &payload);
  if (got == MessageStream::Got::kEnd) return sql_error("57014", "canceling authentication due to timeout");
  if (got != MessageStream::Got::kMessage || type != 'p') return protocol_violation("expected SASL response");
  return payload;
}

// Settings of the start packet; those of `options` first.
Status Session::apply_parameters(const std::map<std::string, std::string>& parameters) {
  const bool is_secondary = dynamic_cast<SecondaryEngine*>(context_->node->engine) != nullptr;
  const auto catalog = context_->node->engine->catalog();
  const query::Role* role = catalog == nullptr || roles_.empty() ? nullptr : catalog->roles.find(role_ids_.session);
  SessionSettings::Owner owner{user_, roles_, role_ids_, role == nullptr || role->is_superuser};
  owner.set_role = [node = context_->node](const std::string& name, query::SessionRoles* roles, query::RoleIds* ids) {
    const auto now = node->engine->catalog();
    return query::set_role(name, now == nullptr ? query::Roles() : now->roles, roles, ids);
  };
  owner.set_session_role = [this](const std::string& name, query::SessionRoles* roles, query::RoleIds* ids,
                                  bool* is_superuser) { return become(name, roles, ids, is_superuser); };
  owner.converts_texts = true;
  settings_.emplace(std::move(owner), is_secondary, "pg_temp_" + std::to_string(start_.process));
  if (catalog != nullptr)
    settings_->begin_with(catalog->database.of_session(roles_.empty() ? query::kSuperuserId : role_ids_.session));
  if (auto options = parameters.find("options"); options != parameters.end()) {
    const std::vector<std::string> words = words_of(options->second);
    for (size_t i = 0; i < words.size(); ++i) {
      std::string word = words[i];
      if (word == "-c" && i + 1 < words.size()) {
        word = words[++i];
      } else if (word.starts_with("-c") || word.starts_with("--")) {
        word.erase(0, 2);
      } else {
        return sql_error("42601", "invalid command-line argument for server process: " + word);
      }
      const size_t equals = std::min(word.find('='), word.size());
      std::string name = word.substr(0, equals);
      std::replace(name.begin(), name.end(), '-', '_');
      SCYPER_RETURN_IF_ERROR(settings_->set_default(name, equals < word.size() ? word.substr(equals + 1) : ""));
    }
  }
  for (const auto& [name, value] : parameters) {
    if (name == "user" || name == "database" || name == "options" || name == "replication") continue;
    if (name.starts_with("_pq_.")) continue;  // extensions of the protocol that are not known
    SCYPER_RETURN_IF_ERROR(settings_->set_default(name, value));
  }
  settings_->begin_transaction();
  return {};
}

// SET SESSION AUTHORIZATION: the role that has logged in may become any other if it is a superuser.
Status Session::become(const std::string& name, query::SessionRoles* roles, query::RoleIds* ids,
                       bool* is_superuser) const {
  const auto catalog = context_->node->engine->catalog();
  const query::Roles known = catalog == nullptr ? query::Roles() : catalog->roles;
  const query::Role* own = known.find(roles_.empty() ? query::kSuperuserId : role_ids_.session);
  if (own == nullptr) return sql_error("28000", "role \"" + user_ + "\" does not exist");
  const query::Role* wanted = name == user_ ? own : known.find(name);
  if (wanted == nullptr) return sql_error("22023", "role \"" + name + "\" does not exist");
  if (wanted->id != own->id && !own->is_superuser)
    return sql_error("42501", "permission denied to set session authorization \"" + name + "\"");
  *is_superuser = wanted->is_superuser;
  if (wanted->id == own->id) {
    *roles = roles_;
    *ids = role_ids_;
  } else {
    *roles = {wanted->name, wanted->name};
    *ids = {wanted->id, wanted->id};
  }
  return {};
}

void Session::enter_activity() {
  query::SessionActivity first;
  first.pid = start_.process;
  first.user = user_;
  first.role_id = role_ids_.session;
  first.address = start_.address;
  first.database = database_;
  first.state = "idle";
  activity_ = std::make_unique<ActivityList::Session>(&context_->node->activity, std::move(first),
                                                      [this](ActivityList::Signal signal) {
                                                        if (signal == ActivityList::Signal::kTerminate) end();
                                                        cancel();
                                                      });
}

void Session::send_greeting() {
  enter_activity();
  writer().begin('K');
  writer().put_int32(start_.process);
  writer().put_int32(key_);
  writer().end();
  send_ready();
}

}  // namespace scyper::server::postgres
