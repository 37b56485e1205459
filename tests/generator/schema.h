#pragma once

#include <string>
#include <vector>

#include "generator/expressions.h"

namespace scyper::generator {

struct Column {
  std::string name;
  Kind kind = Kind::kInteger;
  bool is_drawn = false;      // from a sequence where it is left out
  bool is_generated = false;  // never assigned
  bool is_unique = false;     // part of a key: changed in one row at a time
};

struct Table {
  std::string name;
  std::vector<Column> columns;
  std::vector<size_t> key;  // of the primary key; empty: none
  bool is_view = false;
  bool is_checked = false;  // constraints besides the key, generated columns

  bool draws() const;
  // Its columns by a prefix: "t." or nothing.
  Scope scope(const std::string& prefix) const;
};

struct Schema {
  std::vector<Table> tables;
  std::vector<Term> statements;  // that make it

  // Neither views nor, where `drawn` is false, tables with columns drawn from sequences; at least one is there.
  std::vector<const Table*> targets(bool drawn) const;
};

// Tables of all types with defaults, checks, keys, foreign keys, generated columns, indexes, views, a sequence, an
// enum.
class SchemaMaker {
 public:
  SchemaMaker(Random* random, ExpressionMaker* expressions) : random_(random), expressions_(expressions) {}
  Schema make(int table_count);

 private:
  Term table();
  Term key_column(Table* table);
  Term column(Table* table);
  Term generated_column(Table* table);
  Term constraint(Table* table);
  Term foreign_key(Table* table);
  Term of_columns(Kind kind, const Table& table) {
    return expressions_->value_of_columns(kind, table.scope(""), 1, table.columns[0].name);
  }
  Term index();
  Term view();

  Random* const random_;
  ExpressionMaker* const expressions_;
  Schema schema_;
};

}  // namespace scyper::generator
