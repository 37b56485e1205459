#pragma once

#include <memory>

#include "primary/blocks.h"
#include "primary/open_transaction.h"

namespace scyper::server {

class Forwarding;

// The transaction of a session of this node on the primary, over a stream to it (session/passed_block.h). Its first
// statement opens the stream. When the primary goes away the transaction is lost: its statements fail with 40001, its
// COMMIT with 40003 unless the primary has answered it.
std::unique_ptr<primary::OpenTransaction> make_forwarded_block(Forwarding* forwarding, primary::BlockLevel level);

}  // namespace scyper::server
