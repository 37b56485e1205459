#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace scyper::client {

namespace {
constexpr std::chrono::milliseconds kRedraw{100};
constexpr size_t kBarWidth = 30;
}  // namespace

std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

Progress::Progress(std::string label, uint64_t total, bool is_shown)
    : label_(std::move(label)), total_(total), is_shown_(is_shown && isatty(STDERR_FILENO) != 0) {}

void Progress::add(uint64_t done) {
  absl::MutexLock lock(&mutex_);
  done_ += done;
  auto now = std::chrono::steady_clock::now();
  if (!is_shown_ || is_finished_ || now - drawn_ < kRedraw) return;
  drawn_ = now;
  draw(/*is_final=*/false);
}

void Progress::finish() {
  absl::MutexLock lock(&mutex_);
  if (std::exchange(is_finished_, true) || !is_shown_) return;
  draw(/*is_final=*/true);
}

void Progress::draw(bool is_final) {
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  double rate = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
  std::string line = "\r" + label_ + " ";
  if (total_ > 0) {
    double share = is_final ? 1.0 : std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
    auto filled = static_cast<size_t>(share * kBarWidth);
    char percent[16];
    std::snprintf(percent, sizeof(percent), " %3d%% ", static_cast<int>(share * 100));
    line += "[" + std::string(filled, '#') + std::string(kBarWidth - filled, ' ') + "]" + percent;
  }
  line += grouped(done_) + " (" + grouped(static_cast<uint64_t>(rate)) + "/s)\033[K";
  if (is_final) line += "\n";
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace scyper::client
