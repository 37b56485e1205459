#include "top.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "cluster_place.h"
#include "top_view.h"

namespace scyper::client {

namespace {

constexpr size_t kColumnsElsewhere = 160;  // where there is no terminal
constexpr int64_t kSecondUs = 1'000'000;

// The nodes of a cluster, as far as they answer. Threads: one.
class Watch {
 public:
  explicit Watch(const CommonOptions& common) : common_(common) {
    const std::vector<std::string> targets = absl::StrSplit(common.connect.target, ',', absl::SkipEmpty());
    for (const std::string& address : targets) add(address);
  }

  // Asks all at once, so that one that hangs costs no more than half a second; then those that they tell of.
  void look() {
    ask(0);
    const size_t known = nodes_.size();
    discover();
    ask(known);
    drop_doubles();
  }
  const std::vector<NodeSight>& nodes() const { return nodes_; }
  bool answers() const {
    return std::any_of(nodes_.begin(), nodes_.end(), [](const NodeSight& n) { return n.trouble.empty(); });
  }
  const Status& failure() const { return failure_; }

 private:
  void add(const std::string& address) {
    const bool is_known = std::find(known_.begin(), known_.end(), address) != known_.end();
    if (address.empty() || is_known) return;
    known_.push_back(address);
    nodes_.emplace_back().address = address;
  }

  void ask(size_t first) {
    std::vector<StatusOr<NodeStatus>> answers(nodes_.size() - first, absl::UnknownError(""));
    std::vector<int64_t> times(answers.size(), 0);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < answers.size(); ++i) {
      threads.emplace_back([this, first, i, &answers, &times] {
        answers[i] = status_of(common_, nodes_[first + i].address);
        times[i] = RealClock().monotonic_ns();
      });
    }
    for (std::thread& thread : threads) thread.join();
    asked_ns_.resize(nodes_.size(), 0);
    for (size_t i = 0; i < answers.size(); ++i) take(first + i, std::move(answers[i]), times[i]);
  }

  void take(size_t i, StatusOr<NodeStatus> answer, int64_t time_ns) {
    NodeSight& node = nodes_[i];
    if (!answer.ok()) {
      failure_ = answer.status();
      node.trouble = std::string(answer.status().message());
      node.seconds = 0;
      asked_ns_[i] = 0;
      return;
    }
    node.trouble.clear();
    node.seconds = asked_ns_[i] == 0 ? 0 : static_cast<double>(time_ns - asked_ns_[i]) / 1e9;
    node.before = std::move(node.now);
    node.now = *std::move(answer);
    asked_ns_[i] = time_ns;
  }

  void discover() {
    std::vector<std::string> found;
    for (const NodeSight& node : nodes_) {
      if (!node.trouble.empty()) continue;
      for (const SecondaryStatus& secondary : node.now.secondaries) {
        const auto has_name = [&](const NodeSight& n) {
          return n.trouble.empty() && n.now.role != "primary" && n.now.node == secondary.node;
        };
        if (std::none_of(nodes_.begin(), nodes_.end(), has_name)) found.push_back(secondary.address);
      }
      if (node.now.role != "primary") found.push_back(node.now.primary);
    }
    for (const std::string& address : found) add(address);
  }

  // One node at two addresses.
  void drop_doubles() {
    for (size_t i = 1; i < nodes_.size();) {
      const auto is_same = [&](const NodeSight& n) {
        return n.trouble.empty() && n.now.node == nodes_[i].now.node && n.now.role == nodes_[i].now.role &&
               n.now.uptime_seconds <= nodes_[i].now.uptime_seconds + 1 &&
               nodes_[i].now.uptime_seconds <= n.now.uptime_seconds + 1;
      };
      const auto end = nodes_.begin() + static_cast<ptrdiff_t>(i);
      if (nodes_[i].trouble.empty() && std::any_of(nodes_.begin(), end, is_same)) {
        nodes_.erase(end);
        asked_ns_.erase(asked_ns_.begin() + static_cast<ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }

  const CommonOptions& common_;
  std::vector<NodeSight> nodes_;
  std::vector<int64_t> asked_ns_;   // of each, when it has answered last; 0: it has not
  std::vector<std::string> known_;  // addresses, dropped ones as well
  Status failure_;
};

// Signals as something to read. To be made before any thread, which would take them else.
class Signals {
 public:
  Signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) sigaddset(&signals, number);
    ::pthread_sigmask(SIG_BLOCK, &signals, &mask_);
    file_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~Signals() {
    ::close(file_);
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  int file() const { return file_; }

 private:
  sigset_t mask_{};
  int file_ = -1;
};

// A terminal that shows one picture after the other and takes keys; as it was when this goes.
class Screen {
 public:
  explicit Screen(int signals)
      : takes_keys_(::isatty(STDIN_FILENO) != 0 && ::tcgetattr(STDIN_FILENO, &saved_) == 0), signals_(signals) {
    if (takes_keys_) {
      termios raw = saved_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      raw.c_cc[VSUSP] = _POSIX_VDISABLE;  // it would leave the terminal as it is now
      ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    write("\033[?1049h\033[?25l");
  }
  ~Screen() {
    write("\033[?25h\033[?1049l");
    if (takes_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &saved_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void show(const std::vector<NodeSight>& nodes, const std::string& note) {
    winsize size{};
    ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    const size_t columns = size.ws_col == 0 ? 80 : size.ws_col;
    std::vector<ViewLine> lines = draw_view(nodes, note, columns);
    lines.resize(std::min<size_t>(lines.size(), size.ws_row == 0 ? 24 : size.ws_row));
    std::string text = "\033[H";
    for (const ViewLine& line : lines) {
      if (&line != lines.data()) text += "\r\n";
      text += begin_of(line.emphasis);
      text += line.text + "\033[0m\033[K";
    }
    write(text + "\033[J");
  }

  enum class Event { kTime, kSize, kEnd };
  // Waits so long at most. A space ends the waiting, too.
  Event wait(int ms) {
    pollfd files[] = {{signals_, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    if (::poll(files, takes_keys_ ? 2 : 1, ms) <= 0) return Event::kTime;
    signalfd_siginfo signal{};
    if (::read(signals_, &signal, sizeof(signal)) == sizeof(signal)) {
      return signal.ssi_signo == SIGWINCH ? Event::kSize : Event::kEnd;
    }
    char key = 0;
    if (!takes_keys_ || files[1].revents == 0) return Event::kTime;
    const ssize_t got = ::read(STDIN_FILENO, &key, 1);
    if (got <= 0 || key == 'q' || key == 'Q') return Event::kEnd;
    return key == ' ' ? Event::kTime : Event::kSize;
  }

 private:
  static const char* begin_of(Emphasis emphasis) {
    switch (emphasis) {
      case Emphasis::kPlain:
        return "";
      case Emphasis::kTitle:
        return "\033[1m";
      case Emphasis::kHeading:
        return "\033[7m";
      case Emphasis::kBad:
        return "\033[1;31m";
    }
    return "";
  }
  static void write(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }

  termios saved_{};
  const bool takes_keys_;
  const int signals_;
};

std::string clock_text() {
  const std::time_t seconds = RealClock().now_us() / kSecondUs;
  std::tm parts{};
  char text[16];
  std::strftime(text, sizeof(text), "%H:%M:%S", ::localtime_r(&seconds, &parts));
  return text;
}

void print_once(const std::vector<NodeSight>& nodes, bool is_json) {
  if (is_json) {
    std::fputs(view_json(nodes, RealClock().now_us()).c_str(), stdout);
    return;
  }
  for (const ViewLine& line : draw_view(nodes, clock_text(), kColumnsElsewhere)) std::printf("%s\n", line.text.c_str());
}

void run_live(Watch* watch, double interval_seconds, int signals) {
  const auto interval_ns = static_cast<int64_t>(interval_seconds * 1e9);
  const std::string note = absl::StrFormat(", every %g s, q quits", interval_seconds);
  Screen screen(signals);
  while (true) {
    screen.show(watch->nodes(), clock_text() + note);
    const int64_t until_ns = RealClock().monotonic_ns() + interval_ns;
    Screen::Event event = Screen::Event::kSize;
    while (event == Screen::Event::kSize) {
      const int64_t left_ns = std::max<int64_t>(until_ns - RealClock().monotonic_ns(), 0);
      event = screen.wait(static_cast<int>((left_ns + 999'999) / 1'000'000));
      if (event == Screen::Event::kSize) screen.show(watch->nodes(), clock_text() + note);
    }
    if (event == Screen::Event::kEnd) return;
    watch->look();
  }
}

}  // namespace

int run_top(const CommonOptions& common, const TopOptions& options) {
  const bool is_live = !options.is_once && !common.is_json && ::isatty(STDOUT_FILENO) != 0;
  std::optional<Signals> signals;
  if (is_live) signals.emplace();
  Watch watch(common);
  watch.look();
  if (!watch.answers()) return show_failure(watch.failure(), common.is_json);
  if (is_live) {
    run_live(&watch, options.interval_seconds, signals->file());
    return kExitOk;
  }
  // rates are of the time between two answers
  std::this_thread::sleep_for(std::chrono::duration<double>(options.interval_seconds));
  watch.look();
  print_once(watch.nodes(), common.is_json);
  return kExitOk;
}

}  // namespace scyper::client
