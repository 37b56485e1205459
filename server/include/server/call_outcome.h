#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

// What the end of a call says about whether it was done, for those who send it again under the same identity until they
// know (docs/transaction_redo.md). Threads: any.
namespace scyper::server {

// Of who may send calls again: grows with time; two that are drawn at once differ.
uint64_t draw_client_id();

// Another node, or the same one a little later, may do it.
bool is_worth_another(const Status& status);
// Whether a call that ended so may have been done all the same.
bool is_open_question(const Status& status);
// Whether a node that ended a call so had looked for its identity before, and so had not done it earlier either. Others
// are refusals that need not come from its execution.
bool is_of_execution(const Status& status);
// 40003. open: why it is not known.
Status unknown_outcome(const Status& open);
// The address in "Send them to the primary at host:port."; empty: none.
std::string primary_in(const std::string& hint);

}  // namespace scyper::server
