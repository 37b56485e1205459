#include "node_metrics.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/internal_error.h"
#include "disk_usage.h"
#include "metric_families.h"
#include "replay/recovery.h"
#include "secondary_engine.h"

namespace scyper::server {

namespace {

const auto kProcessStart = std::chrono::system_clock::now();  // nearly: when it was loaded
constexpr MetricType kCounter = MetricType::kCounter, kGauge = MetricType::kGauge;

double number(uint64_t value) { return static_cast<double>(value); }
double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// Pages of memory that the process has, and of them those that are in memory; false: not known.
bool read_memory(uint64_t* pages, uint64_t* resident_pages) {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return false;
  unsigned long all = 0, resident = 0;
  const bool is_read = std::fscanf(file, "%lu %lu", &all, &resident) == 2;
  std::fclose(file);
  *pages = all;
  *resident_pages = resident;
  return is_read;
}

uint64_t count_descriptors() {
  std::error_code error;
  uint64_t count = 0;
  for (std::filesystem::directory_iterator i("/proc/self/fd", error), end; !error && i != end; i.increment(error))
    ++count;
  return count == 0 ? 0 : count - 1;  // the one that reads
}

void add_process(MetricFamilies* out) {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    out->add("process_cpu_seconds_total", "Time computed by the process, forked children aside.", kCounter, {},
             seconds(usage.ru_utime) + seconds(usage.ru_stime));
  }
  uint64_t pages = 0, resident_pages = 0;
  if (read_memory(&pages, &resident_pages)) {
    const uint64_t page_bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    out->add("process_virtual_memory_bytes", "Address space of the process.", kGauge, {}, number(pages * page_bytes));
    out->add("process_resident_memory_bytes", "Memory of the process that is in memory.", kGauge, {},
             number(resident_pages * page_bytes));
  }
  out->add("process_open_fds", "Open descriptors.", kGauge, {}, number(count_descriptors()));
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    out->add("process_max_fds", "Descriptors that may be open.", kGauge, {}, number(limit.rlim_cur));
  }
  out->add("process_start_time_seconds", "When the process began.", kGauge, {},
           std::chrono::duration<double>(kProcessStart.time_since_epoch()).count());
}

void add_disk(const std::string& directory, MetricFamilies* out) {
  struct statvfs disk{};
  if (directory.empty() || ::statvfs(directory.c_str(), &disk) != 0) return;
  out->add("scyper_data_disk_free_bytes", "Room on the file system of the data directory.", kGauge, {},
           number(uint64_t{disk.f_bavail} * disk.f_frsize));
  out->add("scyper_data_disk_size_bytes", "Size of the file system of the data directory.", kGauge, {},
           number(uint64_t{disk.f_blocks} * disk.f_frsize));
  out->add("scyper_log_disk_bytes", "What the segments of the log take of that file system.", kGauge, {},
           number(disk_usage_bytes(replay::log_directory(directory))));
  out->add("scyper_archives_disk_bytes", "What the data directory's archives take of it.", kGauge, {},
           number(disk_usage_bytes(replay::archives_directory(directory))));
}

void add_log(const primary::Engine::LogInfo& log, MetricFamilies* out) {
  constexpr char kLsn[] = "scyper_log_lsn";
  constexpr char kLsnHelp[] = "LSNs: the last one, the last on this node's disk, the commit point.";
  out->add(kLsn, kLsnHelp, kGauge, {{"point", "last"}}, number(log.last_lsn));
  out->add(kLsn, kLsnHelp, kGauge, {{"point", "durable"}}, number(log.durable_lsn));
  out->add(kLsn, kLsnHelp, kGauge, {{"point", "confirmed"}}, number(log.confirmed_lsn));
  out->add("scyper_archives_damaged_total", "Archives that were found damaged, and set aside.", kCounter, {},
           number(log.damaged_archives));
  if (!log.is_on) return;
  out->add("scyper_log_full", "1 when the disk of the log is full: the database is read-only.", kGauge, {},
           log.is_full ? 1 : 0);
  out->add("scyper_log_groups_total", "Groups of the log written.", kCounter, {}, number(log.groups));
  out->add("scyper_log_written_bytes_total", "Bytes of the log written.", kCounter, {}, number(log.bytes_written));
  out->add("scyper_recovery_duration_seconds", "What recovery took when the node took its role.", kGauge, {},
           log.recovery_seconds);
  out->add("scyper_recovery_transactions", "Transactions that recovery found in the log.", kGauge, {},
           number(log.recovered_transactions));
  out->add("scyper_archive_progress_bytes", "Uncompressed, of the archive that is being written; 0: none is.", kGauge,
           {}, number(log.archive_bytes));
  out->add("scyper_archive_lsn", "LSN of the newest archive in the data directory; 0: there is none.", kGauge, {},
           number(log.archive_lsn));
  out->add("scyper_archive_timestamp_seconds", "When the state of that archive was taken.", kGauge, {},
           static_cast<double>(log.archive_time_us) / 1e6);
}

void add_role(const NodeParts& node, MetricFamilies* out) {
  constexpr char kRole[] = "scyper_node_role";
  constexpr char kRoleHelp[] = "1 for the role that the node has.";
  const bool is_secondary = dynamic_cast<const SecondaryEngine*>(node.engine) != nullptr;
  out->add(kRole, kRoleHelp, kGauge, {{"role", "primary"}}, is_secondary ? 0 : 1);
  out->add(kRole, kRoleHelp, kGauge, {{"role", "secondary"}}, is_secondary ? 1 : 0);
}

void add_internal_errors(MetricFamilies* out) {
  const auto counts = internal_error_counts();
  for (size_t phase = 0; phase < counts.size(); ++phase)
    out->add("scyper_internal_errors_total", "Statements that failed by a fault of the program itself.", kCounter,
             {{"phase", std::string(name_of(static_cast<Phase>(phase)))}}, number(counts[phase]));
}

}  // namespace

void append_node_metrics(const NodeParts& node, std::vector<MetricFamily>* families) {
  MetricFamilies out(families);
  add_process(&out);
  add_role(node, &out);
  add_internal_errors(&out);
  add_log(node.engine->log_info(), &out);
  add_disk(node.engine->options().log.directory, &out);
}

}  // namespace scyper::server
