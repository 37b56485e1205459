#include "grpc_messages.h"

#include <grpc/support/log.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace scyper::server {

namespace {

constexpr std::string_view kFailedHandshake = "Handshake failed with fatal error ";  // of gRPC 1.51
constexpr std::chrono::seconds kBetweenLines{1};

std::atomic<uint64_t> failed_count{0};
std::atomic<std::chrono::steady_clock::rep> last_line{0};
const std::function<void(const std::string&)>* say_line = nullptr;

void count_message(gpr_log_func_args* message) {
  std::string_view text = message->message;
  if (!text.starts_with(kFailedHandshake)) return;
  failed_count.fetch_add(1, std::memory_order_relaxed);
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  auto before = last_line.load(std::memory_order_relaxed);
  if (before != 0 && now - std::chrono::steady_clock::duration(before) < kBetweenLines) return;
  if (!last_line.compare_exchange_strong(before, now.count(), std::memory_order_relaxed)) return;
  text.remove_prefix(kFailedHandshake.size());
  (*say_line)("TLS: a connection by gRPC failed in its handshake: " + std::string(text));
}

}  // namespace

void take_grpc_messages(std::function<void(const std::string& line)> say) {
  if (std::getenv("GRPC_VERBOSITY") != nullptr) return;
  static auto& kept = *new std::function<void(const std::string&)>();  // never destroyed: gRPC may speak last
  kept = std::move(say);
  say_line = &kept;
  gpr_set_log_function(count_message);  // of errors, unless the variable asks for more
}

uint64_t failed_handshakes() { return failed_count.load(std::memory_order_relaxed); }

}  // namespace scyper::server
