#include "seed.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replay/archive.h"
#include "replay/log_cut.h"
#include "storage/archive.h"
#include "storage/frozen_tier.h"
#include "storage/log_end.h"
#include "storage/object_store.h"

namespace scyper::secondary {

namespace {

constexpr std::chrono::milliseconds kRetry{100};
constexpr int64_t kPeerCallUs = 5'000'000;
constexpr int kFetchesMax = 5;  // of archives that newer ones take the place of meanwhile

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class Seeding {
 public:
  Seeding(const NodeOptions& options, Disk* disk, replication::Link* link)
      : options_(options), disk_(disk), link_(link) {}

  StatusOr<Seed> run() {
    SCYPER_RETURN_IF_ERROR(find_primary());
    query::DatabaseOptions database = options_.database;
    database.partitions = seed_.primary.partitions;
    SCYPER_ASSIGN_OR_RETURN(seed_.database, query::Database::create(database));
    seed_.requests = std::make_unique<replay::RequestWindow>(options_.request_window);
    seed_.directory = options_.data_directory;
    if (!seed_.directory.empty()) {
      SCYPER_RETURN_IF_ERROR(disk_->make_directory(seed_.directory));
      if (options_.disk == nullptr) {
        SCYPER_ASSIGN_OR_RETURN(seed_.lock, replay::DataLock::take(seed_.directory));
      }
      SCYPER_RETURN_IF_ERROR(check_kept(seed_.directory));
      SCYPER_RETURN_IF_ERROR(seed_from(seed_.directory));
      return std::move(seed_);
    }
    // only for as long as it takes to load the archive
    char name[] = "/tmp/scyper-seed-XXXXXX";
    if (::mkdtemp(name) == nullptr) return absl::UnavailableError("no directory for the archive can be made in /tmp");
    Status status = seed_from(std::string(name) + "/data");
    static_cast<void>(remove_history(disk_, std::string(name) + "/data"));
    static_cast<void>(disk_->remove(std::string(name) + "/data/node"));
    static_cast<void>(disk_->remove(std::string(name) + "/data/log"));
    static_cast<void>(disk_->remove(std::string(name) + "/data/archives"));
    static_cast<void>(disk_->remove(std::string(name) + "/data"));
    static_cast<void>(disk_->remove(name));
    SCYPER_RETURN_IF_ERROR(status);
    seed_.recovered.segments.clear();
    return std::move(seed_);
  }

 private:
  void say(const std::string& line) const {
    if (options_.on_progress) options_.on_progress(line);
  }

  Status find_primary() {
    const double start_s = now_s();
    bool has_said = false;
    while (true) {
      auto joined = link_->join(nullptr);
      if (joined.ok()) {
        seed_.primary = *std::move(joined);
        say(absl::StrCat("join: primary at ", options_.link.target, ", term ", seed_.primary.term, ", LSN ",
                         seed_.primary.complete_lsn, ", sends by ", seed_.primary.transport.kind));
        return Status();
      }
      if (absl::IsCancelled(joined.status()) || absl::IsDataLoss(joined.status())) return joined.status();
      // its subscription is: waiting does not change that
      const bool is_refused = absl::IsFailedPrecondition(joined.status()) || absl::IsInvalidArgument(joined.status());
      if (is_refused && !options_.link.partitions.is_all()) return joined.status();
      if (now_s() - start_s > static_cast<double>(options_.join_us_max) / 1e6) {
        return with_hint(sql_error("08001", absl::StrCat("no primary at ", options_.link.target, ": ",
                                                         std::string(joined.status().message()))),
                         "Start a scyperd with replication there, or set primary to its address.");
      }
      if (!std::exchange(has_said, true)) say("join: waiting for a primary at " + options_.link.target);
      std::this_thread::sleep_for(kRetry);
    }
  }

  Status check_kept(const std::string& directory) {
    const std::string path = replay::kept_path(directory);
    if (!disk_->exists(path)) return Status();
    SCYPER_ASSIGN_OR_RETURN(const std::string why, disk_->read_file(path, 1 << 12));
    return with_hint(sql_error("55000", absl::StrCat("this node keeps what its primary lacks: ", why)),
                     absl::StrCat("Start it as the primary. To give up what only it has, remove ", path, "."));
  }

  Status seed_from(const std::string& directory) {
    SCYPER_RETURN_IF_ERROR(disk_->make_directory(directory));
    SCYPER_ASSIGN_OR_RETURN(seed_.identity, replay::open_data_directory(disk_, directory, seed_.primary.partitions,
                                                                        &seed_.primary.cluster));
    SCYPER_RETURN_IF_ERROR(cut_divergent(directory));
    SCYPER_ASSIGN_OR_RETURN(const bool has_state, has_own_state(directory));
    if (has_state) {
      seed_.source = "own data";
    } else {
      SCYPER_RETURN_IF_ERROR(fetch(replay::archives_directory(directory)));
    }
    replay::RecoveryOptions recovery;
    recovery.threads = options_.replay_threads;
    recovery.log_may_lag = true;
    recovery.partitions = options_.link.partitions;
    recovery.requests = seed_.requests.get();
    recovery.on_progress = options_.on_progress;
    SCYPER_ASSIGN_OR_RETURN(seed_.recovered,
                            replay::recover(disk_, directory, seed_.identity, seed_.database.get(), recovery));
    return Status();
  }

  // As Raft's followers do, but all at once and where terms say: the primary has promises of a majority, so whatever it
  // lacks was never confirmed, or was given up by hand.
  Status cut_divergent(const std::string& directory) {
    const auto& ours = options_.cutting;
    const auto& theirs = seed_.primary.terms;
    if (!ours.has_value() || theirs.empty()) return Status();
    if (seed_.primary.term != ours->primary_term) {
      return absl::AbortedError(absl::StrCat("it leads in term ", seed_.primary.term, " now"));
    }
    const replication::LogEnd end = ours->end;
    const bool is_known = end.lsn > theirs.front().base_lsn;
    const bool is_theirs = end.lsn <= seed_.primary.complete_lsn && replication::term_of(theirs, end.lsn) == end.term;
    if (end.term >= seed_.primary.term || !is_known || is_theirs) return Status();
    SCYPER_ASSIGN_OR_RETURN(const auto log, replay::read_log_terms(disk_, directory, seed_.identity.cluster));
    if (log.starts.empty()) return Status();  // an archive's state is compared by the first group that comes
    const auto common =
        replication::common_end(log.starts, log.lsn, theirs, std::max(seed_.primary.complete_lsn, log.lsn));
    if (!common.has_value()) return absl::OutOfRangeError("this log and the primary's have no batch in common");
    if (common->lsn >= log.lsn) return Status();
    const std::string aside = ours->keeps_aside ? directory + "/cut" : "";
    ours->on_cut(*common);
    SCYPER_RETURN_IF_ERROR(replay::cut_log(disk_, directory, seed_.identity.cluster, common->lsn, aside));
    say(absl::StrCat("join: the log is cut behind term ", common->term, ", LSN ", common->lsn, ": LSN ",
                     common->lsn + 1, " to ", log.lsn, " are not the primary's",
                     aside.empty() ? ", and were never confirmed" : absl::StrCat("; copies are in ", aside)));
    return Status();
  }

  StatusOr<bool> has_own_state(const std::string& directory) {
    SCYPER_ASSIGN_OR_RETURN(auto segments, storage::list_segments(disk_, replay::log_directory(directory)));
    if (!segments.empty()) return true;
    SCYPER_ASSIGN_OR_RETURN(auto archives, storage::list_archives(disk_, replay::archives_directory(directory)));
    for (const auto& archive : archives) {
      if (archive.is_complete) return true;
    }
    return false;
  }

  Status fetch(const std::string& archives) {
    if (!options_.archive_directory.empty()) {
      SCYPER_ASSIGN_OR_RETURN(const bool found, copy_shared(archives));
      if (found) {
        seed_.source = "shared archive";
        return Status();
      }
    }
    SCYPER_ASSIGN_OR_RETURN(const bool is_there, fetch_from_peers(archives));
    if (is_there) return Status();
    StatusOr<std::string> path = absl::AbortedError("");
    for (int i = 0; i < kFetchesMax && absl::IsAborted(path.status()); ++i) path = fetch_from(link_, archives);
    if (absl::IsNotFound(path.status())) {
      seed_.source = "log of the primary";
      say("join: the primary has no archive: its whole log is replayed");
      return Status();
    }
    seed_.source = "primary";
    if (path.ok()) say("join: fetched the archive " + *path);
    return path.status();
  }

  StatusOr<std::string> fetch_from(replication::Link* link, const std::string& archives) {
    double said_s = now_s();
    const auto on_bytes = [&](uint64_t bytes, uint64_t total) {
      if (now_s() - said_s < 1) return;
      said_s = now_s();
      say(absl::StrCat("join: ", bytes >> 20, " of ", total >> 20, " MB of the archive"));
    };
    storage::FrozenTier* tier = seed_.database->tier();
    // without a directory, nothing would repair what is damaged there
    if (tier == nullptr || options_.data_directory.empty()) {
      return link->fetch_archive(seed_.primary.cluster, disk_, archives, on_bytes);
    }
    uint64_t received = 0;
    replication::TierSink sink;
    sink.disk = tier->disk();
    sink.present = tier->file_names();
    sink.path_of = [tier](const std::string& name) { return tier->receiving_path(name); };
    sink.finish = [&](const std::string& name) {
      SCYPER_RETURN_IF_ERROR(tier->receive(name));
      ++received;
      return Status();
    };
    sink.give_up = [&](const Status& why) {
      say(absl::StrCat("join: rows are read instead of the other node's tier: ", std::string(why.message())));
    };
    auto path = link->fetch_archive(seed_.primary.cluster, disk_, archives, on_bytes, &sink);
    if (path.ok() && received > 0) say(absl::StrCat("join: ", received, " files of its tier came with the archive"));
    return path;
  }

  // The newest archive that another secondary has, unless the primary's is newer: its log reaches back to its own.
  // False: it has to come from the primary, whatever went wrong.
  StatusOr<bool> fetch_from_peers(const std::string& archives) {
    std::vector<replication::Peer> peers = seed_.primary.peers;
    std::erase_if(peers, [&](const replication::Peer& peer) {
      return peer.archive_lsn == 0 || peer.archive_lsn < seed_.primary.archive_lsn;
    });
    if (!asks_peers(options_, seed_.primary) || peers.empty()) return false;
    // of equals not all joiners ask the same one first
    const auto rank = [&](const replication::Peer& peer) {
      return std::pair(~peer.archive_lsn, std::hash<std::string>()(peer.node + options_.link.node));
    };
    std::sort(peers.begin(), peers.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    for (const replication::Peer& peer : peers) {
      const auto link = options_.connect_peer(peer, seed_.primary.term, kPeerCallUs);
      const auto path = fetch_from(link.get(), archives);
      const Status fits = path.ok() ? check_of_peer(*path) : path.status();
      if (fits.ok()) {
        seed_.source = peer.node;
        say(absl::StrCat("join: fetched the archive ", *path, " from ", peer.node));
        return true;
      }
      // it has no room for it, wherever it comes from
      if (is_disk_full(fits)) return fits;
      ++seed_.peer_failures;
      say(absl::StrCat("join: no archive from ", peer.node, ": ", std::string(fits.message())));
      SCYPER_RETURN_IF_ERROR(remove_fetched(archives));
    }
    return false;
  }

  // What came from a node that this one has no reason to believe: whole, of this cluster, and of the primary's history
  // as far as that can be told. An archive of an LSN is written in the term of that LSN's batch or later.
  Status check_of_peer(const std::string& path) {
    SCYPER_ASSIGN_OR_RETURN(const auto manifest, storage::read_manifest(disk_, path));
    const replication::JoinInfo& primary = seed_.primary;
    if (manifest.cluster[0] != primary.cluster.words[0] || manifest.cluster[1] != primary.cluster.words[1] ||
        manifest.partitions != primary.partitions ||
        storage::archive_path(path.substr(0, path.rfind('/')), manifest.lsn) != path) {
      return absl::DataLossError("it is an archive of something else");
    }
    uint64_t term_least = primary.terms.empty() ? 0 : replication::term_of(primary.terms, manifest.lsn);
    if (primary.watermark.term == primary.term && manifest.lsn > primary.watermark.term_lsn) {
      term_least = primary.term;
    }
    if (manifest.term > primary.term || manifest.term < term_least) {
      return absl::DataLossError(absl::StrCat("it is of term ", manifest.term, " and LSN ", manifest.lsn,
                                              ", which is not the primary's history"));
    }
    return replay::verify_archive(disk_, path).status();
  }

  // There was nothing before.
  Status remove_fetched(const std::string& archives) {
    if (!disk_->exists(archives)) return Status();
    SCYPER_ASSIGN_OR_RETURN(auto entries, storage::list_archives(disk_, archives));
    for (const auto& entry : entries) SCYPER_RETURN_IF_ERROR(storage::remove_archive(disk_, entry));
    return Status();
  }

  // The newest archive of this cluster in the shared directory.
  StatusOr<bool> copy_shared(const std::string& archives) {
    const auto shared = storage::make_disk_with_stores();
    if (!shared->exists(options_.archive_directory)) return false;
    SCYPER_ASSIGN_OR_RETURN(auto entries, storage::list_archives(shared.get(), options_.archive_directory));
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      if (!entry->is_complete) continue;
      auto manifest = storage::read_manifest(shared.get(), entry->path);
      const auto& cluster = seed_.primary.cluster.words;
      if (!manifest.ok() || manifest->cluster[0] != cluster[0] || manifest->cluster[1] != cluster[1]) continue;
      SCYPER_RETURN_IF_ERROR(disk_->make_directory(archives));
      SCYPER_RETURN_IF_ERROR(storage::copy_archive(shared.get(), entry->path, disk_, archives, 0, {}).status());
      say("join: archive " + entry->path);
      return true;
    }
    return false;
  }

  const NodeOptions& options_;
  Disk* const disk_;
  replication::Link* const link_;
  Seed seed_;
};

}  // namespace

StatusOr<Seed> make_seed(const NodeOptions& options, Disk* disk, replication::Link* link) {
  return Seeding(options, disk, link).run();
}

bool may_have_bulk(const NodeOptions& options) {
  return options.rdma.seeds && !(options.interface.empty() && options.rdma.device.empty());
}

bool asks_peers(const NodeOptions& options, const replication::JoinInfo& primary) {
  if (!options.link.partitions.is_all()) return false;
  return options.connect_peer != nullptr && !(primary.has_bulk && may_have_bulk(options));
}

Status keep_history(Disk* disk, const std::string& data_directory, const std::string& why) {
  return disk->replace_file(replay::kept_path(data_directory), why);
}

Status remove_history(Disk* disk, const std::string& data_directory) {
  const std::string log = replay::log_directory(data_directory);
  SCYPER_RETURN_IF_ERROR(storage::forget_log_end(disk, log));
  if (disk->exists(log)) {
    SCYPER_ASSIGN_OR_RETURN(auto names, disk->list(log));
    // newest first: what a crash leaves is a log that goes on from the archives, or from nothing
    for (auto name = names.rbegin(); name != names.rend(); ++name) {
      SCYPER_RETURN_IF_ERROR(disk->remove(log + "/" + *name));
      SCYPER_RETURN_IF_ERROR(disk->sync_directory(log));
    }
  }
  const std::string archives = replay::archives_directory(data_directory);
  if (!disk->exists(archives)) return Status();
  SCYPER_ASSIGN_OR_RETURN(auto entries, storage::list_archives(disk, archives));
  for (const auto& entry : entries) SCYPER_RETURN_IF_ERROR(storage::remove_archive(disk, entry));
  return disk->sync_directory(archives);
}

}  // namespace scyper::secondary
