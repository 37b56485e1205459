#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/disk.h"
#include "executor.h"
#include "group_commit.h"
#include "primary/engine.h"
#include "replay/recovery.h"

namespace scyper::primary {

// What makes an engine outlive its process: its data directory, the state from there at the start, the log from then
// on. Owner: the engine. Threads: as said at each function.
class Durability {
 public:
  // Recovers into the (empty) database and makes the streams and the log of *environment. Without a directory: streams
  // only. Before any worker runs. Messages for people on failure.
  static StatusOr<std::unique_ptr<Durability>> start(const EngineOptions& options, ExecutorEnvironment* environment);
  ~Durability();  // writes what is left; after the workers have ended

  bool is_on() const { return log_ != nullptr; }
  GroupCommit* log() { return log_.get(); }  // nullptr: none. Any thread
  const replay::Recovered& recovered() const { return recovered_; }

 private:
  Durability(const EngineOptions& options, ExecutorEnvironment* environment);
  Status open();
  Status lock_directory();
  void make_streams();

  const EngineOptions& options_;
  ExecutorEnvironment* const environment_;
  std::unique_ptr<Disk> own_disk_;
  Disk* disk_ = nullptr;
  int lock_ = -1;
  replay::NodeIdentity identity_;
  replay::Recovered recovered_;
  std::vector<std::unique_ptr<LogBuffer>> buffers_;
  std::unique_ptr<GroupCommit> log_;
};

}  // namespace scyper::primary
