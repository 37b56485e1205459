#pragma once

#include <functional>

#include "bind/binder.h"
#include "bind/shape.h"
#include "query/session_activity.h"

namespace scyper::query {

// What one look at all expressions of a bound program finds: whole rows in places that have none, a broken shape, and
// which builtins with effects it calls.
class ProgramLook {
 public:
  bool found() const { return found_; }
  // Builtins that write; some of them are about sessions (query/session_activity.h).
  bool calls_session() const { return calls_session_; }
  bool calls_others() const { return calls_others_; }
  bool takes_locks() const { return takes_locks_; }
  void look_at(const BoundProgram& program) {
    if (program.query != nullptr) look_at(*program.query);
    if (program.dml != nullptr) look_at(*program.dml);
    look_at(program.steps);
  }

 private:
  void look_at(const BoundQuery& query) {
    visit(query, look_);
    if (query.with != nullptr) look_at(*query.with);
  }
  void look_at(const BoundWith& with) {
    for (const auto* list : {&with.before, &with.after})
      for (const auto& part : *list) {
        if (part->query != nullptr) visit(*part->query, look_);
        if (part->dml != nullptr) look_at(*part->dml);
      }
  }
  void look_at(const BoundDml& dml) {
    if (dml.with != nullptr) look_at(*dml.with);
    if (dml.merge != nullptr)
      for (const auto& when : dml.merge->whens) {
        for (const auto& value : when.values) visit(*value, look_);
        if (when.action != nullptr) look_at(*when.action);
      }
    if (dml.source != nullptr) visit(*dml.source, look_);
    for (const auto& assignment : dml.assignments) visit(*assignment.value, look_);
    for (const auto& output : dml.returning) visit(*output.expr, look_);
  }
  void look_at(const StepList& steps) {
    for (const auto& step : steps) {
      for (const auto* expr : {step->expr.get(), step->expr2.get(), step->expr3.get()})
        if (expr != nullptr) visit(*expr, look_);
      for (const auto& arg : step->args) visit(*arg, look_);
      for (const auto& option : step->options) visit(*option.second, look_);
      if (step->query != nullptr) look_at(*step->query);
      if (step->dml != nullptr) look_at(*step->dml);
      look_at(step->body);
      look_at(step->declarations);
      for (const auto& [condition, body] : step->branches) {
        visit(*condition, look_);
        look_at(body);
      }
      for (const auto& handler : step->handlers) look_at(handler.body);
    }
  }
  bool found_ = false, calls_session_ = false, calls_others_ = false, takes_locks_ = false;
  const std::function<void(const BoundExpr&)> look_ = [this](const BoundExpr& e) {
    check_shape(e);
    found_ |= e.kind == BoundKind::kRow;
    if (e.kind != BoundKind::kBuiltin || e.builtin == nullptr || !e.builtin->writes) return;
    takes_locks_ |= is_advisory_lock(e.builtin->name);
    (is_session_function(e.builtin->name) ? calls_session_ : calls_others_) = true;
  };
};

}  // namespace scyper::query
