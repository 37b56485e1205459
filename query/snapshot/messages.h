#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/status.h"

// What a snapshot's child and its parent say to each other. Between two processes of one build: plain structures.
namespace scyper::query {

enum class ToChild : uint32_t {
  kProgram = 1,  // id: program; body: ProgramImage::bytes
  kDrop = 2,     // id: program; answered by kDropped once no query runs it
  kRun = 3,      // id: query; body: RunHeader, then the arguments as columns of one row; descriptors: foreign files
  kCancel = 4,   // id: query
  kSample = 6,   // body: addresses of tables, whose statistics are wanted
  kBetter = 7,   // id: program; body: export_better()
  kNoCode = 8,   // id: query; answers kWantsCode where none can be made
  kCredit = 5,   // id: query; body: uint64 bytes that the parent's reader has taken
};

enum class ToParent : uint32_t {
  kReady = 1,       // unfinished transactions are taken back
  kRows = 2,        // id: query; body: columns (query/column_batch.h)
  kDone = 3,        // id: query; body: DoneHeader, then texts, then samples (sample_message.h)
  kDropped = 4,     // id: program
  kStatistics = 5,  // body: statistics_message.h
  kWantsCode = 6,   // id: query; answered by kBetter for its program, or kNoCode
};

struct RunHeader {
  uint64_t program = 0;
  int64_t time_us = 0;      // now()
  int64_t deadline_ns = 0;  // monotonic, 0 = none
  uint64_t memory_bytes = 0;
  uint64_t window_bytes = 0;  // rows sent and not yet taken
  uint32_t threads = 1;
  uint32_t padding = 0;
};

struct DoneHeader {
  uint64_t rows = 0;
  uint64_t scratch_bytes = 0;
  uint64_t spilled_bytes = 0;
  int64_t run_ns = 0;
  uint32_t is_ok = 0;
  uint32_t notices = 0;
  uint32_t swaps = 0;
  uint32_t padding = 0;
};

// Texts one after the other.
inline void put_text(std::string* out, std::string_view text) {
  const uint64_t size = text.size();
  out->append(reinterpret_cast<const char*>(&size), sizeof size);
  out->append(text);
}
inline bool take_bytes(std::string_view* in, void* to, size_t size) {
  if (in->size() < size) return false;
  std::memcpy(to, in->data(), size);
  in->remove_prefix(size);
  return true;
}
inline bool take_text(std::string_view* in, std::string* text) {
  uint64_t size = 0;
  if (!take_bytes(in, &size, sizeof size) || in->size() < size) return false;
  text->assign(in->data(), size);
  in->remove_prefix(size);
  return true;
}

// Rows are sent in batches of about this size, large against a system call, small against the window.
constexpr uint64_t kBatchBytes = 64 << 10;
constexpr uint64_t kWindowBytes = 1 << 20;

}  // namespace scyper::query
