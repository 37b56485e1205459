#include "wire.h"

#include <cstring>

namespace scyper::replication {

std::string encode_cluster(const ClusterId& cluster) {
  return {reinterpret_cast<const char*>(cluster.words), sizeof(cluster.words)};
}

bool decode_cluster(const std::string& bytes, ClusterId* cluster) {
  if (bytes.size() != sizeof(cluster->words)) return false;
  std::memcpy(cluster->words, bytes.data(), bytes.size());
  return true;
}

void encode_partitions(const PartitionSet& from, WireWords* to) {
  to->Clear();
  for (const uint64_t word : from.words()) to->Add(word);
}

PartitionSet decode_partitions(const WireWords& from) {
  return PartitionSet::of_words({from.data(), static_cast<size_t>(from.size())});
}

void encode_watermark(const Watermark& from, v1::Watermark* to) {
  to->set_term(from.term);
  to->set_term_lsn(from.term_lsn);
  to->set_complete_lsn(from.complete_lsn);
  to->set_commit_lsn(from.commit_lsn);
  to->set_time_us(from.time_us);
}

Watermark decode_watermark(const v1::Watermark& from) {
  return {from.term(), from.term_lsn(), from.complete_lsn(), from.commit_lsn(), from.time_us()};
}

void encode_digest(const StateDigest& from, v1::StateDigest* to) {
  to->set_term(from.term);
  to->set_snapshot(from.snapshot);
  to->set_lsn(from.lsn);
  for (const StateDigest::Part& part : from.parts) {
    v1::StateDigest::Part* made = to->add_parts();
    made->set_table(part.table);
    made->set_partition(part.partition);
    made->set_lo(part.lo);
    made->set_hi(part.hi);
    made->set_rows(part.rows);
  }
}

StateDigest decode_digest(const v1::StateDigest& from) {
  StateDigest digest{from.term(), from.snapshot(), from.lsn(), {}};
  for (const v1::StateDigest::Part& part : from.parts()) {
    digest.parts.push_back({part.table(), part.partition(), part.lo(), part.hi(), part.rows(), false});
  }
  return digest;
}

// Abseil's codes are gRPC's.
grpc::Status to_grpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

Status from_grpc(const grpc::Status& status) {
  return Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace scyper::replication
