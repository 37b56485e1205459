#include "group_builder.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "replay/request_window.h"

namespace scyper::primary {

using replay::RedoHeader;
using replay::RedoKind;
using replication::BatchHeader;

namespace {

// Of a statement or logical record: the number of the statement.
uint64_t statement_of(const replay::RecordView& record) {
  std::string_view body = record.body;
  replay::RedoClient client;
  std::string_view rows;
  bool ok = (record.header.flags & replay::kRedoHasClient) == 0 || replay::take_client(&body, &client, &rows);
  uint64_t number = 0;
  ok = ok && replay::take_varint(&body, &number);
  CHECK(ok);
  return number;
}

size_t round_up(size_t bytes) { return (bytes + kDiskBlockBytes - 1) / kDiskBlockBytes * kDiskBlockBytes; }

}  // namespace

GroupBuilder::GroupBuilder(const Options& options, std::vector<LogBuffer*> streams,
                           std::vector<storage::StreamPosition> positions)
    : options_(options), positions_(std::move(positions)) {
  for (LogBuffer* buffer : streams) streams_.push_back({buffer, {}, {}});
  positions_.resize(streams_.size());
}

GroupBuilder::Piece* GroupBuilder::open_piece(uint32_t stream) {
  if (piece_count_ > 0) {
    Piece& last = pieces_[piece_count_ - 1];
    if (last.stream == stream && last.raw.size() < options_.batch_bytes) return &last;
  }
  if (piece_count_ == pieces_.size()) pieces_.emplace_back();
  Piece& piece = pieces_[piece_count_++];
  piece.stream = stream;
  piece.count = 0;
  piece.raw.clear();
  streams_[stream].explained.clear();
  return &piece;
}

void GroupBuilder::explain(const replay::RecordView& record, Stream* stream, Piece* piece) {
  const uint64_t statement = statement_of(record);
  auto& explained = stream->explained;
  if (std::find(explained.rbegin(), explained.rend(), statement) != explained.rend()) return;
  explained.push_back(statement);
  const auto found = stream->statements.find(statement % kStatements);
  CHECK(found != stream->statements.end());
  piece->raw += found->second;
}

void GroupBuilder::take(const replay::RecordView& record, uint32_t number) {
  Stream& stream = streams_[number];
  if (record.header.kind == RedoKind::kStatement) {
    const uint64_t statement = statement_of(record);
    stream.statements[statement % kStatements] = std::string(record.bytes);
    return;
  }
  Piece* piece = open_piece(number);
  if (record.header.kind == RedoKind::kLogical) explain(record, &stream, piece);
  if (piece->count == 0) piece->first_lsn = record.header.lsn;
  CHECK(piece->count == 0 || record.header.lsn > piece->last_lsn);
  piece->last_lsn = record.header.lsn;
  ++piece->count;
  piece->raw += record.bytes;
}

void GroupBuilder::reserve_out(size_t bytes) {
  if (bytes <= out_capacity_) return;
  out_capacity_ = round_up(bytes + bytes / 2);
  out_.reset(static_cast<char*>(std::aligned_alloc(kDiskBlockBytes, out_capacity_)));
  CHECK(out_ != nullptr);
}

bool GroupBuilder::build(uint64_t complete_lsn, uint64_t commit_lsn, int64_t time_us, uint32_t snapshot,
                         uint16_t flags) {
  piece_count_ = 0;
  transactions_ = 0;
  for (uint32_t i = 0; i < streams_.size(); ++i) {
    streams_[i].buffer->take(complete_lsn, [&](const replay::RecordView& record) { take(record, i); });
  }
  if (options_.markers != nullptr) {
    options_.markers->take(complete_lsn, [&](const replay::RecordView& record) { take(record, replay::kAloneStream); });
  }
  if (piece_count_ == 0) return false;
  CHECK(piece_count_ <= 0xffff);
  size_t bytes_max = 0;
  for (size_t i = 0; i < piece_count_; ++i) bytes_max += replication::batch_bytes_max(pieces_[i].raw.size());
  reserve_out(bytes_max + kDiskBlockBytes);
  before_ = positions_;
  out_bytes_ = 0;
  for (size_t i = 0; i < piece_count_; ++i) {
    const Piece& piece = pieces_[i];
    storage::StreamPosition& position = positions_[piece.stream];
    BatchHeader header;
    header.group_index = static_cast<uint16_t>(i);
    header.group_batches = static_cast<uint16_t>(piece_count_);
    header.stream = piece.stream;
    header.cluster = options_.cluster;
    header.term = options_.term;
    header.number = position.number + 1;
    header.first_lsn = piece.first_lsn;
    header.last_lsn = piece.last_lsn;
    header.count = piece.count;
    header.snapshot = snapshot;
    header.group_flags = flags;
    header.complete_lsn = complete_lsn;
    header.commit_lsn = commit_lsn;
    header.previous_hash = position.hash;
    header.time_us = time_us;
    out_bytes_ += replication::write_batch(&header, piece.raw, options_.compresses, out_.get() + out_bytes_);
    position = {header.number, header.header_hash};
    transactions_ += piece.count;
  }
  batch_bytes_ = out_bytes_;
  const size_t padded = round_up(out_bytes_);
  std::memset(out_.get() + out_bytes_, 0, padded - out_bytes_);
  out_bytes_ = padded;
  return true;
}

}  // namespace scyper::primary
