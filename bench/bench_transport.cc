// The network beneath replication, between namespaces of this machine: ScyPer's Table 1 (DanaC 2013), messages by UDP
// and by OpenPGM, and by RDMA verbs between devices of this one; and the redo path alone, recorded transactions through
// batches, datagrams and OpenPGM into inboxes. Needs root.

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/histogram.h"
#include "machine_time.h"
#include "network_spaces.h"
#include "node_process.h"
#include "recorded_log.h"
#include "replication/datagram.h"
#include "replication/inbox.h"
#include "transport_wire.h"

namespace scyper::bench {
namespace {

using nlohmann::ordered_json;

constexpr uint32_t kLatencyPerSecond = 1000;
constexpr int kIdleMs = 200;
constexpr int kIdleRoundsMax = 25;  // without a datagram a receiver gives up
constexpr int kEnds = 20;           // of messages that say that a run is over: some may be lost
constexpr uint16_t kMulticastPort = 7402;
constexpr int64_t kStandstillNs = 5'000'000'000;  // of the slowest receiver: the sender gives up

struct Options {
  std::vector<uint32_t> bytes = {1440, 2048};
  uint32_t receivers = 3;
  double seconds = 2;
  int rounds = 1;  // of the table, transports in turns
  std::vector<std::string> transports = {"udp", "pgm", "rdma"};
  uint32_t mtu = 1500;
  uint32_t rate = 200'000'000;
  std::vector<std::string> rdma;  // addresses: of the sender, of receivers
  std::vector<std::string> logs;  // data directories
  std::vector<uint32_t> losses = {0};
  std::vector<uint32_t> channels = {1};
  uint64_t entries = 200'000;
  uint64_t window = uint64_t{1} << 20;
  std::string output = "table";
  // a receiver's own
  std::string receive, interface, result, cluster, progress;
  uint32_t number = 0;
  uint64_t base_lsn = 0, complete_lsn = 0;
};

int64_t now_ns() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);  // the same in all namespaces
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

// That this process has used, or those of its children that have been waited for, and theirs.
double cpu_s(int who) {
  rusage used{};
  ::getrusage(who, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

// In front of each piece of a message.
struct Message {
  uint64_t number = 0;
  int64_t sent_ns = 0;
  uint32_t piece = 0;
  uint32_t is_last = 0;  // piece of the message; 2: the run is over
};

// How far each receiver is, in a file that all processes of a run map: the sender stays at most a window ahead of the
// slowest. Nothing else holds it back, and what multicast has lost for good nobody repairs here.
class SharedProgress {
 public:
  static constexpr size_t kReceiversMax = 64;
  explicit SharedProgress(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ::ftruncate(fd, sizeof(Lsn) * kReceiversMax) != 0) return;
    void* mapped = ::mmap(nullptr, sizeof(Lsn) * kReceiversMax, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (mapped != MAP_FAILED) lsns_ = static_cast<Lsn*>(mapped);
  }
  ~SharedProgress() {
    if (lsns_ != nullptr) ::munmap(lsns_, sizeof(Lsn) * kReceiversMax);
  }
  bool is_there() const { return lsns_ != nullptr; }
  void set(size_t receiver, uint64_t lsn) { lsns_[receiver].store(lsn, std::memory_order_release); }
  uint64_t least(size_t receivers) const {
    uint64_t lsn = ~uint64_t{0};
    for (size_t i = 0; i < receivers; ++i) lsn = std::min(lsn, lsns_[i].load(std::memory_order_acquire));
    return lsn;
  }

 private:
  using Lsn = std::atomic<uint64_t>;
  Lsn* lsns_ = nullptr;
};

// --- a receiver ---

ordered_json receive_messages(Wire* wire) {
  Histogram latency_ns;
  uint64_t messages = 0, bytes = 0;
  int64_t first_ns = 0, last_ns = 0;
  std::string datagram;
  for (int idle = 0; idle < kIdleRoundsMax || messages == 0;) {
    if (!wire->receive(&datagram, kIdleMs)) {
      ++idle;
      if (idle > 4 * kIdleRoundsMax) break;
      continue;
    }
    idle = 0;
    Message header;
    if (datagram.size() < sizeof(header)) continue;
    std::memcpy(&header, datagram.data(), sizeof(header));
    if (header.is_last == 2) break;
    last_ns = now_ns();
    if (first_ns == 0) first_ns = last_ns;
    bytes += datagram.size();
    if (header.is_last == 0) continue;
    ++messages;
    latency_ns.record(static_cast<uint64_t>(last_ns - header.sent_ns));
  }
  return {{"messages", messages},
          {"bytes", bytes},
          {"seconds", static_cast<double>(last_ns - first_ns) / 1e9},
          {"p50_us", static_cast<double>(latency_ns.percentile(50)) / 1e3},
          {"p99_us", static_cast<double>(latency_ns.percentile(99)) / 1e3}};
}

ordered_json receive_redo(Wire* wire, const Options& options) {
  replication::ClusterId cluster;
  std::sscanf(options.cluster.c_str(), "%16lx%16lx", &cluster.words[0], &cluster.words[1]);
  replication::Inbox::Start start;
  start.term = 1;
  start.lsn = options.base_lsn;
  replication::Inbox inbox(cluster, start, {size_t{256} << 20, false});
  replication::DatagramReader::Options reader_options;
  reader_options.memory_bytes_max = size_t{64} << 20;
  reader_options.channels = options.channels.front();
  replication::DatagramReader reader(cluster, reader_options);
  SharedProgress progress(options.progress);
  std::string datagram;
  int64_t done_ns = 0;
  int idle = 0;
  while (inbox.received_lsn() < options.complete_lsn && idle < kIdleRoundsMax) {
    if (!wire->receive(&datagram, kIdleMs)) {
      ++idle;
      continue;
    }
    idle = 0;
    auto received = reader.read(datagram, inbox.term());
    if (received.watermark.has_value()) inbox.note(*received.watermark);
    if (!received.parcel.has_value()) continue;
    static_cast<void>(inbox.offer(*std::move(received.parcel)));
    size_t count = 0;
    while (inbox.next_to_apply(count) != nullptr) ++count;
    if (count == 0) continue;
    inbox.begin_apply(count);
    inbox.applied();
    done_ns = now_ns();
    if (progress.is_there()) progress.set(options.number, inbox.applied_lsn());
  }
  return {{"applied_lsn", inbox.applied_lsn()},
          {"done_ns", done_ns},
          {"damaged", inbox.damaged()},
          {"cpu_s", cpu_s(RUSAGE_SELF)}};
}

int run_receiver(const Options& options) {
  const std::string transport = options.receive == "redo" ? "pgm" : options.receive;
  Wire::Options wire_options{transport, false, options.interface, options.mtu, options.rate, options.channels.front()};
  auto wire = Wire::open(wire_options);
  if (!wire.ok()) {
    std::fprintf(stderr, "%s\n", std::string(wire.status().message()).c_str());
    return 1;
  }
  std::ofstream(options.result + ".ready") << "\n";
  const ordered_json result =
      options.receive == "redo" ? receive_redo(wire->get(), options) : receive_messages(wire->get());
  std::ofstream(options.result + ".tmp") << result.dump();
  std::filesystem::rename(options.result + ".tmp", options.result);
  return 0;
}

// --- the sender, and its receivers as processes ---

class Receivers {
 public:
  Receivers(const Options& options, const client::NetworkSpaces& spaces, const std::string& directory)
      : options_(options), spaces_(spaces), directory_(directory) {}
  ~Receivers() {
    for (pid_t pid : pids_) ::kill(pid, SIGKILL);
    for (pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
  }

  Status start(const std::string& what, const std::vector<std::string>& more) {
    for (uint32_t i = 1; i <= options_.receivers; ++i) {
      std::filesystem::remove(result(i));
      std::filesystem::remove(result(i) + ".ready");
      const bool is_rdma = what == "rdma";
      std::vector<std::string> arguments;
      if (!is_rdma) arguments = {"ip", "netns", "exec", spaces_.name(i)};
      for (const std::string& each :
           {client::program_beside_this("bench_transport"), std::string("--receive"), what, std::string("--interface"),
            is_rdma ? options_.rdma[i] : spaces_.address(i), std::string("--result"), result(i), std::string("--mtu"),
            std::to_string(options_.mtu), std::string("--number"), std::to_string(i - 1)}) {
        arguments.push_back(each);
      }
      arguments.insert(arguments.end(), more.begin(), more.end());
      pids_.push_back(client::launch(arguments, absl::StrCat(directory_, "/", i, ".log")));
    }
    for (uint32_t i = 1; i <= options_.receivers; ++i) {
      for (int wait = 0; !std::filesystem::exists(result(i) + ".ready"); ++wait) {
        if (wait > 1000)
          return absl::UnavailableError(absl::StrCat("a receiver of ", what, " does not start: ", log(i)));
        ::usleep(10'000);
      }
    }
    ::usleep(300'000);  // the group's members are known to the bridge
    return Status();
  }

  StatusOr<std::vector<ordered_json>> results() {
    std::vector<ordered_json> all;
    for (uint32_t i = 1; i <= options_.receivers; ++i) {
      ::waitpid(pids_[i - 1], nullptr, 0);
      std::ifstream file(result(i));
      ordered_json one = ordered_json::parse(file, nullptr, /*allow_exceptions=*/false);
      if (one.is_discarded()) return absl::DataLossError("a receiver has failed");
      all.push_back(std::move(one));
    }
    pids_.clear();
    return all;
  }

 private:
  std::string log(uint32_t i) const {
    std::ostringstream text;
    text << std::ifstream(absl::StrCat(directory_, "/", i, ".log")).rdbuf();
    return text.str();
  }
  std::string result(uint32_t i) const { return absl::StrCat(directory_, "/", i, ".json"); }

  const Options& options_;
  const client::NetworkSpaces& spaces_;
  const std::string directory_;
  std::vector<pid_t> pids_;
};

// A message in as many datagrams as it takes.
void send_message(Wire* wire, Message header, uint32_t bytes, std::string* buffer) {
  const size_t room = wire->datagram_bytes_max();
  while (bytes > 0) {
    const size_t size = std::max(sizeof(header), std::min<size_t>(bytes, room));
    header.is_last = bytes <= size ? 1 : 0;
    buffer->resize(size);
    std::memcpy(buffer->data(), &header, sizeof(header));
    wire->send(*buffer);
    bytes -= static_cast<uint32_t>(std::min<size_t>(bytes, size));
    ++header.piece;
  }
}

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {}

  StatusOr<ordered_json> run() {
    char directory[] = "/tmp/scyper_transport_XXXXXX";
    if (::mkdtemp(directory) == nullptr) return absl::UnavailableError("no directory can be made in /tmp");
    directory_ = directory;
    SCYPER_RETURN_IF_ERROR(spaces_.make(options_.receivers + 1, options_.mtu));
    ordered_json out = {{"receivers", options_.receivers}, {"mtu", options_.mtu}};
    for (int round = 0; round < options_.rounds; ++round) SCYPER_RETURN_IF_ERROR(measure_all(&out["table1"]));
    for (const std::string& log : options_.logs) {
      for (const uint32_t loss : options_.losses) {
        for (uint32_t i = 1; i <= options_.receivers; ++i) {
          SCYPER_RETURN_IF_ERROR(spaces_.set_loss(i, loss, kMulticastPort));
        }
        for (Form form : {Form::kRaw, Form::kGrouped, Form::kCompressed}) {
          for (const uint32_t channels : options_.channels) {
            SCYPER_ASSIGN_OR_RETURN(ordered_json row, in_first_space([&] { return send_redo(log, form, channels); }));
            row["log"] = std::filesystem::path(log).filename().string();
            row["loss_percent"] = loss;
            out["redo"].push_back(std::move(row));
          }
        }
      }
    }
    std::filesystem::remove_all(directory_);
    return out;
  }

 private:
  // Waits until the slowest receiver is near enough. False: it does not get on.
  bool wait_for_room(const SharedProgress& progress, const RecordedLog& log, size_t next, size_t* first,
                     uint64_t* waiting_bytes) const {
    uint64_t seen_lsn = 0;
    for (int64_t moved_ns = now_ns(); *waiting_bytes > options_.window; ::usleep(50)) {
      const uint64_t lsn = progress.least(options_.receivers);
      while (*first < next && log.parcels[*first].complete_lsn <= lsn) {
        *waiting_bytes -= log.parcels[(*first)++].bytes->size();
      }
      if (lsn != seen_lsn) moved_ns = now_ns();
      seen_lsn = lsn;
      if (now_ns() - moved_ns > kStandstillNs) return false;
    }
    return true;
  }

  // In a process of its own there: this one's threads stay where they are.
  template <typename Work>
  StatusOr<ordered_json> in_first_space(Work work);

  // A row for each transport and size.
  Status measure_all(ordered_json* out) {
    for (const uint32_t bytes : options_.bytes) {
      for (const std::string& transport : options_.transports) {
        if (transport == "rdma" && options_.rdma.empty()) continue;
        if (transport != "rdma") {
          SCYPER_ASSIGN_OR_RETURN(ordered_json row, in_first_space([&] { return measure(transport, bytes); }));
          out->push_back(std::move(row));
        } else if (options_.rdma.size() <= options_.receivers) {
          return absl::InvalidArgumentError("--rdma has too few addresses");
        } else {
          SCYPER_ASSIGN_OR_RETURN(ordered_json row, measure(transport, bytes));
          out->push_back(std::move(row));
        }
      }
    }
    return Status();
  }

  StatusOr<std::unique_ptr<Wire>> open(const std::string& transport, uint32_t channels = 1) {
    const std::string interface = transport == "rdma" ? options_.rdma[0] : spaces_.address(0);
    return Wire::open({transport, true, interface, options_.mtu, options_.rate, channels});
  }

  // As fast as it goes, then a thousand a second for the latency.
  StatusOr<ordered_json> measure(const std::string& transport, uint32_t bytes) {
    ordered_json row = {{"transport", transport}, {"bytes", bytes}};
    std::string buffer;
    for (const bool is_paced : {false, true}) {
      Receivers receivers(options_, spaces_, directory_);
      SCYPER_RETURN_IF_ERROR(receivers.start(transport, {}));
      SCYPER_ASSIGN_OR_RETURN(auto wire, open(transport));
      ::usleep(200'000);
      const double busy_start_s = machine_busy_s();
      const int64_t start_ns = now_ns(), end_ns = start_ns + static_cast<int64_t>(options_.seconds * 1e9);
      uint64_t count = 0;
      for (; now_ns() < end_ns; ++count) {
        if (is_paced) {
          wire->flush();
          const int64_t due_ns = start_ns + static_cast<int64_t>(count) * 1'000'000'000 / kLatencyPerSecond;
          while (now_ns() < due_ns) ::usleep(50);
        }
        send_message(wire.get(), {count, now_ns(), 0, 0}, bytes, &buffer);
      }
      wire->flush();
      const double sent_s = static_cast<double>(now_ns() - start_ns) / 1e9;
      if (!is_paced) row["cpu_us_per_message"] = (machine_busy_s() - busy_start_s) * 1e6 / static_cast<double>(count);
      for (int i = 0; i < kEnds; ++i) {
        ::usleep(transport == "pgm" ? 100'000 : 20'000);  // PGM repairs before
        Message over;
        over.is_last = 2;
        wire->send({reinterpret_cast<const char*>(&over), sizeof(over)});
        wire->flush();
      }
      SCYPER_ASSIGN_OR_RETURN(auto results, receivers.results());
      add(results, count, sent_s, is_paced, &row);
    }
    return row;
  }

  static void add(const std::vector<ordered_json>& results, uint64_t sent, double sent_s, bool is_paced,
                  ordered_json* row) {
    double rate = 0, megabits = 0, p50 = 0, p99 = 0, least = 1;
    for (const ordered_json& one : results) {
      const double seconds = std::max(sent_s, one.at("seconds").get<double>());
      rate += one.at("messages").get<double>() / seconds / static_cast<double>(results.size());
      megabits += one.at("bytes").get<double>() * 8e-6 / seconds / static_cast<double>(results.size());
      p50 = std::max(p50, one.at("p50_us").get<double>());
      p99 = std::max(p99, one.at("p99_us").get<double>());
      least = std::min(least, one.at("messages").get<double>() / static_cast<double>(sent));
    }
    if (is_paced) {
      (*row)["latency_us_p50"] = p50;
      (*row)["latency_us_p99"] = p99;
      return;
    }
    (*row)["messages_per_s"] = rate;
    (*row)["megabits_per_s"] = megabits;
    (*row)["received"] = least;  // share of what was sent, at the worst receiver
  }

  StatusOr<ordered_json> send_redo(const std::string& directory, Form form, uint32_t channels) {
    SCYPER_ASSIGN_OR_RETURN(const RecordedLog log, read_recorded_log(directory, form, options_.entries));
    const uint64_t complete_lsn = log.parcels.back().complete_lsn;
    const std::string progress_path = directory_ + "/progress";
    SharedProgress progress(progress_path);
    if (!progress.is_there()) return absl::UnavailableError("no memory to share with receivers");
    for (uint32_t i = 0; i < options_.receivers; ++i) progress.set(i, log.base_lsn);
    Receivers receivers(options_, spaces_, directory_);
    SCYPER_RETURN_IF_ERROR(receivers.start(
        "redo",
        {"--cluster", replication::to_string(log.cluster), "--base-lsn", std::to_string(log.base_lsn), "--complete-lsn",
         std::to_string(complete_lsn), "--progress", progress_path, "--channels", std::to_string(channels)}));
    SCYPER_ASSIGN_OR_RETURN(auto wire, open("pgm", channels));
    ::usleep(200'000);
    replication::DatagramWriter writer(log.cluster, replication::draw_source(), wire->datagram_bytes_max(), nullptr,
                                       channels);
    const double own_s = cpu_s(RUSAGE_SELF);
    uint64_t datagrams = 0, waiting_bytes = 0;
    size_t first = 0;
    const int64_t start_ns = now_ns();
    for (size_t i = 0; i < log.parcels.size(); ++i) {
      const replication::Parcel& parcel = log.parcels[i];
      if (waiting_bytes > options_.window) wire->flush();
      if (!wait_for_room(progress, log, i, &first, &waiting_bytes)) break;
      waiting_bytes += parcel.bytes->size();
      writer.write(parcel, {1, log.base_lsn, parcel.complete_lsn, parcel.complete_lsn, 0},
                   [&](uint32_t channel, std::string_view bytes) {
                     wire->send(bytes, channel);
                     ++datagrams;
                   });
    }
    wire->flush();
    SCYPER_ASSIGN_OR_RETURN(auto results, receivers.results());  // the sender goes on repairing meanwhile
    const double sender_s = cpu_s(RUSAGE_SELF) - own_s;
    wire.reset();  // waits for its process
    double seconds = 0, receiver_s = 0;
    uint64_t least_lsn = complete_lsn;
    for (const ordered_json& one : results) {
      seconds = std::max(seconds, static_cast<double>(one.at("done_ns").get<int64_t>() - start_ns) / 1e9);
      receiver_s = std::max(receiver_s, one.at("cpu_s").get<double>());
      least_lsn = std::min(least_lsn, one.at("applied_lsn").get<uint64_t>());
    }
    const auto entries = static_cast<double>(log.entries);
    const auto groups = static_cast<double>(log.parcels.size());
    return ordered_json{
        {"form", form_name(form)},
        {"channels", channels},
        {"entries", log.entries},
        {"is_complete", least_lsn == complete_lsn},
        {"entries_per_s", static_cast<double>(least_lsn - log.base_lsn) / seconds},
        {"entry_bytes", static_cast<double>(log.entry_bytes) / entries},
        {"wire_bytes_per_entry", static_cast<double>(log.wire_bytes) / entries},
        {"datagrams_per_entry", static_cast<double>(datagrams) / entries},
        {"datagrams_per_group", static_cast<double>(datagrams) / groups},
        {"sender_cpu_us_per_group", 1e6 * sender_s / groups},
        {"receiver_cpu_us_per_group", 1e6 * receiver_s / groups},
        {"multicast_cpu_us_per_group", 1e6 * (cpu_s(RUSAGE_CHILDREN) - receiver_s * options_.receivers) / groups},
        {"groups", log.parcels.size()}};
  }

  const Options& options_;
  client::NetworkSpaces spaces_;
  std::string directory_;
};

template <typename Work>
StatusOr<ordered_json> Bench::in_first_space(Work work) {
  const std::string path = directory_ + "/sender.json";
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int space = ::open(absl::StrCat("/run/netns/", spaces_.name(0)).c_str(), O_RDONLY | O_CLOEXEC);
    if (space < 0 || ::setns(space, CLONE_NEWNET) != 0) ::_exit(1);
    auto done = work();
    std::ofstream(path) << (done.ok() ? *done : ordered_json{{"error", std::string(done.status().message())}}).dump();
    ::_exit(0);
  }
  ::waitpid(pid, nullptr, 0);
  std::ifstream file(path);
  ordered_json out = ordered_json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (out.is_discarded()) return absl::UnavailableError("the sender has failed");
  if (out.contains("error")) return absl::UnavailableError(out["error"].get<std::string>());
  return out;
}

void print(const ordered_json& out) {
  for (const auto& row : out.value("table1", ordered_json::array())) {
    std::printf(
        "%s %4u bytes: %7.0f messages/s, %6.0f Mbit/s, %5.1f %% received, latency %.0f us (half), %.0f (99 %%), "
        "machine busy %.1f us per message\n",
        row["transport"].get<std::string>().c_str(), row["bytes"].get<unsigned>(), row["messages_per_s"].get<double>(),
        row["megabits_per_s"].get<double>(), 100 * row["received"].get<double>(), row["latency_us_p50"].get<double>(),
        row["latency_us_p99"].get<double>(), row["cpu_us_per_message"].get<double>());
  }
  for (const auto& row : out.value("redo", ordered_json::array())) {
    std::printf(
        "redo %s, loss %u %%, %u channels, %-11s %8.0f entries/s, %4.0f bytes on the wire per entry of %.0f, %s\n",
        row["log"].get<std::string>().c_str(), row["loss_percent"].get<unsigned>(), row["channels"].get<unsigned>(),
        row["form"].get<std::string>().c_str(), row["entries_per_s"].get<double>(),
        row["wire_bytes_per_entry"].get<double>(), row["entry_bytes"].get<double>(),
        row["is_complete"].get<bool>() ? "complete" : "NOT COMPLETE");
  }
}

}  // namespace
}  // namespace scyper::bench

int main(int argc, char** argv) {
  scyper::bench::Options options;
  CLI::App app("multicast between network namespaces: messages by UDP and PGM, and recorded transactions by PGM");
  app.add_option("--bytes", options.bytes, "sizes of messages")->delimiter(',')->capture_default_str();
  app.add_option("--receivers", options.receivers, "each in a namespace")->capture_default_str();
  app.add_option("--rounds", options.rounds, "of the table, transports in turns");
  app.add_option("--transports", options.transports, "of udp, pgm and rdma")->delimiter(',');
  app.add_option("--seconds", options.seconds, "of each measurement")->capture_default_str();
  app.add_option("--mtu", options.mtu, "largest packet")->capture_default_str();
  app.add_option("--rdma", options.rdma,
                 "messages by RDMA verbs, too, between these addresses of devices, the sender's first")
      ->delimiter(',');
  app.add_option("--rate", options.rate, "PGM, RDMA: bytes per second, repairs included")->capture_default_str();
  app.add_option("--log", options.logs, "data directories with transactions to send, of logical or physical redo")
      ->delimiter(',');
  app.add_option("--losses", options.losses, "of packets, in percent, while those are sent")->delimiter(',');
  app.add_option("--channels", options.channels, "multicast groups that those are spread over")
      ->delimiter(',')
      ->check(CLI::Range(1, static_cast<int>(scyper::replication::kChannelsMax)));
  app.add_option("--window", options.window, "bytes of log that the sender is ahead of the slowest receiver, at most")
      ->capture_default_str();
  app.add_option("--entries", options.entries, "transactions, at most")->capture_default_str();
  app.add_option("-o,--output", options.output, "how results look")->check(CLI::IsMember({"table", "json"}));
  auto* own = app.add_option_group("a receiver's own");
  own->add_option("--receive", options.receive);
  own->add_option("--interface", options.interface);
  own->add_option("--result", options.result);
  own->add_option("--cluster", options.cluster);
  own->add_option("--number", options.number);
  own->add_option("--progress", options.progress);
  own->add_option("--base-lsn", options.base_lsn);
  own->add_option("--complete-lsn", options.complete_lsn);
  CLI11_PARSE(app, argc, argv);
  if (!options.receive.empty()) return scyper::bench::run_receiver(options);
  auto out = scyper::bench::Bench(options).run();
  if (!out.ok()) {
    std::fprintf(stderr, "%s\n", std::string(out.status().message()).c_str());
    return 1;
  }
  if (options.output == "json") {
    std::printf("%s\n", out->dump(2).c_str());
  } else {
    scyper::bench::print(*out);
  }
  return 0;
}
