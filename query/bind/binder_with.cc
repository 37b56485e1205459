#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "bind/binder_recursion.h"
#include "bind/make.h"
#include "bind/relation_walk.h"
#include "bind/statement_reads.h"

// WITH whose queries change something: INSERT, UPDATE and DELETE beside the main statement.
namespace scyper::query {

using ast::node_as;

// --- walks ---

void RelationWalk::walk(CommonQuery* common) {
  if (common == nullptr || !seen_.insert(common).second) return;
  if (common->query != nullptr) walk(common->query.get());
  if (common->recursive != nullptr) walk(common->recursive.get());
}

void RelationWalk::walk(BoundExpr* expr) {
  on_expr(*expr);
  for (auto& arg : expr->args) walk(arg.get());
  if (expr->query != nullptr) walk(expr->query.get());
}

void RelationWalk::walk(BoundQuery* query) {
  for (auto& entry : query->from) {
    Relation& relation = *entry.relation;
    on_relation(relation);
    for (auto& on : entry.on) walk(on.get());
    if (relation.query != nullptr) walk(relation.query.get());
    for (auto& row : relation.rows)
      for (auto& value : row) walk(value.get());
    for (auto& argument : relation.arguments) walk(argument.get());
    if (relation.kind == RelationKind::kCommon) walk(relation.common.get());
  }
  for (auto* list : {&query->where, &query->groups, &query->having})
    for (auto& e : *list) walk(e.get());
  for (auto& aggregate : query->aggregates) {
    for (auto& arg : aggregate.args) walk(arg.get());
    if (aggregate.filter != nullptr) walk(aggregate.filter.get());
  }
  for (auto& call : query->windows) for_each_expr(&call, [&](BoundPtr& e) { walk(e.get()); });
  for (auto& output : query->outputs) walk(output.expr.get());
  for (BoundExpr* e : {query->limit.get(), query->offset.get()})
    if (e != nullptr) walk(e);
  for (BoundQuery* side : {query->left.get(), query->right.get()})
    if (side != nullptr) walk(side);
}

void RelationWalk::walk(BoundDml* dml) {
  if (dml->source != nullptr) walk(dml->source.get());
  for (auto& assignment : dml->assignments) walk(assignment.value.get());
  for (auto& output : dml->returning) walk(output.expr.get());
  if (dml->conflict != nullptr && dml->conflict->update != nullptr) walk(dml->conflict->update.get());
  if (dml->merge == nullptr) return;
  walk(dml->merge->rows.get());
  for (auto& when : dml->merge->whens) {
    for (auto& e : when.condition) walk(e.get());
    for (auto& value : when.values) walk(value.get());
    if (when.action != nullptr) walk(when.action.get());
  }
}

// --- parts ---

bool Binder::changes_data(const ast::WithClause& with) {
  return std::any_of(with.tables.begin(), with.tables.end(),
                     [](const auto& table) { return table.statement->kind != ast::StatementKind::kSelect; });
}

// One query of WITH RECURSIVE or without; the caller keeps aggregate_query_.
StatusOr<std::shared_ptr<CommonQuery>> Binder::bind_common_query(const ast::CommonTable& table, bool recursive,
                                                                 const Scope* scope) {
  auto common = std::make_shared<CommonQuery>();
  if (table.statement->kind != ast::StatementKind::kSelect) {
    const Recursion recursion(this, table, RecursionPlace::kChange, recursive);
    SCYPER_ASSIGN_OR_RETURN(common->dml, bind_dml(*table.statement));
    for (const auto& output : common->dml->returning)
      common->columns.push_back({output.name, output.expr->type, output.expr->nullable, false});
    return common;
  }
  const auto& statement = node_as<ast::SelectStatement>(*table.statement);
  if (recursive && statement.set == ast::SetOperation::kUnion) {
    SCYPER_ASSIGN_OR_RETURN(auto bound, bind_recursive(table, scope));
    if (bound != nullptr) return bound;
  }
  auto bind_query = [&] {
    const Recursion recursion(this, table, RecursionPlace::kNotUnion,
                              recursive && statement.set != ast::SetOperation::kUnion);
    return bind_select(statement, scope);
  };
  SCYPER_ASSIGN_OR_RETURN(common->query, bind_query());
  for (const auto& output : common->query->outputs)
    if (!output.hidden) common->columns.push_back({output.name, output.expr->type, output.expr->nullable, false});
  return common;
}

// Could it not differ when it runs again?
bool Binder::is_repeatable(CommonQuery* bound) {
  bool repeats = bound->dml == nullptr;
  RelationWalk walk;
  walk.on_expr = [&](BoundExpr& e) {
    repeats &= e.builtin == nullptr || !e.builtin->is_volatile;
    repeats &= e.kind != BoundKind::kUserCall || !e.routine->is_volatile;
  };
  walk.walk(bound);
  return repeats;
}

// Does it read columns of relations that are not its own?
bool Binder::reads_around(CommonQuery* bound) {
  std::set<uint32_t> own, read;
  RelationWalk walk;
  walk.on_relation = [&](Relation& relation) { own.insert(relation.id); };
  walk.on_expr = [&](BoundExpr& e) {
    if (e.kind == BoundKind::kColumn) read.insert(e.relation);
  };
  walk.walk(bound);
  return !std::includes(own.begin(), own.end(), read.begin(), read.end());
}

// NOT MATERIALIZED asks for it; as in PostgreSQL, not what is recursive or could differ when it runs again.
bool Binder::is_bound_for_each(const ast::CommonTable& table, CommonQuery* bound) {
  if (table.materialize != ast::CommonTable::Materialize::kNever) return false;
  return bound->recursive == nullptr && is_repeatable(bound);
}

StatusOr<std::shared_ptr<CommonQuery>> Binder::bind_anew(const CommonTable& common) {
  rebound_queries_++;
  const ast::CommonTable& table = *common.table;
  const Scope* scope = common.scope;
  const std::shared_ptr<const CommonTables> visible = common.visible;  // `common` lies in the map that is replaced
  CommonTables saved_tables = std::exchange(common_tables_, *visible);
  BoundQuery* saved_aggregates = std::exchange(aggregate_query_, nullptr);
  auto bound = bind_common_query(table, common.query->recursive != nullptr, scope);
  aggregate_query_ = saved_aggregates;
  common_tables_ = std::move(saved_tables);
  return bound;
}

// What a reference reads. An inlined query has relations of its own at each place: a plan defines each only once. Past
// the bound, which queries that double each other reach soon, references share one computation.
StatusOr<std::shared_ptr<CommonQuery>> Binder::referenced_query(const CommonTable& common) {
  constexpr int kReboundMax = 256;
  if (common.visible == nullptr || common.query->references == 0 || rebound_queries_ >= kReboundMax)
    return common.query;
  return bind_anew(common);
}

// A query that reads columns around its WITH is computed where it is read, for each row there.
StatusOr<std::unique_ptr<Relation>> Binder::dependent_relation(const CommonTable& common, std::string alias,
                                                               const Scope* reader, int32_t location) {
  constexpr int kReboundMax = 4096;
  const Scope* around = common.scope;
  if (++common.query->references > 1 && !is_repeatable(common.query.get()))
    return error("0A000",
                 "several references to a query of WITH that is volatile and reads columns of an outer query are not "
                 "supported",
                 location);
  if (rebound_queries_ >= kReboundMax)
    return error("54001", "too many references to queries of WITH that read columns of an outer query", location);
  SCYPER_ASSIGN_OR_RETURN(auto bound, bind_anew(common));
  // the queries between the reader and the WITH depend on what is around it, too
  for (const Scope* s = reader; s != nullptr && s != around; s = s->parent)
    if (s->query != nullptr) s->query->correlated = true;
  auto relation = new_relation(RelationKind::kQuery, std::move(alias));
  relation->columns = bound->columns;
  relation->query = bound->recursive == nullptr ? std::move(bound->query) : all_rows(bound);
  return relation;
}

// SELECT * FROM a recursive query that is computed there.
std::unique_ptr<BoundQuery> Binder::all_rows(const std::shared_ptr<CommonQuery>& common) {
  const uint32_t id = ++query_count_;
  auto relation = common_relation(common, "*SELECT*");
  relation->computes_common = true;
  auto query = select_all(std::move(relation));
  query->id = id;
  query->correlated = true;
  return query;
}

// A WITH where something changes: each of its queries is a part that runs once.
void Binder::add_statement_part(std::shared_ptr<CommonQuery> common, std::set<const CommonQuery*> reads) {
  common->is_part = true;
  Part part;
  part.common = std::move(common);
  part.reads = std::move(reads);
  parts_.push_back(std::move(part));
}

std::shared_ptr<CommonQuery> Binder::copy_of(const std::shared_ptr<storage::Table>& table) {
  auto common = std::make_shared<CommonQuery>();
  common->is_part = true;
  common->query = std::make_unique<BoundQuery>();
  common->query->id = ++query_count_;
  auto relation = table_relation(table, table->schema().name);
  for (uint32_t c = 0; c < relation->columns.size(); c++) {
    const RelationColumn& column = relation->columns[c];
    common->columns.push_back(column);
    common->query->outputs.push_back(
        {column.name, make_column(relation->id, c, column.type, column.nullable, -1), false});
  }
  FromEntry entry;
  entry.relation = std::move(relation);
  common->query->from.push_back(std::move(entry));
  return common;
}

// In which order the parts of the statement at hand run, and what each of them sees. As in PostgreSQL the main
// statement runs as soon as what it reads has run; then, last first, the changes that nobody reads.
std::shared_ptr<const BoundWith> Binder::finish_parts(BoundQuery* query, BoundDml* dml) {
  auto with = std::make_shared<BoundWith>();
  std::set<const CommonQuery*> done;
  std::function<void(const Part&, std::vector<std::shared_ptr<CommonQuery>>*)> add = [&](const Part& part, auto* list) {
    if (!done.insert(part.common.get()).second) return;
    for (const Part& other : parts_)
      if (part.reads.count(other.common.get()) != 0) add(other, list);
    list->push_back(part.common);
  };
  for (const Part& part : parts_)
    if (main_reads_.count(part.common.get()) != 0) add(part, &with->before);
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part)
    if (part->common->dml != nullptr) add(*part, &with->after);
  for (const auto* list : {&with->before, &with->after})
    for (const auto& part : *list)
      if (part->dml != nullptr) keep_reads(program_.get(), part->dml.get(), with.get());
  if (dml != nullptr) keep_reads(program_.get(), dml, with.get());
  std::set<const storage::Table*> changed;
  std::map<const storage::Table*, std::shared_ptr<CommonQuery>> copies;
  auto note = [&](BoundDml* part) {
    const bool meets_rows = part->kind != DmlKind::kInsert || part->conflict != nullptr;
    if (meets_rows && changed.count(part->table.get()) != 0) {
      part->skips_changed = true;
      if (std::find(with->noted.begin(), with->noted.end(), part->table) == with->noted.end())
        with->noted.push_back(part->table);
    }
    changed.insert(part->table.get());
    part->checks_at_once = false;  // another part may add or remove what its rows refer to
    if (part->conflict != nullptr && part->conflict->update != nullptr) part->conflict->update->checks_at_once = false;
  };
  RelationWalk walk;
  uint32_t target = ~0u;
  walk.on_relation = [&](Relation& relation) {
    if (relation.kind != RelationKind::kTable || relation.id == target || changed.count(relation.table.get()) == 0)
      return;
    auto& copy = copies[relation.table.get()];
    if (copy == nullptr) {
      copy = copy_of(relation.table);
      with->copies.push_back(copy);
    }
    relation.kind = RelationKind::kFunction;
    relation.common = copy;
  };
  auto run = [&](CommonQuery* part) {
    target = part->dml != nullptr ? part->dml->relation : ~0u;
    if (part->dml == nullptr) return walk.walk(part);
    walk.walk(part->dml.get());
    note(part->dml.get());
  };
  for (const auto& part : with->before) run(part.get());
  target = dml != nullptr ? dml->relation : ~0u;
  if (query != nullptr) walk.walk(query);
  if (dml != nullptr) walk.walk(dml), note(dml);
  for (const auto& part : with->after) run(part.get());
  parts_.clear();
  reads_ = nullptr;
  return with;
}

}  // namespace scyper::query
