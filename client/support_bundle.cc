#include "support_bundle.h"

#include <fcntl.h>
#include <netdb.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "cluster_place.h"
#include "doctor.h"
#include "node_process.h"
#include "progress.h"
#include "redact.h"
#include "status_format.h"

extern char** environ;

namespace scyper::client {

namespace {

namespace fs = std::filesystem;

constexpr size_t kTextBytesMax = 64 << 20;  // of one file of the bundle
constexpr int kHttpSeconds = 10;
constexpr int64_t kUsPerSecond = 1'000'000;
constexpr int kFilesMode = 0600;

// What the kernel says of the machine. Settings of programs are not among them, nor names of processes.
constexpr std::array<const char*, 22> kKernelFiles = {
    "/proc/version",
    "/proc/cmdline",
    "/proc/loadavg",
    "/proc/uptime",
    "/proc/meminfo",
    "/proc/vmstat",
    "/proc/swaps",
    "/proc/net/snmp",
    "/proc/pressure/cpu",
    "/proc/pressure/memory",
    "/proc/pressure/io",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/overcommit_ratio",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/max_map_count",
    "/proc/sys/vm/nr_hugepages",
    "/proc/sys/net/core/rmem_max",
    "/proc/sys/net/core/wmem_max",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/mm/transparent_hugepage/defrag",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/fs/cgroup/memory.max",
};

StatusOr<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno)));
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return text;
}

// What a program prints, and its exit code.
StatusOr<std::string> output_of(const std::vector<std::string>& arguments) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return absl::UnavailableError(std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  std::vector<char*> raw;
  for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, raw[0], &actions, nullptr, raw.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  absl::Cleanup close = [&] { ::close(ends[0]); };
  if (error != 0) return absl::UnavailableError(absl::StrCat(arguments[0], ": ", std::strerror(error)));
  std::string text;
  std::array<char, 65536> buffer;
  for (ssize_t got; (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    if (text.size() < kTextBytesMax) text.append(buffer.data(), static_cast<size_t>(got));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return absl::UnavailableError(arguments[0] + " failed: " + text);
  return text;
}

// As a client on the same machine reaches it.
std::string local_address(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  const std::string host = listen.substr(0, colon);
  const bool is_any = host == "0.0.0.0" || host == "[::]" || host.empty();
  return colon == std::string::npos || !is_any ? listen : "127.0.0.1" + listen.substr(colon);
}

StatusOr<int> connect_to(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return absl::InvalidArgumentError(address + " is not host:port");
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(address.substr(0, colon).c_str(), address.c_str() + colon + 1, &hints, &found);
  if (code != 0) return absl::UnavailableError(absl::StrCat(address, ": ", ::gai_strerror(code)));
  absl::Cleanup release = [found] { ::freeaddrinfo(found); };
  const int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{kHttpSeconds, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (socket >= 0 && ::connect(socket, found->ai_addr, found->ai_addrlen) == 0) return socket;
  const std::string why = std::strerror(errno);
  if (socket >= 0) ::close(socket);
  return absl::UnavailableError(absl::StrCat(address, ": ", why));
}

// The node's HTTP is plain, and answers at once.
StatusOr<std::string> get_page(const std::string& address, const std::string& path) {
  if (address.empty()) return absl::UnavailableError("the node has no http_listen");
  SCYPER_ASSIGN_OR_RETURN(const int socket, connect_to(address));
  absl::Cleanup close = [socket] { ::close(socket); };
  const std::string request = absl::StrCat("GET ", path, " HTTP/1.0\r\nHost: ", address, "\r\n\r\n");
  if (::send(socket, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
    return absl::UnavailableError(absl::StrCat(address, ": ", std::strerror(errno)));
  }
  std::string text;
  std::array<char, 65536> buffer;
  ssize_t got = 0;
  while (text.size() < kTextBytesMax && (got = ::recv(socket, buffer.data(), buffer.size(), 0)) > 0) {
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  const size_t head = text.find("\r\n\r\n");
  if (got < 0 || !text.starts_with("HTTP/1.") || head == std::string::npos) {
    return absl::UnavailableError(absl::StrCat(address, path, ": no answer"));
  }
  return text.substr(head + 4);
}

// Without what the settings mean, which others know.
std::string settings_text(const server::NodeConfig& config) {
  std::string out;
  const std::vector<std::string> lines = absl::StrSplit(server::print_config(config), '\n');
  for (const std::string& line : lines) {
    if (!line.empty() && line[0] != '#') absl::StrAppend(&out, line, "\n");
  }
  return out;
}

std::string kernel_text() {
  std::string out;
  for (const char* path : kKernelFiles) {
    const auto text = read_file(path);
    absl::StrAppend(&out, "== ", path, "\n", text.ok() ? *text : "not there\n", "\n");
  }
  std::error_code error;
  absl::StrAppend(&out, "== processors\n", ::sysconf(_SC_NPROCESSORS_ONLN), "\n");
  const auto processors = read_file("/proc/cpuinfo");
  if (processors.ok()) out += processors->substr(0, processors->find("\n\n")) + "\n";
  return out;
}

std::string versions_text() {
  utsname kernel{};
  ::uname(&kernel);
  std::string out = absl::StrCat("scyper ", server::kVersion, "\n", "compiler ", __VERSION__, "\nkernel ",
                                 kernel.sysname, " ", kernel.release, " ", kernel.version, " ", kernel.machine, "\n");
  const auto system = read_file("/etc/os-release");
  const auto node = output_of({program_beside_this("scyperd"), "--version"});
  absl::StrAppend(&out, "scyperd beside it ", node.ok() ? *node : absl::StrCat(node.status().message(), "\n"),
                  system.ok() ? *system : "");
  return out;
}

// The last lines of a text.
std::string tail(const std::string& text, uint32_t lines) {
  size_t begin = text.size();
  for (uint32_t i = 0; begin > 0 && i <= lines; ++i) {
    const size_t before = text.rfind('\n', begin - 1);
    if (before == std::string::npos) return text;
    begin = before;
  }
  return text.substr(std::min(begin + 1, text.size()));
}

StatusOr<std::string> node_messages(const BundleOptions& options) {
  if (options.node_log.empty()) {
    return output_of({"journalctl", "--no-pager", "--quiet", "--output=short-iso-precise", "--unit=" + options.unit,
                      absl::StrCat("--lines=", options.lines)});
  }
  SCYPER_ASSIGN_OR_RETURN(const std::string text, read_file(options.node_log));
  return tail(text, options.lines);
}

// The files, one after the other; each goes through redact().
class Bundle {
 public:
  explicit Bundle(std::string directory) : directory_(std::move(directory)) {}

  Status add(const std::string& name, const std::string& what, const StatusOr<std::string>& text) {
    if (!text.ok()) {
      const std::string why = redact(std::string(text.status().message()), &removed_);
      missing_ += absl::StrCat("  ", name, ": ", what, ": ", why, "\n");
      return Status();
    }
    const std::string shown = redact(*text, &removed_);
    there_ += absl::StrCat("  ", name, ": ", what, ", ", grouped(shown.size()), " bytes\n");
    return write(name, shown);
  }
  // Closes it with what it says of itself.
  Status finish(std::string* said) {
    *said = absl::StrCat("In this bundle:\n", there_);
    if (!missing_.empty()) absl::StrAppend(said, "Could not be had:\n", missing_);
    absl::StrAppend(said, grouped(removed_),
                    " places that looked like secrets were removed. No rows of tables, files of users, keys or\n",
                    "certificates were read. Names of nodes, addresses, paths, tables, columns and procedures are in "
                    "it, and texts of\n",
                    "slow queries without their constants: look through it before you hand it on.\n");
    return write("README.txt",
                 absl::StrCat("Support bundle of a ScyPer node, made by scyper ", server::kVersion, ".\n", *said));
  }

 private:
  Status write(const std::string& name, const std::string& text) {
    const std::string path = directory_ + "/" + name;
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFilesMode);
    if (file < 0) return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno)));
    absl::Cleanup close = [file] { ::close(file); };
    for (size_t done = 0; done < text.size();) {
      const ssize_t put = ::write(file, text.data() + done, text.size() - done);
      if (put < 0) return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno)));
      done += static_cast<size_t>(put);
    }
    return Status();
  }

  const std::string directory_;
  std::string there_, missing_;
  size_t removed_ = 0;
};

Status fill(const CommonOptions& common, const BundleOptions& options, Bundle* bundle) {
  const auto config = read_node_config(options.config_path);
  const server::NodeConfig node = config.ok() ? *config : server::NodeConfig();
  const std::string target = options.has_target ? common.connect.target : local_address(node.server.listen);
  const std::string http = options.http.empty() ? local_address(node.server.http_listen) : options.http;
  const std::string data = node.engine.log.directory;
  const auto status = status_of(common, target);
  auto text_of = [](const Status& failure, auto make) -> StatusOr<std::string> {
    if (!failure.ok()) return failure;
    return make();
  };
  SCYPER_RETURN_IF_ERROR(bundle->add("configuration.toml", "the settings that result",
                                     text_of(config.status(), [&] { return settings_text(node); })));
  SCYPER_RETURN_IF_ERROR(bundle->add("status.txt", "scyper status of " + target,
                                     text_of(status.status(), [&] { return status_table(*status, target); })));
  SCYPER_RETURN_IF_ERROR(bundle->add("status.json", "the same, with procedures and slow queries",
                                     text_of(status.status(), [&] { return status_json(*status) + "\n"; })));
  SCYPER_RETURN_IF_ERROR(bundle->add("metrics.txt", "/metrics of " + http, get_page(http, "/metrics")));
  SCYPER_RETURN_IF_ERROR(bundle->add("ready.txt", "/readyz", get_page(http, "/readyz")));
  SCYPER_RETURN_IF_ERROR(bundle->add("doctor.txt", "scyper doctor",
                                     text_of(config.status(), [&] { return findings_text(examine_machine(node)); })));
  SCYPER_RETURN_IF_ERROR(bundle->add("versions.txt", "programs, kernel and system", versions_text()));
  SCYPER_RETURN_IF_ERROR(bundle->add("kernel.txt", "what the kernel says of the machine", kernel_text()));
  StatusOr<std::string> log = absl::UnavailableError("the node has no data_directory");
  if (!data.empty()) log = summarize_log(data);
  if (!options.reads_log) log = absl::UnavailableError("left out as asked");
  SCYPER_RETURN_IF_ERROR(bundle->add("log.txt", "segments of the redo log, as scyper log inspect shows them", log));
  return bundle->add("messages.txt", "the node's last messages", node_messages(options));
}

std::string name_of_bundle() {
  const std::time_t seconds = RealClock().now_us() / kUsPerSecond;
  std::tm parts{};
  char text[40];
  std::strftime(text, sizeof(text), "scyper-support-%Y%m%dT%H%M%SZ", ::gmtime_r(&seconds, &parts));
  return text;
}

// A directory with what is in it, as one file.
Status pack(const std::string& directory, const std::string& path) {
  const fs::path from = directory;
  const auto packed = output_of({"tar", "--create", "--gzip", "--file", path, "--directory",
                                 from.parent_path().string(), from.filename().string()});
  if (!packed.ok()) return packed.status();
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  return Status();
}

Status make_bundle(const CommonOptions& common, const BundleOptions& options, std::string* said) {
  const bool is_file = absl::EndsWith(options.path, ".tar.gz") || absl::EndsWith(options.path, ".tgz");
  std::error_code error;
  if (fs::exists(options.path, error)) return absl::AlreadyExistsError(options.path + " is there already");
  std::string directory = options.path;
  std::string scratch;
  if (is_file) {
    scratch = (fs::temp_directory_path() / "scyper-bundle-XXXXXX").string();
    if (::mkdtemp(scratch.data()) == nullptr) return absl::UnavailableError(scratch + ": " + std::strerror(errno));
    directory = scratch + "/" + name_of_bundle();
  }
  absl::Cleanup remove = [&] {
    if (!scratch.empty()) fs::remove_all(scratch, error);
  };
  if (::mkdir(directory.c_str(), 0700) != 0) return absl::UnavailableError(directory + ": " + std::strerror(errno));
  Bundle bundle(directory);
  SCYPER_RETURN_IF_ERROR(fill(common, options, &bundle));
  SCYPER_RETURN_IF_ERROR(bundle.finish(said));
  return is_file ? pack(directory, options.path) : Status();
}

}  // namespace

int run_support_bundle(const CommonOptions& common, const BundleOptions& options) {
  std::string said;
  if (Status status = make_bundle(common, options, &said); !status.ok()) return show_failure(status, common.is_json);
  std::printf("%s: %s", options.path.c_str(), said.c_str());
  return kExitOk;
}

}  // namespace scyper::client
