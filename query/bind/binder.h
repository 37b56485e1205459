#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "bind/bound.h"
#include "bind/feed_schema.h"
#include "bind/object_numbers.h"
#include "bind/row_lock_code.h"
#include "bind/scope.h"
#include "bind/system_tables.h"
#include "parse/ast.h"
#include "parse/plpgsql_ast.h"
#include "query/catalog.h"

namespace scyper::query {
struct ViewChange;
enum class DatetimeUnit : uint8_t;
enum class Coercion : uint8_t { kImplicit, kAssignment, kExplicit };
// Position of a column that statements see, -1 = none.
int find_target_column(const storage::TableSchema& schema, std::string_view name);

// Turns syntax trees into one BoundProgram. One binder per program; not reusable.
class Binder {
 public:
  // parameter_count: the highest $n in the text.
  Binder(const Catalog& catalog, std::string_view source, size_t parameter_count = 0);
  ~Binder();
  // Where the sizes of foreign tables' files are looked up.
  void set_foreign_files_directory(const std::string& directory) { foreign_files_directory_ = directory; }

  // parameter_types: of $1..$n as far as the client says (kUnknown = infer).
  StatusOr<std::unique_ptr<BoundProgram>> bind_statement(const ast::Statement& statement,
                                                         const std::vector<SqlType>& parameter_types);
  // The body of a routine (its own text is `source`).
  StatusOr<std::unique_ptr<BoundProgram>> bind_routine(const Routine& routine, const plpgsql::Body& body);
  // For definitions: they name materialized views that have no rows yet.
  void allow_unpopulated() { allows_unpopulated_ = true; }
  // The table that a change of the view changes, whatever the role may do; or the error of who tries.
  StatusOr<std::shared_ptr<ViewTarget>> describe_view(const View& view, DmlKind kind, uint8_t event);
  // Tables and views that the statement reads or writes, not those behind its views.
  const std::set<std::string>& used_relations() const { return used_relations_; }
  // Whether PostgreSQL has a function, an aggregate or a window function of that name.
  static bool is_builtin_function(std::string_view name);
  // How well an argument fits a parameter: 0 exactly, -1 not.
  static int pass_cost(const BoundExpr& arg, const SqlType& parameter);
  // A constant expression (DEFAULT), coerced to `type`.
  StatusOr<BoundPtr> bind_constant(const ast::Expr& expr, const SqlType& type);
  // CHECK and GENERATED expressions over one row of the table, as a definition gives them.
  StatusOr<BoundPtr> bind_check(const ast::Expr& expr, std::shared_ptr<storage::Table> table);
  // CHECK of a domain, whose values are of type `base`.
  StatusOr<BoundPtr> bind_domain_check(const ast::Expr& expr, const SqlType& base);
  StatusOr<BoundPtr> bind_generated(const ast::Expr& expr, std::shared_ptr<storage::Table> table, uint32_t column);
  // An expression of an index, or its predicate.
  StatusOr<BoundPtr> bind_index_part(const ast::Expr& expr, std::shared_ptr<storage::Table> table, bool is_predicate);
  // The condition of a trigger of the table (events and per_row are known), as its definition gives it.
  Status check_trigger_condition(const ast::Expr& expr, const Trigger& trigger, std::shared_ptr<storage::Table> table);

 private:
  friend class PlBinder;

  // binder_expr.cc: expressions
  StatusOr<BoundPtr> bind(const ast::Expr& expr, const Scope* scope);
  StatusOr<BoundPtr> bind_literal(const ast::Literal& literal);
  StatusOr<BoundPtr> bind_parameter(const ast::Parameter& parameter);
  StatusOr<BoundPtr> bind_column(const ast::ColumnRef& ref, const Scope* scope);
  StatusOr<BoundPtr> system_column(const ast::ColumnRef& ref, const Scope* scope);
  StatusOr<std::unique_ptr<BoundQuery>> bind_expanded_sets(const ast::SelectStatement&, const Scope*, bool);
  StatusOr<BoundPtr> bind_grouping_call(const ast::GroupingCall& call, const Scope* scope);
  StatusOr<BoundPtr> bind_subscript(const ast::Subscript& expr, const Scope* scope);
  StatusOr<BoundPtr> bind_array(const ast::ArrayConstructor& expr, const Scope* scope);
  StatusOr<BoundPtr> bind_logical(const ast::Logical& expr, const Scope* scope);
  StatusOr<BoundPtr> bind_unary(const ast::UnaryOp& expr, const Scope* scope);
  StatusOr<BoundPtr> bind_between(const ast::Between& expr, const Scope* scope);
  StatusOr<BoundPtr> bind_in_list(const ast::InList& expr, const Scope* scope);
  StatusOr<BoundPtr> bind_case(const ast::Case& expr, const Scope* scope);
  StatusOr<BoundPtr> bind_special(const ast::Expr& expr, const Scope* scope);
  StatusOr<BoundPtr> bind_distinct(const ast::IsDistinct& test, const Scope* scope);
  StatusOr<BoundPtr> bind_null_if(const ast::NullIf& nullif, const Scope* scope);
  StatusOr<BoundPtr> bind_coalesce(const ast::Expr& expr, const Scope* scope);
  StatusOr<BoundPtr> make_min_max(std::vector<BoundPtr> args, bool greatest, int32_t location);
  // binder_row.cc: (a, b) = (c, d) and the like
  StatusOr<BoundPtr> bind_binary(const ast::BinaryOp& expr, const Scope* scope);
  StatusOr<BoundPtr> compare_rows(std::string_view op, const ast::Expr& left, const ast::Expr& right,
                                  const Scope* scope, int32_t location);
  StatusOr<BoundPtr> bind_row_test(const ast::Expr& expr, const Scope* scope);
  BoundPtr join_conditions(BoundKind kind, std::vector<BoundPtr> conditions, int32_t location);
  // binder_any.cc
  StatusOr<BoundPtr> bind_like(const ast::Like& expr, const Scope* scope);
  StatusOr<BoundPtr> make_like_operator(std::string_view op, BoundPtr* left, BoundPtr* right, int32_t location);
  StatusOr<BoundPtr> bind_any_by_rows(const ast::QuantifiedArray& expr, const Scope* scope);
  StatusOr<BoundPtr> make_match_any(std::string_view op, bool all, BoundPtr left, BoundPtr array, int32_t location);
  StatusOr<BoundPtr> bind_collate(const ast::Collate& expr, const Scope* scope);
  StatusOr<BoundPtr> bind_cast(const ast::Cast& expr, const Scope* scope);
  StatusOr<BoundPtr> bind_value_function(const ast::ValueFunction& expr);
  StatusOr<BoundPtr> bind_subquery(const ast::Expr& expr, const Scope* scope);
  Status add_row_bounds(std::vector<BoundPtr>* conjuncts);
  BoundPtr list_of_array(std::string_view op, bool all, const BoundExpr& left, const BoundExpr& array,
                         int32_t location);
  StatusOr<BoundPtr> bind_quantified_array(const ast::QuantifiedArray& expr, const Scope* scope);
  StatusOr<BoundPtr> make_any_all(std::string_view op, bool all, BoundPtr left, BoundPtr array, int32_t location);
  StatusOr<BoundPtr> bind_condition(const ast::Expr& expr, const Scope* scope, std::string_view clause);
  struct GivenArguments {
    std::vector<BoundPtr> args;
    std::vector<std::string> names;  // empty, or parallel to args
    bool variadic = false;           // the last one is VARIADIC
  };
  // binder_call.cc: operators, functions, aggregates
  StatusOr<BoundPtr> bind_call(const ast::FunctionCall& call, const Scope* scope);
  // binder_callee.cc: what a call's name stands for
  enum class Callees : uint8_t { kBuiltin, kRoutine, kBoth };
  Callees callees_of(const ast::FunctionCall& call) const;
  bool hides_set_or_aggregate(const ast::FunctionCall& call) const;
  std::string preferred_routine(const ast::FunctionCall& call, const GivenArguments& given) const;
  StatusOr<BoundPtr> bind_routine_call(const ast::FunctionCall& call, const Scope* scope);
  StatusOr<BoundPtr> bind_type_call(const ast::FunctionCall& call, GivenArguments* given);
  Status check_sequence(const std::vector<BoundPtr>& args) const;
  Status check_sequence_rights(std::string_view function, std::vector<BoundPtr>* args);
  StatusOr<BoundPtr> bind_aggregate(const ast::FunctionCall& call, const Scope* scope);
  StatusOr<BoundQuery*> query_of(const Aggregate& aggregate, const Scope* scope, int32_t location);
  Status bind_aggregate_input(const ast::FunctionCall& call, const Scope* scope, Aggregate* aggregate);
  Status aggregate_ordered_bytes(Aggregate* aggregate, int32_t location);
  static std::string_view finisher_of(const Aggregate& aggregate);
  StatusOr<BoundPtr> finish_aggregate(std::string_view finisher, BoundPtr result, int32_t location);
  StatusOr<Aggregate> make_aggregate(const ast::FunctionCall& call, const Scope* scope);
  StatusOr<BoundPtr> resolve_unknown(BoundPtr literal, const Aggregate& aggregate, const ast::FunctionCall& call);
  static bool is_aggregate(std::string_view name);
  // binder_window.cc
  StatusOr<BoundPtr> bind_window_call(const ast::FunctionCall& call, const Scope* scope);
  Status check_window_place(const ast::FunctionCall& call);
  Status bind_window_arguments(const ast::FunctionCall& call, const Scope* scope, WindowCall* window);
  Status bind_over(const ast::WindowDefinition& over, const Scope* scope, WindowCall* window);
  Status bind_window(const ast::WindowDefinition& definition, size_t count, const Scope* scope, WindowCall* window);
  Status bind_frame(const ast::WindowDefinition& definition, const Scope* scope, WindowCall* window);
  StatusOr<BoundPtr> bind_frame_offset(const ast::Expr& expr, const Scope* scope, const WindowCall& window);
  Status check_named_windows(const Scope* scope);
  static bool is_window_function(std::string_view name);
  Status arrange_ordered_set(Aggregate* aggregate, int32_t location);
  Status arrange_hypothetical(Aggregate* aggregate, size_t direct, int32_t location);
  static BoundPtr add_aggregate(Aggregate aggregate, BoundQuery* query, int32_t location);
  StatusOr<BoundPtr> make_operator(std::string_view op, BoundPtr left, BoundPtr right, int32_t location);
  Status type_unknown_operands(std::string_view op, BoundPtr* left, BoundPtr* right, int32_t location);
  Status match_numbers(BoundPtr* left, BoundPtr* right);
  Status match_compared(std::string_view op, BoundPtr* left, BoundPtr* right, int32_t location);
  Status match_concatenated(BoundPtr* left, BoundPtr* right, int32_t location);
  // written_as: the operator that stands for the function; empty: its name does.
  StatusOr<BoundPtr> make_call(std::string_view name, std::vector<BoundPtr> args, int32_t location,
                               std::string_view written_as = {});
  Status no_operator(std::string_view op, const std::vector<BoundPtr>& args, int32_t location) const;
  StatusOr<BoundPtr> make_extract(DatetimeUnit unit, std::vector<BoundPtr> args, int32_t location);
  static bool find_element(const Builtin& builtin, const std::vector<BoundPtr>& args, SqlType* element);
  Status match_array_elements(const Builtin& builtin, const SqlType& element, std::vector<BoundPtr>* args);
  // binder_object.cc
  StatusOr<BoundPtr> object_constant(ObjectKind kind, const std::string& text, int32_t location);
  StatusOr<BoundPtr> find_object(ObjectKind kind, BoundPtr text, bool must_exist);
  StatusOr<BoundPtr> cast_to_object(ObjectKind kind, BoundPtr value);
  StatusOr<BoundPtr> object_text(ObjectKind kind, BoundPtr value);
  StatusOr<BoundPtr> bind_catalog_cast(const ast::Cast& expr, const Scope* scope);
  StatusOr<BoundPtr> bind_number(const ast::Expr& expr, const SqlType& type, const Scope* scope);
  StatusOr<BoundPtr> bind_text_function(const ast::FunctionCall& call, const Scope* scope);
  StatusOr<BoundPtr> bind_privilege_test(const ast::FunctionCall& call, const Scope* scope);
  Status check_tested_column(const BoundExpr& table, const ast::Expr& column, const Scope* scope);
  StatusOr<BoundPtr> bind_table_sample(const ast::FunctionCall& call, const Scope* scope);
  StatusOr<BoundPtr> bind_serial_sequence(const ast::FunctionCall& call, const Scope* scope);
  StatusOr<BoundPtr> find_relation_text(const std::map<std::string, std::string>& texts, BoundPtr relation);
  StatusOr<BoundPtr> find_text(std::string map, BoundPtr key, int32_t location);
  StatusOr<BoundPtr> bind_object_call(const ast::FunctionCall& call, const Scope* scope);
  Status show_objects(std::unique_ptr<BoundQuery>* query), show_objects(std::vector<OutputColumn>* outputs);
  StatusOr<BoundPtr> bind_environment_call(const ast::FunctionCall& call, const Scope* scope);
  Status no_like_operator(std::string_view name, const std::vector<BoundPtr>& args, int32_t location) const;
  // binder_routine.cc: calls of routines
  struct RoutineMatch {
    std::shared_ptr<const Routine> routine;
    std::vector<int> slots;  // by parameter: which argument, or that there is none
    int cost = 0;
  };
  StatusOr<GivenArguments> bind_given(const ast::FunctionCall& call, const Scope* scope);
  static bool match_routine(const Routine& routine, const GivenArguments& given, RoutineMatch* match);
  StatusOr<RoutineMatch> choose_routine(std::string_view name, bool procedure, const GivenArguments& given,
                                        int32_t location);
  StatusOr<std::vector<BoundPtr>> arrange_arguments(RoutineMatch* match, GivenArguments given);
  Status specialise(std::shared_ptr<const Routine>* routine, const std::vector<BoundPtr>& args, int32_t location);
  Status pass_arguments(const Routine& routine, std::vector<BoundPtr> args, std::vector<BoundPtr>* out);
  StatusOr<BoundPtr> make_routine_call(RoutineMatch match, GivenArguments given, int32_t location);
  StatusOr<BoundPtr> make_user_call(std::string_view name, GivenArguments given, int32_t location);
  StatusOr<std::vector<RelationColumn>> result_columns(const Routine& routine);
  static bool is_composite(const Routine& routine);
  std::unique_ptr<BoundQuery> query_over(std::unique_ptr<Relation> relation);
  StatusOr<const ast::FunctionCall*> routine_in_from(const ast::FromFunction& item, const Scope* scope);
  Status bind_routine_from(const ast::FromFunction& item, const ast::FunctionCall& call, Scope* scope,
                           BoundQuery* query, JoinType join);
  StatusOr<std::unique_ptr<Relation>> routine_relation(const ast::FunctionCall& call, GivenArguments given,
                                                       std::string alias,
                                                       const std::vector<ast::ColumnDeclaration>& declared,
                                                       int32_t location);
  Status lift_select_functions(const std::vector<ast::SelectTarget>& targets, const Scope* scope, BoundQuery* query);
  StatusOr<BoundPtr> select_column(const Relation& relation);
  StatusOr<bool> expand_call(const ast::Expr& expr, const Scope* scope, std::vector<OutputColumn>* out);
  // binder_composite.cc: rows as values
  static BoundPtr make_row(std::vector<OutputColumn> fields, int32_t location);
  static BoundPtr make_query_row(std::unique_ptr<BoundQuery> query, int32_t location);
  StatusOr<std::optional<std::vector<OutputColumn>>> fields_of(std::string_view name, const Scope* scope,
                                                               int32_t location);
  StatusOr<BoundPtr> bind_row(const ast::RowConstructor& row, const Scope* scope);
  StatusOr<std::vector<BoundPtr>> bind_list(const std::vector<ast::ExprPtr>& list, const Scope* scope);
  BoundPtr row_subquery(const BoundQuery& query, const std::function<BoundPtr(std::vector<BoundPtr>)>& make);
  BoundPtr row_field(const BoundExpr& row, size_t i);
  StatusOr<BoundPtr> row_text(BoundPtr row);
  StatusOr<BoundPtr> row_key(BoundPtr row);
  StatusOr<BoundPtr> fields_differ(const BoundExpr& left, const BoundExpr& right, int32_t location);
  StatusOr<BoundPtr> order_bound_rows(std::string_view op, const BoundExpr& a, const BoundExpr& b, int32_t location);
  static const std::vector<BoundPtr>* shown_fields(const BoundExpr& expr);
  StatusOr<BoundPtr> row_to_json(const ast::FunctionCall& call, std::vector<BoundPtr> args);
  // build: the function that makes a document of names and values.
  StatusOr<BoundPtr> row_json(BoundPtr row, std::string_view build = "jsonb_build_object");
  uint32_t image_variable(LooseRecord* loose);
  StatusOr<BoundPtr> image_call(std::string_view function, const BoundExpr& row, std::vector<BoundPtr> more);
  StatusOr<BoundPtr> image_field(const BoundExpr& row, size_t i, const SqlType& type);
  StatusOr<BoundPtr> whole_row(std::string_view name, bool star, const Scope* scope, int32_t location);
  Status no_image(const BoundExpr& row, std::string_view what) const;
  StatusOr<BoundPtr> coalesce_rows(std::vector<BoundPtr> rows, int32_t location);
  StatusOr<BoundPtr> bind_field(const ast::FieldSelect& select, const Scope* scope);
  StatusOr<BoundPtr> row_is_null(const BoundExpr& row, bool negated, int32_t location);
  StatusOr<BoundPtr> compare_bound_rows(std::string_view op, const BoundExpr& a, const BoundExpr& b, int32_t location);
  StatusOr<std::vector<RelationColumn>> relation_columns(const std::string& relation, int32_t location);
  StatusOr<BoundPtr> cast_row(BoundPtr row, const std::vector<RelationColumn>& columns, const std::string& relation);
  // coercion.cc
  StatusOr<BoundPtr> coerce(BoundPtr expr, const SqlType& target, Coercion context);
  StatusOr<BoundPtr> coerce_assign(BoundPtr expr, const SqlType& type);
  StatusOr<SqlType> common_type(const std::vector<BoundPtr>& exprs, std::string_view construct);
  static bool merge_types(const SqlType& next, SqlType* type);
  static SqlType type_beside_unknown(const std::vector<BoundPtr>& exprs, const SqlType& type);
  StatusOr<BoundPtr> coerce_boolean(BoundPtr expr, std::string_view clause);
  // Parameters of types that are texts with a mark (json, jsonpath): whether an argument can be of the type; literals
  // without a type become it.
  static bool fits_marks(std::string_view function, const std::vector<BoundPtr>& args);
  Status coerce_marked(std::string_view function, std::vector<BoundPtr>* args);
  StatusOr<BoundPtr> bind_document_path(const std::vector<ast::SubscriptIndex>& indexes, const Scope* scope,
                                        int32_t location);
  StatusOr<BoundPtr> replace_document_part(BoundPtr document, const std::vector<ast::SubscriptIndex>& indexes,
                                           BoundPtr value, std::string_view name, const Scope* scope, int32_t location);
  StatusOr<BoundPtr> make_path_operator(std::string_view op, BoundPtr left, BoundPtr right, int32_t location);
  StatusOr<std::vector<BoundPtr>> bind_set_arguments(const ast::FunctionCall& call, const Scope* scope);
  StatusOr<BoundPtr> json_literal(BoundPtr text, const SqlType& type);
  StatusOr<BoundPtr> literal_to(BoundPtr expr, const SqlType& target, bool is_explicit);
  // binder_query.cc
  // keep_unknown: outputs may stay literals without a type, for who knows better (UNION, INSERT).
  StatusOr<std::unique_ptr<BoundQuery>> bind_select(const ast::SelectStatement& select, const Scope* parent,
                                                    bool keep_unknown = false);
  Status bind_plain_select(const ast::SelectStatement& select, const Scope* parent, bool keep_unknown,
                           BoundQuery* query);
  // While a subquery of an expression is bound: aggregates over columns of `scope` alone belong to its query, if what
  // is being bound there takes any.
  struct AggregatePlace {
    BoundQuery* query = nullptr;
    std::string_view clause;
    bool in_aggregate = false;
  };
  class SubqueryAt {
   public:
    SubqueryAt(Binder* binder, const Scope* scope)
        : binder_(binder),
          scope_(scope),
          place_{std::exchange(binder->aggregate_query_, nullptr), binder->aggregate_clause_, binder->in_aggregate_},
          around_(std::exchange(binder->aggregate_places_[scope], &place_)) {}
    ~SubqueryAt() {
      leave();
      if (around_ == nullptr) binder_->aggregate_places_.erase(scope_);
    }
    SubqueryAt(const SubqueryAt&) = delete;
    SubqueryAt& operator=(const SubqueryAt&) = delete;
    void leave() {  // the rest of the expression follows
      binder_->aggregate_query_ = place_.query;
      binder_->aggregate_places_[scope_] = around_;
    }

   private:
    Binder* const binder_;
    const Scope* const scope_;
    const AggregatePlace place_;
    const AggregatePlace* const around_;
  };
  // scope: what is around the statement that has the WITH.
  Status check_common_tables(const ast::WithClause& with, const Scope* scope);
  StatusOr<std::unique_ptr<Relation>> join_relation(const ast::FromJoin& item, const Scope* scope);
  // binder_with.cc: queries of WITH that change something, which only the outermost statement may have
  class Nested {
   public:
    explicit Nested(Binder* binder) : binder_(binder) {
      if (binder->statement_depth_++ > 0) return;
      binder->parts_.clear();
      binder->main_reads_.clear();
      binder->reads_ = nullptr;
      binder->rebound_queries_ = 0;
    }
    ~Nested() { binder_->statement_depth_--; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Binder* const binder_;
  };
  struct Part {
    std::shared_ptr<CommonQuery> common;
    std::set<const CommonQuery*> reads;  // parts
  };
  static bool changes_data(const ast::WithClause& with);
  StatusOr<std::shared_ptr<CommonQuery>> bind_common_query(const ast::CommonTable& table, bool recursive,
                                                           const Scope* scope);
  struct CommonTable;
  static bool is_repeatable(CommonQuery* bound);
  static bool reads_around(CommonQuery* bound);
  static bool is_bound_for_each(const ast::CommonTable& table, CommonQuery* bound);
  StatusOr<std::shared_ptr<CommonQuery>> bind_anew(const CommonTable& common);
  StatusOr<std::shared_ptr<CommonQuery>> referenced_query(const CommonTable& common);
  StatusOr<std::unique_ptr<Relation>> dependent_relation(const CommonTable& common, std::string alias,
                                                         const Scope* reader, int32_t location);
  std::unique_ptr<BoundQuery> all_rows(const std::shared_ptr<CommonQuery>& common);
  void add_statement_part(std::shared_ptr<CommonQuery> common, std::set<const CommonQuery*> reads);
  std::shared_ptr<CommonQuery> copy_of(const std::shared_ptr<storage::Table>& table);
  std::shared_ptr<const BoundWith> finish_parts(BoundQuery* query, BoundDml* dml);
  // binder_array.cc
  StatusOr<BoundPtr> bind_quantified_subquery(const ast::QuantifiedSubquery& expr, const Scope* scope);
  StatusOr<BoundPtr> bind_array_of(const ast::SelectStatement& select, const Scope* scope, int32_t location);
  StatusOr<BoundPtr> bind_array_subquery(const ast::ArraySubquery& expr, const Scope* scope);
  StatusOr<BoundPtr> coerce_to_part(BoundPtr value, const SqlType& type, const ast::SubscriptIndex& index,
                                    std::string_view name, int32_t location);
  StatusOr<BoundPtr> replace_part(BoundPtr array, const ast::SubscriptIndex& index, BoundPtr value,
                                  std::string_view name, const Scope* scope, int32_t location);
  StatusOr<BoundPtr> bind_slice(const ast::SubscriptIndex& index, BoundPtr array, const Scope* scope, int32_t location);
  // binder_merge.cc
  StatusOr<std::unique_ptr<BoundDml>> bind_merge(const ast::MergeStatement& merge);
  Status bind_merge_source(const ast::MergeStatement& merge, Scope* sources, BoundQuery* rows, BoundDml* dml);
  StatusOr<BoundMergeWhen> bind_merge_when(const ast::MergeWhen& when, const Scope* scope, BoundDml* dml);
  StatusOr<std::vector<BoundPtr>> bind_merge_values(const ast::MergeWhen& when,
                                                    const std::vector<InsertTarget>& targets, const Scope* scope,
                                                    const storage::TableSchema& schema);
  Status bind_merge_insert(const ast::MergeWhen& when, const Scope* scope, BoundDml* action, BoundMergeWhen* bound);
  StatusOr<std::shared_ptr<CommonQuery>> bind_recursive(const ast::CommonTable& table, const Scope* scope);
  // binder_recursion.cc: where a query of WITH RECURSIVE may name itself
  enum class RecursionPlace : uint8_t {
    kAllowed,
    kFirstTerm,
    kSubquery,
    kOuterJoin,
    kIntersect,
    kExcept,
    kNotUnion,  // nowhere: it has no recursive term
    kChange
  };
  struct RecursiveName {
    const ast::CommonTable* table;
    RecursionPlace place;
  };
  class Recursion;
  class RecursionAt;
  Status check_recursion(const ast::CommonTable& table, int32_t location) const;
  Status check_recursive_term(const ast::SelectStatement& select) const;
  Status check_recursive_aggregates(const BoundQuery& query) const;
  StatusOr<bool> widen_recursive(const std::string& name, CommonQuery* common);
  Status bind_distinct_on(const ast::SelectStatement& select, const Scope* scope, BoundQuery* query);
  class Barred;
  Status reach(const Relation& relation, const Scope* scope, const Scope* level, int32_t location) const;
  StatusOr<JoinTree> bind_join_tree(const ast::FromItem& item, Scope* scope, BoundQuery* query);
  StatusOr<JoinTree> bind_join_inside(const ast::FromJoin& join, Scope* scope, BoundQuery* query);
  Status bind_group_item(const ast::Expr& item, const ast::SelectStatement& select, const Scope* scope,
                         BoundQuery* query, uint32_t* position);
  Status add_order(const OrderItem& order, BoundQuery* query, int32_t location);
  static void add_group(BoundPtr expr, BoundQuery* query, uint32_t* position);
  StatusOr<std::vector<std::vector<uint32_t>>> bind_grouping_set(const ast::Expr& item,
                                                                 const ast::SelectStatement& select, const Scope* scope,
                                                                 BoundQuery* query);
  Status check_grouping_call(BoundExpr* expr, BoundQuery* query);
  std::unique_ptr<Relation> common_relation(std::shared_ptr<CommonQuery> common, std::string alias);
  // select list of its own around a query whose outputs need casts
  void wrap(std::unique_ptr<BoundQuery>* query);
  Status merge_columns(const ast::FromJoin& item, const std::vector<std::string>& names, size_t from, size_t middle,
                       Scope* scope, std::vector<BoundPtr>* conjuncts);
  StatusOr<Scope::Visible> merge_values(const ast::FromJoin& item, const Scope::Visible& left,
                                        const Scope::Visible& right, const Scope& scope);
  Status bind_set_operation(const ast::SelectStatement& select, const Scope* parent, BoundQuery* query);
  Status bind_values(const ast::SelectStatement& select, const Scope* parent, BoundQuery* query);
  Status bind_from(const ast::FromItem& item, Scope* scope, BoundQuery* query, JoinType join);
  // Whatever a name in FROM stands for: a common table, a table, a view, a table of the catalog.
  StatusOr<std::unique_ptr<Relation>> named_relation(const ast::TableRef& ref, const Scope* scope);
  std::unique_ptr<Relation> foreign_relation(const View& table, std::string alias);
  StatusOr<std::unique_ptr<Relation>> options_relation(const std::string& sql, const std::string& alias,
                                                       const Scope* scope);
  StatusOr<std::unique_ptr<Relation>> feed_relation(const ast::TableRef& ref, std::string alias);
  StatusOr<std::unique_ptr<Relation>> view_relation(const View& view, std::string alias,
                                                    uint16_t rights = kSelectRight);
  StatusOr<std::unique_ptr<Relation>> system_relation(const SystemTable& table, std::string alias);
  StatusOr<std::unique_ptr<Relation>> queried_system_relation(const SystemTable& table, const std::string& alias);
  // binder_function.cc: functions that return rows
  static bool is_set_function(std::string_view name);
  StatusOr<SqlType> match_series(std::vector<BoundPtr>* args, int32_t location);
  StatusOr<std::vector<BoundPtr>> bind_subscripts(std::vector<BoundPtr> args, int32_t location);
  StatusOr<std::vector<BoundPtr>> bind_set_arrays(const ast::FunctionCall& call, const Scope* scope);
  StatusOr<BoundPtr> bind_set_call(const ast::FunctionCall& call, const Scope* scope);
  Status add_set_relation(BoundQuery* query);
  StatusOr<std::unique_ptr<Relation>> scalar_relation(const ast::Expr& call, const Scope* scope);
  StatusOr<std::unique_ptr<Relation>> series_relation(const ast::FunctionCall& call, const Scope* scope);
  std::unique_ptr<Relation> with_arrays(std::unique_ptr<Relation> relation, const std::vector<size_t>& columns);
  Status bind_any_from_function(const ast::FromFunction& item, Scope* scope, BoundQuery* query, JoinType join);
  Status bind_from_function(const ast::FromFunction& item, Scope* scope, BoundQuery* query, JoinType join);
  StatusOr<std::unique_ptr<Relation>> query_relation(const ast::SelectStatement& select, std::string alias,
                                                     const Scope* parent);
  Status expand_record(const ast::ColumnRef& ref, std::vector<OutputColumn>* out);
  Status check_grouped_query(BoundQuery* sub, BoundQuery* query);
  bool find_variable(const ast::Name& name, uint32_t* variable) const;
  void group_sets(BoundQuery* query);
  Status spread_sets(BoundQuery* query);
  Status bind_join(const ast::FromJoin& join, Scope* scope, BoundQuery* query, JoinType outer);
  Status bind_targets(const std::vector<ast::SelectTarget>& targets, const Scope* scope, std::vector<OutputColumn>* out,
                      bool keep_unknown = false);
  Status bind_group_by(const ast::SelectStatement& select, const Scope* scope, BoundQuery* query);
  Status bind_order_by(const std::vector<ast::SortItem>& items, const Scope* scope, BoundQuery* query);
  Status bind_limit(const ast::SelectStatement& select, const Scope* scope, BoundQuery* query);
  // locking.cc
  void lock_rows(const CodeOfRelation& code_of, std::unique_ptr<BoundQuery>* query);
  Status check_grouped(BoundPtr* expr, BoundQuery* query);
  Status check_grouped_call(WindowCall* call, BoundQuery* query);
  std::unique_ptr<Relation> new_relation(RelationKind kind, std::string alias);
  std::unique_ptr<Relation> table_relation(std::shared_ptr<storage::Table> table, std::string alias);
  // rights: that it wants, by Privilege; change: what it does, as errors say it.
  StatusOr<std::shared_ptr<storage::Table>> find_table(const ast::TableRef& ref, uint16_t rights,
                                                       std::string_view change = "change");
  // binder_access.cc
  bool is_checked() const { return is_checked(actor_); }
  bool is_checked(const Role* role) const;
  Status check_schema_usage(std::string_view key, int32_t location) const;
  Status check_rights(const storage::TableSchema& schema, uint16_t rights) const;
  Status check_rights(const View& view, uint16_t rights) const;
  Status check_rights(const Routine& routine) const;
  Status check_reads(const BoundDml& dml) const;
  void note_failing_row(BoundDml* dml) const;
  Status add_relation(std::unique_ptr<Relation> relation, Scope* scope, BoundQuery* query, JoinType join,
                      int32_t location);
  // binder_dml.cc
  StatusOr<std::unique_ptr<BoundDml>> bind_insert(const ast::InsertStatement& insert);
  StatusOr<std::vector<InsertTarget>> target_columns(const std::vector<ast::InsertColumn>& given,
                                                     const BoundDml& dml) const;
  StatusOr<BoundPtr> coerce_to_target(BoundPtr value, const InsertTarget& target, const storage::TableSchema& schema);
  StatusOr<BoundPtr> given_value(const std::vector<InsertTarget>& targets, std::vector<BoundPtr>* given,
                                 uint32_t column, const storage::TableSchema& schema);
  StatusOr<std::unique_ptr<BoundDml>> bind_update(const ast::UpdateStatement& update);
  StatusOr<std::unique_ptr<BoundDml>> bind_delete(const ast::DeleteStatement& statement);
  StatusOr<std::unique_ptr<BoundDml>> bind_dml(const ast::Statement& statement);
  // view_target.cc: changes of views, of the tables behind them
  Status look_behind(const View& view, std::unique_ptr<Relation> relation, const ViewChange& change,
                     ViewTarget* target);
  StatusOr<std::shared_ptr<ViewTarget>> view_target(const View& view, const std::string& alias,
                                                    const ViewChange& change);
  StatusOr<uint32_t> target_column(const BoundDml& dml, const std::string& name, int32_t location) const;
  StatusOr<uint32_t> shown_column(const BoundDml& dml, size_t number) const;
  StatusOr<BoundPtr> view_column(ViewTarget* view, uint32_t number, DmlKind kind);
  Status show_base(BoundDml* dml, uint32_t excluded = 0, BoundExpr* part = nullptr);
  Status bind_view_checks(BoundDml* dml);
  Status bind_partition_checks(BoundDml* dml);
  StatusOr<std::vector<BoundPtr>> visible_through(ViewTarget* view, uint32_t row);
  // binder_view.cc: changes of views, by INSTEAD OF triggers
  Status add_target(const ast::TableRef& ref, int32_t location, Scope* scope, BoundDml* dml);
  Status bind_target(const ast::TableRef& ref, uint16_t rights, std::string_view change, BoundDml* dml);
  StatusOr<std::unique_ptr<Relation>> target_relation(const ast::TableRef& ref, const BoundDml& dml);
  static void keep_view_rows(BoundDml* dml);
  // binder_trigger.cc
  Status bind_triggers(BoundDml* dml);
  StatusOr<TriggerCall> bind_trigger(const std::shared_ptr<const Trigger>& trigger, uint8_t event,
                                     const DeclaredPartition* of, const Relation& old_row, const Relation& new_row);
  void assign_all_columns(BoundDml* dml);
  Status bind_call_statement(const ast::CallStatement& call);
  StatusOr<BoundPtr> coerce_to_column(BoundPtr value, const storage::TableSchema& schema, uint32_t column);
  StatusOr<BoundPtr> default_of(const storage::TableSchema& schema, uint32_t column);
  Status bind_insert_source(const ast::InsertStatement& insert, std::vector<InsertTarget> targets, size_t visible,
                            BoundDml* dml);
  StatusOr<std::vector<BoundPtr>> bind_insert_row(const std::vector<ast::ExprPtr>& row,
                                                  const std::vector<InsertTarget>& targets,
                                                  const storage::TableSchema& schema);
  StatusOr<std::vector<BoundPtr>> bind_insert_values(const ast::SelectStatement& source,
                                                     const std::vector<InsertTarget>& targets,
                                                     const storage::TableSchema& schema, BoundQuery* query);
  StatusOr<std::vector<BoundPtr>> wrap_insert_query(std::unique_ptr<BoundQuery>* query,
                                                    const std::vector<InsertTarget>& targets,
                                                    const storage::TableSchema& schema);
  Status bind_assignment(const ast::Assignment& assignment, const ast::Expr& source, const Scope* scope, BoundDml* dml);
  Status bind_set(const std::vector<ast::SetItem>& items, const Scope* scope, BoundDml* dml);
  Status bind_set_items(const std::vector<ast::SetItem>& items, const Scope* scope, BoundDml* dml);
  Status check_overriding(const ast::InsertStatement& insert, const storage::TableSchema& schema, uint32_t column,
                          const ast::Expr* value);
  // binder_conflict.cc
  Status bind_conflict(const ast::InsertStatement& insert, Relation* target, BoundDml* dml);
  struct ConflictTarget {
    std::set<uint32_t> columns;
    std::vector<BoundPtr> exprs, where;
  };
  StatusOr<ConflictTarget> bind_conflict_target(const ast::OnConflict& conflict, BoundDml* dml, const Relation& target);
  static bool matches(const ConflictTarget& wanted, const storage::IndexDef& index, const Relation& target);
  Status infer_indexes(const ast::OnConflict& conflict, BoundDml* dml, Relation* target,
                       std::vector<uint32_t>* indexes);
  // binder_constraint.cc
  class InnerText;
  const TableRules* rules_of(const storage::TableSchema& schema) const;
  StatusOr<BoundPtr> bind_rule(std::string_view text, const Relation* row, std::string_view clause);
  void bind_hidden_columns(Relation* relation);
  Status bind_constraints(BoundDml* dml);
  Status bind_generated_columns(const TableRules& rules, BoundDml* dml);
  Status bind_checks(const TableRules& rules, BoundDml* dml);
  Status bind_reference(const ForeignKey& key, BoundDml* dml);
  Status bind_reactions(BoundDml* dml);
  Status bind_reaction(const ForeignKey& key, const std::shared_ptr<storage::Table>& child, BoundDml* dml);
  Status bind_reaction_check(const ForeignKey& key, const storage::TableSchema& child, ReferentialAction action,
                             BoundDml* dml, RowReaction* reaction);
  StatusOr<std::unique_ptr<BoundDml>> bind_action(std::string text, BoundDml* dml);
  const Relation* row_relation(std::unique_ptr<Relation>* row, const BoundDml& dml, std::string alias);
  Status bind_set_query(const ast::SetItem& item, const Scope* scope, BoundDml* dml);
  StatusOr<uint32_t> check_assignment(const ast::Assignment& assignment, bool is_default, BoundDml* dml);
  Status add_assignment(const ast::Assignment& assignment, BoundPtr value, const Scope* scope, BoundDml* dml);
  Status assign_part(const ast::Assignment& assignment, uint32_t column, BoundPtr value, const Scope* scope,
                     BoundDml* dml);
  static void flatten_and(BoundPtr expr, std::vector<BoundPtr>* out);
  StatusOr<std::unique_ptr<Step>> bind_call_step(const ast::FunctionCall& call);
  uint32_t output_variable(const ast::Expr* given) const;
  // binder_current.cc
  Status bind_dml_where(const ast::Expr& where, const Scope* scope, BoundDml* dml);
  StatusOr<std::vector<uint32_t>> current_key(const std::string& cursor, const storage::Table& table, int32_t location);
  Status bind_returning(const std::vector<ast::SelectTarget>& targets, const Scope* scope, BoundDml* dml);

  Status error(std::string_view sqlstate, std::string_view message, int32_t location) const;
  uint32_t new_variable(std::string name, const SqlType& type);
  // binder_domain.cc
  // A value of its base type as one of the domain (0: none).
  StatusOr<BoundPtr> to_domain(BoundPtr value, uint32_t domain);
  void set_domain(uint32_t variable, uint32_t domain);
  const Catalog& catalog_;
  const Role* actor_;        // whose rights count; null: of a role that has been dropped
  std::string_view source_;  // of a view while its query is bound
  std::unique_ptr<BoundProgram> program_;
  const VariableScope* variables_ = nullptr;
  std::vector<SqlType> declared_parameters_;
  const size_t parameter_count_;
  bool allow_parameters_ = false;
  plpgsql::VariableConflict variable_conflict_ = plpgsql::VariableConflict::kError;
  BoundQuery* aggregate_query_ = nullptr;  // where aggregates of the expression being bound belong
  std::map<const Scope*, const AggregatePlace*> aggregate_places_;  // of scopes around subqueries; null: none
  BoundQuery* window_query_ = nullptr;  // whose select list or ORDER BY is being bound: window calls belong to it
  const std::vector<ast::WindowDefinition>* named_windows_ = nullptr;  // its WINDOW clause
  bool in_aggregate_ = false, in_window_ = false, in_window_definition_ = false;
  std::unique_ptr<Relation> set_relation_;  // what the functions in its select list return
  bool grouped_subquery_ = false;           // check_grouped() is inside a subquery
  uint32_t query_count_ = 0;
  size_t bound_expressions_ = 0;
  // Parameters at places that give them no type, while no other place had: variable and location.
  std::vector<std::pair<uint32_t, int32_t>> untyped_parameters_;
  std::string_view aggregate_clause_;  // why aggregates are not allowed here, empty = allowed
  std::set<std::string> used_relations_;
  std::string foreign_files_directory_;
  int view_depth_ = 0, statement_depth_ = 0;
  std::vector<Part> parts_;  // of the statement at hand
  std::set<const CommonQuery*> main_reads_;
  std::set<const CommonQuery*>* reads_ = nullptr;  // of the part being bound
  const Scope* action_scope_ = nullptr;            // of a foreign key's action: the rows that it follows
  std::vector<const BoundDml*> reacting_;          // statements whose actions are being bound, outermost first
  using CommonTables = std::map<std::string, CommonTable>;
  struct CommonTable {
    const ast::CommonTable* table = nullptr;
    std::shared_ptr<CommonQuery> query = nullptr;
    std::shared_ptr<const CommonTables> visible = nullptr;  // bound anew for each reference: the names that it sees
    const Scope* scope = nullptr;  // around the statement that has the WITH, while that is bound
    bool is_dependent = false;     // it reads columns of `scope`: each reference is a subquery there
  };
  CommonTables common_tables_;
  std::set<const Relation*> barred_;            // LATERAL may not refer to them: left sides of RIGHT and FULL JOIN
  std::vector<RecursiveName> recursive_names_;  // whose queries are being bound, outermost first
  int rebound_queries_ = 0;                     // of WITH, of the statement at hand
  // calls of set-returning routines in the select list: their relations
  std::map<const ast::FunctionCall*, const Relation*> select_functions_;
  // WHERE CURRENT OF of the statement at hand: a row that a cursor stands on when it runs.
  struct CurrentRow {
    BoundPtr name;                // of the portal
    std::string cursor;           // how the statement calls it
    std::string identity, table;  // name of the first of the portal's columns; for errors
    std::vector<uint32_t> variables;
  };
  std::vector<CurrentRow> current_rows_;
  using TransitionTables = std::map<std::string, std::shared_ptr<CommonQuery>>;
  TransitionTables transition_tables_;                      // of the trigger function at hand
  std::shared_ptr<const DeclaredPartition> inserted_into_;  // by the INSERT at hand: its defaults count
  bool allows_unpopulated_ = false, is_describing_ = false, binds_target_ = false;  // describe_view(), view_target()
  bool keep_rows_ = false;  // whole rows in the select list stay kRow: for who assigns them to a record
};

}  // namespace scyper::query
