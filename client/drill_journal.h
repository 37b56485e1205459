#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"

namespace scyper::client {

// What an auditor has sent and what was answered, line by line in a file:
//   S id ns         about to be sent, at that time
//   A id ns target  acknowledged at that time (CLOCK_MONOTONIC, the same in all processes) by that node
//   N id            refused for good: it must not be there
// Threads: any.
class DrillJournal {
 public:
  static StatusOr<std::unique_ptr<DrillJournal>> open(const std::string& path);
  ~DrillJournal();
  void write(const std::string& line);

 private:
  explicit DrillJournal(int file) : file_(file) {}
  const int file_;
};

struct Acknowledgement {
  int64_t id = 0;
  int64_t ns = 0;
  std::string target;
};
// A journal as read by another process while it grows. Threads: one.
class DrillJournalReader {
 public:
  explicit DrillJournalReader(std::string path) : path_(std::move(path)) {}
  // Takes in what was added. XX001: up to a line that cannot be read; again as long as that is there.
  Status read();
  const std::vector<Acknowledgement>& acknowledged() const { return acknowledged_; }
  const std::map<int64_t, int64_t>& sent() const { return sent_; }
  const std::set<int64_t>& refused() const { return refused_; }

 private:
  const std::string path_;
  size_t offset_ = 0;
  std::vector<Acknowledgement> acknowledged_;
  std::map<int64_t, int64_t> sent_;  // when
  std::set<int64_t> refused_;
};

}  // namespace scyper::client
