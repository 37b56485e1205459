#pragma once

#include <string>

#include "base/disk.h"

namespace scyper::consensus {

// Names a voter's data directory, so that a voter that returns with another one is seen (docs/failover.md, The disk of
// a voter). File `disk` of its election directory, which is there. Threads: one.
class DiskFile {
 public:
  DiskFile(Disk* disk, const std::string& directory) : disk_(disk), path_(directory + "/disk") {}
  struct Identity {
    std::string id;               // drawn at random
    bool was_registered = false;  // etcd has had it for this node
  };
  // The identity that is there, or a new one, which is on the disk then. has_promised: the directory is of a voter that
  // took part before disks had names, which counts as registered. DataLoss: the file cannot be read.
  StatusOr<Identity> open(bool has_promised);
  Status note_registered(const std::string& id);

 private:
  Disk* const disk_;
  const std::string path_;
};

}  // namespace scyper::consensus
