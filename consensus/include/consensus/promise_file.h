#pragma once

#include <string>

#include "base/disk.h"
#include "consensus/ballot.h"

namespace scyper::consensus {

// A voter's promise on its disk: file `promise` of its data directory, which is there. Threads: one.
class PromiseFile {
 public:
  PromiseFile(Disk* disk, const std::string& directory) : disk_(disk), path_(directory + "/promise") {}
  // None yet: term 0 of nobody. DataLoss: it cannot be read; the node must not take part then.
  StatusOr<Promise> load();
  // On the disk when it returns. Where one that binds more is there (a higher term, or of the same term another
  // node's), that one stays, and this is FailedPrecondition. After any other error nothing is known of the disk.
  Status store(const Promise& promise);

 private:
  Disk* const disk_;
  const std::string path_;
};

}  // namespace scyper::consensus
