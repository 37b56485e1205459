#include <algorithm>

#include "codegen/generator.h"
#include "plan/access_path.h"

// A join that reads an index's range and looks up one row of another table for each entry waits for a cache miss or two
// at every lookup. So the range is read in batches: for each batch a first pass fetches the lines of the inner index, a
// second finds the inner rows and fetches their cells, then the join runs. The batch grows from few entries, for ranges
// that are short or left early.
namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {

constexpr int64_t kFirstBatch = 8;

// Has the expression a value, without an error or a call, once the rows of all relations but `inner` are at hand?
bool is_at_hand(const BoundExpr& expr, uint32_t inner) {
  if (widens_integer(expr)) return is_at_hand(*expr.args[0], inner);
  return expr.kind == BoundKind::kConst || expr.kind == BoundKind::kVariable ||
         (expr.kind == BoundKind::kColumn && expr.relation != inner);
}

bool uses(const BoundExpr& expr, uint32_t relation) {
  bool found = false;
  visit(expr, [&](const BoundExpr& e) { found |= e.kind == BoundKind::kColumn && e.relation == relation; });
  return found;
}

}  // namespace

bool Generator::looks_up_next(const JoinPlan& plan, size_t number) const {
  if (number + 1 >= plan.steps.size()) return false;
  const JoinStep& outer = plan.steps[number];
  const JoinStep& inner = plan.steps[number + 1];
  if (outer.kind != JoinStep::Kind::kTable || outer.path.kind != AccessKind::kRange || !outer.filters.empty() ||
      outer.entry->join == JoinType::kLeft || inner.kind != JoinStep::Kind::kTable ||
      inner.path.kind != AccessKind::kPoint || plan.query->limit != nullptr)
    return false;
  const Relation& relation = *inner.entry->relation;
  const storage::TableSchema& schema = relation.table->schema();
  if (!fits_words(schema, schema.indexes[inner.path.index])) return false;
  if (schema.scheme != storage::PartitionScheme::kShared &&
      (inner.path.route == nullptr || !is_at_hand(*inner.path.route, relation.id)))
    return false;
  bool varies = false;
  for (const auto& part : inner.path.equal) {
    if (!is_at_hand(*part.value, relation.id)) return false;
    varies = varies || uses(*part.value, outer.entry->relation->id);
  }
  return varies;
}

void Generator::gen_lookup_batches(JoinPlan* plan, size_t number, const std::function<void()>& body) {
  const JoinStep& outer = plan->steps[number];
  const JoinStep& inner = plan->steps[number + 1];
  const Relation& relation = *outer.entry->relation;
  Lookup lookup{inner.entry->relation.get(), inner.path, {}, {}};
  lookup.frame = b_.reserve_frame(static_cast<uint32_t>(kRoundsAhead * sizeof(int64_t)));
  collect_columns(*plan->query, lookup.relation->id, &lookup.columns);
  for (const auto& part : inner.path.equal) lookup.columns.erase(part.column);  // known from the key
  gen_partitions(relation, outer.path, [&](Reg partition) {
    Block done = b_.new_block(), head = b_.new_block(), some = b_.new_block(), next = b_.new_block();
    Reg cursor = gen_seek(relation, outer.path, partition, done);
    Reg tids = b_.frame_address(b_.reserve_frame(static_cast<uint32_t>(kRoundsAhead * sizeof(int64_t))));
    Reg wanted = b_.new_variable(Type::kI64);
    b_.assign(wanted, constant(Type::kI64, kFirstBatch));
    b_.jump(head);
    b_.set_block(head);
    check_interrupt();
    Reg index = constant(Type::kI64, static_cast<int64_t>(outer.path.index));
    Reg count = b_.call(k_rt_index_next_many, {partition, index, cursor, tids, wanted});
    b_.branch(b_.compare(Op::kEq, count, constant(Type::kI64, 0)), done, some);
    b_.set_block(some);
    auto each = [&](const std::function<void(Reg)>& visit_row) {
      gen_rounds([&] { return count; },
                 [&](Reg round) {
                   Reg tid = b_.load(Type::kI64, b_.index(tids, round, sizeof(int64_t)));
                   open_row(&sources_[relation.id], partition, tid);
                   visit_row(round);
                 });
    };
    loops_++;
    for (bool rows : {false, true}) {
      each([&](Reg round) {
        Reg place = b_.index(b_.frame_address(lookup.frame), round, sizeof(int64_t));
        if (!rows) b_.store(place, 0, constant(Type::kI64, kNotLookedUp));
        gen_lookup_ahead(lookup, rows, round, place);
      });
    }
    each([&](Reg round) {
      remembered_.push_back({lookup.relation, round, lookup.frame, {}, ir::kNoReg});
      gen_join_step(plan, number + 1, body);
      remembered_.pop_back();
    });
    loops_--;
    b_.branch(b_.compare(Op::kLt, count, wanted), done, next);
    b_.set_block(next);
    Reg most = constant(Type::kI64, kRoundsAhead);
    Reg doubled = b_.binary(Op::kAdd, wanted, wanted);
    b_.assign(wanted, b_.select(b_.compare(Op::kLt, doubled, most), doubled, most));
    b_.jump(head);
    b_.set_block(done);
  });
}

}  // namespace scyper::query
