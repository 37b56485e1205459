#pragma once

// Private to parse/: the state behind printer.h.

#include <string>
#include <string_view>
#include <vector>

#include "parse/ast.h"

namespace scyper::query {

class SqlWriter {
 public:
  void expr(const ast::Expr& node);
  void statement(const ast::Statement& node);
  void type(const ast::TypeName& node);
  std::string take() { return std::move(out_); }

 private:
  void add(std::string_view text) { out_ += text; }
  void identifier(const std::string& name);
  void name(const ast::Name& name);
  void names(const std::vector<std::string>& names);  // (a, b), nothing for none
  template <class List, class Write>
  void list(const List& items, Write write) {
    bool first = true;
    for (const auto& item : items) {
      if (!first) add(", ");
      first = false;
      write(item);
    }
  }
  void exprs(const std::vector<ast::ExprPtr>& items) {
    list(items, [this](const ast::ExprPtr& item) { expr(*item); });
  }
  void optional(std::string_view before, const ast::ExprPtr& node);
  void bracketed(const ast::ExprPtr& node);

  // write_expression.cc
  void literal(const ast::Literal& node);
  void call(const ast::FunctionCall& node);
  void case_expr(const ast::Case& node);
  void value_function(const ast::ValueFunction& node);
  void grouping_set(const ast::GroupingSet& node);
  void op(const std::string& op, const std::string& schema);
  void operation(const ast::Expr& node);
  void predicate(const ast::Expr& node);
  void with_subquery(const ast::Expr& node);
  void special(const ast::Expr& node);
  void subquery(std::string_view before, const ast::SelectPtr& select);
  void table_sample(const ast::FromSubquery& node, const ast::FunctionCall& sample);
  void subscripts(const std::vector<ast::SubscriptIndex>& indexes);
  void sort_items(std::string_view before, const std::vector<ast::SortItem>& items);
  void window(const ast::WindowDefinition& node);
  void frame(const ast::WindowDefinition& node);
  void ordering(ast::SortDirection direction, ast::NullsOrder nulls);

  // write_statement.cc
  void select(const ast::SelectStatement& node);
  void select_leaf(const ast::SelectStatement& node);
  void with(const ast::WithClause& node);
  void targets(const std::vector<ast::SelectTarget>& targets);
  void from(std::string_view before, const std::vector<ast::FromItemPtr>& items);
  void from_item(const ast::FromItem& node);
  void join(const ast::FromJoin& node);
  void from_function(const ast::FromFunction& node);
  void alias(const ast::Alias& node);
  void table(const ast::TableRef& node);
  void locking(const ast::LockingClause& node);
  void insert(const ast::InsertStatement& node);
  void insert_columns(const std::vector<ast::InsertColumn>& columns);
  void overriding(ast::Overriding overriding);
  void on_conflict(const ast::OnConflict& node);
  void update(const ast::UpdateStatement& node);
  void set_items(const std::vector<ast::SetItem>& items);
  void delete_from(const ast::DeleteStatement& node);
  void merge(const ast::MergeStatement& node);
  void returning(const std::vector<ast::SelectTarget>& targets);
  // write_schema.cc
  void create_table(const ast::CreateTableStatement& node);
  void create_composite(const ast::CreateTableStatement& node);
  void table_like(const ast::TableLike& like);
  void partition_bound(const ast::PartitionBound& bound);
  void create_index(const ast::CreateIndexStatement& node);
  void constraint(const ast::Constraint& node);
  void foreign_key(const ast::Constraint& node);
  void index_elements(const std::vector<ast::IndexElement>& items);
  void options(std::string_view before, const std::vector<ast::Option>& items);

  std::string out_;
};

}  // namespace scyper::query
