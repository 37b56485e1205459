#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace scyper::tests {

// What happens to a frame, each by chance.
struct Mishaps {
  double lost = 0;
  double doubled = 0;
  double late = 0;     // by up to late_us_max: others overtake it
  double flipped = 0;  // one bit of what UDP carries
  int late_us_max = 20'000;
};

// A bad cable between a bridge and a network namespace: a pair of TAP devices and a thread that carries Ethernet frames
// from one to the other. Frames with UDP of one port suffer mishaps, all others arrive in order.
// Flipped bits are not found by checksums: UDP's is left out, and PGM's is mended where the bit is in its data, so that
// the node has to find them.
class Relay {
 public:
  // Makes `device` in the namespace and a device on the bridge. is_there(): they could be made.
  Relay(const std::string& name_space, const std::string& bridge, const std::string& device, uint64_t seed);
  ~Relay();
  bool is_there() const { return is_there_; }
  // Before the first frame that is to suffer.
  void set_mishaps(uint16_t udp_port, const Mishaps& mishaps);

  struct Counters {
    std::atomic<uint64_t> lost{0}, doubled{0}, late{0}, flipped{0};
  };
  const Counters& counters() const { return counters_; }

 private:
  struct Frame {
    int64_t due_ns = 0;
    uint64_t number = 0;  // frames of the same time stay in order
    int to = -1;
    std::string bytes;
    bool operator<(const Frame& other) const {
      return std::pair(due_ns, number) > std::pair(other.due_ns, other.number);
    }
  };
  void run();
  void take(std::string bytes, int to, int64_t now_ns);
  bool chance(double share) { return std::uniform_real_distribution<double>()(random_) < share; }
  void flip(std::string* bytes);

  int here_ = -1, there_ = -1;
  bool is_there_ = false;
  std::mt19937_64 random_;  // the thread's, as the next two
  std::priority_queue<Frame> frames_;
  uint64_t number_ = 0;
  std::atomic<uint16_t> udp_port_{0};  // 0: no mishaps
  Mishaps mishaps_;                    // constant once udp_port_ is set
  Counters counters_;
  std::atomic<bool> is_stopping_{false};
  std::thread thread_;
};

}  // namespace scyper::tests
