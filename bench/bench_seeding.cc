// An archive from a source to a joining node, by gRPC and by RDMA verbs, in turns: between soft devices of one machine
// (rdma_seeding) or real ones of one. The source is a process of its own; by gRPC it listens in a network namespace, so
// that its bytes take a cable, too. Needs root.

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/disk.h"
#include "machine_time.h"
#include "replication/bulk.h"
#include "replication/bulk_server.h"
#include "replication/link.h"
#include "replication/publisher.h"

namespace scyper::bench {
namespace {

using replication::BulkAddress;
using replication::BulkChannel;
using replication::RdmaBulkChannel;

constexpr replication::ClusterId kSeedingCluster{{8, 9}};
constexpr uint64_t kFileBytes = uint64_t{64} << 20;

struct SeedingOptions {
  uint64_t megabytes = 128;
  int rounds = 3;
  std::string directory = "/tmp/seeding";
  std::string source = "10.0.0.1", sink = "10.0.0.2";  // addresses of devices
  std::string listen = "10.0.0.1:7499";                // the source's gRPC
  std::string name_space;                              // where it listens; empty: here
  std::string cable;                                   // its interface there; given: gRPC once more, a packet at a time
  uint64_t memory_megabytes = 4;                       // registered, each
};

// Of one process, its threads included.
double cpu_s_of(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  unsigned long user = 0, system = 0;
  const size_t behind_name = text.rfind(')');
  if (behind_name == std::string::npos) return 0;
  std::sscanf(text.c_str() + behind_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
  return static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}
// Of it and of what it has started.
double cpu_s_with_children(pid_t pid) {
  double sum = cpu_s_of(pid);
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/task"), ignored)) {
    std::ifstream children(task.path() / "children");
    for (pid_t child; children >> child;) sum += cpu_s_of(child);
  }
  return sum;
}
void make_archive(const std::string& directory, uint64_t bytes) {
  std::filesystem::create_directories(directory);
  std::string block(size_t{1} << 20, '\0');
  std::mt19937_64 random(1);
  for (size_t i = 0; i < block.size(); i += 8) {
    const uint64_t word = random();
    std::memcpy(block.data() + i, &word, sizeof(word));
  }
  std::ofstream(directory + "/MANIFEST", std::ios::binary) << "manifest";
  for (uint64_t made = 0, file = 0; made < bytes; ++file) {
    std::ofstream out(absl::StrCat(directory, "/t", file, ".dat"), std::ios::binary);
    for (uint64_t in_file = 0; in_file < kFileBytes && made < bytes; in_file += block.size(), made += block.size()) {
      block[0] = static_cast<char>(made >> 20);
      out.write(block.data(), static_cast<std::streamsize>(block.size()));
    }
  }
}

RdmaBulkChannel::Options bulk_options(const SeedingOptions& options, const std::string& interface) {
  RdmaBulkChannel::Options bulk;
  bulk.cluster = kSeedingCluster;
  bulk.interface = interface;
  bulk.rdma.memory_bytes = options.memory_megabytes << 20;
  return bulk;
}

// The source, until it is killed.
void serve(const SeedingOptions& options, const std::string& archive) {
  replication::Outbox outbox({kSeedingCluster, 1, 0, size_t{1} << 20, 0, {}});
  replication::Members members(1, [] {});
  replication::DigestBook digests;
  const int here = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  replication::BulkServer bulk([&](BulkAddress* at) -> StatusOr<std::unique_ptr<BulkChannel>> {
    if (::setns(here, CLONE_NEWNET) != 0) std::perror("the namespace");  // gRPC's threads are where it listens
    SCYPER_ASSIGN_OR_RETURN(auto channel, RdmaBulkChannel::offer(bulk_options(options, options.source)));
    *at = channel->address();
    return std::unique_ptr<BulkChannel>(std::move(channel));
  });
  RealClock clock;
  const auto disk = make_real_disk();
  replication::PublisherOptions publisher;
  publisher.outbox = &outbox;
  publisher.members = &members;
  publisher.digests = &digests;
  publisher.clock = &clock;
  publisher.partitions = 1;
  publisher.disk = disk.get();
  publisher.transport = [] { return replication::TransportInfo(); };
  publisher.newest_archive = [&] { return StatusOr<std::string>(archive); };
  publisher.bulk = &bulk;
  const auto service = replication::make_publisher(publisher);
  // a socket stays in the namespace where it was made
  if (!options.name_space.empty()) {
    const int there = ::open(absl::StrCat("/run/netns/", options.name_space).c_str(), O_RDONLY | O_CLOEXEC);
    if (there < 0 || ::setns(there, CLONE_NEWNET) != 0) std::perror("the namespace");
  }
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options.listen, grpc::InsecureServerCredentials());
  builder.RegisterService(service.get());
  const auto server = builder.BuildAndStart();
  if (::setns(here, CLONE_NEWNET) != 0) std::perror("the namespace");
  if (server != nullptr) server->Wait();
}

// Cables without a device take 64 kB at once from TCP, which no soft RDMA device can do: whether they do so.
void take_much_at_once(const SeedingOptions& options, bool is_much) {
  const std::string command = absl::StrCat("ip -n ", options.name_space, " link set ", options.cable,
                                           is_much ? " gso_max_segs 65535" : " gso_max_segs 1");
  if (std::system(command.c_str()) != 0) std::fprintf(stderr, "failed: %s\n", command.c_str());
}

int seed(const SeedingOptions& options, bool by_verbs, pid_t source, const char* name) {
  replication::LinkOptions link_options;
  link_options.target = options.listen;
  link_options.node = "sink";
  link_options.call_us = 60'000'000;
  if (by_verbs) {
    link_options.connect_bulk = [&](const replication::ClusterId&,
                                    const BulkAddress& at) -> StatusOr<std::unique_ptr<BulkChannel>> {
      SCYPER_ASSIGN_OR_RETURN(auto channel, RdmaBulkChannel::connect(bulk_options(options, options.sink), at));
      return std::unique_ptr<BulkChannel>(std::move(channel));
    };
  }
  const auto link = replication::Link::make(link_options);
  const auto joined = link->join(nullptr);
  if (!joined.ok()) {
    std::fprintf(stderr, "%s\n", joined.status().ToString().c_str());
    return 1;
  }
  const auto disk = make_real_disk();
  const std::string to = options.directory + "/to";
  uint64_t bytes = 0;
  const double source_before_s = cpu_s_with_children(source), machine_before_s = machine_busy_s();
  const auto begin = std::chrono::steady_clock::now();
  const auto fetched =
      link->fetch_archive(kSeedingCluster, disk.get(), to, [&](uint64_t moved, uint64_t) { bytes = moved; });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!fetched.ok()) {
    std::fprintf(stderr, "%s\n", fetched.status().ToString().c_str());
    return 1;
  }
  const double source_s = cpu_s_with_children(source) - source_before_s,
               machine_cpu_s = machine_busy_s() - machine_before_s;
  const auto megabytes = static_cast<double>(bytes) / (1 << 20);
  std::printf("%s: %.0f MB in %.2f s, %.1f MB/s; source's processes %.2f ms per MB, machine %.2f ms per MB%s%s\n", name,
              megabytes, seconds, megabytes / seconds, 1e3 * source_s / megabytes, 1e3 * machine_cpu_s / megabytes,
              link->bulk().note.empty() ? "" : "; ", link->bulk().note.c_str());
  std::fflush(stdout);
  std::filesystem::remove_all(to);
  return by_verbs && link->bulk().bytes + (1 << 20) < bytes ? 1 : 0;  // it has gone the other way
}

int run(const SeedingOptions& options) {
  const std::string archive = options.directory + "/from/00000000000000000010";
  make_archive(archive, options.megabytes << 20);
  std::fflush(stdout);
  const pid_t source = ::fork();
  if (source == 0) {
    serve(options, archive);
    ::_exit(0);
  }
  int failed = 0;
  for (int round = 0; round < options.rounds && failed == 0; ++round) {
    failed += seed(options, false, source, "gRPC");
    failed += seed(options, true, source, "verbs");
    if (options.cable.empty()) continue;
    take_much_at_once(options, false);
    failed += seed(options, false, source, "gRPC, packet by packet");
    take_much_at_once(options, true);
  }
  ::kill(source, SIGKILL);
  ::waitpid(source, nullptr, 0);
  std::filesystem::remove_all(options.directory);
  return failed;
}

}  // namespace
}  // namespace scyper::bench

int main(int argc, char** argv) {
  scyper::bench::SeedingOptions options;
  CLI::App app("an archive to a joining node, by gRPC and by RDMA verbs, in turns");
  app.add_option("--megabytes", options.megabytes);
  app.add_option("--rounds", options.rounds);
  app.add_option("--directory", options.directory,
                 "for the archive and its copy: memory, or a disk that is not measured");
  app.add_option("--source", options.source, "IPv4 address of the source's RDMA device");
  app.add_option("--sink", options.sink);
  app.add_option("--listen", options.listen, "of the source's gRPC");
  app.add_option("--namespace", options.name_space, "network namespace that it listens in");
  app.add_option("--cable", options.cable, "its interface there: gRPC also a packet at a time, as soft devices do");
  app.add_option("--memory", options.memory_megabytes, "registered by each side, in MB");
  CLI11_PARSE(app, argc, argv);
  return scyper::bench::run(options);
}
