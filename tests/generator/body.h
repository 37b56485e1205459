#pragma once

#include <string>
#include <utility>
#include <vector>

#include "generator/queries.h"

namespace scyper::generator {

struct Parameter {
  enum class Mode { kIn, kOut, kInOut };
  std::string name;
  Kind kind = Kind::kInteger;
  Mode mode = Mode::kIn;
};

// Something in PL/pgSQL that is called.
struct Routine {
  enum class Form { kValue, kVoid, kSet, kTable, kOut, kProcedure };
  std::string name;
  Form form = Form::kValue;
  Kind result = Kind::kInteger;       // of kValue and kSet
  std::vector<Parameter> parameters;  // kTable: its columns are outputs
  int cost = 1;                       // how many statements a call runs, about

  bool returns_rows() const { return form == Form::kSet || form == Form::kTable; }
};

// Bodies of routines. They end: loops have bounds, and what a body may cost bounds what it calls. They depend on no
// order of rows: queries are ordered by keys, changes are of one row or cannot fail. No value grows in a loop.
class BodyMaker {
 public:
  BodyMaker(Random* random, ExpressionMaker* expressions, const Schema* schema, const std::vector<Routine>* callable);

  // DECLARE ... BEGIN ... END; sets the routine's cost.
  Term body(Routine* routine, bool is_wrong);
  // Arguments of a call outside of routines.
  Term arguments(const Routine& routine);

 private:
  struct Variable {
    std::string name;
    Kind kind;
    bool is_assignable = true;
    bool is_exact = true;  // of the type that a parameter of that kind has
  };
  struct Label {
    std::string name;
    bool is_loop;
  };

  // body.cc: blocks, declarations, control
  Term block(const std::string& label, bool may_catch);
  void declare();
  void declare_variable();
  void declare_row();
  Term handlers();
  Term statements(int count);
  Term statement();
  Term simple_statement();
  Term branch();
  Term cases();
  Term loop();
  Term loop_body(const std::string& label, int times, const std::vector<Variable>& variables = {});
  Term integer_loop(const std::string& label);
  Term array_loop(const std::string& label);
  Term query_loop(const std::string& label);
  Term leave();
  Term notice();
  Term raise();
  Term odd();
  Term give();
  Term finish();

  // body_sql.cc: values, queries, changes, calls
  Scope scope(size_t count = SIZE_MAX) const;
  Term assigned(Kind kind, const Scope& scope, bool may_fail);
  const Variable* variable(Kind kind);
  Term assign();
  Term assign_element();
  Term sql();
  Term select(const std::vector<Kind>& kinds, const Scope& variables, const std::string& into, bool is_typed);
  std::string key_condition(const Table& table, const std::string& prefix);
  Term select_into();
  Term select_row();
  Term insert();
  Term update();
  Term remove();
  Term returning(const Table& table);
  Term cursor();
  Term dynamic();
  Term call();
  Term joined(std::vector<std::pair<std::string, Term>> given);
  Term call_arguments(const Routine& routine, bool* fits);
  std::string next_name(const char* prefix) { return prefix + std::to_string(++names_); }

  Random* const random_;
  ExpressionMaker* const expressions_;
  const Schema* const schema_;
  const std::vector<Routine>* const callable_;
  QueryMaker queries_;
  std::vector<const Table*> tables_;  // with a key, drawing no numbers
  Routine* routine_ = nullptr;
  std::vector<Variable> variables_;
  size_t visible_ = 0;  // of these, what declarations of the block may name
  std::vector<std::pair<std::string, const Table*>> rows_;
  std::vector<std::vector<Term>> declarations_;  // of the blocks that are being made
  std::vector<Label> labels_;
  int names_ = 0, depth_ = 0, handlers_ = 0;
  int times_ = 1;  // how often the statement being made may run
  bool is_wrong_ = false;
};

}  // namespace scyper::generator
