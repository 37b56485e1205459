#include "replication/multicast.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/event_fd.h"
#include "child_program.h"
#include "shared_ring.h"

namespace scyper::replication {

namespace {

constexpr auto kWatchPeriod = std::chrono::milliseconds(100);
// Its loop turns at least every 10 ms: then it hangs.
constexpr int kSilentPeriodsMax = 20;
// Of one that neither opens its socket nor ends: a slow machine is no hanging one.
constexpr auto kReadyWait = std::chrono::seconds(10);
// After one that never was ready, as without its device.
constexpr int kPeriodsUntilNext = 10;
// Of datagrams by verbs: room for their headers and some of a parcel; what a record of the ring holds.
constexpr uint32_t kVerbsBytesMin = 256, kVerbsBytesMax = SharedRing::kRecordBytesMax;

const char* name_of(MulticastOptions::Kind kind) {
  return kind == MulticastOptions::Kind::kRdma ? "scyper-rdma" : "scyper-pgm";
}

}  // namespace

MulticastProcess::MulticastProcess(const MulticastOptions& options)
    : options_(options),
      program_(options.program.empty() ? program_beside_this(name_of(options.kind)) : options.program) {}

StatusOr<std::unique_ptr<MulticastProcess>> MulticastProcess::start(const MulticastOptions& options) {
  std::unique_ptr<MulticastProcess> process(new MulticastProcess(options));
  SCYPER_RETURN_IF_ERROR(process->prepare());
  SCYPER_RETURN_IF_ERROR(process->spawn());
  if (!process->wait_until_ready()) {
    const std::string why = process->trouble();
    const std::string& where = options.interface.empty() ? options.rdma.device : options.interface;
    return absl::UnavailableError(
        absl::StrCat("multicast on ", where, " cannot be opened", why.empty() ? "" : ": ", why));
  }
  process->datagram_bytes_ = options.kind == MulticastOptions::Kind::kPgm
                                 ? datagram_bytes_of(options.mtu)
                                 : std::clamp(process->memory_->datagram_bytes.load(), kVerbsBytesMin, kVerbsBytesMax);
  process->watcher_ = std::thread([p = process.get()] { p->watch(); });
  return process;
}

Status MulticastProcess::prepare() {
  if (::access(program_.c_str(), X_OK) != 0) return absl::NotFoundError(program_ + " is not there");
  memory_fd_ = ::memfd_create("scyper-multicast", MFD_CLOEXEC);
  // for the one process that is started with them
  node_event_ = make_event();
  wire_event_ = make_event();
  if (memory_fd_ < 0 || node_event_ < 0 || wire_event_ < 0 || ::ftruncate(memory_fd_, sizeof(MulticastMemory)) != 0) {
    return absl::UnavailableError("no memory to share with the multicast process");
  }
  void* mapped = ::mmap(nullptr, sizeof(MulticastMemory), PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd_, 0);
  if (mapped == MAP_FAILED) return absl::UnavailableError("no memory to share with the multicast process");
  memory_ = static_cast<MulticastMemory*>(mapped);  // zeros are its initial state
  ::madvise(mapped, sizeof(MulticastMemory), MADV_DONTFORK);
  buffer_.resize(SharedRing::kRecordBytesMax);
  return Status();
}

MulticastProcess::~MulticastProcess() {
  is_stopping_ = true;
  if (watcher_.joinable()) watcher_.join();
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (memory_ != nullptr) ::munmap(memory_, sizeof(MulticastMemory));
  for (int fd : {memory_fd_, node_event_, wire_event_}) {
    if (fd >= 0) ::close(fd);
  }
}

std::vector<std::string> MulticastProcess::arguments() const {
  std::vector<std::string> all = {name_of(options_.kind),
                                  std::to_string(::getpid()),  // without this one it ends
                                  options_.sends ? "send" : "receive",
                                  std::to_string(memory_fd_),
                                  std::to_string(node_event_),
                                  std::to_string(wire_event_),
                                  options_.interface,
                                  options_.group};
  const std::string rate = std::to_string(options_.bytes_per_second);
  const uint64_t joined = options_.sends ? ~uint64_t{0} >> (kChannelsMax - options_.channels) : options_.joined;
  if (options_.kind == MulticastOptions::Kind::kRdma) {
    const RdmaOptions& rdma = options_.rdma;
    all.insert(all.end(),
               {rate, rdma.device, std::to_string(rdma.datagram_bytes), std::to_string(rdma.memory_bytes),
                rdma.is_polling ? "poll" : "event", std::to_string(options_.channels), std::to_string(joined)});
    return all;
  }
  const std::string seed = absl::StrCat(options_.identity, ":", ::getpid(), ":", restarts_.load());
  all.insert(all.end(), {std::to_string(options_.port), seed, rate, std::to_string(options_.mtu),
                         options_.is_raw ? "ip" : "udp", std::to_string(options_.channels), std::to_string(joined)});
  return all;
}

Status MulticastProcess::spawn() {
  memory_->is_ready.store(0);
  const auto started = start_program(program_, arguments(), {memory_fd_, node_event_, wire_event_});
  pid_ = started.ok() ? *started : -1;
  return started.status();
}

bool MulticastProcess::wait_until_ready() {
  const auto until = std::chrono::steady_clock::now() + kReadyWait;
  while (memory_->is_ready.load() == 0) {
    if (std::chrono::steady_clock::now() > until) return false;
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

std::string MulticastProcess::trouble() const {
  return memory_->is_ready.load() != 0 ? "" : plain_text(memory_->reason, MulticastMemory::kReasonBytes);
}

// One that has ended or hangs is replaced.
void MulticastProcess::watch() {
  uint64_t seen = 0;
  int silent = 0, pauses = 0;
  while (!is_stopping_) {
    std::this_thread::sleep_for(kWatchPeriod);
    if (pauses > 0 && --pauses > 0) continue;
    const bool has_ended = pid_ <= 0 || ::waitpid(pid_, nullptr, WNOHANG) == pid_;
    const uint64_t beats = memory_->beats.load();
    silent = beats == seen ? silent + 1 : 0;
    seen = beats;
    if (!has_ended && silent < kSilentPeriodsMax) continue;
    if (!has_ended) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    silent = 0;
    if (memory_->is_ready.load() == 0) pauses = kPeriodsUntilNext;
    restarts_.fetch_add(1);
    static_cast<void>(spawn());  // tried again when it fails
  }
}

void MulticastProcess::send(std::string_view datagram, uint32_t channel) noexcept {
  const bool has_room = memory_->to_wire.write(datagram, static_cast<uint8_t>(channel));
  if (!has_room) dropped_.fetch_add(1, std::memory_order_relaxed);
}

void MulticastProcess::flush() noexcept {
  if (memory_->wire_bell.rings()) signal_event(wire_event_);
}

bool MulticastProcess::receive(std::string* out, int timeout_ms) {
  size_t size = memory_->from_wire.read(buffer_.data());
  if (size == 0) {
    memory_->node_bell.arm();
    pollfd event{node_event_, POLLIN, 0};
    if (memory_->from_wire.is_empty() && ::poll(&event, 1, timeout_ms) > 0) drain_event(node_event_);
    memory_->node_bell.disarm();
    size = memory_->from_wire.read(buffer_.data());
  }
  out->assign(buffer_.data(), size);
  return size > 0;
}

MulticastProcess::Counters MulticastProcess::counters() const {
  return {memory_->sent.load(),   memory_->received.load(),
          memory_->resets.load(), memory_->dropped.load() + dropped_.load(),
          restarts_.load(),       memory_->registered_bytes.load()};
}

}  // namespace scyper::replication
