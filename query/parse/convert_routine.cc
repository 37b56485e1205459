#include "base/object_name.h"
#include "parse/scanner.h"
#include "parse/text.h"
//
#include "parse/converter.h"

namespace scyper::query {

namespace {

bool bool_of(const Node* node) { return node != nullptr && nodeTag(node) == T_Boolean && boolVal(node); }

ast::ParameterMode mode_of(FunctionParameterMode mode) {
  switch (mode) {
    case FUNC_PARAM_OUT:
      return ast::ParameterMode::kOut;
    case FUNC_PARAM_INOUT:
      return ast::ParameterMode::kInOut;
    case FUNC_PARAM_VARIADIC:
      return ast::ParameterMode::kVariadic;
    case FUNC_PARAM_TABLE:
      return ast::ParameterMode::kTable;
    default:
      return ast::ParameterMode::kIn;
  }
}

}  // namespace

ast::RoutineParameter Converter::parameter(const FunctionParameter& node) {
  ast::RoutineParameter out;
  out.name = text_of(node.name);
  out.mode = mode_of(node.mode);
  out.type = type_name(node.argType);
  out.default_value = expr(node.defexpr);
  out.location = out.type.location;
  return out;
}

// The grammar keeps only the value of the body's string. Its place is that of the first string behind AS (or DO).
ast::Location Converter::body_location(int after_raw_location, std::string_view body) const {
  if (after_raw_location < 0) return -1;
  constexpr size_t kTokensMax = 4;  // AS or DO, LANGUAGE name, the string
  const auto tokens = scan(text_.substr(static_cast<size_t>(after_raw_location)), kTokensMax);
  if (!tokens.ok()) return -1;
  for (const Token& token : *tokens) {
    if (token.kind != TokenKind::kString && token.kind != TokenKind::kDollarString) continue;
    const int32_t begin = verbatim_begin(token);
    if (begin < 0) return -1;
    const auto place = static_cast<size_t>(after_raw_location + begin);
    return text_.substr(place, body.size()) == body ? at(static_cast<int>(place)) : -1;
  }
  return -1;
}

void Converter::routine_body(const DefElem& option, ast::CreateRoutineStatement& out) {
  const auto* parts = reinterpret_cast<const List*>(option.arg);
  if (length_of(parts) != 1) {
    refuse("a function in a shared library", option.location);
    return;
  }
  out.has_body = true;
  out.body = string_of(node_at(parts, 0));
  out.body_location = body_location(option.location, out.body);
}

void Converter::routine_option(const DefElem& option, ast::CreateRoutineStatement& out) {
  const std::string name = text_of(option.defname);
  if (name == "as") {
    routine_body(option, out);
  } else if (name == "language") {
    out.language = fold_identifier(string_of(option.arg));
  } else if (name == "volatility") {
    const std::string value = string_of(option.arg);
    out.volatility = value == "immutable" ? ast::Volatility::kImmutable
                     : value == "stable"  ? ast::Volatility::kStable
                                          : ast::Volatility::kVolatile;
  } else if (name == "strict") {
    out.strict = bool_of(option.arg);
  } else if (name == "security") {
    out.security_definer = bool_of(option.arg);
  } else if (name == "leakproof") {
    out.leakproof = bool_of(option.arg);
  } else if (name == "window") {
    out.window = bool_of(option.arg);
  } else if (name == "parallel") {
    out.parallel = string_of(option.arg);
  } else {
    ast::Option rest;
    rest.name = name;
    rest.location = at(option.location);
    if (name == "cost" || name == "rows") option_value(option.arg, rest);
    if (name == "set") {  // SET setting = value
      const auto setting = set(to<VariableSetStmt>(option.arg));
      rest.name = "set " + setting->name;
      rest.value = setting_value(*setting);
    }
    out.options.push_back(std::move(rest));
  }
}

void Converter::routine_sql_body(const Node* body, ast::CreateRoutineStatement& out) {
  if (body == nullptr) return;
  const auto add = [&](const Node* node) {
    if (nodeTag(node) != T_ReturnStmt) {
      out.sql_body.push_back(statement(node));
      return;
    }
    auto select = std::make_unique<ast::SelectStatement>();
    ast::SelectTarget target;
    target.expr = expr(to<ReturnStmt>(node).returnval);
    select->targets.push_back(std::move(target));
    out.sql_body.push_back(std::move(select));
  };
  if (nodeTag(body) != T_List) {
    add(body);
    return;
  }
  // BEGIN ATOMIC: a list with one list of statements
  for (const Node* inner : items(reinterpret_cast<const List*>(body))) {
    for (const Node* node : items(reinterpret_cast<const List*>(inner))) add(node);
  }
}

std::unique_ptr<ast::CreateRoutineStatement> Converter::create_routine(const CreateFunctionStmt& node) {
  auto out = std::make_unique<ast::CreateRoutineStatement>();
  out->procedure = node.is_procedure;
  out->or_replace = node.replace;
  out->name = name_key(NameKind::kCreated, name_of(node.funcname));
  for (const Node* item : items(node.parameters)) {
    out->parameters.push_back(parameter(to<FunctionParameter>(item)));
    if (failed_) return out;
    out->returns_table = out->returns_table || out->parameters.back().mode == ast::ParameterMode::kTable;
  }
  if (node.returnType != nullptr && !out->returns_table) {
    out->return_type = std::make_unique<ast::TypeName>(type_name(node.returnType));
  }
  std::vector<std::string> seen;
  for (const Node* item : items(node.options)) {
    const auto& option = to<DefElem>(item);
    const std::string name = text_of(option.defname);
    const bool repeatable = name == "set" || name == "support";
    if (!repeatable && std::find(seen.begin(), seen.end(), name) != seen.end()) {
      fail("42601", "conflicting or redundant options", option.location);
      return out;
    }
    seen.push_back(name);
    routine_option(option, *out);
  }
  routine_sql_body(node.sql_body, *out);
  return out;
}

std::unique_ptr<ast::AlterRoutineStatement> Converter::alter_routine(const AlterFunctionStmt& node) {
  auto out = std::make_unique<ast::AlterRoutineStatement>();
  out->object = object_kind(node.objtype);
  out->object_name = object_type_name(node.objtype);
  out->target = named_object(reinterpret_cast<const Node*>(node.func), out->object);
  ast::CreateRoutineStatement given;  // what the attributes say
  std::vector<std::string> seen;
  for (const Node* item : items(node.actions)) {
    const auto& option = to<DefElem>(item);
    const std::string name = text_of(option.defname);
    const bool repeatable = name == "set";
    if (!repeatable && std::find(seen.begin(), seen.end(), name) != seen.end()) {
      fail("42601", "conflicting or redundant options", option.location);
      return out;
    }
    seen.push_back(name);
    if (name == "set" && to<VariableSetStmt>(option.arg).kind != VAR_SET_VALUE) {
      const auto& setting = to<VariableSetStmt>(option.arg);
      if (setting.kind == VAR_SET_CURRENT) refuse("SET FROM CURRENT", option.location);
      out->resets.push_back(setting.kind == VAR_RESET_ALL ? "all" : text_of(setting.name));
      continue;
    }
    routine_option(option, given);
    const bool is_common = name == "security" || name == "leakproof" || name == "set";
    if (!is_common && out->function_attribute < 0) out->function_attribute = at(option.location);
    if (name == "volatility") out->volatility = given.volatility;
    if (name == "strict") out->strict = given.strict;
    if (name == "security") out->security_definer = given.security_definer;
  }
  out->options = std::move(given.options);
  return out;
}

std::unique_ptr<ast::CreateTriggerStatement> Converter::create_trigger(const CreateTrigStmt& node) {
  // catalog/pg_trigger.h
  constexpr int kBefore = 1 << 1, kInsert = 1 << 2, kDelete = 1 << 3, kUpdate = 1 << 4, kTruncate = 1 << 5,
                kInstead = 1 << 6;
  auto out = std::make_unique<ast::CreateTriggerStatement>();
  out->name = text_of(node.trigname);
  out->or_replace = node.replace;
  out->table = table_ref(node.relation);
  out->function = name_key(NameKind::kRoutine, name_of(node.funcname));
  for (const Node* item : items(node.args)) out->arguments.push_back(string_of(item));
  out->before = (node.timing & kBefore) != 0;
  out->instead = (node.timing & kInstead) != 0;
  out->per_row = node.row;
  out->on_insert = (node.events & kInsert) != 0;
  out->on_update = (node.events & kUpdate) != 0;
  out->on_delete = (node.events & kDelete) != 0;
  out->on_truncate = (node.events & kTruncate) != 0;
  for (const Node* item : items(node.columns)) out->columns.push_back(string_of(item));
  out->when = expr(node.whenClause);
  for (const Node* item : items(node.transitionRels)) {
    const auto& transition = to<TriggerTransition>(item);
    out->transitions.push_back({text_of(transition.name), transition.isNew, transition.isTable});
  }
  out->is_constraint = node.isconstraint;
  out->deferrable = node.deferrable;
  out->initially_deferred = node.initdeferred;
  if (node.constrrel != nullptr) out->constraint_table = table_ref(node.constrrel).name;
  return out;
}

std::unique_ptr<ast::DoStatement> Converter::do_statement(const DoStmt& node) {
  auto out = std::make_unique<ast::DoStatement>();
  for (const Node* item : items(node.args)) {
    const auto& option = to<DefElem>(item);
    if (std::string_view(option.defname) == "language") {
      out->language = fold_identifier(string_of(option.arg));
    } else {
      out->body = string_of(option.arg);
      out->body_location = body_location(option.location, out->body);
    }
  }
  return out;
}

}  // namespace scyper::query
