#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "bind/bound.h"
#include "codegen/generator_state.h"
#include "codegen/join_plan.h"
#include "codegen/lookup.h"
#include "codegen/row_source.h"
#include "codegen/triggered.h"
#include "codegen/value.h"
#include "ir/ir.h"
#include "plan/explain.h"
#include "plan/plan.h"
#include "query/catalog.h"
#include "runtime/analysis.h"
#include "runtime/tuples.h"
#include "runtime/window.h"
#include "runtime/windows.h"

namespace scyper::query {

inline constexpr int64_t kDatumBytes = sizeof(Datum);
inline constexpr int64_t kContextValue = offsetof(ExecContext, value);  // where runtime functions leave a result

// Variables that the steps assign, nested ones included.
void collect_assigned(const StepList& steps, std::set<uint32_t>* assigned);

// Turns one bound program into one IR function, push-based (Neumann, Efficiently Compiling Efficient Query Plans, VLDB
// 2011): each operator generates its loop and calls the consumer where a row is at hand; a consumer that needs no more
// rows jumps out of the loops. Not reusable. Errors: 0A000 for combinations that have no code yet.
class Generator {
 public:
  // partitions: of the node. The program is read, its descriptors (what the runtime needs by number) are filled.
  Generator(const BoundProgram& program, ProgramResources* resources);
  StatusOr<ir::Function> generate();

 private:
  using Reg = ir::Reg;
  using Block = ir::Block;
  using Values = std::vector<Value>;
  using Consumer = std::function<void(const Values&)>;

  // --- values (values.cc) ---
  Value new_variable(const SqlType& type, bool nullable);
  void assign(const Value& variable, const Value& value);
  Value constant_value(const BoundExpr& expr);
  Value null_value(const SqlType& type);
  void store_datum(Reg base, int64_t offset, const Value& value);
  Value load_datum(Reg base, int64_t offset, const SqlType& type, bool nullable, bool stable, bool invariant = false);
  Reg store_row(const Values& values);  // frame row of Datums
  Value stabilise(const Value& value);  // copies strings and arrays into the transaction's memory
  Reg is_null(const Value& value);      // I8
  Reg or_null(Reg a, Reg b);
  Value with_null(Value value, Reg null);
  // result = null flags of args all 0 ? compute(args) : NULL
  Value strict(const Values& args, const SqlType& type, const std::function<Value(const Values&)>& compute);
  // --- errors ---
  void check(Reg status);          // I32: 0 goes on, else to the handler
  void raise(RuntimeError error);  // ends the block
  Block raise_block(RuntimeError error);
  void check_interrupt();
  void may_swap();                                    // the run may go on in better code here
  void gen_round(const std::function<void()>& body);  // of a loop that drives a pipeline
  // --- expressions (expression.cc, arithmetic.cc, cast.cc) ---
  Value gen(const BoundExpr& expr);
  void gen_condition(const BoundExpr& expr, Block if_true, Block if_false, int likely = 0);
  void gen_logic(const BoundExpr& expr, Block if_true, Block if_false, Block if_null);
  Value gen_logic_value(const BoundExpr& expr);
  void gen_membership(const BoundExpr& x, const std::vector<int64_t>& members, Block hit, Block miss, Block null);
  Value gen_column(const BoundExpr& expr);
  Value gen_builtin(const BoundExpr& expr);
  Value gen_runtime_call(const BoundExpr& expr, const Values& args);
  // texts (text.cc): nothing where the general code is to be used
  void gen_bytes_equal(Reg at, int64_t offset, std::string_view bytes, Block differs);
  Reg gen_test(const std::function<void(Block)>& test);
  std::optional<Value> gen_text_equality(const BoundExpr& expr);
  std::optional<Value> gen_like(const BoundExpr& expr);
  std::optional<Value> gen_text_function(const BoundExpr& expr);
  Value gen_case(const BoundExpr& expr);
  Value gen_coalesce(const BoundExpr& expr);
  Value gen_min_max(const BoundExpr& expr);
  Value gen_distinct_from(const BoundExpr& expr);
  Value gen_subscript(const BoundExpr& expr);
  Value gen_array(const BoundExpr& expr);
  std::optional<Value> constant_array(const BoundExpr& cast);
  Value make_array_of(const Values& items, const SqlType& type);
  Value gen_any_all(const BoundExpr& expr);
  Value gen_user_call(const BoundExpr& expr);
  Value gen_scalar_subquery(const BoundExpr& expr);
  Value gen_exists(const BoundExpr& expr);
  Value gen_in_subquery(const BoundExpr& expr);
  // subqueries where they stand (subquery.cc)
  Value run_scalar_subquery(const BoundExpr& expr);
  Value run_exists(const BoundExpr& expr);
  std::vector<uint32_t> open_once(const Plan& plan);
  void close_once(const std::vector<uint32_t>& queries);
  Value gen_once(const BoundExpr& expr, const std::function<Value()>& run);
  void gen_kept_rows(const BoundExpr& in, const Consumer& consume);
  Value arithmetic(BuiltinOp op, const Value& a, const Value& b, const SqlType& type);
  Value float_arithmetic(BuiltinOp op, const Value& a, const Value& b);
  Value integer_arithmetic(BuiltinOp op, const Value& a, const Value& b, const SqlType& type);
  Value numeric_arithmetic(BuiltinOp op, const Value& a, const Value& b, const SqlType& type);
  Value decimal_call(BuiltinOp op, const Value& a, const Value& b, const SqlType& type);
  Value negate(const Value& a, const SqlType& type);
  Reg compare(BuiltinOp op, const Value& a, const Value& b);  // I8, arguments not NULL
  Reg compare_numeric(BuiltinOp op, const Value& a, const Value& b);
  Reg rescale(Reg value, int from_scale, int to_scale, ir::Type type);
  Value to_dynamic(const Value& value);
  Value cast(const Value& value, const SqlType& to, bool explicit_cast);
  Value cast_integer(const Value& value, const SqlType& to);
  Value cast_numeric(const Value& value, const SqlType& to);
  Value cast_generic(const Value& value, const SqlType& to, bool explicit_cast);

  // --- rows (row_source.cc) ---
  void locate(RowSource* source, Reg partition, Reg tid);
  void open_row(RowSource* source, Reg partition, Reg tid);
  // chunks that are not hot (open_chunk.cc)
  static bool compacts(const storage::Table& table) { return table.frozen_store() != nullptr; }
  Reg add_opening(RowSource* source, bool is_scan);
  Reg gen_scan_bounds(const RowSource& source, const ScanWish& wish, std::vector<ChunkCondition>* conditions);
  Reg gen_scan_filters(const RowSource& source, const ScanWish& wish, std::vector<ChunkFilter>* filters);
  void gen_whole_chunk(const RowSource& source, const WholeChunks& whole, const std::vector<ChunkCondition>& conditions,
                       Reg bounds, Block rows);
  OpenPiece gen_open_chunk(RowSource* source, const ScanWish& wish, Reg offset, Reg all, Block none);
  void gen_make_hot(RowSource* source, Block gone);
  void note_read(const RowSource& source, uint32_t column);
  Value load_column(const RowSource& source, uint32_t column);
  Value load_cell(const RowSource& source, uint32_t column);
  void load_string_cell(const storage::ColumnAccess& access, Reg cell, Value* value);
  void note_lifetime(const RowSource& source, uint32_t column, Value* text) const;  // how long a cell stays
  bool may_write(uint32_t callee) const;
  void note_changes(const StepList& steps);
  void note_changes(const BoundDml& dml);
  void store_cell(const RowSource& source, uint32_t column, const Value& value);

  // --- queries (query.cc, join.cc, scan.cc, aggregate.cc) ---
  void gen_query(const BoundQuery& query, const Consumer& consume, bool is_one_row = false);
  void gen_plain_query(const BoundQuery& query, const Consumer& consume, bool is_one_row);
  void gen_unsorted(const BoundQuery& query, JoinPlan* plan,
                    const Consumer& consume);  // before DISTINCT, ORDER BY, LIMIT
  void gen_aggregation(const BoundQuery& query, JoinPlan* plan, const Consumer& consume);
  void gen_sorted(const BoundQuery& query, const std::function<void(const Consumer&)>& produce, const Consumer& consume,
                  size_t ordered_items);
  Consumer deduplicated(const BoundQuery& query, const Consumer& consume);
  Reg gen_count(const BoundExpr* expr, int64_t otherwise);
  Consumer limited(const BoundQuery& query, Block done, const Consumer& consume);
  std::set<uint32_t> known_relations() const;
  // Runs `body` once per row of FROM that satisfies WHERE.
  void gen_joins(JoinPlan* plan, const std::function<void()>& body);
  void gen_join_step(JoinPlan* plan, size_t step, const std::function<void()>& body);
  void gen_left_join(JoinPlan* plan, size_t step, const std::function<void()>& body);
  void gen_step_rows(JoinStep* step, const std::function<void()>& body);
  void gen_build(JoinStep* step);
  void gen_probe(JoinStep* step, const std::function<void()>& body);
  void gen_relation_rows(const Relation& relation, const AccessPath& path, const ScanWish& wish,
                         const std::function<void()>& body);
  void gen_series(const Relation& relation, const std::function<void()>& body);
  bool reads_windows() const { return !resources_.openings.empty() || !resources_.foreign.empty(); }  // texts go
  void gen_foreign(const Relation& relation, const std::function<void()>& body);
  void gen_feed(const Relation& relation, const std::function<void()>& body);
  void gen_unnest(const Relation& relation, const std::function<void()>& body);
  Value gen_element(const Value& array, const std::vector<Reg>& sizes, size_t which, Reg i);
  Value integer_of(Reg bigint);
  void gen_routine_rows(const Relation& relation, const std::function<void()>& body);
  void gen_filters(const std::vector<const BoundExpr*>& filters, Block reject);
  // Goes on where the value is not NULL, which is likely, and to `reject` where it is: NULL equals nothing.
  void reject_null(Value* value, Block reject);
  Values gen_outputs(const BoundQuery& query, bool hidden);
  void gen_table_scan(const Relation& relation, const AccessPath& path, const ScanWish& wish,
                      const std::function<void()>& body);
  void gen_partitions(const Relation& relation, const AccessPath& path, const std::function<void(Reg)>& body);
  void gen_point_access(const Relation& relation, const AccessPath& path, Reg partition,
                        const std::function<void()>& body);
  Reg gen_seek(const Relation& relation, const AccessPath& path, Reg partition, Block none);
  void gen_range_access(const Relation& relation, const AccessPath& path, Reg partition,
                        const std::function<void()>& body);
  void gen_full_scan(const Relation& relation, const ScanWish& wish, Reg partition, const std::function<void()>& body);
  // Encodes a key prefix into frame memory; jumps to no_match where no row can have a value. Address and size (I64).
  std::pair<Reg, Reg> gen_key(const Relation& relation, const storage::IndexDef& index,
                              const std::vector<const KeyPart*>& parts, Block no_match);
  Reg key_bits(const storage::ColumnDef& column, const Value& value, Block no_match);
  Reg flip_key(Reg part, bool is_signed, bool descending);
  void put_key_bits(Reg bits, bool descending, Reg address);
  struct WordKey {
    Reg bytes, first, second;                     // HashIndex::find_words
    std::vector<std::pair<uint32_t, Reg>> cells;  // column, its value
  };
  static bool fits_words(const storage::TableSchema& schema, const storage::IndexDef& index);
  WordKey pack_words(const storage::IndexDef& index, std::vector<std::pair<uint32_t, Reg>> cells);
  void gen_insert_key(const RowSource& source, size_t number, const Values& values);
  WordKey gen_word_key(const Relation& relation, const storage::IndexDef& index,
                       const std::vector<const KeyPart*>& parts, Block no_match);
  void gen_key_part(const storage::ColumnDef& column, int64_t flags, Value value, Reg address, Reg* size,
                    int64_t* fixed, Block no_match);
  void gen_materialised(const Relation& relation, Reg rows, const std::vector<int>& slots,
                        const std::function<void()>& body);
  Reg gen_partition_number(const Value& value);
  Reg gen_route(const Value& value);
  // For classification: which argument an expression is, if it is one that the program never assigns.
  std::optional<Route> route_of(const BoundExpr& expr) const;
  void note_route(const BoundExpr* expr);  // nullptr: all partitions
  void note_call(uint32_t callee, const std::vector<BoundPtr>& args);
  Reg partition_pointer(const Relation& relation, Reg number);

  struct GroupStore {
    Reg table = ir::kNoReg;  // KeyTable*
    Reg frame = ir::kNoReg;  // states of a query without groups
    int64_t key_bytes = 0;
  };
  GroupStore gen_group_store(const BoundQuery& query);
  std::vector<Reg> gen_distinct_tables(const std::vector<Aggregate>& aggregates);
  void gen_group_output(const BoundQuery& query, Reg row, Reg state, Block reject, const Consumer& consume);
  void update_aggregate(const Aggregate& aggregate, Reg state, Reg group, Reg distinct);
  // The functions of aggregates (aggregate_function.cc): see codegen/aggregate_state.h
  void step_aggregate(const Aggregate& aggregate, const Values& args, Reg state);
  void step_ordered(const Aggregate& aggregate, const Value& value, Reg state);
  Value finish_aggregate(const Aggregate& aggregate, Reg state);
  void accumulate(const Aggregate& aggregate, const Values& args, Reg state);
  void accumulate_bits(AggregateKind kind, const Value& value, Reg state);
  void collect_row(const Values& args, Reg state);
  void sort_collected(const Aggregate& aggregate, Reg rows);
  void step_collected(const Aggregate& aggregate, Reg rows, Reg state);
  Value finish_collected(const Aggregate& aggregate, Reg state);
  Value finish_plain(const Aggregate& aggregate, Reg state);
  void accumulate_decimal(const Value& value, const SqlType& sum, Reg state);
  void accumulate_sum(const Value& value, const SqlType& sum, Reg state);
  void accumulate_extreme(const Aggregate& aggregate, const Value& value, Reg state);

  // --- tuples (tuple.cc) ---
  struct StoredColumn {
    ColumnId id;
    TupleField field;
  };
  using StoredColumns = std::vector<StoredColumn>;
  void store_field(Reg tuple, const TupleField& field, const Value& given);
  Value load_field(Reg tuple, const TupleField& field);
  Reg append_tuple(Reg store, int64_t bytes);
  // dispensed: chunks are shared among the threads of a team; a store that is so has been gathered
  void for_each_tuple(Reg store, int64_t bytes, const std::function<void(Reg)>& body, bool dispensed = false);
  void publish(const StoredColumns& columns, Reg tuple);
  void store_columns(const StoredColumns& columns, Reg tuple);
  Value cast_stored(const Value& value, const SqlType& type);

  // --- plans that several threads run together (share.cc) ---
  bool can_share(const BoundQuery& query, const Plan& plan) const;
  void gen_by_one(const std::function<void()>& body);
  void gen_root(const Plan& plan, const BoundQuery& query, const Consumer& consume);
  Reg gen_gather(Reg store, bool for_all);

  // --- planned queries (plan.cc, plan_join.cc, plan_hash.cc, plan_group.cc, plan_set.cc) ---
  using Body = std::function<void()>;
  uint32_t next_relation() {
    if (next_relation_ < program_.relation_count) next_relation_ = program_.relation_count;
    return next_relation_++;
  }
  void gen_planned(const BoundQuery& query, const Consumer& consume);
  void gen_node(const PlanNode& node, const Body& body);
  void gen_counted(const PlanNode& node, const Body& body);
  Block gen_bounds_tests(const PlanNode& node);  // plan_bounds.cc
  void gen_operator(const PlanNode& node, const Body& body);
  // EXPLAIN [ANALYZE] (analysis.cc)
  bool is_analysed() const { return resources_.explains && resources_.explain_options.analyze; }
  void begin_analysis();
  void end_analysis();
  void note_plan(const Plan& plan);
  void raise_counter(uint32_t counter, Reg by);
  void gen_shared(const PlanNode& node, const Body& body);
  void gen_get(const PlanNode& node, const Body& body);
  void gen_map(const PlanNode& node, const Body& body);
  void gen_values_node(const PlanNode& node, const Body& body);
  void gen_function(const PlanNode& node, const Body& body);
  void gen_subquery_node(const PlanNode& node, const Body& body);
  void gen_shared(const SharedPlan& shared);
  void gen_conjuncts(const std::vector<BoundPtr>& conjuncts, Block reject);
  static StoredColumns lay_out(const std::vector<PlanColumn>& columns, const std::set<uint32_t>& relations,
                               bool nullable, TupleLayout* layout);
  Reg null_tuple(const StoredColumns& columns, int64_t bytes);
  static bool is_worth_staging(const PlanNode& input, double table_rows, int64_t tuple_bytes);
  // after() all rows, of each partition on disk. meets: a team comes together before, where nothing is on disk.
  struct Rounds {
    bool meets = false;
    std::function<void()> after;
  };
  void gen_staged(const PlanNode& input, Reg store, const std::function<Reg(Block)>& hash_row,
                  const std::function<void(Reg)>& consume, const Rounds* rounds = nullptr);
  struct StageState;
  struct StageBlocks;
  void gen_spilled_rows(Reg store, Reg stage, Reg count, int64_t bytes, Reg again, Block resume, Block partition);
  void gen_stage_rounds(Reg store, const Rounds& rounds, const StageState& state, const StageBlocks& blocks);
  bool may_spill(double rows, int64_t bytes);
  Reg hash_of(const Values& keys, const std::vector<bool>& apart);
  Reg hash_word(const Value& key);
  Reg find_slot(Reg store, Reg hash);
  void compare_keys(const Values& keys, const std::vector<TupleField>& fields, Reg tuple, Block equal, Block differs);
  struct JoinTable;  // codegen/hash_table.h has it, GroupTable and AggregateSlot
  void gen_join(const PlanNode& node, const Body& body);
  void gen_lookup_join(const PlanNode& node, const Body& body);
  JoinTable gen_join_build(const PlanNode& node, const PlanNode& input, bool keeps_null);
  // hash: of the row at hand, where it is known
  void gen_join_probe(const PlanNode& node, const JoinTable& table, Reg hash, const Body& body);
  void gen_probes(const PlanNode& node, const PlanNode& input, const JoinTable& table,
                  const std::function<void(Reg hash)>& probe, const Rounds& rounds);
  void gen_swapped_join(const PlanNode& node, const Body& body);
  void gen_full_join(const PlanNode& node, const Body& body);
  Values gen_join_keys(const PlanNode& node, bool left, Block null);
  void gen_chain(const JoinTable& table, const Values& keys, Reg hash, Reg entry,
                 const std::function<void(Block)>& match, Block end);
  void gen_mark(const PlanNode& node, const JoinTable& table, Reg hash, const Body& body);
  // arrays instead of chains, and filters of scans (plan_direct.cc): KeyPlaces of runtime/direct.h
  struct Places {
    Reg size, shift, offset, memory;  // memory: the tuples, or a filter's bits
    Reg object;
    std::vector<Reg> factors;
  };
  Places load_places(Reg object, int64_t memory, size_t keys);
  Reg gen_place(const Places& places, const Values& keys);
  Reg layout_data(const JoinTable& table, bool hashed);
  void gen_direct_build(size_t keys, JoinTable* table);
  void gen_direct_run(const JoinTable& table, const Values& keys, Reg entry, const std::function<void(Block)>& match,
                      Block end);
  void gen_filter_build(const PlanNode& join, const JoinTable& table);
  void gen_join_filters(const PlanNode& get, Block reject);
  struct GroupJoin;  // plan_group_join.cc
  void gen_group_join(const PlanNode& node, const Body& body);
  void open_group_join(GroupJoin* group, JoinTable* table);
  void gen_other_states(const PlanNode& node, const GroupJoin& group, Reg all, Reg count, Reg place);
  void gen_group_places(const PlanNode& node, const GroupJoin& group, const Body& body);
  void gen_group(const PlanNode& node, const Body& body);
  struct GroupTable;
  void gen_group_table(const PlanNode& node, double rows, bool can_spill, GroupTable* table);
  void gen_distinct(const PlanNode& node, const Body& body);
  void gen_grouped(const PlanNode& node, const GroupTable& table, const std::function<Values()>& gen_keys,
                   const std::function<void(Reg)>& body);
  void gen_plain_aggregation(const PlanNode& node, const Body& body);
  Reg find_group(const GroupTable& table, const Values& keys, Reg hash, Reg is_new);
  void search_group(const GroupTable& table, const Values& keys, Reg hash, Reg is_new, Reg group);
  struct AggregateSlot;
  using AggregateSlots = std::vector<AggregateSlot>;
  WholeChunks make_whole_chunks(const PlanNode& node, const AggregateSlots& slots);
  void gen_merge(const GroupTable& table, const PlanNode& node, const std::function<void(Reg, Reg)>& combine,
                 const std::function<void(Reg store)>& emit);
  void gen_merge_source(const GroupTable& table, Reg merged, const std::function<void(Reg, Reg)>& combine);
  void combine_states(const PlanNode& node, const AggregateSlots& slots, Reg mine, Reg other,
                      const std::vector<int64_t>& offsets);
  void gen_sum_up(const PlanNode& node, const AggregateSlots& slots);
  AggregateSlots lay_out_aggregates(const PlanNode& node, TupleLayout* layout);
  Reg load_state(const AggregateSlot& slot, Reg tuple);
  void store_state(const AggregateSlot& slot, Reg tuple, Reg value);
  void clear_states(const AggregateSlots& slots, Reg tuple);
  void step_states(const PlanNode& node, const AggregateSlots& slots, Reg tuple, const std::vector<Reg>& distinct);
  void step_state(const Aggregate& aggregate, const AggregateSlots& slots, size_t number, Reg tuple);
  Value finish_state(const Aggregate& aggregate, const AggregateSlots& slots, size_t number, Reg tuple);
  void gen_sort(const PlanNode& node, const Body& body);
  void gen_spill_sorted(Reg store, Reg keys, size_t count, Reg offset, Reg limit);
  void gen_sorted_batches(Reg store, bool spills, const std::function<void(Reg tuples, Reg count)>& body);
  // --- window calls (plan_window.cc) ---
  struct WindowTuple {
    TupleLayout layout{0};
    StoredColumns columns;
    std::vector<std::pair<const BoundExpr*, TupleField>> inputs, filters;
    std::vector<std::vector<TupleField>> arguments;  // by call
    std::vector<TupleField> results;
  };
  TupleField window_input(const BoundExpr& expr, WindowTuple* tuple);
  WindowTuple lay_out_windows(const PlanNode& node, std::vector<TupleSortKey>* keys, std::vector<WindowSpec>* specs);
  void gen_window(const PlanNode& node, const Body& body);
  void gen_window_partitions(const PlanNode& node, const WindowTuple& tuple, const std::vector<WindowSpec>& specs,
                             Reg spec_data, Reg run, const Body& body);
  void gen_window_aggregate(const Aggregate& aggregate, const WindowSpec& spec, Reg spec_data, Reg run,
                            const std::vector<TupleField>& arguments, const TupleField& result_field);
  void gen_window_step(const Aggregate& aggregate, const WindowSpec& spec, Reg run, Reg at,
                       const std::vector<TupleField>& arguments, Reg state);
  void for_each_position(Reg from, Reg to, const std::function<void(Reg)>& body);
  void gen_limit(const PlanNode& node, const Body& body);
  Reg gen_bound(const BoundExpr* expr, int64_t otherwise, RuntimeError negative);
  void gen_set(const PlanNode& node, const Body& body);
  void gen_append(const PlanNode& node, const Body& body);
  void gen_recursive(const PlanNode& node, const Body& body);
  void gen_unique(const PlanNode& node, const Body& body);

  // --- lookups ahead (prefetch.cc; lookup_batch.cc for joins) ---
  static constexpr int64_t kRoundsAhead = 32;  // rows of some cache lines each: half of a first-level cache
  static constexpr int64_t kNotLookedUp = -2;  // no Tid: of another partition, or NULL in the key
  void find_lookups(const StepList& steps, uint32_t variable, const std::set<uint32_t>& assigned,
                    std::vector<Lookup>* lookups);
  size_t gen_prefetch(const Step& step, Reg from, Reg to, Reg by);
  bool keeps_rows(const StepList& steps, const storage::Table* table) const;
  Reg gen_remembered(const Relation& relation, const std::function<Reg()>& find);
  void gen_lookup_ahead(const Lookup& lookup, bool rows, Reg round, Reg remember);
  void gen_fetch_ahead(const Remembered& remembered);
  void prefetch_row(const Lookup& lookup, const RowSource& source);
  void prefetch_cells(const RowSource& source, const std::set<uint32_t>& columns);
  void prefetch_choice(const RowSource& source, const BoundExpr& choice);
  // Does step `number` read a range of an index, and the next one look up a row for each of its entries?
  bool looks_up_next(const JoinPlan& plan, size_t number) const;
  void gen_lookup_batches(JoinPlan* plan, size_t number, const std::function<void()>& body);
  // Runs body for 0 .. count() - 1; count is asked before each round, body may make it grow.
  void gen_rounds(const std::function<Reg()>& count, const std::function<void(Reg)>& body);

  // --- changes (dml.cc) ---
  void gen_dml(const BoundDml& dml, const Consumer& returning);
  void begin_dml(const BoundDml& dml, bool statement_triggers = true);
  void gen_rows_of_dml(const BoundDml& dml, const Consumer& returning);
  void end_dml(const BoundDml& dml, bool statement_triggers = true);
  // statements of several parts (with.cc)
  Reg open_part(const CommonQuery& part);
  void gen_part(const CommonQuery& part);
  void gen_part_rows(const Relation& relation, const std::function<void()>& body);
  Reg open_row_table();
  void note_changed_row(const BoundDml& dml, Reg partition, Reg tid);
  void skip_changed_row(const BoundDml& dml, Block skip);
  void gen_with(const BoundWith& with, const BoundDml* main_dml, const std::function<void()>& main);
  void gen_changing_query(const BoundQuery& query, const Consumer& consume);
  // MERGE (merge.cc)
  void begin_merge(const BoundMerge& merge);
  void end_merge(const BoundMerge& merge);
  void gen_merge_choice(const BoundMerge& merge, bool matched, const std::vector<Reg>& buffers, const Values& place);
  std::vector<Reg> open_merge_buffers(const BoundMerge& merge);
  void gen_merge_changes(const BoundDml& action, Reg buffer, Reg seen);
  void gen_merge_rows(const BoundDml& dml);
  void gen_insert(const BoundDml& dml, const Consumer& returning);
  void gen_insert_finish(const RowSource& source, const Values& values);
  void gen_collected(const BoundQuery& query, const std::function<void(const Consumer&)>& run, const Consumer& consume);
  void gen_buffered(const BoundQuery& query, const Consumer& consume);
  void gen_buffer_rows(Reg rows, size_t width, const std::function<void(Reg)>& body);
  static bool moves_keys(const BoundDml& dml);
  bool needs_collection(const BoundDml& dml, const JoinPlan& plan) const;
  void gen_change(const BoundDml& dml, const Consumer& returning);
  void gen_view_change(const BoundDml& dml, const Consumer& returning);
  void gen_update_row(const BoundDml& dml, const RowSource& source, uint32_t number, const Values& values);
  void gen_delete_row(const BoundDml& dml, const std::function<void()>& gen_outputs);
  void gen_change_row(const BoundDml& dml, uint32_t descriptor, const Values& values, const Consumer& returning);
  void gen_collected(const BoundDml& dml, JoinPlan* plan, uint32_t descriptor, const Consumer& returning);
  void check_storable(const Value& value);
  void count_row();

  // --- rules of tables (constraint.cc) ---
  using ColumnValue = std::function<Value(uint32_t)>;
  struct ConflictState {
    uint32_t descriptor = 0;
    Reg seen = ir::kNoReg;  // KeyTable*: rows that this statement has inserted or updated
  };
  void set_new_row(const BoundDml& dml, const std::vector<const BoundExpr*>& readers, const ColumnValue& value_of);
  void check_not_null(const BoundDml& dml, const std::set<uint32_t>& columns, const ColumnValue& value_of);
  void gen_check(const RowCheck& check, const ColumnValue& value_of);
  void gen_checks(const BoundDml& dml, const std::vector<RowCheck>& checks, const ColumnValue& value_of);
  void begin_events(const BoundDml& dml);
  void note_event(const BoundDml& dml, const ColumnValue& old_value, const ColumnValue& new_value);
  void end_events(const BoundDml& dml, const std::function<void(const BoundDml&)>& begin_action);
  void gen_next_after_row(const BoundDml& dml, Reg turn);
  void gen_references(const BoundDml& dml, Reg event, size_t width);
  void gen_reaction(const RowReaction& reaction, const ColumnValue& old_value,
                    const std::function<void(const BoundDml&)>& begin_action);
  ConflictState begin_conflict(const BoundDml& dml);
  Block gen_conflict(const BoundDml& dml, const ConflictState& state, Reg partition, Reg tid, const Values& values,
                     const Consumer& returning);
  Reg finds_row(Reg rows, Reg partition, Reg tid, bool add);
  uint32_t table_number(const std::shared_ptr<storage::Table>& table);

  // --- undo and redo (change.cc) ---
  Reg cell_register(storage::CellKind kind, const Value& value);
  void gen_log_room(size_t cursor_at, size_t end_at, Reg bytes, const ir::External& make_room);
  void store_bytes(Reg to, int64_t at, std::string_view bytes);
  void put_fixed_values(const storage::RowValues& values, const std::function<Value(uint32_t)>& value_of, Reg to,
                        int64_t at);
  void if_recording(const RowSource& source, const std::function<void()>& body);
  Reg put_redo_prefix(const std::string& prefix, Reg partition);
  void advance_redo(Reg end);
  static bool logs_update_inline(const storage::UpdateDescriptor& descriptor, const storage::RowValues& key);
  void gen_update_log(const RowSource& source, const storage::UpdateDescriptor& descriptor, uint32_t number,
                      const storage::RowValues& key, const std::function<Value(uint32_t)>& new_value);
  void gen_update_image(const RowSource& source, const storage::UpdateDescriptor& descriptor, uint32_t number,
                        int64_t entry_bytes);
  void gen_live(const RowSource& source);
  static bool logs_insert_inline(const storage::RowValues& row);
  void gen_insert_log(const RowSource& source, const storage::RowValues& row, const std::string& prefix,
                      const std::function<Value(uint32_t)>& value_of);

  // --- procedures (procedure.cc) ---
  void gen_steps(const StepList& steps);
  void gen_step(const Step& step);
  void gen_block(const Step& step);
  void gen_assign_element(const Step& step);
  void gen_if(const Step& step);
  void gen_loop(const Step& step);
  void gen_for_integer(const Step& step);
  void gen_for_query(const Step& step);
  void gen_for_each(const Step& step);
  void gen_for_body(const Step& step, Block exit, Block next);
  void gen_for_end(const Step& step, Reg rows, Reg ran);
  void gen_exit(const Step& step);
  void gen_raise(const Step& step);
  void gen_into(const Step& step);
  void gen_call_step(const Step& step);
  void assign_into(const IntoTargets& into, const Values& values);
  void assign_variable(uint32_t variable, const Value& value);
  void assign_nulls(const IntoTargets& into);
  void set_found(Reg found);
  void set_row_count(Reg rows);
  void tell_rows(Reg rows);
  void gen_tells(const Step& step, Reg rows);
  Value gen_alone(const BoundExpr& expr);
  void gen_condition_alone(const BoundExpr& expr, Block if_true, Block if_false);
  Value call_routine(uint32_t callee, const Values& args, const std::vector<SqlType>& outputs, Values* results);
  // dynamic SQL and cursors (dynamic.cc)
  Reg gen_statement_text(const Step& step, bool wants_rows);
  void gen_execute(const Step& step);
  void gen_for_rows(const Step& step);
  void gen_open(const Step& step);
  void gen_fetch(const Step& step);
  void gen_current_row(const Step& step);
  void gen_close(const Step& step);
  void assign_from_rows(const IntoTargets& into, Reg rows, Reg row);
  Reg gen_row_set(const BoundQuery& query);
  Reg names_of(const std::vector<std::string>& names);
  // triggers (trigger.cc)
  Values row_values(const BoundDml& dml);
  void open_transitions();
  void gen_statement_triggers(const std::vector<TriggerCall>& calls, const AfterRows& rows);
  Values gen_before_row(const BoundDml& dml, const Values* old_row, const Values* new_row, Block skip);
  void open_after_rows(const BoundDml& dml);
  void note_after_row(const BoundDml& dml, const Values* old_row, const Values* new_row);
  void gen_after_rows(const BoundDml& dml);
  static size_t width_of_after_row(const BoundDml& dml);
  void gen_after_row(const BoundDml& dml, Reg row);
  void gen_trigger_call(const BoundDml& dml, const TriggerCall& call, const Values* old_row, const Values* new_row,
                        Values* results, const std::function<void()>& then);
  void open_row_set();
  void append_to_row_set(const Values& values);
  void gen_return_next(const Step& step);
  void gen_return_query(const Step& step);
  void gen_emit(const Values& values);
  void gen_return();
  Reg constant(ir::Type type, int64_t value) { return b_.constant(type, value); }
  Reg context() const { return ir::kContextReg; }
  template <class T>
  Reg data_of(const std::vector<T>& items) {
    return b_.data(std::string_view(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T)));
  }
  void unsupported(std::string_view what);

  const BoundProgram& program_;
  ProgramResources& resources_;
  ir::Builder b_;
  Status status_;
  std::set<uint32_t> assigned_;  // parameters that the program assigns
  // Columns that the program updates; all, where it calls routines or takes back changes in EXCEPTION blocks.
  std::set<std::pair<const storage::Table*, uint32_t>> overwritten_;
  bool overwrites_all_ = false;
  bool domains_write_ = false;  // what checks the values of a variable may change a table
  std::vector<Value> variables_;
  std::unordered_map<uint32_t, RowSource> sources_;  // by relation
  // values of kGroup and kAggregate, by query: subqueries refer to those of enclosing queries
  std::map<uint32_t, const Values*> groups_, aggregates_;
  const Values* outputs_ = nullptr;                                                  // values of kSubqueryOutput
  Block handler_ = 0, fail_block_ = 0, misclassified_block_ = 0, return_block_ = 0;  // fail: returns Outcome::kError
  std::optional<int64_t> handler_mark_;  // place in the frame: of the block whose handlers are handler_
  std::map<std::pair<Block, int>, Block> raise_blocks_;
  std::map<uint32_t, LoopBlocks> labels_;
  uint32_t for_loops_ = 0;              // around the place at hand
  std::vector<Remembered> remembered_;  // of the loops around
  std::vector<std::unique_ptr<Relation>> insert_targets_;
  std::vector<RowEvents> events_;                                    // of the statements around
  uint32_t next_relation_ = 0;                                       // numbers for what plans compute
  std::map<uint32_t, WorkingTable> working_tables_;                  // of recursive queries, by SharedPlan::number
  std::map<uint32_t, std::pair<Reg, StoredColumns>> shared_stores_;  // by SharedPlan::number
  Reg row_count_ = ir::kNoReg, told_rows_ = ir::kNoReg;              // I64 variables: rows of the statement; ROW_COUNT
  Value return_value_;
  Reg analysis_ = ir::kNoReg;  // counters
  PlanCounters counters_;      // of the plan at hand
  uint32_t next_counter_ = kFirstNodeCounter;
  std::map<const CommonQuery*, Reg> part_rows_;        // RowBuffer*, of the parts of the statement at hand
  std::map<const storage::Table*, Reg> changed_rows_;  // KeyTable*: rows that the statement at hand has changed
  std::map<const BoundDml*, AfterRows> after_rows_;    // rows that AFTER triggers will see
  TriggeredCode triggered_{&b_, [this](Reg status) { check(status); }};
  Reg row_set_ = ir::kNoReg;  // Ptr variable: RowBuffer of a set-returning function
  bool shared_run_ = false;   // the plan at hand is one that several threads may run together
  bool dispensed_ = false;    // the next full scan drives a pipeline: it takes morsels
  bool sealed_ = false;       // the next store to be read is sealed, and others read it too
  int64_t scan_count_ = 0;
  std::optional<uint32_t> changed_relation_;   // all its rows are changed: moved when they are opened
  const WholeChunks* whole_chunks_ = nullptr;  // that the next scan may give
  std::map<uint32_t, OnceResult> once_;        // of subqueries, by BoundQuery::id
  std::map<uint32_t, Places> filters_;         // of the plan at hand, by number
  GroupJoin* grouping_ = nullptr;              // the next join's partners are groups
  uint32_t loops_ = 0;                         // around the place at hand
  bool staged_ = false;                        // control comes back into a pipeline (stage.cc): ir::demote()
};

}  // namespace scyper::query
