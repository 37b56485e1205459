#include "bind/binder.h"
#include "bind/make.h"
#include "plan/expressions.h"

// What becomes a value of a domain: a call of the domain's own function (query/domain.h).
namespace scyper::query {

StatusOr<BoundPtr> Binder::to_domain(BoundPtr value, uint32_t domain) {
  if (domain == 0 || value->domain == domain) return value;
  const Domain* found = catalog_.find_domain(domain);
  if (found == nullptr) return error("XX000", "a domain is missing", value->location);
  if (found->check != nullptr) {
    BoundPtr call = make_expr(BoundKind::kUserCall, found->base, true, value->location);
    call->args.push_back(std::move(value));
    program_->callees.push_back(found->check);
    call->index = static_cast<uint32_t>(program_->callees.size() - 1);
    call->routine = found->check;
    value = std::move(call);
  }
  value->domain = domain;
  return value;
}

void Binder::set_domain(uint32_t variable, uint32_t domain) {
  const Domain* found = catalog_.find_domain(domain);
  if (found == nullptr) return;
  program_->variables[variable].domain = domain;
  if (found->check == nullptr) return;
  program_->callees.push_back(found->check);
  program_->variables[variable].domain_call = static_cast<uint32_t>(program_->callees.size() - 1);
}

StatusOr<BoundPtr> Binder::bind_domain_check(const ast::Expr& expr, const SqlType& base) {
  auto row = new_relation(RelationKind::kValues, "");
  row->columns.push_back({"value", base, true, false});
  Scope scope;
  scope.add(row.get(), false);
  aggregate_clause_ = "check constraints";
  SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind(expr, &scope));
  const BoundExpr* query = nullptr;
  visit(*bound, [&](const BoundExpr& e) { query = query == nullptr && e.query != nullptr ? &e : query; });
  if (query != nullptr) return error("0A000", "cannot use subquery in check constraint", query->location);
  return coerce_boolean(std::move(bound), "CHECK");
}

}  // namespace scyper::query
