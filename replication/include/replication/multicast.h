#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/status.h"
#include "replication/datagram.h"
#include "replication/outbox.h"
#include "replication/rdma_options.h"

namespace scyper::replication {

struct MulticastMemory;

struct MulticastOptions {
  enum class Kind : uint8_t { kPgm, kRdma };
  Kind kind = Kind::kPgm;
  bool sends = false;
  std::string interface;  // IPv4 address of the network's interface
  std::string group = "239.192.7.1";
  uint16_t port = 7402;
  // Groups: `group` and the addresses behind it, each with a UDP port of its own from `port` on.
  uint32_t channels = 1;
  uint64_t joined = 1;                     // a receiver's: channels, a bit each, the lowest for the first
  uint32_t bytes_per_second = 60'000'000;  // new data gets three quarters, repairs a quarter
  uint32_t mtu = 1500;
  bool is_raw = false;   // IP's protocol 113 instead of UDP: needs the right to raw sockets
  std::string identity;  // of this incarnation, unlike all others: cluster, node, term
  std::string program;   // scyper-pgm or scyper-rdma; empty: beside this program
  RdmaOptions rdma;
};
// Of one packet: what is left beside IP, UDP and PGM.
constexpr uint32_t datagram_bytes_of(uint32_t mtu) { return mtu - 52; }

// OpenPGM, or multicast by RDMA verbs, in a process of its own, watched and started anew. Datagrams may be lost at any
// time, by the network or by the process: who needs them fetches them. Threads: send() one; receive() one; all else
// any. Owns one that watches.
class MulticastProcess {
 public:
  // NotFound: there is no such program; Unavailable: it cannot open its socket or device.
  static StatusOr<std::unique_ptr<MulticastProcess>> start(const MulticastOptions& options);
  ~MulticastProcess();

  void send(std::string_view datagram, uint32_t channel = 0) noexcept;
  void flush() noexcept;  // after some sends
  // The next datagram into *out; waits up to timeout_ms. False: there is none.
  bool receive(std::string* out, int timeout_ms);
  // The largest that travels whole, as it was at start().
  uint32_t datagram_bytes() const { return datagram_bytes_; }
  uint32_t channels() const { return options_.channels; }
  // Why the process that was there has ended, if it said so; empty while one is ready.
  std::string trouble() const;

  struct Counters {
    uint64_t sent = 0, received = 0, resets = 0, dropped = 0, restarts = 0;
    uint64_t registered_bytes = 0;  // locked in memory for a device
  };
  Counters counters() const;

 private:
  explicit MulticastProcess(const MulticastOptions& options);
  Status prepare();
  std::vector<std::string> arguments() const;
  Status spawn();
  bool wait_until_ready();
  void watch();

  const MulticastOptions options_;
  int memory_fd_ = -1, node_event_ = -1, wire_event_ = -1;
  MulticastMemory* memory_ = nullptr;
  std::string program_;
  std::string buffer_;  // receive()'s
  uint32_t datagram_bytes_ = 0;
  int pid_ = -1;  // the watching thread's, after start()
  std::atomic<uint64_t> dropped_{0}, restarts_{0};
  std::atomic<bool> is_stopping_{false};
  std::thread watcher_;
};

// What a primary sends by multicast.
class MulticastTransmitter final : public Transmitter {
 public:
  // key: null = in the clear.
  MulticastTransmitter(const ClusterId& cluster, std::shared_ptr<MulticastProcess> process, const DatagramKey* key)
      : process_(std::move(process)),
        writer_(cluster, draw_source(), process_->datagram_bytes(), key, process_->channels()) {}
  void send(const Parcel& parcel, const Watermark& watermark) noexcept override {
    writer_.write(parcel, watermark,
                  [this](uint32_t channel, std::string_view bytes) { process_->send(bytes, channel); });
    process_->flush();
  }
  void send(const Watermark& watermark) noexcept override {
    writer_.write(watermark, [this](uint32_t channel, std::string_view bytes) { process_->send(bytes, channel); });
    process_->flush();
  }

 private:
  const std::shared_ptr<MulticastProcess> process_;
  DatagramWriter writer_;
};

}  // namespace scyper::replication
