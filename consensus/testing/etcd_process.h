#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace scyper::consensus {

// A throwaway etcd of one member on loopback, with its data in a temporary directory that goes with it.
// Threads: one at a time.
class EtcdProcess {
 public:
  // Whether the machine has an etcd to start.
  static bool is_installed();
  EtcdProcess();
  ~EtcdProcess();

  // Until it answers, at most half a minute; false: it does not. Again after kill(): the same data and ports.
  bool start();
  void kill(int signal_number);    // and waits for its end
  void signal(int signal_number);  // after SIGSTOP until it stands still
  std::string endpoint() const;    // host:port
  std::string log() const;         // what it said

 private:
  bool answers() const;
  std::string directory_;
  uint16_t client_port_;
  uint16_t peer_port_;
  pid_t pid_ = -1;
};

}  // namespace scyper::consensus
