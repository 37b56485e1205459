#pragma once

#include <string>

#include "base/partition_set.h"
#include "query/fork.h"
#include "replication/digests.h"

// The state of a node at a cut, as digests of its tables' partitions: what nodes of one history compare.
namespace scyper::replay {

// Its child computes; nothing else has to be set. The caller forks at the cut.
// held: the partitions of partitioned tables that the node has. Others are left out, unless there are rows in them.
query::ForkRequest make_digest_request(const PartitionSet& held = PartitionSet::all());
// Waits for the child: table by table and partition by partition, term, snapshot and LSN of the fork's point. 58030
// when it has died.
StatusOr<replication::StateDigest> read_digest(const query::Forked& forked);

}  // namespace scyper::replay
