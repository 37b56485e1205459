#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bind/bound.h"
#include "parse/ast.h"
#include "parse/plpgsql_ast.h"

// What names mean at a place: columns of the queries around it, variables of the blocks around it.
namespace scyper::query {

// A query level that names are looked up in, innermost first.
struct Scope {
  // What a name without qualifier and * see: USING and NATURAL leave one column of two.
  struct Visible {
    size_t relation = 0;  // position in relations
    uint32_t column = 0;
    std::shared_ptr<const BoundExpr> merged;  // of USING: the value, where it is not the column's
  };
  // JOIN ... USING (...) AS name: what USING leaves.
  struct UsingAlias {
    std::string name;
    std::vector<Visible> columns;
  };
  const Scope* parent = nullptr;
  BoundQuery* query = nullptr;             // marked correlated when an outer column is found through it
  std::vector<const Relation*> relations;  // visible by alias.column
  std::vector<bool> nullable;              // the null-supplying side of an outer join
  std::vector<Visible> columns;            // in the order of *
  std::vector<UsingAlias> aliases;

  void add(const Relation* relation, bool is_nullable);
  const RelationColumn& column(const Visible& v) const { return relations[v.relation]->columns[v.column]; }
  BoundPtr value(const Visible& v, int32_t location) const;
};

// What an INSERT gives a value to.
struct InsertTarget {
  uint32_t column = 0;
  const ast::SubscriptIndex* part = nullptr;  // null: all of it
  int32_t location = -1;
};

// Variables of a PL/pgSQL block.
struct VariableScope {
  const VariableScope* parent = nullptr;
  std::string label;                                       // block label or routine name, for label.variable
  std::map<std::string, uint32_t, std::less<>> variables;  // name -> program variable
  struct Record {
    bool assigned = false;
    bool fixed = false;              // declared with a row type: keeps its shape
    std::vector<std::string> names;  // of fields, once a statement has given it a shape
    std::vector<uint32_t> variables;
    bool absent = false, present = false;  // OLD, NEW: the event has none, has it
    std::shared_ptr<LooseRecord> loose;    // shape unknown: fields come into being where they are named
  };
  std::map<std::string, Record*, std::less<>> records;
  // A declared cursor. The variable of that name holds its portal's name.
  struct Cursor {
    const plpgsql::CursorDeclaration* declaration = nullptr;
    const VariableScope* scope = nullptr;  // what its query sees, but for
    std::vector<uint32_t> parameters;      // its own
  };
  std::map<std::string, Cursor, std::less<>> cursors;
  // What is kept of the tables that a cursor's rows come from, for WHERE CURRENT OF.
  struct CursorLoop {
    bool tracked = false;                                                       // at all
    bool locks = false;                                                         // FOR UPDATE and the like
    std::vector<std::pair<const storage::Table*, std::vector<uint32_t>>> keys;  // variables of its identity
  };
  std::map<std::string, CursorLoop, std::less<>> loops;  // FOR over a cursor, by its name
};

}  // namespace scyper::query
