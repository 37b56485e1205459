#pragma once

#include <grpcpp/grpcpp.h>

#include <string>

#include "base/partition_set.h"
#include "base/status.h"
#include "replication.pb.h"
#include "replication/digests.h"
#include "replication/parcel.h"

// Between our types and proto/replication.proto.
namespace scyper::replication {

std::string encode_cluster(const ClusterId& cluster);
// False: not 16 bytes.
bool decode_cluster(const std::string& bytes, ClusterId* cluster);
using WireWords = google::protobuf::RepeatedField<uint64_t>;
void encode_partitions(const PartitionSet& from, WireWords* to);
PartitionSet decode_partitions(const WireWords& from);
void encode_watermark(const Watermark& from, v1::Watermark* to);
Watermark decode_watermark(const v1::Watermark& from);
void encode_digest(const StateDigest& from, v1::StateDigest* to);
StateDigest decode_digest(const v1::StateDigest& from);
grpc::Status to_grpc(const Status& status);
Status from_grpc(const grpc::Status& status);

constexpr char kManifest[] = "MANIFEST";  // of an archive, which is whole with it
// A group is at most this large on the wire; replies are unlimited at the secondary's side.
constexpr size_t kLogPieceBytes = size_t{1} << 20;
constexpr size_t kArchivePieceBytes = size_t{1} << 20;
// Less is not worth a channel: the message that announces it carries it.
constexpr size_t kBulkBytesMin = 64 << 10;
// Announced at once, at most: a piece, with a group that may be as large as groups are.
constexpr uint64_t kBulkBytesMax = uint64_t{256} << 20;

}  // namespace scyper::replication
