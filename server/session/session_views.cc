// What pg_cursors and pg_prepared_statements show: the session's own, handed to the statement that asks as settings
// (bind/system_views.cc).
#include <cstdio>

#include "absl/strings/ascii.h"
#include "base/clock.h"
#include "base/postgres_epoch.h"
#include "session/cursor_session.h"

namespace scyper::server {

namespace {

constexpr const char* kCursorsSetting = "scyper.cursors";
constexpr const char* kStatementsSetting = "scyper.statements";

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string json_bool(bool value) { return value ? "true" : "false"; }

std::string json_time(int64_t unix_us) {
  std::string text;
  query::append_value(&text, make_type(TypeId::kTimestamptz), int_datum(unix_us - kPostgresEpochUs));
  return json_text(text);
}

}  // namespace

int64_t CursorSession::now_us() { return RealClock().now_us(); }

// Cursors alone: portals of the protocol have no name that a statement could use.
std::string CursorSession::cursors_json() {
  take_open_cursors();
  std::string all;
  for (const auto& [name, portal] : portals_) {
    if (!portal->is_cursor) continue;
    all += (all.empty() ? "" : ",") + std::string("{\"name\":") + json_text(name) +
           ",\"statement\":" + json_text(portal->text) + ",\"is_holdable\":" + json_bool(portal->is_held) +
           ",\"is_binary\":false,\"is_scrollable\":" + json_bool(portal->is_scrolling) +
           ",\"creation_time\":" + json_time(portal->opened_us) + "}";
  }
  return "[" + all + "]";
}

std::string CursorSession::statements_json() const {
  std::string all;
  for (const auto& [name, statement] : statements_) {
    if (name.empty()) continue;
    std::string types;
    for (const SqlType& type : statement->parameters)
      types += (types.empty() ? "" : ",") + (type.id == TypeId::kEnum ? std::string("text") : type_name(type));
    all += (all.empty() ? "" : ",") + std::string("{\"name\":") + json_text(name) +
           ",\"statement\":" + json_text(statement->shown) + ",\"prepare_time\":" + json_time(statement->prepared_us) +
           ",\"parameter_types\":" + json_text(types) + ",\"from_sql\":" + json_bool(statement->is_by_sql) +
           ",\"generic_plans\":0,\"custom_plans\":0}";
  }
  return "[" + all + "]";
}

// The settings that the statement reads, with the session's lists where its text may ask for them.
std::shared_ptr<const query::SettingValues> CursorSession::settings_for(std::string_view sql) {
  auto given = settings_->given();
  const std::string lower = absl::AsciiStrToLower(absl::string_view(sql.data(), sql.size()));
  const bool wants_cursors = lower.find("pg_cursors") != std::string::npos;
  const bool wants_statements = lower.find("pg_prepared_statements") != std::string::npos;
  if (!wants_cursors && !wants_statements) return given;
  auto more = std::make_shared<query::SettingValues>(*given);
  if (wants_cursors) (*more)[kCursorsSetting] = cursors_json();
  if (wants_statements) (*more)[kStatementsSetting] = statements_json();
  return more;
}

// Cursors that routines have left open in the block.
void CursorSession::take_open_cursors() {
  if (open_ == nullptr) return;
  for (query::OpenCursor& cursor : open_->take_cursors()) {
    auto portal = std::make_shared<Portal>();
    portal->savepoints = savepoint_count();
    portal->is_cursor = true;
    portal->is_scrolling = cursor.is_scrolling;
    portal->is_drained = true;
    portal->position = cursor.position;
    portal->next_row = static_cast<size_t>(cursor.position);
    portal->rows = std::move(cursor.rows);
    portal->formats.assign(portal->rows.columns.size(), Format::kText);
    portal->opened_us = now_us();
    portals_[cursor.name] = std::move(portal);
  }
}

std::shared_ptr<CursorSession::Portal> CursorSession::find_cursor(const std::string& name) {
  auto found = portals_.find(name);
  if (found == portals_.end()) {
    take_open_cursors();
    found = portals_.find(name);
  }
  return found == portals_.end() ? nullptr : found->second;
}

}  // namespace scyper::server
