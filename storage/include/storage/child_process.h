#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"

namespace scyper::storage {

class Arena;
class FrozenMemory;
class PageCache;

struct ChildOptions {
  std::string name = "scyper-child";  // as ps shows it; at most 15 characters
  int nice = 0;                       // added to the parent's
  Arena* arena = nullptr;             // that the child allocates from; null: it does not
  // What the child sees of it stays until it is reaped; outlives the ChildProcess. Null: it sees nothing of any.
  FrozenMemory* frozen = nullptr;
  std::vector<PageCache*> pages = {};  // that the child reads through; outlive the ChildProcess
};

// What a process uses, from /proc/<pid>/smaps_rollup. copied_bytes: pages that it shares with nobody: what
// copy-on-write and its own work have cost. proportional_bytes: reserved huge pages count only where they are private.
// Bytes.
struct ProcessMemory {
  uint64_t resident_bytes = 0;
  uint64_t proportional_bytes = 0;
  uint64_t copied_bytes = 0;
  uint64_t reserved_copied_bytes = 0;  // of these: reserved huge pages, which the system's pool bounds
  uint64_t huge_bytes = 0;             // in pages of 2 MB, reserved ones included
};
// Takes the process's mmap lock for as long as a walk over its page tables lasts: some ms per GB of 4 KB pages.
StatusOr<ProcessMemory> memory_of_process(pid_t pid);

// A forked child that works on this process's memory as it was: what snapshots, archives and digests run in.
//
// In the child, before `body` is called: all descriptors are closed but the child's end of the socket and standard
// error (for the last words of a crash), signals but SIGKILL and faults are blocked, the nice level is set, the kernel
// has been told to end it with its parent. What `body` returns becomes the exit code, by _exit(). Rules for `body`
// (design section 5, rule 8): it takes no lock that another thread could have held at the fork (the caller of fork()
// says which are free), calls neither LLVM nor gRPC, and reads only objects whose comment allows it. malloc and new
// threads work.
// Threads: fork() must be called by a thread that lives as long as the child is wanted: the kernel kills the child when
// that thread ends (PR_SET_PDEATHSIG). All else: any. Fork: a later child does not see the sockets of earlier ones.
class ChildProcess {
 public:
  using Body = std::function<int(int socket)>;

  // 58030 when the system refuses (memory, processes); 53400 when a page cache has no place for one more.
  static StatusOr<std::unique_ptr<ChildProcess>> fork(const ChildOptions& options, const Body& body);
  ~ChildProcess();  // kills and waits
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Returns once the kernel watches over the child's parent; before, the end of the forking thread would go unnoticed.
  // Apart from fork(), so that it need not be waited for while everything stands still.
  void wait_until_watched() noexcept;

  pid_t pid() const { return pid_; }
  int socket() const { return socket_; }  // a stream socket; end of file when the child is gone
  bool is_over() const;                   // reaped
  void kill() noexcept;                   // SIGKILL; harmless when it is over
  int wait() noexcept;                    // reaps; the status of waitpid(). Any number of callers
  // 58030 when it is over.
  StatusOr<ProcessMemory> memory() const;

 private:
  // The child's number in a page cache.
  struct PagesPlace {
    PageCache* pages;
    uint32_t number;
  };
  using PagesPlaces = std::vector<PagesPlace>;

  ChildProcess(pid_t pid, int socket, int watched, const ChildOptions& options, uint64_t pin, PagesPlaces places)
      : pid_(pid), socket_(socket), frozen_(options.frozen), pin_(pin), places_(std::move(places)), watched_(watched) {}

  static Status take_places(std::span<PageCache* const> pages, PagesPlaces* places);
  static void leave_places(const PagesPlaces& places) noexcept;
  static StatusOr<std::unique_ptr<ChildProcess>> fork(const ChildOptions& options, const PagesPlaces& places,
                                                      const Body& body);

  const pid_t pid_;
  const int socket_;
  FrozenMemory* const frozen_;
  const uint64_t pin_;  // FrozenPin; of no meaning without frozen_
  const PagesPlaces places_;
  int watched_;  // a pipe that the child closes when it is watched; -1 = is closed here too
  mutable absl::Mutex mutex_;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  int status_ ABSL_GUARDED_BY(mutex_) = 0;
};

// "was killed by signal 9", "exited with code 1": for messages.
std::string describe_wait_status(int status);

}  // namespace scyper::storage
