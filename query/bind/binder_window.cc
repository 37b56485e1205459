#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "bind/make.h"
#include "plan/access_path.h"

// Functions OVER windows.
namespace scyper::query {

namespace {

struct WindowFunction {
  std::string_view name;
  WindowKind kind;
  size_t arity_min, arity_max;
};
constexpr WindowFunction kWindowFunctions[] = {
    {"row_number", WindowKind::kRowNumber, 0, 0},
    {"rank", WindowKind::kRank, 0, 0},
    {"dense_rank", WindowKind::kDenseRank, 0, 0},
    {"percent_rank", WindowKind::kPercentRank, 0, 0},
    {"cume_dist", WindowKind::kCumeDist, 0, 0},
    {"ntile", WindowKind::kNtile, 1, 1},
    {"lag", WindowKind::kLag, 1, 3},
    {"lead", WindowKind::kLead, 1, 3},
    {"first_value", WindowKind::kFirstValue, 1, 1},
    {"last_value", WindowKind::kLastValue, 1, 1},
    {"nth_value", WindowKind::kNthValue, 2, 2},
};

const WindowFunction* find_function(std::string_view name) {
  const auto* found = std::find_if(std::begin(kWindowFunctions), std::end(kWindowFunctions),
                                   [&](const WindowFunction& f) { return f.name == name; });
  return found == std::end(kWindowFunctions) ? nullptr : found;
}

const ast::WindowDefinition* find_window(const std::vector<ast::WindowDefinition>& windows, size_t count,
                                         std::string_view name) {
  for (size_t i = 0; i < count; i++)
    if (windows[i].name == name) return &windows[i];
  return nullptr;
}

FrameBound bound_of(ast::FrameBound bound) { return static_cast<FrameBound>(bound); }
static_assert(static_cast<int>(ast::FrameBound::kUnboundedFollowing) ==
              static_cast<int>(FrameBound::kUnboundedFollowing));
static_assert(static_cast<int>(ast::FrameMode::kGroups) == static_cast<int>(FrameMode::kGroups));
static_assert(static_cast<int>(ast::FrameExclusion::kTies) == static_cast<int>(FrameExclusion::kTies));

bool has_frame(const ast::WindowDefinition& window) { return window.has_frame; }

// What a column of RANGE's ORDER BY is moved by; unknown: nothing can move it.
SqlType offset_type(const SqlType& type) {
  if (is_integer(type.id)) return make_type(TypeId::kInt8);
  if (is_float(type.id)) return make_type(TypeId::kFloat8);
  if (type.id == TypeId::kNumeric) return make_numeric(0, 0);
  if (is_moment(type.id) || type.id == TypeId::kInterval) return make_type(TypeId::kInterval);
  return SqlType{};
}

bool moves(const SqlType& offset, const SqlType& wanted) {
  if (offset.id == TypeId::kUnknown || offset.id == wanted.id) return true;
  if (wanted.id == TypeId::kInt8) return is_integer(offset.id);
  if (wanted.id == TypeId::kNumeric) return is_integer(offset.id);
  if (wanted.id == TypeId::kFloat8) return is_number(offset.id);
  return false;
}

bool has_column(const BoundExpr& expr) {
  return expr.kind == BoundKind::kColumn ||
         std::any_of(expr.args.begin(), expr.args.end(), [](const BoundPtr& arg) { return has_column(*arg); });
}

}  // namespace

bool Binder::is_window_function(std::string_view name) { return find_function(name) != nullptr; }

Status Binder::check_window_place(const ast::FunctionCall& call) {
  if (in_aggregate_)
    return error("42803", "aggregate function calls cannot contain window function calls", call.location);
  if (in_window_) return error("42P20", "window function calls cannot be nested", call.location);
  if (in_window_definition_)
    return error("42P20", "window functions are not allowed in window definitions", call.location);
  if (window_query_ == nullptr)
    return error("42P20",
                 absl::StrCat("window functions are not allowed in ",
                              aggregate_clause_.empty() ? "this context" : std::string(aggregate_clause_)),
                 call.location);
  const std::string& name = call.name.back();
  if (call.within_group)
    return error("0A000", absl::StrCat("OVER is not supported for ordered-set aggregate ", name), call.location);
  if (call.distinct) return error("0A000", "DISTINCT is not implemented for window functions", call.location);
  if (!call.order_by.empty())
    return error("0A000", "aggregate ORDER BY is not implemented for window functions", call.location);
  if (is_aggregate(name) && !is_window_function(name)) return absl::OkStatus();
  if (!is_window_function(name))
    return error("42809",
                 absl::StrCat("OVER specified, but ", name, " is not a window function nor an aggregate function"),
                 call.location);
  if (call.filter != nullptr)
    return error("0A000", "FILTER is not implemented for non-aggregate window functions", call.location);
  return absl::OkStatus();
}

StatusOr<BoundPtr> Binder::bind_window_call(const ast::FunctionCall& call, const Scope* scope) {
  SCYPER_RETURN_IF_ERROR(check_window_place(call));
  WindowCall window;
  in_window_ = true;
  Status status = bind_window_arguments(call, scope, &window);
  in_window_ = false;
  SCYPER_RETURN_IF_ERROR(status);
  in_window_definition_ = true;
  status = bind_over(*call.over, scope, &window);
  in_window_definition_ = false;
  SCYPER_RETURN_IF_ERROR(status);
  bool counts =
      window.kind == WindowKind::kAggregate ? counts_rows(window.function.kind) : window.kind <= WindowKind::kCumeDist;
  const std::string_view finisher = finisher_of(window.function);
  BoundPtr result = make_expr(BoundKind::kWindow, window.function.type, !counts, call.location);
  result->relation = window_query_->id;
  auto& windows = window_query_->windows;
  auto known =
      std::find_if(windows.begin(), windows.end(), [&](const WindowCall& other) { return same(other, window); });
  result->index = static_cast<uint32_t>(known - windows.begin());
  if (known == windows.end()) windows.push_back(std::move(window));
  return finish_aggregate(finisher, std::move(result), call.location);
}

Status Binder::bind_window_arguments(const ast::FunctionCall& call, const Scope* scope, WindowCall* window) {
  const std::string& name = call.name.back();
  if (!is_window_function(name)) {
    SCYPER_ASSIGN_OR_RETURN(window->function, make_aggregate(call, scope));
    const BoundExpr* inside = nullptr;
    if (window->function.filter != nullptr)
      visit(*window->function.filter, [&](const BoundExpr& e) {
        if (e.kind == BoundKind::kAggregate && e.relation == window_query_->id && inside == nullptr) inside = &e;
      });
    if (inside != nullptr) return error("42803", "aggregate functions are not allowed in FILTER", inside->location);
    return absl::OkStatus();
  }
  const WindowFunction& function = *find_function(name);
  window->kind = function.kind;
  Aggregate& target = window->function;
  std::string types;
  for (const auto& arg : call.args) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind(*arg, scope));
    absl::StrAppend(&types, types.empty() ? "" : ", ",
                    bound->type.id == TypeId::kUnknown ? "unknown" : type_name(without_modifiers(bound->type)));
    target.args.push_back(std::move(bound));
  }
  target.arity = target.args.size();
  auto wrong = [&] {
    return with_hint(
        error("42883", absl::StrCat("function ", name, "(", call.star ? "*" : types, ") does not exist"),
              call.location),
        "No function matches the given name and argument types. You might need to add explicit type casts.");
  };
  if (call.star || target.arity < function.arity_min || target.arity > function.arity_max) return wrong();
  if (function.kind <= WindowKind::kCumeDist) {
    bool fraction = function.kind == WindowKind::kPercentRank || function.kind == WindowKind::kCumeDist;
    target.type = make_type(fraction ? TypeId::kFloat8 : TypeId::kInt8);
    return absl::OkStatus();
  }
  size_t number = function.kind == WindowKind::kNtile ? 0 : 1;
  if (target.arity > number) {
    BoundPtr& count = target.args[number];
    if (count->type.id != TypeId::kUnknown && count->type.id != TypeId::kInt4 && count->type.id != TypeId::kInt2)
      return wrong();
    SCYPER_ASSIGN_OR_RETURN(count, coerce(std::move(count), make_type(TypeId::kInt4), Coercion::kImplicit));
  }
  target.type = make_type(TypeId::kInt4);
  if (function.kind == WindowKind::kNtile) return absl::OkStatus();
  bool all_unknown =
      target.args[0]->type.id == TypeId::kUnknown && (target.arity < 3 || target.args[2]->type.id == TypeId::kUnknown);
  if (all_unknown) return error("42804", "could not determine polymorphic type because input has type unknown", -1);
  std::vector<BoundPtr> values;
  values.push_back(std::move(target.args[0]));
  if (target.arity == 3) values.push_back(std::move(target.args[2]));
  SCYPER_ASSIGN_OR_RETURN(target.type, common_type(values, name));
  if (target.type.id == TypeId::kVarchar) target.type = make_type(TypeId::kText);
  if (target.type.id == TypeId::kUnknown) target.type = make_type(TypeId::kText);
  for (size_t i = 0; i < values.size(); i++) {
    SCYPER_ASSIGN_OR_RETURN(target.args[i * 2], coerce(std::move(values[i]), target.type, Coercion::kImplicit));
  }
  return absl::OkStatus();
}

// PARTITION BY and ORDER BY may come from another window, the frame from OVER name alone.
Status Binder::bind_over(const ast::WindowDefinition& over, const Scope* scope, WindowCall* window) {
  const auto& windows = *named_windows_;
  if (over.name.empty()) return bind_window(over, windows.size(), scope, window);
  const ast::WindowDefinition* named = find_window(windows, windows.size(), over.name);
  if (named == nullptr) return error("42704", absl::StrCat("window \"", over.name, "\" does not exist"), over.location);
  return bind_window(*named, static_cast<size_t>(named - windows.data()), scope, window);
}

// count: how many named windows it may refer to.
Status Binder::bind_window(const ast::WindowDefinition& definition, size_t count, const Scope* scope,
                           WindowCall* window) {
  if (!definition.base_name.empty()) {
    const ast::WindowDefinition* base = find_window(*named_windows_, count, definition.base_name);
    if (base == nullptr)
      return error("42704", absl::StrCat("window \"", definition.base_name, "\" does not exist"), definition.location);
    SCYPER_RETURN_IF_ERROR(bind_window(*base, static_cast<size_t>(base - named_windows_->data()), scope, window));
    std::string quoted = absl::StrCat(" window \"", definition.base_name, "\"");
    if (!definition.partition_by.empty())
      return error("42P20", absl::StrCat("cannot override PARTITION BY clause of", quoted), definition.location);
    if (!definition.order_by.empty() && !window->order.empty())
      return error("42P20", absl::StrCat("cannot override ORDER BY clause of", quoted), definition.location);
    if (has_frame(*base)) {
      Status status =
          error("42P20", absl::StrCat("cannot copy", quoted, " because it has a frame clause"), definition.location);
      bool plain = definition.order_by.empty() && !has_frame(definition) && definition.name.empty();
      return plain ? with_hint(status, "Omit the parentheses in this OVER clause.") : status;
    }
  }
  // a row stands for its fields
  auto bind_keys = [&](const ast::Expr& expr, std::vector<BoundPtr>* keys) -> Status {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind(expr, scope));
    const bool is_row = bound->kind == BoundKind::kRow && shown_fields(*bound) != nullptr;
    std::vector<BoundPtr> fields = is_row ? std::move(bound->args) : std::vector<BoundPtr>();
    if (!is_row) fields.push_back(std::move(bound));
    for (BoundPtr& field : fields) {
      if (field->type.id == TypeId::kUnknown) {
        SCYPER_ASSIGN_OR_RETURN(field, coerce(std::move(field), make_type(TypeId::kText), Coercion::kImplicit));
      }
      keys->push_back(std::move(field));
    }
    return absl::OkStatus();
  };
  for (const auto& item : definition.partition_by) SCYPER_RETURN_IF_ERROR(bind_keys(*item, &window->partition));
  for (const auto& item : definition.order_by) {
    if (item.direction == ast::SortDirection::kUsing)
      return error("0A000", "ORDER BY USING is not supported", item.location);
    std::vector<BoundPtr> keys;
    SCYPER_RETURN_IF_ERROR(bind_keys(*item.expr, &keys));
    for (BoundPtr& key : keys) {
      WindowOrder order;
      order.expr = std::move(key);
      order.descending = item.direction == ast::SortDirection::kDescending;
      const bool is_default = item.nulls == ast::NullsOrder::kDefault || keys.size() > 1;
      order.nulls_first = is_default ? order.descending : item.nulls == ast::NullsOrder::kFirst;
      window->order.push_back(std::move(order));
    }
  }
  return bind_frame(definition, scope, window);
}

Status Binder::bind_frame(const ast::WindowDefinition& definition, const Scope* scope, WindowCall* window) {
  window->frame = FrameShape{};
  if (!definition.has_frame) return absl::OkStatus();
  FrameShape& frame = window->frame;
  frame.mode = static_cast<FrameMode>(definition.mode);
  frame.start = bound_of(definition.start);
  frame.end = bound_of(definition.end);
  frame.exclusion = static_cast<FrameExclusion>(definition.exclusion);
  bool moved = has_offset(frame.start) || has_offset(frame.end);
  if (frame.mode == FrameMode::kGroups && window->order.empty())
    return error("42P20", "GROUPS mode requires an ORDER BY clause", definition.location);
  if (frame.mode == FrameMode::kRange && moved && window->order.size() != 1)
    return error("42P20", "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column",
                 definition.location);
  if (definition.start_offset != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(window->start_offset, bind_frame_offset(*definition.start_offset, scope, *window));
  }
  if (definition.end_offset != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(window->end_offset, bind_frame_offset(*definition.end_offset, scope, *window));
  }
  return absl::OkStatus();
}

StatusOr<BoundPtr> Binder::bind_frame_offset(const ast::Expr& expr, const Scope* scope, const WindowCall& window) {
  FrameMode mode = window.frame.mode;
  const char* name = mode == FrameMode::kRows ? "ROWS" : mode == FrameMode::kRange ? "RANGE" : "GROUPS";
  BoundQuery* saved = std::exchange(aggregate_query_, nullptr);
  std::string_view saved_clause = std::exchange(aggregate_clause_, mode == FrameMode::kRows    ? "window ROWS"
                                                                   : mode == FrameMode::kRange ? "window RANGE"
                                                                                               : "window GROUPS");
  StatusOr<BoundPtr> bound = bind(expr, scope);
  aggregate_query_ = saved;
  aggregate_clause_ = saved_clause;
  SCYPER_RETURN_IF_ERROR(bound.status());
  BoundPtr offset = *std::move(bound);
  if (has_column(*offset))
    return error("42P10", absl::StrCat("argument of ", name, " must not contain variables"), expr.location);
  SqlType wanted = make_type(TypeId::kInt8);
  if (mode != FrameMode::kRange) {
    if (offset->type.id != TypeId::kUnknown && !is_number(offset->type.id))
      return error("42804",
                   absl::StrCat("argument of ", name, " must be type bigint, not type ",
                                type_name(without_modifiers(offset->type))),
                   expr.location);
    return coerce(std::move(offset), wanted, Coercion::kAssignment);
  }
  SqlType key = window.order[0].expr->type;
  if (key.id == TypeId::kVarchar) key = make_type(TypeId::kText);
  wanted = offset_type(key);
  if (wanted.id == TypeId::kUnknown)
    return error("0A000",
                 absl::StrCat("RANGE with offset PRECEDING/FOLLOWING is not supported for column type ",
                              type_name(without_modifiers(key))),
                 expr.location);
  if (!moves(offset->type, wanted))
    return with_hint(error("0A000",
                           absl::StrCat("RANGE with offset PRECEDING/FOLLOWING is not supported for column type ",
                                        type_name(without_modifiers(key)), " and offset type ",
                                        type_name(without_modifiers(offset->type))),
                           expr.location),
                     "Cast the offset value to an appropriate type.");
  return coerce(std::move(offset), wanted, Coercion::kImplicit);
}

// The WINDOW clause, also where nothing uses it.
Status Binder::check_named_windows(const Scope* scope) {
  const auto& windows = *named_windows_;
  for (size_t i = 0; i < windows.size(); i++) {
    if (find_window(windows, i, windows[i].name) != nullptr)
      return error("42P20", absl::StrCat("window \"", windows[i].name, "\" is already defined"), windows[i].location);
    WindowCall ignored;
    in_window_definition_ = true;
    Status status = bind_window(windows[i], i, scope, &ignored);
    in_window_definition_ = false;
    SCYPER_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

}  // namespace scyper::query
