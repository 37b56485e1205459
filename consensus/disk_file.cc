#include "consensus/disk_file.h"

#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace scyper::consensus {

namespace {

std::string text_of(const DiskFile::Identity& identity) {
  return absl::StrCat("id=", identity.id, " registered=", identity.was_registered ? 1 : 0, "\n");
}

std::string draw_id() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) absl::StrAppend(&id, absl::Hex(uint32_t{random()}, absl::kZeroPad8));
  return id;
}

}  // namespace

StatusOr<DiskFile::Identity> DiskFile::open(bool has_promised) {
  Identity identity;
  if (!disk_->exists(path_)) {
    identity = {draw_id(), has_promised};
    SCYPER_RETURN_IF_ERROR(disk_->replace_file(path_, text_of(identity)));
    return identity;
  }
  SCYPER_ASSIGN_OR_RETURN(const std::string text, disk_->read_file(path_, 1 << 12));
  const std::vector<std::string> words = absl::StrSplit(text, absl::ByAnyChar("= \n"));
  if (words.size() == 5) identity = {words[1], words[3] == "1"};
  // written as a whole: anything else is not this program's
  if (identity.id.empty() || text_of(identity) != text) {
    return absl::DataLossError(path_ + " is damaged: remove it, and the node counts once it has caught up again");
  }
  return identity;
}

Status DiskFile::note_registered(const std::string& id) { return disk_->replace_file(path_, text_of({id, true})); }

}  // namespace scyper::consensus
