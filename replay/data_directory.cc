#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/failpoint.h"
#include "replay/recovery.h"

namespace scyper::replay {

namespace {

Failpoint before_identity("recovery.before_identity");
Failpoint after_identity("recovery.after_identity");

std::string identity_path(const std::string& directory) { return directory + "/node"; }

std::string write_identity(const NodeIdentity& identity) {
  return absl::StrCat("version = 1\ncluster = \"", replication::to_string(identity.cluster),
                      "\"\npartitions = ", identity.partitions, "\n");
}

StatusOr<NodeIdentity> read_identity(Disk* disk, const std::string& directory) {
  SCYPER_ASSIGN_OR_RETURN(std::string text, disk->read_file(identity_path(directory), 4096));
  unsigned version = 0;
  unsigned long long high = 0, low = 0;
  NodeIdentity identity;
  if (std::sscanf(text.c_str(), "version = %u\ncluster = \"%16llx%16llx\"\npartitions = %u\n", &version, &high, &low,
                  &identity.partitions) != 4 ||
      identity.partitions == 0) {
    return sql_error("XX001", absl::StrCat(identity_path(directory), " is damaged"));
  }
  identity.cluster = {{high, low}};
  if (version != 1 || write_identity(identity) != text) {
    return sql_error("XX001", absl::StrCat(identity_path(directory), " is damaged or of a version that is not known"));
  }
  return identity;
}

}  // namespace

StatusOr<uint64_t> raise_term(Disk* disk, const std::string& directory, uint64_t term) {
  const std::string path = directory + "/term";
  if (disk->exists(path)) {
    SCYPER_ASSIGN_OR_RETURN(const std::string text, disk->read_file(path, 64));
    unsigned long long begun = 0;
    if (std::sscanf(text.c_str(), "term = %llu\n", &begun) != 1)
      return sql_error("XX001", absl::StrCat(path, " is damaged"));
    term = std::max<uint64_t>(term, begun);
  }
  ++term;
  SCYPER_RETURN_IF_ERROR(disk->replace_file(path, absl::StrCat("term = ", term, "\n")));
  return term;
}

std::string log_directory(const std::string& directory) { return directory + "/log"; }
std::string kept_path(const std::string& directory) { return directory + "/kept"; }
std::string archives_directory(const std::string& directory) { return directory + "/archives"; }

StatusOr<NodeIdentity> open_data_directory(Disk* disk, const std::string& directory, uint32_t partitions,
                                           const replication::ClusterId* cluster) {
  if (disk->exists(identity_path(directory))) {
    SCYPER_ASSIGN_OR_RETURN(NodeIdentity identity, read_identity(disk, directory));
    if (cluster != nullptr && !(*cluster == identity.cluster)) {
      return with_hint(sql_error("22023", absl::StrCat(directory, " holds a database of another cluster")),
                       "Give the node an empty data directory.");
    }
    if (partitions == 0 || partitions == identity.partitions) return identity;
    return with_hint(sql_error("22023", absl::StrCat("the database in ", directory, " has ", identity.partitions,
                                                     " partitions, the configuration says ", partitions)),
                     absl::StrCat("Set partitions to ", identity.partitions, "."));
  }
  if (partitions == 0) return absl::NotFoundError(absl::StrCat("there is no database in ", directory));
  NodeIdentity identity;
  std::random_device random;
  for (uint64_t& word : identity.cluster.words) word = uint64_t{random()} << 32 | random();
  if (cluster != nullptr) identity.cluster = *cluster;
  identity.partitions = partitions;
  SCYPER_RETURN_IF_ERROR(disk->make_directory(directory));
  SCYPER_RETURN_IF_ERROR(disk->make_directory(log_directory(directory)));
  SCYPER_RETURN_IF_ERROR(disk->make_directory(archives_directory(directory)));
  SCYPER_RETURN_IF_ERROR(disk->sync_directory(directory));
  SCYPER_RETURN_IF_ERROR(disk->sync_directory(directory_of(directory)));
  // a crash before this leaves no database, behind it an empty one
  before_identity.fires();
  SCYPER_RETURN_IF_ERROR(disk->replace_file(identity_path(directory), write_identity(identity)));
  after_identity.fires();
  return identity;
}

}  // namespace scyper::replay
