#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/status.h"

namespace scyper::query {

// How many queries run at once. Those who wait come in a fair order: whoever has the fewest running, then whoever was
// served least recently, then the oldest request; so a client with a hundred requests delays another's only one by one.
// Threads: any.
class QueryGate : public std::enable_shared_from_this<QueryGate> {
 public:
  QueryGate(uint32_t running_max, uint32_t waiting_max) : running_max_(running_max), waiting_max_(waiting_max) {}

  // The turn ends when the result goes. 53300 when too many wait, 57014 at the deadline (0 = none) or once the thread's
  // BoundedWork has to end.
  StatusOr<std::shared_ptr<void>> enter(const std::string& client, int64_t deadline_ns);
  void stop();  // 57P03 for all who wait

  uint32_t running() const;
  uint32_t waiting() const;

 private:
  struct Client {
    uint32_t running = 0;
    uint64_t last_served = 0;
    uint32_t references = 0;  // running and waiting: else it is forgotten
  };
  struct Waiting {
    const std::string* client;
    bool is_next = false;
  };
  void leave(const std::string& client);
  void admit();
  void start(const std::string& client);

  const uint32_t running_max_;
  const uint32_t waiting_max_;
  const RealClock clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Client> clients_;  // under mutex_, as is the rest
  std::list<Waiting> waiting_;             // oldest first
  uint32_t running_ = 0;
  uint64_t served_ = 0;
  bool is_stopping_ = false;
};

}  // namespace scyper::query
