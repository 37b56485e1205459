#include "doctor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "programs.h"
#include "result_format.h"

extern char** environ;

namespace scyper::client {

namespace {

using Level = Finding::Level;
using server::format_bytes;

constexpr uint64_t kDescriptors = 4096;
constexpr int kSyncs = 100;
constexpr uint64_t kRdmaQueueBytes = uint64_t{1} << 20;
constexpr size_t kBlockBytes = 4096;
constexpr double kSlowSyncMs = 10;
constexpr int kMulticastMs = 1000;

std::string error_text() { return std::strerror(errno); }

// --- disk ---

// Milliseconds of durable writes of one block each, sorted.
StatusOr<std::vector<double>> time_syncs(const std::string& directory) {
  std::string path = absl::StrCat(directory, "/.scyper-doctor-XXXXXX");
  const int file = ::mkostemp(path.data(), O_DSYNC | O_CLOEXEC);
  if (file < 0) return absl::UnavailableError(absl::StrCat("cannot write to ", directory, ": ", error_text()));
  absl::Cleanup remove = [&] {
    ::close(file);
    ::unlink(path.c_str());
  };
  const std::string block(kBlockBytes, 'd');
  std::vector<double> times;
  for (int i = 0; i < kSyncs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (::pwrite(file, block.data(), block.size(), static_cast<off_t>(i * kBlockBytes)) != ssize_t{kBlockBytes}) {
      return absl::UnavailableError(absl::StrCat("cannot write to ", directory, ": ", error_text()));
    }
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return times;
}

Finding examine_room(const std::string& directory, const server::NodeConfig& config) {
  struct statfs disk{};
  if (::statfs(directory.c_str(), &disk) != 0)
    return {Level::kBad, "disk", directory + ": " + error_text(), "Make it, or mount it."};
  constexpr auto kTmpfs = 0x01021994, kNfs = 0x6969;
  const uint64_t free = disk.f_bavail * static_cast<uint64_t>(disk.f_bsize);
  const uint64_t wanted =
      config.engine.memory_bytes * config.engine.log.archives_kept + 4 * config.engine.log.segment_bytes;
  const std::string what = absl::StrCat(directory, ": ", format_bytes(free >> 20 << 20), " free");
  if (disk.f_type == kTmpfs)
    return {Level::kWarning, "disk", what + ", in memory", "What is acknowledged there does not survive a reboot."};
  if (disk.f_type == kNfs)
    return {Level::kWarning, "disk", what + ", on NFS", "A local disk: the network decides how long commits take."};
  if (free >= wanted) return {Level::kGood, "disk", what, ""};
  return {Level::kWarning, "disk", what,
          absl::StrCat("Archives (archives_kept = ", config.engine.log.archives_kept,
                       ") and log of a full memory may need ", format_bytes(wanted >> 20 << 20), ".")};
}

Finding examine_archives(const server::NodeConfig& config) {
  const uint64_t after = config.engine.log.archive_log_bytes;
  if (after != 0)
    return {Level::kGood, "archives", absl::StrCat("one after each ", format_bytes(after), " of log"), ""};
  return {Level::kWarning, "archives", "archive_after = 0: the log grows without bound, and a start replays all of it",
          "Set archive_after, or call scyper backup regularly."};
}

Finding examine_syncs(const std::string& directory) {
  const auto times = time_syncs(directory);
  if (!times.ok())
    return {Level::kBad, "disk sync", std::string(times.status().message()), "The node must be able to write there."};
  const double p50 = (*times)[times->size() / 2], p99 = (*times)[times->size() * 99 / 100];
  const std::string what = absl::StrFormat("a durable write of 4 KB: p50 %.2f, p99 %.2f ms", p50, p99);
  if (p99 < kSlowSyncMs) return {Level::kGood, "disk sync", what, ""};
  return {Level::kWarning, "disk sync", what, "Commits wait for it: a faster disk, or commit_mode = \"quorum\"."};
}

// --- network ---

struct AddressList {
  addrinfo* first = nullptr;
  ~AddressList() {
    if (first != nullptr) ::freeaddrinfo(first);
  }
};

Finding examine_port(const std::string& key, const std::string& address) {
  const std::string name = "port of " + key;
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return {Level::kBad, name, address + " is not host:port", ""};
  std::string host = address.substr(0, colon);
  if (host.size() > 1 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  AddressList found;
  if (const int code = ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found.first); code != 0) {
    return {Level::kBad, name, absl::StrCat(address, ": ", ::gai_strerror(code)), "Name an address of this machine."};
  }
  const int socket = ::socket(found.first->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return {Level::kBad, name, error_text(), ""};
  absl::Cleanup close = [socket] { ::close(socket); };
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(socket, found.first->ai_addr, found.first->ai_addrlen) == 0 && ::listen(socket, 1) == 0) {
    return {Level::kGood, name, address + " is free", ""};
  }
  return {Level::kBad, name, absl::StrCat(address, ": ", error_text()),
          errno == EADDRINUSE ? "Does a node run there already? Else choose another port."
                              : "Name an address of this machine."};
}

// Whether a datagram to the group comes back to this machine by that interface; other machines and the switches
// between are tried when secondaries join.
Status probe_multicast(const std::string& interface, const std::string& group) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return absl::UnavailableError(error_text());
  absl::Cleanup close = [socket] { ::close(socket); };
  ip_mreq membership{};
  if (::inet_pton(AF_INET, interface.c_str(), &membership.imr_interface) != 1 ||
      ::inet_pton(AF_INET, group.c_str(), &membership.imr_multiaddr) != 1) {
    return absl::InvalidArgumentError("interface and group are IPv4 addresses");
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = membership.imr_multiaddr;
  socklen_t size = sizeof(address);
  const auto* const name = reinterpret_cast<const sockaddr*>(&address);
  const auto fails = [](int result) { return result != 0; };
  if (fails(::bind(socket, name, size)) ||  // port 0: a free one, so that no node hears it
      fails(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size)) ||
      fails(::setsockopt(socket, IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof(membership))) ||
      fails(::setsockopt(socket, IPPROTO_IP, IP_MULTICAST_IF, &membership.imr_interface, sizeof(in_addr)))) {
    return absl::UnavailableError(error_text());
  }
  const char text[] = "scyper doctor";
  if (::sendto(socket, text, sizeof(text), 0, name, size) != ssize_t{sizeof(text)})
    return absl::UnavailableError(error_text());
  pollfd waiting{socket, POLLIN, 0};
  if (::poll(&waiting, 1, kMulticastMs) != 1)
    return absl::UnavailableError("a datagram to the group did not come back");
  return Status();
}

Finding examine_multicast(const server::NodeConfig& config) {
  const primary::ReplicationOptions& settings = config.engine.replication;
  if (settings.multicast_interface.empty()) {
    return {Level::kSkipped, "multicast", "no multicast_interface: redo goes by unicast", ""};
  }
  const std::string what = absl::StrCat(settings.multicast_group, " by ", settings.multicast_interface);
  const Status status = probe_multicast(settings.multicast_interface, settings.multicast_group);
  if (status.ok()) return {Level::kGood, "multicast", what, ""};
  return {Level::kWarning, "multicast", absl::StrCat(what, ": ", status.message()),
          "Nodes fall back to unicast. Look at the interface's address, its route for the group and the firewall."};
}

// Warns if redo leaves the machine without a key, which insecure_listen allows.
std::optional<Finding> examine_multicast_key(const server::NodeConfig& config) {
  const primary::ReplicationOptions& settings = config.engine.replication;
  const bool is_local = settings.multicast_interface.empty() || settings.multicast_interface.starts_with("127.");
  if ((is_local && settings.rdma.device.empty()) || !settings.multicast_key_file.empty()) return std::nullopt;
  return Finding{Level::kWarning, "multicast key",
                 "no multicast_key_file: whoever shares the network can send as the primary",
                 "Make one for all nodes: openssl rand -hex 32 (docs/replication.md, Encryption)."};
}

// Devices of verbs; whether one of them carries multicast is tried by the node.
Finding examine_rdma_devices() {
  std::error_code error;
  std::string names;
  for (const auto& each : std::filesystem::directory_iterator("/sys/class/infiniband", error)) {
    names += (names.empty() ? "" : ", ") + each.path().filename().string();
  }
  if (names.empty()) {
    return {Level::kWarning, "RDMA devices", "there are none",
            "Redo goes by PGM or unicast. Load the card's driver, ib_uverbs and rdma_ucm (docs/infiniband.md)."};
  }
  if (::access("/dev/infiniband/rdma_cm", R_OK | W_OK) == 0) return {Level::kGood, "RDMA devices", names, ""};
  return {Level::kWarning, "RDMA devices", names + "; the connection manager's device: " + error_text(),
          "Load rdma_ucm, and give the node's user /dev/infiniband."};
}

// --- the report ---

void print_json(const std::vector<Finding>& findings) {
  std::printf("{\"findings\": [");
  for (const Finding& finding : findings) {
    std::printf("%s{\"level\": %s, \"check\": %s, \"found\": %s, \"advice\": %s}",
                &finding == findings.data() ? "" : ", ", json_string(level_name(finding.level)).c_str(),
                json_string(finding.name).c_str(), json_string(finding.what).c_str(),
                json_string(finding.advice).c_str());
  }
  std::printf("]}\n");
}

}  // namespace

StatusOr<server::NodeConfig> read_node_config(const std::string& path) {
  std::vector<server::Assignment> file;
  if (!path.empty()) {
    SCYPER_ASSIGN_OR_RETURN(file, server::read_config_file(path));
  }
  SCYPER_ASSIGN_OR_RETURN(auto environment, server::read_config_environment(environ));
  return server::make_config(file, environment, {});
}

std::string findings_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    absl::StrAppendFormat(&text, "%-8s %-14s %s\n", level_name(finding.level), finding.name, finding.what);
    if (!finding.advice.empty()) absl::StrAppendFormat(&text, "%-8s %-14s %s\n", "", "", finding.advice);
  }
  return text;
}

const char* level_name(Level level) {
  switch (level) {
    case Level::kGood:
      return "ok";
    case Level::kSkipped:
      return "skipped";
    case Level::kWarning:
      return "warning";
    case Level::kBad:
      return "bad";
  }
  return "?";
}

std::vector<Finding> examine_limits(const server::NodeConfig& config) {
  std::vector<Finding> all;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  // The node itself needs few; each client's connection is one.
  const uint64_t wanted = std::max<uint64_t>(kDescriptors, config.server.postgres_connections_max + 1024u);
  Finding found{Level::kGood, "descriptors", absl::StrCat("at most ", files.rlim_cur, " may be open"), ""};
  if (files.rlim_cur < wanted) {
    found.level = Level::kWarning;
    found.advice =
        absl::StrCat("ulimit -n ", wanted, ", or LimitNOFILE= of the unit (the limit of this shell was looked at).");
  }
  all.push_back(std::move(found));
  const uint32_t cores = std::thread::hardware_concurrency();
  Finding core{Level::kGood, "cores", absl::StrCat(cores, " for ", config.engine.workers, " workers"), ""};
  if (cores <= config.engine.workers) {
    core.level = Level::kWarning;
    core.advice = "Leave cores for the log, the network and queries: fewer workers.";
  }
  all.push_back(std::move(core));
  return all;
}

std::vector<Finding> examine_disk(const server::NodeConfig& config) {
  const std::string& directory = config.engine.log.directory;
  if (directory.empty())
    return {{Level::kSkipped, "disk", "no data_directory: the database ends with the process", ""}};
  Finding room = examine_room(directory, config);
  if (room.level == Level::kBad) return {std::move(room)};
  return {std::move(room), examine_syncs(directory), examine_archives(config)};
}

Finding examine_locked_memory(uint64_t limit_bytes, bool is_exempt, uint64_t needed_bytes) {
  const bool is_enough = is_exempt || limit_bytes == RLIM_INFINITY || limit_bytes >= needed_bytes;
  const std::string limit =
      is_exempt || limit_bytes == RLIM_INFINITY ? "without limit" : "at most " + format_bytes(limit_bytes);
  Finding found{is_enough ? Level::kGood : Level::kWarning, "locked memory",
                absl::StrCat(limit, ", for RDMA ", format_bytes(needed_bytes)), ""};
  if (!is_enough) {
    found.advice = absl::StrCat("ulimit -l ", (needed_bytes + 1023) / 1024,
                                ", or LimitMEMLOCK= of the unit (the limit of this shell was looked at).");
  }
  return found;
}

std::vector<Finding> examine_network(const server::NodeConfig& config) {
  std::vector<Finding> all;
  const auto port = [&all](const char* key, const std::string& address) {
    if (!address.empty()) all.push_back(examine_port(key, address));
  };
  port("listen", config.server.listen);
  port("http_listen", config.server.http_listen);
  port("postgres_listen", config.server.postgres_listen);
  if (!config.cluster.name.empty()) port("peer_listen", config.cluster.peer_listen);
  all.push_back(examine_multicast(config));
  if (auto found = examine_multicast_key(config); found.has_value()) all.push_back(*std::move(found));
  const primary::ReplicationOptions& replication = config.engine.replication;
  if (replication.transport != primary::TransportChoice::kRdma && replication.rdma.device.empty()) return all;
  all.push_back(examine_rdma_devices());
  rlimit locked{};
  ::getrlimit(RLIMIT_MEMLOCK, &locked);
  // queues are locked beside the buffers
  all.push_back(
      examine_locked_memory(locked.rlim_cur, ::geteuid() == 0, replication.rdma.memory_bytes + kRdmaQueueBytes));
  return all;
}

std::vector<Finding> examine_machine(const server::NodeConfig& config) {
  std::vector<Finding> all = examine_kernel(KernelFiles("/"), config);
  for (auto examine : {examine_limits, examine_disk, examine_network, examine_cluster}) {
    std::vector<Finding> more = examine(config);
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return all;
}

int run_doctor(const DoctorOptions& options, bool is_json) {
  const auto config = read_node_config(options.config_path);
  if (!config.ok()) {
    std::fprintf(stderr, "scyper: %s\n", std::string(config.status().message()).c_str());
    return kExitUsage;
  }
  const std::vector<Finding> all = examine_machine(*config);
  is_json ? print_json(all) : static_cast<void>(std::fputs(findings_text(all).c_str(), stdout));
  const bool is_bad = std::any_of(all.begin(), all.end(), [](const Finding& f) { return f.level == Level::kBad; });
  return is_bad ? kExitCheck : kExitOk;
}

}  // namespace scyper::client
