#include "replication/bulk.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/event_fd.h"
#include "bulk_memory.h"
#include "child_program.h"
#include "replication/datagram.h"

namespace scyper::replication {

namespace {

constexpr int kBulkWaitMs = 50;  // between looks whether to go on
// The process's loop turns at least every 50 ms: then it hangs. A slow machine is no hanging process.
constexpr auto kBulkSilence = std::chrono::seconds(10);
// What was announced is there already, and comes at once; else who sends it has gone, and only that.
constexpr auto kBulkStall = std::chrono::seconds(20);
constexpr auto kBulkReadyWait = std::chrono::seconds(15);
constexpr char kRdmaProgram[] = "scyper-rdma";

}  // namespace

BulkChannel::~BulkChannel() = default;

void BulkChannel::open(const Shared& shared, const ClusterId& cluster, const DatagramKey* key) {
  shared_ = shared;
  if (key == nullptr) return;
  std::memcpy(&seal_name_, shared.memory->token, sizeof(seal_name_));
  sealer_ = std::make_unique<DatagramSealer>(*key, cluster, draw_source());
  opener_ = std::make_unique<DatagramOpener>(*key, cluster);
}

uint64_t BulkChannel::registered_bytes() const { return shared_.memory->registered_bytes.load(); }

std::string BulkChannel::trouble() const { return plain_text(shared_.memory->reason, BulkMemory::kReasonBytes); }

Status BulkChannel::fail(const std::string& why) {
  is_broken_ = true;
  return absl::UnavailableError(absl::StrCat("bulk data by RDMA: ", why));
}

uint32_t BulkChannel::payload_bytes() const {
  return BulkMemory::kSlotBytes - (sealer_ != nullptr ? static_cast<uint32_t>(kSealOverheadBytes) : 0);
}

void BulkChannel::ring() {
  if (shared_.memory->wire_bell.rings()) signal_event(shared_.wire_event);
}

Status BulkChannel::wait(const std::function<bool()>& is_ready, const GoesOn& goes_on, bool is_due) {
  BulkMemory& memory = *shared_.memory;
  uint64_t beats = memory.beats.load();
  const auto begin = std::chrono::steady_clock::now();
  auto heard = begin;
  while (!is_ready()) {
    if (goes_on && !goes_on()) return absl::CancelledError("bulk data is not wanted any more");
    if (is_broken()) return fail(trouble().empty() ? "the process has ended" : trouble());
    const auto now = std::chrono::steady_clock::now();
    if (const uint64_t seen = memory.beats.load(); seen != beats) {
      beats = seen;
      heard = now;
    } else if (now - heard > kBulkSilence) {
      return fail("the process hangs");
    }
    if (is_due && now - begin > kBulkStall) return fail("the peer does nothing");
    memory.node_bell.arm();
    pollfd event{shared_.node_event, POLLIN, 0};
    if (!is_ready() && ::poll(&event, 1, kBulkWaitMs) > 0) drain_event(shared_.node_event);
    memory.node_bell.disarm();
  }
  return Status();
}

Status BulkChannel::write(std::string_view bytes, const GoesOn& goes_on) {
  BulkMemory& memory = *shared_.memory;
  while (!bytes.empty()) {
    SCYPER_RETURN_IF_ERROR(wait([&] { return next_ - memory.released.load(std::memory_order_acquire) < shared_.slots; },
                                goes_on,
                                /*is_due=*/false));  // a sink may be slow
    std::string_view piece = bytes.substr(0, payload_bytes());
    bytes.remove_prefix(piece.size());
    bytes_ += piece.size();
    if (sealer_ != nullptr) {
      sealer_->seal(piece, seal_name_, &sealed_);
      piece = sealed_;
    }
    std::memcpy(memory.slot(next_, shared_.slots), piece.data(), piece.size());
    memory.sizes[next_ % shared_.slots].store(static_cast<uint32_t>(piece.size()), std::memory_order_relaxed);
    memory.filled.store(++next_, std::memory_order_release);
    ring();
  }
  return Status();
}

Status BulkChannel::read(uint64_t slot, size_t bytes, std::string* out, const GoesOn& goes_on) {
  BulkMemory& memory = *shared_.memory;
  if (slot < next_) return fail("what was announced has been dropped");
  const size_t end = out->size() + bytes;
  SealedHeader header;
  while (out->size() < end) {
    SCYPER_RETURN_IF_ERROR(
        wait([&] { return memory.filled.load(std::memory_order_acquire) != next_; }, goes_on, /*is_due=*/true));
    const uint32_t size = memory.sizes[next_ % shared_.slots].load(std::memory_order_relaxed);
    if (memory.filled.load() - next_ > shared_.slots || size > BulkMemory::kSlotBytes) {
      return fail("the process's numbers make no sense");
    }
    std::string_view piece(memory.slot(next_, shared_.slots), size);
    if (next_ >= slot && opener_ != nullptr) {
      const bool is_opened = opener_->open(piece, &header, &sealed_) == DatagramOpener::Verdict::kOpened;
      // in its place in this channel, or somebody has exchanged it
      if (!is_opened || header.term != seal_name_ || header.counter != next_ + 1) return fail("a slot was forged");
      piece = sealed_;
    }
    if (next_ >= slot) {
      if (piece.size() > end - out->size()) return fail("more has come than was announced");
      out->append(piece);
      bytes_ += piece.size();
    }
    memory.released.store(++next_, std::memory_order_release);
    ring();
  }
  return Status();
}

// --- by scyper-rdma ---

StatusOr<std::unique_ptr<RdmaBulkChannel>> RdmaBulkChannel::offer(const Options& options) {
  return start(options, nullptr);
}

StatusOr<std::unique_ptr<RdmaBulkChannel>> RdmaBulkChannel::connect(const Options& options,
                                                                    const BulkAddress& address) {
  in_addr host;
  if (address.token.size() != BulkMemory::kTokenBytes || ::inet_pton(AF_INET, address.host.c_str(), &host) != 1) {
    return absl::UnavailableError("bulk data by RDMA: the primary's address makes no sense");
  }
  if (address.is_sealed != (options.key != nullptr)) {
    return absl::UnavailableError("bulk data by RDMA: multicast_key_file is not the same here and at the primary");
  }
  return start(options, &address);
}

StatusOr<std::unique_ptr<RdmaBulkChannel>> RdmaBulkChannel::start(const Options& options, const BulkAddress* peer) {
  std::unique_ptr<RdmaBulkChannel> channel(new RdmaBulkChannel());
  const std::string program = options.program.empty() ? program_beside_this(kRdmaProgram) : options.program;
  if (::access(program.c_str(), X_OK) != 0) return absl::NotFoundError(program + " is not there");
  SCYPER_RETURN_IF_ERROR(channel->prepare(options.rdma));
  const Shared& shared = channel->shared();
  if (peer != nullptr) {
    std::memcpy(shared.memory->token, peer->token.data(), BulkMemory::kTokenBytes);
  } else if (::getrandom(shared.memory->token, BulkMemory::kTokenBytes, 0) != BulkMemory::kTokenBytes) {
    return absl::UnavailableError("no random bytes");
  }
  channel->is_sealed_ = options.key != nullptr;
  channel->open(shared, options.cluster, options.key);
  const std::vector<std::string> arguments = {kRdmaProgram,
                                              absl::StrCat(::getpid()),  // without this one it ends
                                              peer != nullptr ? "sink" : "source",
                                              absl::StrCat(channel->memory_fd_),
                                              absl::StrCat(shared.node_event),
                                              absl::StrCat(shared.wire_event),
                                              options.interface,
                                              options.rdma.device,
                                              absl::StrCat(shared.slots),
                                              peer != nullptr ? peer->host : "0.0.0.0",
                                              absl::StrCat(peer != nullptr ? peer->port : 0)};
  channel->thread_ = std::thread([p = channel.get(), program, arguments] { p->run(program, arguments); });
  SCYPER_RETURN_IF_ERROR(channel->wait_until_ready());
  return channel;
}

Status RdmaBulkChannel::prepare(const RdmaOptions& options) {
  Shared made;
  made.slots = BulkMemory::slots_of(options.memory_bytes);
  const size_t bytes = BulkMemory::bytes(made.slots);
  memory_fd_ = ::memfd_create("scyper-bulk", MFD_CLOEXEC);
  made.node_event = make_event();
  made.wire_event = make_event();
  if (memory_fd_ >= 0 && ::ftruncate(memory_fd_, static_cast<off_t>(bytes)) == 0) {
    void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd_, 0);
    if (mapped != MAP_FAILED) {
      made.memory = static_cast<BulkMemory*>(mapped);  // zeros are its initial state
      ::madvise(mapped, bytes, MADV_DONTFORK);
    }
  }
  open(made, {}, nullptr);
  const bool is_whole = made.memory != nullptr && made.node_event >= 0 && made.wire_event >= 0;
  return is_whole ? Status() : absl::UnavailableError("no memory to share with the RDMA process");
}

// Its own thread's: the process is started, and waited for.
void RdmaBulkChannel::run(const std::string& program, const std::vector<std::string>& arguments) {
  const auto started = start_program(program, arguments, {memory_fd_, shared().node_event, shared().wire_event});
  pid_ = started.ok() ? *started : -1;
  // it stays there for who ends it, until that is done
  siginfo_t about;
  if (started.ok()) {
    while (::waitid(P_PID, static_cast<id_t>(*started), &about, WEXITED | WNOWAIT) != 0 && errno == EINTR) continue;
  }
  has_ended_ = true;
  signal_event(shared().node_event);
}

Status RdmaBulkChannel::wait_until_ready() {
  const auto until = std::chrono::steady_clock::now() + kBulkReadyWait;
  while (shared().memory->is_ready.load() == 0) {
    if (!has_ended_ && std::chrono::steady_clock::now() < until) {
      pollfd event{shared().node_event, POLLIN, 0};
      if (::poll(&event, 1, kBulkWaitMs) > 0) drain_event(shared().node_event);
      continue;
    }
    const std::string why = trouble();
    return absl::UnavailableError(absl::StrCat("bulk data by RDMA: ", why.empty() ? "the process has not begun" : why));
  }
  return Status();
}

BulkAddress RdmaBulkChannel::address() const {
  const BulkMemory& memory = *shared().memory;
  BulkAddress made;
  in_addr host{};
  host.s_addr = memory.address.load();
  char text[INET_ADDRSTRLEN];
  made.host = ::inet_ntop(AF_INET, &host, text, sizeof(text));
  made.port = static_cast<uint16_t>(memory.port.load());
  made.token.assign(reinterpret_cast<const char*>(memory.token), BulkMemory::kTokenBytes);
  made.is_sealed = is_sealed_;
  return made;
}

RdmaBulkChannel::~RdmaBulkChannel() {
  if (thread_.joinable()) {
    while (pid_ == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    thread_.join();
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }
  const Shared& made = shared();
  if (made.memory != nullptr) ::munmap(made.memory, BulkMemory::bytes(made.slots));
  for (int fd : {memory_fd_, made.node_event, made.wire_event}) {
    if (fd >= 0) ::close(fd);
  }
}

}  // namespace scyper::replication
