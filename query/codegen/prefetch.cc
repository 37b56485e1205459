#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "codegen/generator.h"

// Loops over integers that look up rows by keys known before the loop starts (an order's lines) wait for one cache miss
// after the other. So the keys of the first rounds are computed ahead, twice: a first pass fetches the index lines, a
// second finds the rows. Their cells are fetched a few rounds before the loop needs them: all at once would wait for
// each other. All of it only hints: it raises nothing and changes nothing.
namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {

constexpr int64_t kFetchAhead = 4;  // rounds

// Can the expression be computed before the loop for any value of its variable, without an error or a call?
bool is_known_ahead(const BoundExpr& expr, const std::set<uint32_t>& assigned) {
  switch (expr.kind) {
    case BoundKind::kConst:
      return true;
    case BoundKind::kVariable:
      return assigned.count(expr.index) == 0;
    case BoundKind::kSubscript:
      return is_known_ahead(*expr.args[0], assigned) && is_known_ahead(*expr.args[1], assigned);
    case BoundKind::kCast:
      return widens_integer(expr) && is_known_ahead(*expr.args[0], assigned);
    default:
      return false;
  }
}

bool compares(BuiltinOp op) { return op >= BuiltinOp::kEqual && op <= BuiltinOp::kGreaterEqual; }

// Can a condition be computed ahead without an error? Comparisons of integers that are known themselves.
bool is_condition_known_ahead(const BoundExpr& expr, const std::set<uint32_t>& assigned) {
  if (expr.kind != BoundKind::kBuiltin || expr.args.size() != 2 || !compares(expr.builtin->op)) return false;
  return std::all_of(expr.args.begin(), expr.args.end(),
                     [&](const BoundPtr& arg) { return is_integer(arg->type.id) && is_known_ahead(*arg, assigned); });
}

// The columns that `expr` needs in any case, and the CASEs that choose among others by what is known ahead.
void collect_needed(const BoundExpr& expr, uint32_t relation, const std::set<uint32_t>& assigned,
                    std::set<uint32_t>* columns, std::vector<const BoundExpr*>* choices) {
  if (expr.query != nullptr) return collect_columns(expr, relation, columns);
  if (expr.kind == BoundKind::kColumn && expr.relation == relation) columns->insert(expr.index);
  bool is_choice = expr.kind == BoundKind::kCase;
  for (size_t i = 0; is_choice && i + 1 < expr.args.size(); i += 2)
    is_choice = is_condition_known_ahead(*expr.args[i], assigned);
  if (is_choice) return choices->push_back(&expr);
  for (const auto& arg : expr.args) collect_needed(*arg, relation, assigned, columns, choices);
}

bool depends_on(const BoundExpr& expr, uint32_t variable) {
  bool found = false;
  visit(expr, [&](const BoundExpr& e) { found |= e.kind == BoundKind::kVariable && e.index == variable; });
  return found;
}

}  // namespace

// Point accesses in the loop's own statements whose key is known ahead.
void Generator::find_lookups(const StepList& steps, uint32_t variable, const std::set<uint32_t>& assigned,
                             std::vector<Lookup>* lookups) {
  for (const auto& step : steps) {
    const BoundQuery* query = step->dml != nullptr ? step->dml->source.get() : step->query.get();
    bool reads = step->kind == StepKind::kQuery || (step->dml != nullptr && step->dml->kind != DmlKind::kInsert);
    if (!reads || query->set != SetOp::kNone || query->from.empty()) continue;
    JoinPlan plan = plan_joins(*query, known_relations());
    if (plan.steps.empty() || plan.steps[0].kind != JoinStep::Kind::kTable ||
        plan.steps[0].path.kind != AccessKind::kPoint)
      continue;
    const Relation& relation = *plan.steps[0].entry->relation;
    bool partitioned = relation.table->schema().scheme != storage::PartitionScheme::kShared;
    Lookup lookup{&relation, plan.steps[0].path, {}, {}};
    bool varies = false;
    bool known = !partitioned || lookup.path.route != nullptr;
    for (const auto& part : lookup.path.equal) {
      known = known && is_known_ahead(*part.value, assigned);
      varies = varies || depends_on(*part.value, variable);
    }
    if (!known || !varies || (partitioned && !is_known_ahead(*lookup.path.route, assigned))) continue;
    collect_columns(*query, relation.id, &lookup.columns);
    if (step->dml != nullptr) {
      auto need = [&](const BoundExpr& expr) {
        collect_needed(expr, relation.id, assigned, &lookup.columns, &lookup.choices);
      };
      for (const auto& output : step->dml->returning) need(*output.expr);
      for (const auto& assignment : step->dml->assignments) {
        need(*assignment.value);
        lookup.columns.insert(assignment.column);
      }
      // for the redo record, where the key's values are not at hand
      if (!fits_words(relation.table->schema(), relation.table->schema().indexes[lookup.path.index]))
        for (const auto& part : lookup.path.equal) lookup.columns.insert(part.column);
    }
    lookups->push_back(std::move(lookup));
  }
}

// Can nothing in these steps change where the table's rows lie, or which row has which key?
bool Generator::keeps_rows(const StepList& steps, const storage::Table* table) const {
  bool keeps = true;
  auto look = [&](const BoundExpr& e) { keeps = keeps && e.kind != BoundKind::kUserCall; };
  auto look_at = [&](const BoundExpr* expr) {
    if (expr != nullptr) visit(*expr, look);
  };
  for (const auto& step : steps) {
    if (step->kind == StepKind::kCall || step->kind == StepKind::kExecute || step->kind == StepKind::kForRows ||
        step->kind == StepKind::kOpen || step->kind == StepKind::kReturnQuery || step->kind == StepKind::kTransaction)
      return false;
    for (const auto* expr : {step->expr.get(), step->expr2.get(), step->expr3.get()}) look_at(expr);
    for (const auto& arg : step->args) look_at(arg.get());
    for (const auto& option : step->options) look_at(option.second.get());
    if (step->query != nullptr) visit(*step->query, look);
    if (step->query != nullptr && step->query->with != nullptr) return false;
    if (step->dml != nullptr) {
      const BoundDml& dml = *step->dml;
      if (dml.with != nullptr || dml.merge != nullptr) return false;
      if (dml.conflict != nullptr || !dml.reactions.empty() || dml.triggers != nullptr) return false;
      visit(*dml.source, look);
      for (const RowCheck& check : dml.checks) look_at(check.condition.get());
      for (const auto& output : dml.returning) look_at(output.expr.get());
      for (const auto& assignment : dml.assignments) look_at(assignment.value.get());
      if (dml.table.get() == table && (dml.kind != DmlKind::kUpdate || moves_keys(dml))) return false;
    }
    keeps = keeps && keeps_rows(step->body, table) && keeps_rows(step->declarations, table);
    for (const auto& [condition, body] : step->branches) {
      look_at(condition.get());
      keeps = keeps && keeps_rows(body, table);
    }
    for (const auto& handler : step->handlers) keeps = keeps && keeps_rows(handler.body, table);
    if (!keeps) return false;
  }
  return true;
}

// Runs the lookups of the first rounds ahead; what the second pass finds is remembered for the loop, whose body counts
// `round` (I64 variable, made here). Returns how many lookups are remembered.
size_t Generator::gen_prefetch(const Step& step, Reg from, Reg to, Reg by) {
  std::set<uint32_t> assigned;
  collect_assigned(step.body, &assigned);
  std::vector<Lookup> lookups;
  if (assigned.count(step.variable) == 0) find_lookups(step.body, step.variable, assigned, &lookups);
  if (lookups.empty()) return 0;
  Reg round = b_.new_variable(Type::kI64);
  Reg rounds = b_.new_variable(Type::kI64);
  size_t remembered = 0;
  for (Lookup& lookup : lookups) {
    if (!keeps_rows(step.body, lookup.relation->table.get())) continue;
    lookup.frame = b_.reserve_frame(static_cast<uint32_t>(kRoundsAhead * sizeof(int64_t)));
    lookup.chunks = b_.reserve_frame(static_cast<uint32_t>(kRoundsAhead * sizeof(char*)));
    remembered_.push_back({lookup.relation, round, lookup.frame, lookup, rounds});
    remembered++;
  }
  for (bool rows : {false, true}) {
    Reg i = b_.new_variable(Type::kI64);
    b_.assign(i, from);
    b_.assign(round, constant(Type::kI64, 0));
    Block head = b_.new_block(), count = b_.new_block(), body = b_.new_block(), done = b_.new_block();
    b_.jump(head);
    b_.set_block(head);
    b_.branch(b_.compare(step.reverse ? Op::kGe : Op::kLe, i, to), count, done, 1);
    b_.set_block(count);
    b_.branch(b_.compare(Op::kLt, round, constant(Type::kI64, kRoundsAhead)), body, done, 1);
    b_.set_block(body);
    Value counter;
    counter.type = make_type(TypeId::kInt4);
    counter.a = b_.convert(Op::kTrunc, i, Type::kI32);
    assign(variables_[step.variable], counter);
    for (const Lookup& lookup : lookups) {
      Reg place = ir::kNoReg;
      if (lookup.frame >= 0) place = b_.index(b_.frame_address(lookup.frame), round, sizeof(int64_t));
      if (!rows && lookup.frame >= 0) b_.store(place, 0, constant(Type::kI64, kNotLookedUp));
      gen_lookup_ahead(lookup, rows, round, place);
    }
    b_.assign(round, b_.binary(Op::kAdd, round, constant(Type::kI64, 1)));
    b_.assign(i, b_.binary(step.reverse ? Op::kSub : Op::kAdd, i, by));
    b_.jump(head);
    b_.set_block(done);
  }
  b_.assign(rounds, round);
  b_.assign(round, constant(Type::kI64, 0));
  return remembered;
}

// At the start of a round: hints for the cells of the row that a later one will look up.
void Generator::gen_fetch_ahead(const Remembered& remembered) {
  Block fetch = b_.new_block(), found = b_.new_block(), done = b_.new_block();
  Reg ahead = b_.binary(Op::kAdd, remembered.round, constant(Type::kI64, kFetchAhead));
  b_.branch(b_.compare(Op::kLt, ahead, remembered.rounds), fetch, done, 1);
  b_.set_block(fetch);
  Reg tid = b_.load(Type::kI64, b_.index(b_.frame_address(remembered.frame), ahead, sizeof(int64_t)));
  b_.branch(b_.compare(Op::kGe, tid, constant(Type::kI64, 0)), found, done, 1);
  b_.set_block(found);
  RowSource source;
  source.relation = remembered.relation;
  source.chunk = b_.load(Type::kPtr, b_.index(b_.frame_address(remembered.lookup.chunks), ahead, sizeof(char*)));
  source.offset = b_.binary(Op::kAnd, tid, constant(Type::kI64, storage::kChunkTuples - 1));
  if (compacts(*remembered.relation->table)) {
    Block hot = b_.new_block();
    b_.branch(b_.compare(Op::kEq, source.chunk, b_.null_pointer()), done, hot, 2);
    b_.set_block(hot);
  }
  prefetch_row(remembered.lookup, source);
  b_.jump(done);
  b_.set_block(done);
}

void Generator::prefetch_row(const Lookup& lookup, const RowSource& source) {
  prefetch_cells(source, lookup.columns);
  for (const BoundExpr* choice : lookup.choices) prefetch_choice(source, *choice);
}

// The Tid that was found ahead, else what find() gives.
ir::Reg Generator::gen_remembered(const Relation& relation, const std::function<Reg()>& find) {
  auto known = std::find_if(remembered_.begin(), remembered_.end(),
                            [&](const Remembered& r) { return r.relation == &relation; });
  if (known == remembered_.end()) return find();
  Reg tid = b_.new_variable(Type::kI64);
  Block early = b_.new_block(), search = b_.new_block(), done = b_.new_block();
  b_.branch(b_.compare(Op::kLt, known->round, constant(Type::kI64, kRoundsAhead)), early, search, 1);
  b_.set_block(early);
  b_.assign(tid, b_.load(Type::kI64, b_.index(b_.frame_address(known->frame), known->round, sizeof(int64_t))));
  b_.branch(b_.compare(Op::kNe, tid, constant(Type::kI64, kNotLookedUp)), done, search, 1);
  b_.set_block(search);
  b_.assign(tid, find());
  b_.jump(done);
  b_.set_block(done);
  return b_.binary(Op::kAdd, tid, constant(Type::kI64, 0));
}

void Generator::gen_lookup_ahead(const Lookup& lookup, bool rows, Reg round, Reg remember) {
  const Relation& relation = *lookup.relation;
  const storage::IndexDef& index = relation.table->schema().indexes[lookup.path.index];
  Block skip = b_.new_block();
  Reg number = constant(Type::kI32, 0);
  if (relation.table->schema().scheme != storage::PartitionScheme::kShared) {
    Value value = gen(*lookup.path.route);
    reject_null(&value, skip);
    number = gen_partition_number(value);
    Block mine = b_.new_block();  // foreign data is not ours to read, unless we run alone
    Reg own = b_.compare(Op::kEq, number, b_.load_invariant(Type::kI32, context(), offsetof(ExecContext, partition)));
    Reg alone = b_.load_invariant(Type::kI32, context(), offsetof(ExecContext, crossing));
    b_.branch(b_.binary(Op::kOr, own, b_.compare(Op::kNe, alone, constant(Type::kI32, 0))), mine, skip, 1);
    b_.set_block(mine);
  }
  Reg partition = partition_pointer(relation, number);
  std::vector<const KeyPart*> parts;
  for (const auto& part : lookup.path.equal) parts.push_back(&part);
  Reg by_number = constant(Type::kI64, static_cast<int64_t>(lookup.path.index));
  Reg tid = ir::kNoReg;
  if (fits_words(relation.table->schema(), index)) {
    WordKey key = gen_word_key(relation, index, parts, skip);
    if (rows)
      tid = b_.call(k_rt_index_find_words, {partition, by_number, key.bytes, key.first, key.second});
    else
      b_.call(k_rt_index_prefetch_words, {partition, by_number, key.first, key.second});
  } else {
    auto [key, size] = gen_key(relation, index, parts, skip);
    if (rows)
      tid = b_.call(k_rt_index_find, {partition, by_number, key, size});
    else
      b_.call(k_rt_index_prefetch, {partition, by_number, key, size});
  }
  if (rows) {
    if (remember != ir::kNoReg) b_.store(remember, 0, tid);
    Block found = b_.new_block();
    b_.branch(b_.compare(Op::kEq, tid, constant(Type::kI64, -1)), skip, found, 2);
    b_.set_block(found);
    RowSource source;
    source.relation = &relation;
    locate(&source, partition, tid);
    if (lookup.chunks >= 0) {
      b_.store(b_.index(b_.frame_address(lookup.chunks), round, sizeof(char*)), 0, source.chunk);
      Block near = b_.new_block();
      b_.branch(b_.compare(Op::kLt, round, constant(Type::kI64, kFetchAhead)), near, skip);
      b_.set_block(near);
    }
    if (compacts(*relation.table)) {
      Block hot = b_.new_block();
      b_.branch(b_.compare(Op::kEq, source.chunk, b_.null_pointer()), skip, hot, 2);
      b_.set_block(hot);
    }
    prefetch_row(lookup, source);
  }
  b_.jump(skip);
  b_.set_block(skip);
}

void Generator::prefetch_choice(const RowSource& source, const BoundExpr& choice) {
  Block done = b_.new_block();
  auto fetch = [&](const BoundExpr& result) {
    std::set<uint32_t> columns;
    collect_columns(result, source.relation->id, &columns);
    prefetch_cells(source, columns);
    b_.jump(done);
  };
  for (size_t i = 0; i + 1 < choice.args.size(); i += 2) {
    Block then = b_.new_block(), next = b_.new_block();
    gen_condition(*choice.args[i], then, next);
    b_.set_block(then);
    fetch(*choice.args[i + 1]);
    b_.set_block(next);
  }
  fetch(*choice.args.back());
  b_.set_block(done);
}

// Covers the cells' bytes with hints a cache line apart, whatever a tuple's place in its first line; cells of a row
// layout that lie close share them.
void Generator::prefetch_cells(const RowSource& source, const std::set<uint32_t>& columns) {
  constexpr int64_t kLineBytes = 64;
  constexpr int64_t kAligned = 8;                         // bytes that cannot lie in two lines
  std::map<std::pair<uint32_t, int64_t>, int64_t> cells;  // stride, first byte -> end
  for (uint32_t column : columns) {
    const storage::ColumnAccess& access = source.relation->table->layout().columns[column];
    int64_t& end = cells[{access.value_stride, access.value_offset}];
    end = std::max<int64_t>(end, access.value_offset + int64_t{access.cell_bytes});
  }
  for (auto cell = cells.begin(); cell != cells.end();) {
    auto [stride, begin] = cell->first;
    int64_t end = cell->second;
    for (cell++; cell != cells.end() && cell->first.first == stride && cell->first.second < end + kLineBytes; cell++)
      end = std::max(end, cell->second);
    Reg tuple = b_.index(source.chunk, source.offset, stride);
    int64_t at = begin;
    for (; at < end; at += kLineBytes) b_.prefetch(tuple, at);
    if (end - (at - kLineBytes) > kAligned) b_.prefetch(tuple, end - 1);
  }
}

}  // namespace scyper::query
