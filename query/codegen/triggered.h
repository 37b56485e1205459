#pragma once

#include <functional>
#include <memory>

#include "bind/bound.h"
#include "ir/ir.h"
#include "runtime/triggered_rows.h"

namespace scyper::query {

// Code that refuses a row which a trigger or a function of the statement has changed since the statement found it
// (runtime/triggered_rows.h). No code where nothing can change rows meanwhile.
class TriggeredCode {
 public:
  using Reg = ir::Reg;
  using Block = ir::Block;
  // check: goes on where a runtime function has given 0.
  TriggeredCode(ir::Builder* builder, std::function<void(Reg)> check) : b_(*builder), check_(std::move(check)) {}

  // The statement at hand.
  struct State {
    Reg rows = ir::kNoReg;  // TriggeredRows*; none: nobody else changes its rows
    bool is_merge = false;
    const BoundDml* fires_late = nullptr;  // its BEFORE triggers per statement run when its rows have been found
  };
  using TableNumber = std::function<int64_t(const std::shared_ptr<storage::Table>&)>;
  // A statement begins: `main`, or a query whose WITH changes something. Gives the one around it, for close().
  State open(const BoundDml* main, const BoundWith* with, const TableNumber& number_of);
  void close(const State& around) { state_ = around; }
  // An action of a foreign key is a statement of its own, which begins now.
  void restart();

  bool fires_late(const BoundDml& dml) const { return state_.fires_late == &dml; }
  // 27000 where others have changed the row since it was found. Goes to `skip` where they have inserted it.
  // behind_triggers: the row's BEFORE triggers have run.
  void check_untouched(const BoundDml& dml, bool behind_triggers, Reg partition, Reg tid, Block skip);
  // Others' changes so far are known. What follows, until note_own_change(), is the statement's own.
  void note_others();
  void note_own_change();
  // Have others changed or inserted the row? kNoReg: they cannot.
  Reg is_touched(Reg partition, Reg tid);

 private:
  RowTurn turn_of(const BoundDml& dml, bool behind_triggers) const;
  Reg answer();

  ir::Builder& b_;
  const std::function<void(Reg)> check_;
  State state_;
};

}  // namespace scyper::query
