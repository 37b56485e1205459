#pragma once

#include <cstdint>

namespace scyper::replication {

// A guard that is off: what the simulation has to find.
enum class SimulationFlaw : uint8_t {
  kNone,
  kIgnoresGaps,         // what does not follow is taken as if it did
  kAppliesUnconfirmed,  // groups are applied that the commit point does not cover
  kKeepsTails,          // what came beyond a new term's start stays
  kTrustsPeers,         // another secondary is believed, whichever primary it follows, and gives all that it has
  kReusesSource,        // a sender that starts again within its term has the name of the one before
};

// One seed of a primary and its secondaries in one process: real batches, datagrams, outbox and inboxes; simulated
// time, network and crashes; what is missing comes from the primary or from another secondary, which may have been cut
// off for terms. Some of the secondaries subscribe to some of the partitions. What it finds are failures of the test
// that it runs in; a CHECK may end the process first. Checks: nothing is applied that was not confirmed, nothing twice,
// nothing left out; global snapshots are the same everywhere; at each border a secondary has of each stream that it
// subscribes to what was confirmed, no more and no less; no nonce seals two datagrams; everybody catches up when the
// faults end. Returns how many groups other secondaries gave.
uint64_t run_simulation(uint64_t seed, SimulationFlaw flaw = SimulationFlaw::kNone);

}  // namespace scyper::replication
