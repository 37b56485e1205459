#include "testing/isolated_session.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/check.h"
#include "testing/outcome.h"
#include "testing/session.h"

namespace scyper::query {

namespace {
constexpr int kAnswerMs = 60'000;  // of a statement over a few rows, on a busy machine
constexpr size_t kMessageMax = 6000;
constexpr char kClear = 'C', kRun = 'R';

bool write_all(int fd, const void* data, size_t size) {
  for (const char* at = static_cast<const char*>(data); size > 0;) {
    const ssize_t written = send(fd, at, size, MSG_NOSIGNAL);
    if (written <= 0) return false;
    at += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}
bool read_all(int fd, void* data, size_t size) {
  for (char* at = static_cast<char*>(data); size > 0;) {
    const ssize_t got = read(fd, at, size);
    if (got <= 0) return false;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}
bool write_text(int fd, const std::string& text) {
  const uint64_t size = text.size();
  return write_all(fd, &size, sizeof(size)) && write_all(fd, text.data(), text.size());
}
bool read_text(int fd, std::string* text) {
  uint64_t size = 0;
  if (!read_all(fd, &size, sizeof(size))) return false;
  text->resize(size);
  return read_all(fd, text->data(), size);
}
bool write_texts(int fd, const std::vector<std::string>& texts) {
  const uint64_t count = texts.size();
  return write_all(fd, &count, sizeof(count)) &&
         std::all_of(texts.begin(), texts.end(), [&](const std::string& text) { return write_text(fd, text); });
}
bool read_texts(int fd, std::vector<std::string>* texts) {
  uint64_t count = 0;
  if (!read_all(fd, &count, sizeof(count))) return false;
  texts->resize(count);
  return std::all_of(texts->begin(), texts->end(), [&](std::string& text) { return read_text(fd, &text); });
}

// The child: one request after the other until the parent is gone.
[[noreturn]] void serve(int fd, const DatabaseOptions& options) {
  auto session = std::make_unique<Session>(options);
  std::string request;
  while (read_text(fd, &request)) {
    if (request[0] == kClear) {
      session.reset();
      session = std::make_unique<Session>(options);
      continue;
    }
    const StatementOutcome outcome = run_statement(session.get(), request.substr(1));
    if (!write_text(fd, outcome.sqlstate) || !write_text(fd, outcome.message) || !write_texts(fd, outcome.names) ||
        !write_texts(fd, outcome.rows) || !write_texts(fd, outcome.notices))
      break;
  }
  _exit(0);
}
}  // namespace

IsolatedSession::~IsolatedSession() { end(); }

void IsolatedSession::start() {
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  stderr_ = memfd_create("stderr", MFD_CLOEXEC);
  CHECK(stderr_ >= 0);
  child_ = fork();
  CHECK(child_ >= 0);
  if (child_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    dup2(stderr_, STDERR_FILENO);
    serve(ends[1], options_);
  }
  close(ends[1]);
  to_ = from_ = ends[0];
  is_sent_ = false;
}

void IsolatedSession::end() {
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
  close(to_);
  close(stderr_);
  child_ = 0;
}

void IsolatedSession::clear() {
  if (child_ <= 0) start();
  if (write_text(to_, std::string(1, kClear))) return;
  end();
  start();
}

StatementOutcome IsolatedSession::run(const std::string& sql) {
  begin(sql);
  return finish();
}

void IsolatedSession::begin(const std::string& sql) {
  is_sent_ = child_ > 0;
  if (is_sent_) static_cast<void>(write_text(to_, kRun + sql));
}

StatementOutcome IsolatedSession::finish() {
  StatementOutcome outcome;
  if (!is_sent_ || child_ <= 0) {
    outcome.sqlstate = "57P01";
    return outcome;
  }
  is_sent_ = false;
  pollfd ready{from_, POLLIN, 0};
  if (poll(&ready, 1, kAnswerMs) == 0) return ended("HANGS");
  if (!read_text(from_, &outcome.sqlstate) || !read_text(from_, &outcome.message) ||
      !read_texts(from_, &outcome.names) || !read_texts(from_, &outcome.rows) || !read_texts(from_, &outcome.notices))
    return ended("CRASH");
  return outcome;
}

StatementOutcome IsolatedSession::ended(const char* how) {
  StatementOutcome outcome;
  outcome.sqlstate = how;
  int status = 0;
  if (outcome.sqlstate == "HANGS") kill(child_, SIGKILL);
  waitpid(child_, &status, 0);
  if (WIFSIGNALED(status)) outcome.message = "signal " + std::to_string(WTERMSIG(status)) + "\n";
  std::string written(kMessageMax, '\0');
  const ssize_t size = pread(stderr_, written.data(), written.size(), 0);
  written.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  outcome.message += written;
  close(to_);
  close(stderr_);
  child_ = 0;
  return outcome;
}

}  // namespace scyper::query
