// Parse, Bind, Describe, Execute, Close and Sync.
#include <algorithm>
#include <utility>

#include "base/internal_error.h"
#include "postgres/session.h"
#include "query/type_numbers.h"
#include "server/packed.h"
#include "session/running.h"

namespace scyper::server::postgres {

namespace {

constexpr int64_t kUnknownOid = 705;

Status malformed(const char* message) { return sql_error("08P01", std::string("invalid message format: ") + message); }

Status unknown_prepared(std::string_view name) {
  return name.empty() ? sql_error("26000", "unnamed prepared statement does not exist")
                      : sql_error("26000", "prepared statement \"" + std::string(name) + "\" does not exist");
}

// Formats by value: none given = all text, one = all of it, else one each.
StatusOr<std::vector<Format>> read_formats(MessageReader* reader, size_t* count) {
  std::vector<Format> formats(reader->read_count());
  for (Format& format : formats) {
    const int16_t code = reader->read_int16();
    if (code != 0 && code != 1) return sql_error("22023", "unsupported format code: " + std::to_string(code));
    format = static_cast<Format>(code);
  }
  if (!reader->is_whole()) return malformed("Bind");
  *count = formats.size();
  return formats;
}

void expand(size_t count, std::vector<Format>* formats) {
  if (formats->empty()) formats->push_back(Format::kText);
  if (formats->size() == 1) formats->resize(count, formats->front());
}

}  // namespace

Status Session::parse(MessageReader* reader) {
  SCYPER_ASSIGN_OR_RETURN(const std::string name, texts_.received(reader->read_string()));
  const std::string_view bytes = reader->read_string();
  const size_t count = reader->read_count();
  std::vector<int32_t> oids;
  for (size_t i = 0; i < count && reader->is_whole(); ++i) oids.push_back(reader->read_int32());
  if (!reader->is_at_end()) return malformed("Parse");
  if (name.empty()) statements_.erase("");
  if (statements_.contains(name)) {
    return sql_error("42P05", "prepared statement \"" + name + "\" already exists");
  }
  if (statements_.size() >= context_->node->options.postgres_statements_max) {
    return with_hint(sql_error("53400", "too many prepared statements in this session"),
                     "DEALLOCATE some, or raise postgres_statements_max.");
  }
  SCYPER_ASSIGN_OR_RETURN(const std::string sql, texts_.received(bytes));
  SCYPER_RETURN_IF_ERROR(check_kept_bytes(sql.size()));
  SCYPER_ASSIGN_OR_RETURN(const std::string kept, query::without_passwords(sql, scram_verifier_of));
  SCYPER_ASSIGN_OR_RETURN(StatementPointer statement, prepare(kept, std::move(oids)));
  statements_[name] = std::move(statement);
  writer().begin('1');
  writer().end();
  return {};
}

Status Session::bind(MessageReader* reader) {
  SCYPER_ASSIGN_OR_RETURN(const std::string portal_name, texts_.received(reader->read_string()));
  SCYPER_ASSIGN_OR_RETURN(const std::string statement_name, texts_.received(reader->read_string()));
  if (!reader->is_whole()) return malformed("Bind");
  auto found = statements_.find(statement_name);
  if (found == statements_.end()) return unknown_prepared(statement_name);
  if (portal_name.empty()) portals_.erase("");
  if (portals_.contains(portal_name)) return sql_error("42P03", "cursor \"" + portal_name + "\" already exists");
  if (portals_.size() >= context_->node->options.postgres_statements_max) {
    return sql_error("53400", "too many portals in this session");
  }
  auto portal = std::make_shared<Portal>();
  portal->savepoints = savepoint_count();
  portal->statement = found->second;
  SCYPER_RETURN_IF_ERROR(check_block(portal->statement->command));
  SCYPER_RETURN_IF_ERROR(bind_values(reader, portal.get()));
  SCYPER_RETURN_IF_ERROR(check_kept_bytes(portal->bytes));
  portals_[portal_name] = std::move(portal);
  writer().begin('2');
  writer().end();
  return {};
}

Status Session::bind_values(MessageReader* reader, Portal* portal) {
  const Statement& statement = *portal->statement;
  size_t format_count = 0;
  SCYPER_ASSIGN_OR_RETURN(auto formats, read_formats(reader, &format_count));
  const size_t count = reader->read_count();
  if (format_count > 1 && format_count != count) {
    return sql_error("08P01", "bind message has " + std::to_string(format_count) + " parameter formats but " +
                                  std::to_string(count) + " parameters");
  }
  if (count != statement.parameters.size()) {
    return sql_error("08P01", "bind message supplies " + std::to_string(count) +
                                  " parameters, but prepared statement requires " +
                                  std::to_string(statement.parameters.size()));
  }
  expand(count, &formats);
  portal->arguments.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const int32_t size = reader->read_int32();
    if (!reader->is_whole() || size < -1) return malformed("Bind");
    if (size == -1) continue;  // NULL
    std::string_view bytes = reader->read_bytes(static_cast<size_t>(size));
    if (!reader->is_whole()) return malformed("Bind");
    portal->bytes += bytes.size();
    const int32_t oid = i < statement.oids.size() && statement.oids[i] != kUnknownOid ? statement.oids[i] : 0;
    if (!texts_.is_plain())
      SCYPER_RETURN_IF_ERROR(convert_argument(statement.parameters[i], oid, formats[i], portal, &bytes));
    SCYPER_RETURN_IF_ERROR(
        decode_parameter(statement.parameters[i], oid, formats[i], bytes, &portal->memory, &portal->arguments[i]));
  }
  size_t result_count = 0;
  SCYPER_ASSIGN_OR_RETURN(portal->formats, read_formats(reader, &result_count));
  if (!reader->is_at_end()) return malformed("Bind");
  if (result_count > 1 && result_count != statement.columns.size()) {
    return sql_error("08P01", "bind message has " + std::to_string(result_count) + " result formats but query has " +
                                  std::to_string(statement.columns.size()) + " columns");
  }
  expand(statement.columns.size(), &portal->formats);
  return {};
}

// A value from the client's encoding; what it becomes lies in the portal.
Status Session::convert_argument(const SqlType& type, int32_t oid, Format format, Portal* portal,
                                 std::string_view* bytes) {
  const SqlType sent = oid == 0 ? type : query::type_of_oid(oid).value_or(type);
  std::string converted;
  SCYPER_RETURN_IF_ERROR(texts_.receive_value(sent, format, *bytes, &converted));
  if (converted == *bytes) return {};
  auto* kept = static_cast<char*>(portal->memory.allocate(converted.size() + 1));
  std::copy(converted.begin(), converted.end(), kept);
  *bytes = {kept, converted.size()};
  return {};
}

Status Session::describe(MessageReader* reader) {
  const uint8_t kind = reader->read_byte();
  SCYPER_ASSIGN_OR_RETURN(const std::string name, texts_.received(reader->read_string()));
  if (!reader->is_at_end() || (kind != 'S' && kind != 'P')) return malformed("Describe");
  std::vector<query::ResultColumn> columns;
  std::vector<Format> formats;
  if (kind == 'S') {
    auto found = statements_.find(name);
    if (found == statements_.end()) return unknown_prepared(name);
    const Statement* statement = found->second.get();
    columns = statement->columns;
    formats.assign(columns.size(), Format::kText);
    writer().begin('t');
    writer().put_int16(static_cast<int16_t>(statement->parameters.size()));
    for (size_t i = 0; i < statement->parameters.size(); ++i) {
      const int32_t given = i < statement->oids.size() ? statement->oids[i] : 0;
      const bool is_given = given != 0 && given != kUnknownOid;
      writer().put_int32(is_given ? given : static_cast<int32_t>(query::type_oid(statement->parameters[i])));
    }
    writer().end();
  } else {
    auto found = portals_.find(name);
    if (found == portals_.end()) return sql_error("34000", "portal \"" + name + "\" does not exist");
    columns = found->second->is_cursor ? shown_columns(*found->second) : found->second->statement->columns;
    formats = found->second->formats;
  }
  if (columns.empty()) {
    writer().begin('n');
    writer().end();
  } else {
    append_row_description(columns, formats, &writer());
  }
  return {};
}

Status Session::execute(MessageReader* reader) {
  SCYPER_ASSIGN_OR_RETURN(const std::string name, texts_.received(reader->read_string()));
  const int32_t rows_max = reader->read_int32();
  if (!reader->is_at_end()) return malformed("Execute");
  auto found = portals_.find(name);
  if (found == portals_.end()) return sql_error("34000", "portal \"" + name + "\" does not exist");
  const std::shared_ptr<Portal> portal = found->second;  // COMMIT forgets portals
  if (portal->is_cursor) return execute_cursor(name, rows_max);
  const Statement& statement = *portal->statement;
  const bool is_copy = statement.command.kind == query::CommandKind::kCopyOut;  // its columns are described to nobody
  SCYPER_RETURN_IF_ERROR(portal->failure);
  const Running running(this);
  if (portal->answer == nullptr) {
    SCYPER_ASSIGN_OR_RETURN(portal->at_row, at_current_row(statement));
    is_pipelined_ = true;
    source_ = statement.shown;
    auto answer = run_statement(portal->at_row != nullptr ? *portal->at_row : statement, portal->arguments);
    is_pipelined_ = false;
    SCYPER_RETURN_IF_ERROR(answer.status());
    portal->answer = *std::move(answer);
    portal->rows.columns = portal->answer->columns();
    const auto& described = statement.columns;
    const auto& made = portal->rows.columns;
    const bool is_same = is_copy || std::equal(described.begin(), described.end(), made.begin(), made.end(),
                                               [](const auto& a, const auto& b) {
                                                 return query::type_oid(a.type) == query::type_oid(b.type);
                                               });
    if (!is_same) return sql_error("0A000", "cached plan must not change result type");
  } else if (portal->is_done && statement.columns.empty()) {
    return sql_error("55000", "portal \"" + name + "\" cannot be run");
  } else {
    SCYPER_RETURN_IF_ERROR(check_block(statement.command));
  }
  running.watch(portal->answer.get());
  if (is_copy) return send_copy(statement.command.text, portal.get());
  return send_rows(portal.get(), rows_max > 0 ? static_cast<uint64_t>(rows_max) : 0);
}

// A cursor of DECLARE or of a routine, read from where it stands.
Status Session::execute_cursor(const std::string& name, int32_t rows_max) {
  query::SessionCommand command;
  command.kind = query::CommandKind::kFetch;
  command.name = name;
  command.tag = "SELECT";
  command.fetch.count = rows_max > 0 ? rows_max : INT64_MAX;
  SCYPER_RETURN_IF_ERROR(check_block(command));
  Portal portal;
  SCYPER_ASSIGN_OR_RETURN(portal.answer, fetch(command));
  portal.rows.columns = portal.answer->columns();
  portal.formats.assign(portal.rows.columns.size(), Format::kText);
  return send_rows(&portal, rows_max > 0 ? static_cast<uint64_t>(rows_max) : 0);
}

Status Session::close(MessageReader* reader) {
  const uint8_t kind = reader->read_byte();
  SCYPER_ASSIGN_OR_RETURN(const std::string name, texts_.received(reader->read_string()));
  if (!reader->is_at_end() || (kind != 'S' && kind != 'P')) return malformed("Close");
  if (kind == 'S') {
    statements_.erase(name);
  } else {
    portals_.erase(name);
  }
  writer().begin('3');
  writer().end();
  return {};
}

void Session::sync() {
  skips_ = false;
  if (is_implicit_) end_message();
  if (block_ == Block::kNone) drop_portals(/*is_committed=*/true);
  send_ready();
}

}  // namespace scyper::server::postgres
