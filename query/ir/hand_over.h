#pragma once

#include "ir/ir.h"

namespace scyper::query::ir {

// A run that begins in the interpreter, while nobody knows whether it comes to where the work is, and hands over to
// native code there, which runs the function from its beginning: what came before must bear to run twice. The places
// are those of Function::swaps; here nothing is written down at them.

// Is the function worth that? What it does before the first place on its way calls `test`, whose answer may keep it
// from coming to one; and it calls `output` before no place.
bool may_end_before_work(const Function& function, const External& test, const External& output);

// The function as it begins then. hand_over: context, arguments, results -> I32: the status of the native code that has
// run it; negative: it goes on here.
Function with_hand_over(Function function, const External& hand_over);

}  // namespace scyper::query::ir
