#include "parse/plpgsql_parser.h"

#include "base/internal_error.h"
#include "parse/plpgsql_grammar.h"
#include "parse/scanner.h"
#include "parse/sql_parser.h"
#include "parse/text.h"

namespace scyper::query {

StatusOr<std::unique_ptr<plpgsql::Body>> parse_plpgsql(std::string_view body, TextOf whose) {
  if (body.size() > kMaxTextBytes) return sql_error("54000", "function body is too long");
  SCYPER_RETURN_IF_ERROR(check_utf8(body));
  return contained(Phase::kParsing, body, [&]() -> StatusOr<std::unique_ptr<plpgsql::Body>> {
    SCYPER_ASSIGN_OR_RETURN(std::vector<Token> tokens, scan(body));
    return plpgsql::Grammar(body, std::move(tokens), whose).body();
  });
}

Status move_error_to_source(const Status& error, std::string_view source, ast::Location body_location) {
  if (error.ok()) return error;
  const int position = position_of(error);
  const int moved = body_location < 0 || position == 0 ? 0 : position + position_at(source, body_location) - 1;
  Status out = sql_error(sqlstate_of(error), std::string_view(error.message().data(), error.message().size()), moved);
  if (const std::string detail = detail_of(error); !detail.empty()) out = with_detail(std::move(out), detail);
  if (const std::string hint = hint_of(error); !hint.empty()) out = with_hint(std::move(out), hint);
  return out;
}

}  // namespace scyper::query
