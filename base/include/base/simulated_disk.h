#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/disk.h"
#include "base/random.h"

namespace scyper {

// A disk in memory that fails as real ones do. What was not synced is at the mercy of after_power_loss(): every
// unsynced 512-byte sector is kept, dropped or torn, each directory keeps a prefix of its unsynced changes of names,
// and goes with all that is in it when its own name does. After a failed sync the data counts as clean though it is not
// on the disk, as on Linux (Rebello et al., USENIX ATC 2020): a later sync that succeeds does not save it. Threads:
// any; deterministic when one thread uses it. Source: findings/reliability.md 2.
class SimulatedDisk final : public Disk {
 public:
  SimulatedDisk();
  ~SimulatedDisk() override;

  StatusOr<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status link(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status make_directory(const std::string& path) override;
  Status sync_directory(const std::string& path) override;
  StatusOr<std::vector<std::string>> list(const std::string& path) override;
  bool exists(const std::string& path) override;
  StatusOr<uint64_t> free_bytes(const std::string& path) override;

  // What a machine finds after a power loss at this moment. Different seeds, different luck.
  std::unique_ptr<SimulatedDisk> after_power_loss(uint64_t seed) const;
  // What a process finds that was killed: nothing is lost.
  std::unique_ptr<SimulatedDisk> after_kill() const;

  // Called before every write, sync and change of names, when what it will do is not yet done (nor in part). Set while
  // nobody uses the disk.
  void set_observer(std::function<void()> observer);
  enum class Operation : uint8_t { kWrite, kSync, kName };
  // The n-th from now on fails (0 = the next), once or for ever. A write that fails may have written some sectors.
  void fail(Operation operation, uint64_t n, bool for_ever = false);
  // Files whose path begins so cannot be opened: as where a process has no descriptors left. Empty: none.
  void refuse(const std::string& path);
  void heal();                        // of fail() and refuse()
  void set_capacity(uint64_t bytes);  // of all files together
  uint64_t operations() const;

  // Damage, for tests: changes the byte at `offset` of a file by XOR.
  void flip(const std::string& path, uint64_t offset, uint8_t mask);

 private:
  friend class SimulatedFile;
  struct Node;  // a file
  struct NameChange {
    std::string path;
    std::shared_ptr<Node> node;  // null: the name goes
    bool is_directory = false;
  };
  struct Names {
    std::map<std::string, std::shared_ptr<Node>> files;
    std::set<std::string> directories;
  };
  struct Fault {
    bool armed = false;
    uint64_t after = 0;
    bool for_ever = false;
  };
  void observe();
  Status pass(Operation operation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void change_name(NameChange change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void apply(const NameChange& change, Names* names);
  static void drop_unreachable(Names* names);
  uint64_t used_bytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  Names names_ ABSL_GUARDED_BY(mutex_);    // as a running process sees them
  Names durable_ ABSL_GUARDED_BY(mutex_);  // as a power loss leaves them
  std::vector<NameChange> pending_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> observer_;
  Fault faults_[3] ABSL_GUARDED_BY(mutex_);
  std::string refused_ ABSL_GUARDED_BY(mutex_);  // paths that begin so
  uint64_t capacity_bytes_ ABSL_GUARDED_BY(mutex_) = ~uint64_t{0};
  uint64_t operations_ ABSL_GUARDED_BY(mutex_) = 0;
  Random luck_ ABSL_GUARDED_BY(mutex_){1};  // which sectors of a failing write reach the disk
};

}  // namespace scyper
