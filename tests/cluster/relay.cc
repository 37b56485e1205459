#include "relay.h"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cluster.h"

namespace scyper::tests {

namespace {

constexpr size_t kFrameBytesMax = 65'536;
constexpr int kPollMs = 20;
constexpr size_t kEthernetBytes = 14, kUdpBytes = 8, kPgmHeaderBytes = 24;

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

// In the network namespace of the calling thread.
int open_tap(const std::string& name) {
  const int fd = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return -1;
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
  if (::ioctl(fd, TUNSETIFF, &request) == 0) return fd;
  ::close(fd);
  return -1;
}

int open_tap_in(const std::string& name_space, const std::string& name) {
  int tap = -1;
  std::thread inside([&] {  // a thread may be elsewhere than its process
    const int space = ::open(absl::StrCat("/run/netns/", name_space).c_str(), O_RDONLY | O_CLOEXEC);
    if (space < 0) return;
    if (::setns(space, CLONE_NEWNET) == 0) tap = open_tap(name);
    ::close(space);
  });
  inside.join();
  return tap;
}

uint16_t word_at(const std::string& bytes, size_t offset) {
  return static_cast<uint16_t>(static_cast<uint8_t>(bytes[offset]) << 8 | static_cast<uint8_t>(bytes[offset + 1]));
}
void put_word(std::string* bytes, size_t offset, uint16_t word) {
  (*bytes)[offset] = static_cast<char>(word >> 8);
  (*bytes)[offset + 1] = static_cast<char>(word);
}

// Where UDP's header begins; 0: it is no whole UDP packet to that port.
size_t udp_offset(const std::string& bytes, uint16_t port) {
  if (bytes.size() < kEthernetBytes + 20 || word_at(bytes, 12) != 0x0800) return 0;
  const size_t offset = kEthernetBytes + 4 * (static_cast<uint8_t>(bytes[kEthernetBytes]) & 15);
  if (bytes[kEthernetBytes + 9] != 17 || bytes.size() < offset + kUdpBytes) return 0;
  return word_at(bytes, offset + 2) == port ? offset : 0;
}

}  // namespace

Relay::Relay(const std::string& name_space, const std::string& bridge, const std::string& device, uint64_t seed)
    : random_(seed) {
  const std::string name = absl::StrCat("rt", ::getpid() % 100000);
  here_ = open_tap(name);
  there_ = open_tap_in(name_space, device);
  if (here_ < 0 || there_ < 0) return;
  is_there_ = run_command(absl::StrCat("ip link set ", name, " master ", bridge, " up")).code == 0;
  thread_ = std::thread([this] { run(); });
}

Relay::~Relay() {
  is_stopping_ = true;
  if (thread_.joinable()) thread_.join();
  for (int fd : {here_, there_}) {
    if (fd >= 0) ::close(fd);
  }
}

void Relay::set_mishaps(uint16_t udp_port, const Mishaps& mishaps) {
  mishaps_ = mishaps;
  udp_port_.store(udp_port, std::memory_order_release);
}

void Relay::run() {
  std::string buffer(kFrameBytesMax, '\0');
  while (!is_stopping_) {
    const int64_t before_ns = now_ns();
    int timeout_ms = kPollMs;
    if (!frames_.empty()) {
      timeout_ms = static_cast<int>(std::clamp<int64_t>((frames_.top().due_ns - before_ns) / 1'000'000, 0, kPollMs));
    }
    pollfd fds[] = {{here_, POLLIN, 0}, {there_, POLLIN, 0}};
    ::poll(fds, 2, timeout_ms);
    const int64_t time_ns = now_ns();
    for (const auto& [from, to] : {std::pair(here_, there_), std::pair(there_, here_)}) {
      for (ssize_t size; (size = ::read(from, buffer.data(), buffer.size())) > 0;) {
        take(buffer.substr(0, static_cast<size_t>(size)), to, time_ns);
      }
    }
    while (!frames_.empty() && frames_.top().due_ns <= now_ns()) {
      const Frame& frame = frames_.top();
      static_cast<void>(!::write(frame.to, frame.bytes.data(), frame.bytes.size()));
      frames_.pop();
    }
  }
}

void Relay::take(std::string bytes, int to, int64_t time_ns) {
  const uint16_t port = udp_port_.load(std::memory_order_acquire);
  if (port == 0 || udp_offset(bytes, port) == 0) {
    frames_.push({time_ns, ++number_, to, std::move(bytes)});
    return;
  }
  if (chance(mishaps_.lost)) {
    ++counters_.lost;
    return;
  }
  const int copies = chance(mishaps_.doubled) ? 2 : 1;
  if (copies == 2) ++counters_.doubled;
  for (int i = 0; i < copies; ++i) {
    Frame frame{time_ns, ++number_, to, bytes};
    if (chance(mishaps_.late)) {
      ++counters_.late;
      frame.due_ns += std::uniform_int_distribution<int64_t>(0, mishaps_.late_us_max)(random_) * 1000;
    }
    if (chance(mishaps_.flipped)) flip(&frame.bytes);
    frames_.push(std::move(frame));
  }
}

void Relay::flip(std::string* bytes) {
  const size_t udp = udp_offset(*bytes, udp_port_), pgm = udp + kUdpBytes;
  if (bytes->size() <= pgm) return;
  ++counters_.flipped;
  const size_t at = std::uniform_int_distribution<size_t>(pgm, bytes->size() - 1)(random_);
  const char bit = static_cast<char>(1 << std::uniform_int_distribution<int>(0, 7)(random_));
  put_word(bytes, udp + 6, 0);  // no checksum
  const size_t word = at - (at - pgm) % 2;
  if (at < pgm + kPgmHeaderBytes || word + 2 > bytes->size()) {
    (*bytes)[at] ^= bit;
    return;
  }
  // RFC 1624: the checksum of the changed words
  const uint16_t before = word_at(*bytes, word);
  (*bytes)[at] ^= bit;
  uint32_t sum = static_cast<uint16_t>(~word_at(*bytes, pgm + 6)) + static_cast<uint16_t>(~before);
  sum += word_at(*bytes, word);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  put_word(bytes, pgm + 6, static_cast<uint16_t>(~sum));
}

}  // namespace scyper::tests
