// Settings of nodes beside others: multicast, replication, elections.
#include "commit_modes.h"
#include "replication/channels.h"
#include "setting_kinds.h"

namespace scyper::server {

std::vector<Setting> multicast_settings() {
  return {
      choice_setting("transport",
                     "primary: how the log is sent; auto is multicast by PGM, rdma by RDMA verbs, where it works",
                     std::array{std::pair{"auto", primary::TransportChoice::kAuto},
                                std::pair{"rdma", primary::TransportChoice::kRdma},
                                std::pair{"unicast", primary::TransportChoice::kUnicast}},
                     SCYPER_FIELD(engine.replication.transport)),
      text_setting("multicast_interface", "IPv4 address of the interface for multicast; empty = unicast only",
                   SCYPER_FIELD(engine.replication.multicast_interface)),
      text_setting("multicast_group", "primary: group that the log is sent to",
                   SCYPER_FIELD(engine.replication.multicast_group)),
      number_setting("multicast_port", "primary: UDP port of the group", 1, 65535,
                     SCYPER_FIELD(engine.replication.multicast_port)),
      number_setting("multicast_channels",
                     "primary: groups that partitions are spread over, from multicast_group and multicast_port on; 1 = "
                     "one for all",
                     1, replication::kChannelsMax, SCYPER_FIELD(engine.replication.multicast_channels)),
      choice_setting("multicast_protocol", "primary: PGM within UDP, or as IP's protocol 113 (needs CAP_NET_RAW)",
                     std::array{std::pair{"udp", false}, std::pair{"ip", true}},
                     SCYPER_FIELD(engine.replication.multicast_is_raw)),
      quantity_setting("multicast_rate", "primary: bytes per second by multicast, repairs included", parse_bytes,
                       format_bytes, 1, 1 << 20, SCYPER_FIELD(engine.replication.multicast_rate)),
      number_setting("multicast_mtu", "primary: largest packet that the network carries whole", 576, 65000,
                     SCYPER_FIELD(engine.replication.multicast_mtu)),
      text_setting("rdma_device",
                   "RDMA device, as mlx5_0, mlx5_0:1 with its port, mlx5_0:1:3 with a GID index, or any; empty = that "
                   "of multicast_interface",
                   SCYPER_FIELD(engine.replication.rdma.device)),
      choice_setting("rdma_completion",
                     "by RDMA verbs: events are waited for, or completions polled, by a whole core of this machine",
                     std::array{std::pair{"event", false}, std::pair{"poll", true}},
                     SCYPER_FIELD(engine.replication.rdma.is_polling)),
      quantity_setting("rdma_memory", "by RDMA verbs: memory that is locked for the device", parse_bytes, format_bytes,
                       1, 1 << 16, SCYPER_FIELD(engine.replication.rdma.memory_bytes)),
      number_setting("rdma_datagram_bytes",
                     "primary, by RDMA verbs: the largest datagram; 0 = as the port's MTU allows, on InfiniBand 2048 "
                     "at most",
                     0, 4096, SCYPER_FIELD(engine.replication.rdma.datagram_bytes)),
      switch_setting("rdma_seeding", "by RDMA verbs: archives and ranges of the log for joiners and repairs, too",
                     SCYPER_FIELD(engine.replication.rdma.seeds)),
      text_setting("multicast_key_file",
                   "file with the 64 hexadecimal digits of the key that multicast is encrypted with; empty = not",
                   SCYPER_FIELD(engine.replication.multicast_key_file)),
  };
}

std::vector<Setting> replication_settings() {
  return {
      choice_setting("role", "of the node",
                     std::array{std::pair{"primary", Role::kPrimary}, std::pair{"secondary", Role::kSecondary}},
                     SCYPER_FIELD(role)),
      switch_setting("replication", "primary: takes secondaries; needs data_directory",
                     SCYPER_FIELD(engine.replication.is_on)),
      number_setting("voters", "primary: nodes that the quorum commit modes count, itself included", 1, 99,
                     SCYPER_FIELD(engine.replication.voters)),
      quantity_setting("replication_memory", "primary: newest part of the log kept in memory for repairs", parse_bytes,
                       format_bytes, 1, 1 << 20, SCYPER_FIELD(engine.replication.retained_bytes)),
      quantity_setting("digest_period", "primary: time between two digests that all nodes compare; 0 = none",
                       parse_duration_us, format_duration_us, 1, 0, SCYPER_FIELD(engine.replication.digest_period_us)),
      text_setting("failpoints", "for tests: places where the node fails (base/failpoint.h)", SCYPER_FIELD(failpoints)),
      quantity_setting("marker_distance", "primary: least time between two global snapshots", parse_duration_us,
                       format_duration_us, 1, 0, SCYPER_FIELD(engine.replication.marker_distance_us)),
      text_setting("primary", "secondary: host:port of the primary's gRPC", SCYPER_FIELD(secondary.link.target)),
      text_setting("advertise", "secondary: host:port at which other nodes reach its gRPC; empty = as listen",
                   SCYPER_FIELD(secondary.link.address)),
      switch_setting("voter", "secondary: counts in the quorum commit modes", SCYPER_FIELD(secondary.link.is_voter)),
      switch_setting("partial_secondaries",
                     "primary: takes secondaries that subscribe to some partitions; transactions that cross partitions "
                     "are logged as changes of rows then, whatever redo says",
                     SCYPER_FIELD(engine.replication.takes_partial)),
      partitions_setting("subscribe",
                         "secondary: partitions that it holds, as 0-3,7, of all partitioned tables; it keeps no data "
                         "directory; empty = all",
                         SCYPER_FIELD(secondary.link.partitions)),
      text_setting("secondary_indexes",
                   "secondary: its own indexes, for queries: tables with columns, separated by semicolons",
                   SCYPER_FIELD(secondary.local_indexes)),
      text_setting("archive_directory",
                   "secondary: shared archives, to start from before the primary is asked, and written there",
                   SCYPER_FIELD(secondary.archive_directory)),
      number_setting("replay_threads", "secondary: threads that apply the log", 1, 256,
                     SCYPER_FIELD(secondary.replay_threads)),
      quantity_setting("inbox_memory", "secondary: log received and not yet applied", parse_bytes, format_bytes, 1,
                       1 << 20, SCYPER_FIELD(secondary.inbox_bytes)),
      quantity_setting("lag_max", "secondary: further behind the primary it takes no queries", parse_duration_us,
                       format_duration_us, 1, 1000, SCYPER_FIELD(secondary.lag_us_max)),
      quantity_setting("join_timeout", "secondary: time for a primary to be there", parse_duration_us,
                       format_duration_us, 1, 1000, SCYPER_FIELD(secondary.join_us_max)),
  };
}

std::vector<Setting> cluster_settings() {
  return {
      text_setting("cluster", "name of the cluster in etcd: nodes elect their primary; empty = no elections",
                   SCYPER_FIELD(cluster.name)),
      text_setting("etcd", "elections: host:port of etcd's members, separated by commas", SCYPER_FIELD(cluster.etcd)),
      text_setting("etcd_ca", "elections: PEM file with the authority of etcd's certificates; empty = no TLS",
                   SCYPER_FIELD(cluster.etcd_ca)),
      text_setting("etcd_cert", "elections: PEM file with this node's certificate for etcd",
                   SCYPER_FIELD(cluster.etcd_cert)),
      text_setting("etcd_key", "elections: PEM file with its private key", SCYPER_FIELD(cluster.etcd_key)),
      text_setting("voter_names", "elections: nodes that vote, by name, separated by commas; kept in etcd from then on",
                   SCYPER_FIELD(cluster.voters)),
      quantity_setting("lease_ttl", "elections: a primary that etcd does not hear for so long is replaced",
                       parse_duration_us, format_duration_us, 1, 2'000'000, SCYPER_FIELD(cluster.lease_us)),
      quantity_setting("watchdog",
                       "elections: a primary that has not ended so long after its lease is killed; 0 = never",
                       parse_duration_us, format_duration_us, 1, 0, SCYPER_FIELD(cluster.watchdog_us)),
      text_setting("peer_listen", "elections: host:port for the other voters; port 0 picks a free one",
                   SCYPER_FIELD(cluster.peer_listen)),
      text_setting("peer_advertise", "elections: host:port at which they reach it; empty = as peer_listen",
                   SCYPER_FIELD(cluster.peer_advertise)),
  };
}

}  // namespace scyper::server
