#include "consensus/promise_file.h"

#include "absl/strings/str_cat.h"
#include "consensus/cluster_keys.h"

namespace scyper::consensus {

StatusOr<Promise> PromiseFile::load() {
  if (!disk_->exists(path_)) return Promise();
  SCYPER_ASSIGN_OR_RETURN(std::string text, disk_->read_file(path_, 1 << 12));
  // written as a whole: half of one is no promise of this program's
  if (!text.ends_with("\n")) return absl::DataLossError(path_ + " is damaged: the node must not vote");
  text.pop_back();
  auto promise = decode_leader(text);
  if (!promise.ok() || encode_leader(*promise) != text) {
    return absl::DataLossError(path_ + " is damaged: the node must not vote");
  }
  return promise;
}

Status PromiseFile::store(const Promise& promise) {
  SCYPER_ASSIGN_OR_RETURN(const Promise before, load());
  if (before == promise && before.config >= promise.config) return Status();
  if (before != promise && before.term >= promise.term) {
    return absl::FailedPreconditionError(absl::StrCat("term ", before.term, " has been promised to ", before.node));
  }
  return disk_->replace_file(path_, encode_leader(promise) + "\n");
}

}  // namespace scyper::consensus
