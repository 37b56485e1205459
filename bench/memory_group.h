#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace scyper::bench {

// A memory cgroup of our own, of version 1 or 2. Needs root.
class MemoryGroup {
 public:
  // Null: none can be had; *why says so.
  static std::unique_ptr<MemoryGroup> create(uint64_t limit_bytes, std::string* why);
  ~MemoryGroup();  // when no process is in it any more
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;
  bool enter() const;  // the calling process

 private:
  explicit MemoryGroup(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

// A swap file of our own, which the whole machine may use meanwhile. Needs root. A process of its own switches it off
// and removes it, also when this one and those that it forked meanwhile are killed.
class SwapFile {
 public:
  static std::unique_ptr<SwapFile> create(const std::string& path, uint64_t bytes, std::string* why);
  ~SwapFile();
  SwapFile(const SwapFile&) = delete;
  SwapFile& operator=(const SwapFile&) = delete;

 private:
  SwapFile(int end, pid_t guard) : end_(end), guard_(guard) {}
  const int end_;  // of a pipe, which the guard waits for
  const pid_t guard_;
};

}  // namespace scyper::bench
