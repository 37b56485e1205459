#include <charconv>
#include <cmath>
#include <functional>

#include "base/bounded_work.h"
#include "base/invariant.h"
#include "types/decimal.h"
#include "types/jsonpath.h"
#include "types/jsonpath_moment.h"
#include "types/jsonpath_offsets.h"
#include "types/number_memory.h"
#include "types/scalar.h"

// The executor of jsonpath_exec.c over our documents.
namespace scyper::query {

namespace {

// One item of a sequence: a part of a document, or a moment that has no form in JSON.
struct PathValue {
  const Json* json = nullptr;
  const PathMoment* moment = nullptr;

  bool is(JsonKind kind) const { return moment == nullptr && json->kind == kind; }
  bool has_parts() const { return moment == nullptr && is_container(*json); }
};
using Sequence = std::vector<PathValue>;

enum class Truth : uint8_t { kFalse, kTrue, kUnknown };

using Outcome = PathOutcome;

// The document that keyvalue() numbers objects by.
struct Base {
  const Json* document = nullptr;
  int64_t id = 0;
};

bool to_number(const PathValue& value, Decimal* out) {
  return value.is(JsonKind::kNumber) && decimal_parse(value.json->text, out) == ValueError::kNone;
}

class Runner {
 public:
  Runner(const JsonPath& path, const Json& document, const PathOptions& options)
      : lax_(path.lax),
        ignores_structure_(path.lax),
        throws_(!options.silent),
        with_zone_(options.with_zone),
        variables_(options.variables),
        root_{&document, nullptr},
        current_(root_),
        generated_(options.variables != nullptr ? 2 : 1) {}

  Outcome run(const PathItem* root, Sequence* found) {
    if (lax_ || found != nullptr) return item(root, root_, found);
    Sequence all;  // strict: an error may come behind the first result
    const Outcome outcome = item(root, root_, &all);
    if (outcome == Outcome::kError) return outcome;
    return all.empty() ? Outcome::kNotFound : Outcome::kFound;
  }
  const Status& status() const { return status_; }

  Json json_of(const PathValue& value) const {
    return value.moment != nullptr ? json_string(path_moment_text(*value.moment)) : *value.json;
  }

 private:
  // Errors that `silent` and predicates suppress, and others.
  Outcome soft(std::string_view sqlstate, const std::string& message) {
    return throws_ ? hard(sql_error(sqlstate, message)) : Outcome::kError;
  }
  Outcome soft(Status status) { return throws_ ? hard(std::move(status)) : Outcome::kError; }
  Outcome hard(Status status) {
    if (status_.ok()) status_ = std::move(status);
    return Outcome::kError;
  }
  Outcome structural(std::string_view sqlstate, const std::string& message) {
    return ignores_structure_ ? Outcome::kNotFound : soft(sqlstate, message);
  }
  static std::string method_name(const PathItem& item) {
    return std::string("jsonpath item method .") + path_op_name(item.op) + "()";
  }

  PathValue keep(Json json) { return {&made_.emplace_back(std::move(json)), nullptr}; }

  // Goes on behind the item, or has found something.
  Outcome next(const PathItem* item, const PathValue& value, Sequence* found) {
    return go_on(item->next, value, found);
  }
  Outcome go_on(const PathItem* next, const PathValue& value, Sequence* found) {
    if (next != nullptr) return this->item(next, value, found);
    if (found != nullptr) found->push_back(value);
    return Outcome::kFound;
  }

  Outcome item(const PathItem* item, const PathValue& value, Sequence* found) {
    return unwrapping_item(item, value, found, lax_);
  }

  // unwrap: an array stands for its elements.
  Outcome unwrapping_item(const PathItem* item, const PathValue& value, Sequence* found, bool unwrap) {
    if (is_stack_low()) return hard(sql_error("54001", "stack depth limit exceeded"));
    if (!status_.ok()) return Outcome::kError;
    poll_work();
    switch (item->op) {
      case PathOp::kRoot: {
        const Base saved = std::exchange(base_, Base{root_.json, 0});
        const Outcome outcome = next(item, root_, found);
        base_ = saved;
        return outcome;
      }
      case PathOp::kCurrent:
        return next(item, current_, found);
      case PathOp::kKey:
        return key(item, value, found, unwrap);
      case PathOp::kAnyKey:
        return any_key(item, value, found, unwrap);
      case PathOp::kAnyArray:
        if (value.is(JsonKind::kArray)) return each_part(item->next, value, found, 1, 1, 1, false, lax_);
        if (lax_) return next(item, value, found);
        return structural("22039", "jsonpath wildcard array accessor can only be applied to an array");
      case PathOp::kIndexArray:
        return index_array(item, value, found);
      case PathOp::kAny:
        return any(item, value, found);
      case PathOp::kFilter: {
        if (unwrap && value.is(JsonKind::kArray)) return elements(item, value, found);
        const PathValue saved = std::exchange(current_, value);
        const Truth truth = boolean(item->left, value);
        current_ = saved;
        return truth == Truth::kTrue ? next(item, value, found) : Outcome::kNotFound;
      }
      default:
        break;
    }
    if (item->op <= PathOp::kLast) return scalar(item, found);
    if (item->op >= PathOp::kAdd && item->op <= PathOp::kModulo) return binary(item, value, found);
    if (item->op == PathOp::kPlus || item->op == PathOp::kMinus) return unary(item, value, found);
    if (item->op <= PathOp::kExists) return predicate(item, value, found);
    return method(item, value, found, unwrap);
  }

  Outcome predicate(const PathItem* item, const PathValue& value, Sequence* found) {
    const Truth truth = boolean(item, value);
    if (item->next == nullptr && found == nullptr) return Outcome::kFound;
    return next(item, keep(truth == Truth::kUnknown ? Json{} : json_boolean(truth == Truth::kTrue)), found);
  }

  Outcome scalar(const PathItem* item, Sequence* found) {
    if (item->next == nullptr && found == nullptr && item->op != PathOp::kVariable) return Outcome::kFound;
    const Base saved = base_;
    PathValue value;
    switch (item->op) {
      case PathOp::kVariable:
        if (!variable(*item, &value)) return Outcome::kError;
        break;
      case PathOp::kString:
        value = keep(json_string(item->text));
        break;
      case PathOp::kNumber:
        value = keep(json_number(item->text));
        break;
      case PathOp::kBoolean:
        value = keep(json_boolean(item->boolean));
        break;
      case PathOp::kLast:
        value = keep(json_number(std::to_string(innermost_size_ - 1)));
        break;
      default:
        value = keep(Json{});
    }
    const Outcome outcome = next(item, value, found);
    base_ = saved;
    return outcome;
  }

  bool variable(const PathItem& item, PathValue* value) {
    value->json = variables_ == nullptr ? nullptr : json_member(*variables_, item.text);
    if (value->json == nullptr) {
      hard(sql_error("42704", "could not find jsonpath variable \"" + item.text + "\""));
      return false;
    }
    base_ = Base{variables_, 1};
    return true;
  }

  Outcome elements(const PathItem* item, const PathValue& value, Sequence* found) {
    return each_part(item, value, found, 1, 1, 1, false, false);
  }

  Outcome key(const PathItem* item, const PathValue& value, Sequence* found, bool unwrap) {
    if (value.is(JsonKind::kObject)) {
      const Json* member = json_member(*value.json, item->text);
      if (member != nullptr) return next(item, {member, nullptr}, found);
      return structural("2203A", "JSON object does not contain key \"" + item->text + "\"");
    }
    if (unwrap && value.is(JsonKind::kArray)) return elements(item, value, found);
    return structural("2203A", "jsonpath member accessor can only be applied to an object");
  }

  Outcome any_key(const PathItem* item, const PathValue& value, Sequence* found, bool unwrap) {
    if (value.is(JsonKind::kObject)) return each_part(item->next, value, found, 1, 1, 1, false, lax_);
    if (unwrap && value.is(JsonKind::kArray)) return elements(item, value, found);
    return structural("2203C", "jsonpath wildcard member accessor can only be applied to an object");
  }

  Outcome index_array(const PathItem* item, const PathValue& value, Sequence* found) {
    const bool is_array = value.is(JsonKind::kArray);
    if (!is_array && !lax_) return structural("22039", "jsonpath array accessor can only be applied to an array");
    const int32_t saved = innermost_size_;
    const auto size = static_cast<int32_t>(is_array ? value.json->items.size() : 1);
    Outcome outcome = Outcome::kNotFound;
    for (const auto& [from, to] : item->subscripts) {
      innermost_size_ = size;
      int32_t first = 0, last = 0;
      outcome = index(from, value, &first);
      last = first;
      if (outcome != Outcome::kError && to != nullptr) outcome = index(to, value, &last);
      if (outcome == Outcome::kError) break;
      if (!ignores_structure_ && (first < 0 || first > last || last >= size)) {
        outcome = soft("22033", "jsonpath array subscript is out of bounds");
        break;
      }
      outcome = Outcome::kNotFound;
      for (int32_t i = std::max(first, 0); i <= std::min(last, size - 1); i++) {
        const PathValue element = is_array ? PathValue{&value.json->items[static_cast<size_t>(i)], nullptr} : value;
        outcome = next(item, element, found);
        if (outcome == Outcome::kError || (outcome == Outcome::kFound && found == nullptr)) break;
      }
      if (outcome == Outcome::kError || (outcome == Outcome::kFound && found == nullptr)) break;
    }
    innermost_size_ = saved;
    return outcome;
  }

  Outcome index(const PathItem* item, const PathValue& value, int32_t* out) {
    Sequence found;
    const Outcome outcome = this->item(item, value, &found);
    if (outcome == Outcome::kError) return outcome;
    Decimal number;
    if (found.size() != 1 || !to_number(found[0], &number))
      return soft("22033", "jsonpath array subscript is not a single numeric value");
    if (decimal_truncate(number, 0, &number) != ValueError::kNone || decimal_to_int4(number, out) != ValueError::kNone)
      return soft("22033", "jsonpath array subscript is out of integer range");
    return Outcome::kFound;
  }

  Outcome any(const PathItem* item, const PathValue& value, Sequence* found) {
    Outcome outcome = Outcome::kNotFound;
    if (item->first == 0) {
      const bool saved = std::exchange(ignores_structure_, true);
      outcome = next(item, value, found);
      ignores_structure_ = saved;
      if (outcome == Outcome::kFound && found == nullptr) return outcome;
    }
    if (!value.has_parts()) return outcome;
    return each_part(item->next, value, found, 1, item->first, item->last, true, lax_);
  }

  // The parts of an array or object, down to level `last`.
  Outcome each_part(const PathItem* item, const PathValue& value, Sequence* found, uint32_t level, uint32_t first,
                    uint32_t last, bool ignores_structure, bool unwrap) {
    Outcome outcome = Outcome::kNotFound;
    if (is_stack_low()) return hard(sql_error("54001", "stack depth limit exceeded"));
    if (level > last) return outcome;
    for (const Json& json : value.json->items) {
      const PathValue part{&json, nullptr};
      const bool is_leaf_wanted = first == kLastLevel && last == kLastLevel && !part.has_parts();
      if (level >= first || is_leaf_wanted) {
        if (item == nullptr && found == nullptr) return Outcome::kFound;
        if (item == nullptr) {
          found->push_back(part);
          outcome = Outcome::kFound;
        } else {
          const bool saved = ignores_structure_;
          ignores_structure_ |= ignores_structure;
          outcome = unwrapping_item(item, part, found, unwrap);
          ignores_structure_ = saved;
        }
        if (outcome == Outcome::kError || (outcome == Outcome::kFound && found == nullptr)) return outcome;
      }
      if (level >= last || !part.has_parts()) continue;
      outcome = each_part(item, part, found, level + 1, first, last, ignores_structure, unwrap);
      if (outcome == Outcome::kError || (outcome == Outcome::kFound && found == nullptr)) return outcome;
    }
    return outcome;
  }

  // The operands of what takes sequences: arrays among them stand for their elements in lax mode.
  Outcome operand(const PathItem* item, const PathValue& value, bool unwrap, Sequence* found) {
    if (!unwrap || !lax_) return this->item(item, value, found);
    Sequence items;
    const Outcome outcome = this->item(item, value, &items);
    if (outcome == Outcome::kError) return outcome;
    for (const PathValue& one : items) {
      if (!one.is(JsonKind::kArray)) {
        found->push_back(one);
        continue;
      }
      for (const Json& element : one.json->items) found->push_back({&element, nullptr});
    }
    return Outcome::kFound;
  }
  Outcome quiet_operand(const PathItem* item, const PathValue& value, bool unwrap, Sequence* found) {
    const bool saved = std::exchange(throws_, false);
    const Outcome outcome = operand(item, value, unwrap, found);
    throws_ = saved;
    return outcome;
  }

  Truth boolean(const PathItem* item, const PathValue& value) {
    if (is_stack_low()) return hard(sql_error("54001", "stack depth limit exceeded")), Truth::kUnknown;
    if (!status_.ok()) return Truth::kUnknown;
    switch (item->op) {
      case PathOp::kAnd:
      case PathOp::kOr: {
        const Truth decides = item->op == PathOp::kAnd ? Truth::kFalse : Truth::kTrue;
        const Truth neutral = item->op == PathOp::kAnd ? Truth::kTrue : Truth::kFalse;
        const Truth left = boolean(item->left, value);
        if (left == decides) return left;
        const Truth right = boolean(item->right, value);
        return right == neutral ? left : right;
      }
      case PathOp::kNot: {
        const Truth truth = boolean(item->left, value);
        return truth == Truth::kUnknown ? truth : truth == Truth::kTrue ? Truth::kFalse : Truth::kTrue;
      }
      case PathOp::kIsUnknown:
        return boolean(item->left, value) == Truth::kUnknown ? Truth::kTrue : Truth::kFalse;
      case PathOp::kExists: {
        Sequence all;
        const Outcome outcome = quiet_operand(item->left, value, false, lax_ ? nullptr : &all);
        if (outcome == Outcome::kError) return Truth::kUnknown;
        return (lax_ ? outcome == Outcome::kFound : !all.empty()) ? Truth::kTrue : Truth::kFalse;
      }
      default:
        return pairs(*item, value);
    }
  }

  // Is there a pair of the operands' items that the condition holds for?
  Truth pairs(const PathItem& item, const PathValue& value) {
    const bool compares = item.op >= PathOp::kEqual && item.op <= PathOp::kGreaterOrEqual;
    Sequence left, right;
    if (quiet_operand(item.left, value, true, &left) == Outcome::kError) return Truth::kUnknown;
    if (item.right == nullptr) {
      right.emplace_back();
    } else if (quiet_operand(item.right, value, compares, &right) == Outcome::kError) {
      return Truth::kUnknown;
    }
    bool error = false, found = false;
    for (const PathValue& a : left) {
      poll_work();
      for (const PathValue& b : right) {
        const Truth truth = compares                         ? compare(item.op, a, b)
                            : item.op == PathOp::kStartsWith ? starts_with(a, b)
                                                             : like_regex(item, a);
        if (truth == Truth::kFalse) continue;
        if (truth == Truth::kUnknown && !lax_) return truth;
        if (truth == Truth::kTrue && lax_) return truth;
        (truth == Truth::kUnknown ? error : found) = true;
      }
    }
    return found ? Truth::kTrue : error ? Truth::kUnknown : Truth::kFalse;
  }

  static Truth truth_of(bool value) { return value ? Truth::kTrue : Truth::kFalse; }

  static Truth starts_with(const PathValue& whole, const PathValue& initial) {
    if (!whole.is(JsonKind::kString) || !initial.is(JsonKind::kString)) return Truth::kUnknown;
    return truth_of(whole.json->text.starts_with(initial.json->text));
  }

  Truth like_regex(const PathItem& item, const PathValue& value) {
    if (!value.is(JsonKind::kString)) return Truth::kUnknown;
    const auto regex = Regex::compile(item.text, path_regex_flags(item.flags));
    if (!regex.ok()) return hard(regex.status()), Truth::kUnknown;
    return truth_of((*regex)->matches(value.json->text));
  }

  Truth compare(PathOp op, const PathValue& a, const PathValue& b) {
    int order = 0;
    if (a.moment != nullptr && b.moment != nullptr) {
      bool comparable = true;
      Status status = path_moment_compare(*a.moment, *b.moment, with_zone_, &comparable, &order);
      if (!status.ok()) return hard(std::move(status)), Truth::kUnknown;
      if (!comparable) return Truth::kUnknown;
    } else if (a.is(JsonKind::kNull) != b.is(JsonKind::kNull)) {
      return truth_of(op == PathOp::kNotEqual);
    } else if (a.moment != nullptr || b.moment != nullptr || a.json->kind != b.json->kind || is_container(*a.json)) {
      return Truth::kUnknown;
    } else {
      order = json_compare(*a.json, *b.json);
    }
    switch (op) {
      case PathOp::kEqual:
        return truth_of(order == 0);
      case PathOp::kNotEqual:
        return truth_of(order != 0);
      case PathOp::kLess:
        return truth_of(order < 0);
      case PathOp::kGreater:
        return truth_of(order > 0);
      case PathOp::kLessOrEqual:
        return truth_of(order <= 0);
      default:
        return truth_of(order >= 0);
    }
  }

  static ValueError calculate(PathOp op, const Decimal& a, const Decimal& b, Decimal* out) {
    switch (op) {
      case PathOp::kAdd:
        return decimal_add(a, b, out);
      case PathOp::kSubtract:
        return decimal_subtract(a, b, out);
      case PathOp::kMultiply:
        return decimal_multiply(a, b, out);
      case PathOp::kDivide:
        return decimal_divide(a, b, out);
      default:
        return decimal_modulo(a, b, out);
    }
  }

  Outcome binary(const PathItem* item, const PathValue& value, Sequence* found) {
    Sequence left, right;
    if (operand(item->left, value, true, &left) == Outcome::kError) return Outcome::kError;
    if (operand(item->right, value, true, &right) == Outcome::kError) return Outcome::kError;
    Decimal a, b, result;
    for (const auto& [side, sequence, number] : {std::tuple{"left", &left, &a}, std::tuple{"right", &right, &b}})
      if (sequence->size() != 1 || !to_number((*sequence)[0], number))
        return soft("22038", std::string(side) + " operand of jsonpath operator " + path_op_name(item->op) +
                                 " is not a single numeric value");
    if (const ValueError error = calculate(item->op, a, b, &result); error != ValueError::kNone)
      return soft(error_status(error));
    if (item->next == nullptr && found == nullptr) return Outcome::kFound;
    return next(item, keep(json_number(decimal_text(result))), found);
  }

  Outcome unary(const PathItem* item, const PathValue& value, Sequence* found) {
    Sequence operands;
    if (operand(item->left, value, true, &operands) == Outcome::kError) return Outcome::kError;
    Outcome outcome = Outcome::kNotFound;
    const bool only_looks = item->next == nullptr && found == nullptr;
    for (const PathValue& one : operands) {
      Decimal number;
      if (!to_number(one, &number)) {
        if (only_looks) continue;
        return soft("2203B", std::string("operand of unary jsonpath operator ") + path_op_name(item->op) +
                                 " is not a numeric value");
      }
      if (only_looks) return Outcome::kFound;
      if (item->op == PathOp::kMinus) number = decimal_negate(number);
      const Outcome of_one = next(item, keep(json_number(decimal_text(number))), found);
      if (of_one == Outcome::kError) return of_one;
      if (of_one != Outcome::kFound) continue;
      if (found == nullptr) return of_one;
      outcome = of_one;
    }
    return outcome;
  }

  Outcome method(const PathItem* item, const PathValue& value, Sequence* found, bool unwrap) {
    if (item->op == PathOp::kType)
      return next(item,
                  keep(json_string(value.moment != nullptr ? path_moment_type(value.moment->kind)
                                                           : json_type_name(value.json->kind))),
                  found);
    if (item->op == PathOp::kSize) {
      const bool is_array = value.is(JsonKind::kArray);
      if (!is_array && !lax_) return structural("22039", method_name(*item) + " can only be applied to an array");
      return next(item, keep(json_number(std::to_string(is_array ? value.json->items.size() : 1))), found);
    }
    if (unwrap && value.is(JsonKind::kArray)) return elements(item, value, found);
    switch (item->op) {
      case PathOp::kDouble:
        return double_method(item, value, found);
      case PathOp::kDatetime:
        return datetime_method(item, value, found);
      case PathOp::kKeyValue:
        return key_value(item, value, found);
      default:
        return number_method(item, value, found);
    }
  }

  Outcome number_method(const PathItem* item, const PathValue& value, Sequence* found) {
    Decimal number;
    if (!to_number(value, &number))
      return soft("22036", method_name(*item) + " can only be applied to a numeric value");
    const ValueError error = item->op == PathOp::kAbs     ? (number = decimal_abs(number), ValueError::kNone)
                             : item->op == PathOp::kFloor ? decimal_floor(number, &number)
                                                          : decimal_ceil(number, &number);
    if (error != ValueError::kNone) return hard(error_status(error));
    if (item->next == nullptr && found == nullptr) return Outcome::kFound;
    return next(item, keep(json_number(decimal_text(number))), found);
  }

  Outcome double_method(const PathItem* item, const PathValue& value, Sequence* found) {
    const bool is_number = value.is(JsonKind::kNumber);
    if (!is_number && !value.is(JsonKind::kString))
      return soft("22036", method_name(*item) + " can only be applied to a string or numeric value");
    double number = 0;
    std::string_view word;
    const bool is_wrong = float8_parse(value.json->text, &number, &word) != ValueError::kNone || !std::isfinite(number);
    if (is_wrong && is_number)
      return soft("22036", "numeric argument of " + method_name(*item) + " is out of range for type double precision");
    if (is_wrong)
      return soft("22036", "string argument of " + method_name(*item) +
                               " is not a valid representation of a double precision number");
    if (is_number) return next(item, value, found);
    Decimal decimal;
    if (const ValueError error = decimal_of_float8(number, &decimal); error != ValueError::kNone)
      return hard(error_status(error));
    return next(item, keep(json_number(decimal_text(decimal))), found);
  }

  Outcome datetime_method(const PathItem* item, const PathValue& value, Sequence* found) {
    if (!value.is(JsonKind::kString)) return soft("22031", method_name(*item) + " can only be applied to a string");
    PathMoment moment;
    Status status = path_moment_parse(value.json->text, item->left == nullptr ? nullptr : &item->left->text, &moment);
    if (!status.ok()) return soft(std::move(status));
    return next(item, {nullptr, &moments_.emplace_back(moment)}, found);
  }

  Outcome key_value(const PathItem* item, const PathValue& value, Sequence* found) {
    if (!value.is(JsonKind::kObject)) return soft("2203C", method_name(*item) + " can only be applied to an object");
    constexpr int64_t kIdsOfBase = 10000000000;
    const Json& object = *value.json;
    const int64_t offset = base_.document == nullptr ? 0 : json_binary_offset(*base_.document, &object);
    const std::string id = std::to_string(offset + base_.id * kIdsOfBase);
    Outcome outcome = Outcome::kNotFound;
    for (size_t i = 0; i < object.items.size(); i++) {
      if (item->next == nullptr && found == nullptr) return Outcome::kFound;
      Json pair = json_object();
      pair.keys = {"id", "key", "value"};
      pair.items = {json_number(id), json_string(object.keys[i]), object.items[i]};
      const PathValue made = keep(std::move(pair));
      const Base saved = std::exchange(base_, Base{made.json, generated_++});
      outcome = next(item, made, found);
      base_ = saved;
      if (outcome == Outcome::kError || (outcome == Outcome::kFound && found == nullptr)) return outcome;
    }
    return outcome;
  }

  const bool lax_;
  bool ignores_structure_;
  bool throws_;
  const bool with_zone_;
  const Json* const variables_;
  const PathValue root_;
  PathValue current_;
  Base base_;
  int64_t generated_;
  int32_t innermost_size_ = -1;
  Status status_;
  std::deque<Json> made_;
  std::deque<PathMoment> moments_;
};

}  // namespace

StatusOr<PathOutcome> jsonpath_run(const JsonPath& path, const Json& document, const PathOptions& options,
                                   std::vector<Json>* found) {
  if (options.variables != nullptr && options.variables->kind != JsonKind::kObject)
    return with_detail(sql_error("22023", "\"vars\" argument is not an object"),
                       "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.");
  const LocalNumbers numbers;
  Runner runner(path, document, options);
  Sequence items;
  const PathOutcome outcome = runner.run(path.root, found == nullptr ? nullptr : &items);
  if (!runner.status().ok()) return runner.status();
  for (const PathValue& item : items) found->push_back(runner.json_of(item));
  return outcome;
}

}  // namespace scyper::query
