#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "log_buffer.h"
#include "replication/batch.h"
#include "storage/log_segment.h"

namespace scyper::primary {

// Makes groups (docs/log_format.md) of what the streams' open batches hold: takes the records up to a complete point,
// explains statements in each batch that uses them, compresses, chains the hashes. Threads: one, the log writer.
class GroupBuilder {
 public:
  struct Options {
    replication::ClusterId cluster;
    uint64_t term = 1;
    uint32_t batch_bytes = 256 << 10;  // of records; a stream with more gets several batches in a group
    bool compresses = true;
    LogBuffer* markers = nullptr;  // of global snapshots: they go into stream 0
  };
  // positions: of the streams' last batches.
  GroupBuilder(const Options& options, std::vector<LogBuffer*> streams, std::vector<storage::StreamPosition> positions);

  // False: there are no records up to complete_lsn.
  // snapshot: number of the global snapshot whose marker is the group's last record; 0 = none.
  // flags: of the group (replication/batch.h).
  bool build(uint64_t complete_lsn, uint64_t commit_lsn, int64_t time_us, uint32_t snapshot = 0, uint16_t flags = 0);
  // Of the last build(): size and address are multiples of kDiskBlockBytes.
  std::string_view group() const { return {out_.get(), out_bytes_}; }
  std::string_view batches() const { return {out_.get(), batch_bytes_}; }  // without padding
  uint64_t transactions() const { return transactions_; }
  const std::vector<storage::StreamPosition>& positions_before() const { return before_; }
  const std::vector<storage::StreamPosition>& positions() const { return positions_; }

 private:
  struct Piece {  // becomes a batch
    uint32_t stream = 0;
    uint32_t count = 0;
    uint64_t first_lsn = 0;
    uint64_t last_lsn = 0;
    std::string raw;
  };
  struct Stream {
    LogBuffer* buffer;
    std::unordered_map<uint64_t, std::string> statements;  // records that explain them, by number modulo kStatements
    std::vector<uint64_t> explained;                       // in the batch that is being made
  };
  // As many as the streams remember (redo_stream.cc).
  static constexpr uint64_t kStatements = 1 << 14;

  void take(const replay::RecordView& record, uint32_t number);
  void explain(const replay::RecordView& record, Stream* stream, Piece* piece);
  Piece* open_piece(uint32_t stream);
  void reserve_out(size_t bytes);

  const Options options_;
  std::vector<Stream> streams_;
  std::vector<storage::StreamPosition> positions_;
  std::vector<storage::StreamPosition> before_;
  std::vector<Piece> pieces_;
  size_t piece_count_ = 0;
  uint64_t transactions_ = 0;
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char[], Free> out_;
  size_t out_capacity_ = 0;
  size_t out_bytes_ = 0;
  size_t batch_bytes_ = 0;
};

}  // namespace scyper::primary
