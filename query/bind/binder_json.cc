#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "bind/make.h"
#include "bind/named_arguments.h"
#include "bind/object_numbers.h"
#include "storage/json_text_type.h"

// Functions and operators of json and jsonpath. Both types are texts with a mark, which the table of builtins does not
// tell from other texts.
namespace scyper::query {

namespace {

constexpr std::string_view kJsonFunctions[] = {
    "json_array_elements", "json_array_elements_text", "json_array_length", "json_each",        "json_each_text",
    "json_extract_path",   "json_extract_path_text",   "json_object_keys",  "json_strip_nulls", "json_typeof"};

struct MarkedParameter {
  size_t index = 0;
  SqlType type;  // kUnknown: the function has none
};

MarkedParameter marked_parameter(std::string_view function) {
  if (function.starts_with("jsonb_path_") || function == "@?" || function == "@@") return {1, json_path_type()};
  const bool is_json =
      std::find(std::begin(kJsonFunctions), std::end(kJsonFunctions), function) != std::end(kJsonFunctions);
  return {0, is_json ? json_text_type() : SqlType{}};
}

}  // namespace

bool Binder::fits_marks(std::string_view function, const std::vector<BoundPtr>& args) {
  const MarkedParameter marked = marked_parameter(function);
  if (marked.type.id == TypeId::kUnknown || marked.index >= args.size()) return true;
  const SqlType& given = args[marked.index]->type;
  return given.id == TypeId::kUnknown || given == marked.type;
}

Status Binder::coerce_marked(std::string_view function, std::vector<BoundPtr>* args) {
  if (!args->empty() && names_text_search(args->front()->type)) {  // functions of text search take names
    BoundPtr& named = args->front();
    SCYPER_ASSIGN_OR_RETURN(named, coerce(std::move(named), make_type(TypeId::kText), Coercion::kImplicit));
  }
  const MarkedParameter marked = marked_parameter(function);
  if (marked.type.id == TypeId::kUnknown || marked.index >= args->size()) return absl::OkStatus();
  BoundPtr& arg = (*args)[marked.index];
  SCYPER_ASSIGN_OR_RETURN(arg, coerce(std::move(arg), marked.type, Coercion::kImplicit));
  return absl::OkStatus();
}

// document['a'][1]: the subscripts as an array of texts.
StatusOr<BoundPtr> Binder::bind_document_path(const std::vector<ast::SubscriptIndex>& indexes, const Scope* scope,
                                              int32_t location) {
  BoundPtr path = make_expr(BoundKind::kArray, make_array(make_type(TypeId::kText)), false, location);
  for (const ast::SubscriptIndex& index : indexes) {
    if (index.slice) {
      const ast::Expr* bound = index.upper != nullptr ? index.upper.get() : index.lower.get();
      return error("42804", "jsonb subscript does not support slices", bound != nullptr ? bound->location : location);
    }
    SCYPER_ASSIGN_OR_RETURN(BoundPtr key, bind(*index.upper, scope));
    const TypeId type = key->type.id;
    if (type != TypeId::kInt2 && type != TypeId::kInt4 && type != TypeId::kUnknown && !is_string(type))
      return with_hint(
          error("42804", absl::StrCat("subscript type ", type_name(without_modifiers(key->type)), " is not supported"),
                index.upper->location),
          "jsonb subscript must be coercible to either integer or text.");
    SCYPER_ASSIGN_OR_RETURN(key, coerce(std::move(key), make_type(TypeId::kText), Coercion::kAssignment));
    path->args.push_back(std::move(key));
  }
  return path;
}

// The document with what is assigned to document['a'][1].
StatusOr<BoundPtr> Binder::replace_document_part(BoundPtr document, const std::vector<ast::SubscriptIndex>& indexes,
                                                 BoundPtr value, std::string_view name, const Scope* scope,
                                                 int32_t location) {
  SCYPER_ASSIGN_OR_RETURN(BoundPtr path, bind_document_path(indexes, scope, location));
  SCYPER_ASSIGN_OR_RETURN(value, coerce_to_part(std::move(value), document->type, indexes[0], name, location));
  SCYPER_ASSIGN_OR_RETURN(const BoundPtr first, bind(*indexes[0].upper, scope));
  BoundPtr call = make_expr(BoundKind::kBuiltin, document->type, false, location);
  call->builtin = find_builtins(" jsonb_assign").front();
  call->args.push_back(std::move(document));
  call->args.push_back(std::move(path));
  call->args.push_back(
      make_constant(make_type(TypeId::kBool), int_datum(is_integer(first->type.id) ? 1 : 0), location));
  call->args.push_back(std::move(value));
  return call;
}

namespace {
// @@ that looks for a query in a document.
bool is_text_search(const SqlType& left, const SqlType& right) {
  const auto is_either = [&](TypeId id) { return left.id == id || right.id == id; };
  const auto is_text = [](const SqlType& type) { return type.id == TypeId::kUnknown || is_string(type.id); };
  return is_either(TypeId::kTsvector) || is_either(TypeId::kTsquery) ||
         (is_text(left) && is_text(right) && !is_json_path(right));
}
}  // namespace

// document @? path, document @@ path
StatusOr<BoundPtr> Binder::make_path_operator(std::string_view op, BoundPtr left, BoundPtr right, int32_t location) {
  std::vector<BoundPtr> args;
  args.push_back(std::move(left));
  args.push_back(std::move(right));
  if (op == "@@" && is_text_search(args[0]->type, args[1]->type)) return make_call(op, std::move(args), location, op);
  if (!fits_marks(op, args)) return no_operator(op, args, location);
  if (args[0]->type.id == TypeId::kJsonb || args[0]->type.id == TypeId::kUnknown) {
    SCYPER_RETURN_IF_ERROR(coerce_marked(op, &args));
  }
  return make_call(op, std::move(args), location);
}

// Arguments of a function that gives rows, in the order of its parameters.
StatusOr<std::vector<BoundPtr>> Binder::bind_set_arguments(const ast::FunctionCall& call, const Scope* scope) {
  const std::string& name = call.name.back();
  SCYPER_ASSIGN_OR_RETURN(GivenArguments given, bind_given(call, scope));
  const bool is_named = std::any_of(given.names.begin(), given.names.end(), [](const auto& n) { return !n.empty(); });
  const bool is_placed = !is_named || place_arguments(name, given.names, &given.args);
  if (!is_placed || !fits_marks(name, given.args)) return choose_routine(name, false, given, call.location).status();
  SCYPER_RETURN_IF_ERROR(coerce_marked(name, &given.args));
  return std::move(given.args);
}

}  // namespace scyper::query
