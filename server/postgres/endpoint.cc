#include "postgres/endpoint.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "absl/time/time.h"
#include "base/event_fd.h"
#include "unix_socket.h"

namespace scyper::server::postgres {

namespace {

constexpr int kTickMs = 250;  // how late a deadline is noticed
// Connections that have not said yet who they are, beside postgres_connections_max of them: for CancelRequests, and for
// clients that are told that there are too many.
constexpr size_t kStrangersMax = 16;
constexpr int kBacklog = 511;
constexpr absl::Duration kFarewell = absl::Seconds(1);  // for sessions to end by themselves when the node stops
// What epoll gives back; of sessions their process, which is no such number.
constexpr uint64_t kListenerTag = 0, kWakeTag = 1, kLocalTag = uint64_t{1} << 32;

bool is_loopback_address(const sockaddr_storage& address) {
  if (address.ss_family == AF_UNIX) return true;
  if (address.ss_family == AF_INET) {
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == 127;
  }
  if (address.ss_family != AF_INET6) return false;
  const in6_addr& ip = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&ip) || (IN6_IS_ADDR_V4MAPPED(&ip) && ip.s6_addr[12] == 127);
}

std::string text_of_address(const sockaddr_storage& address) {
  if (address.ss_family == AF_UNIX) return "[local]";
  char text[INET6_ADDRSTRLEN] = "";
  const void* bytes = address.ss_family == AF_INET6
                          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr)
                          : &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  return ::inet_ntop(address.ss_family, bytes, text, sizeof text) == nullptr ? "" : text;
}

// "[::1]:5432" -> "::1".
std::string host_of(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return host;
}

int open_listener(const addrinfo& place) {
  const int descriptor = ::socket(place.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return -1;
  const int on = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(descriptor, place.ai_addr, place.ai_addrlen) == 0 && ::listen(descriptor, kBacklog) == 0)
    return descriptor;
  ::close(descriptor);
  return -1;
}

uint16_t port_of(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

}  // namespace

Endpoint::Endpoint(NodeParts* node)
    : node_(node), open_sessions_(node->metrics->gauge("scyper_postgres_sessions", "PostgreSQL sessions open now.")) {
  context_.node = node;
  context_.cancel = [this](int32_t process, int32_t key) { cancel(process, key); };
  context_.statements =
      &node->metrics->counter("scyper_postgres_statements_total", "Statements run for PostgreSQL's clients.");
  context_.refused = &node->metrics->counter("scyper_postgres_refused_total",
                                             "PostgreSQL connections refused: password, encryption, limit.");
}

Status read_files(const ServerOptions& options, SessionContext* context) {
  if (options.tls != nullptr) {
    context->tls = std::make_shared<TlsContexts>(options.tls);
    SCYPER_RETURN_IF_ERROR(context->tls->current().status());
  }
  if (!options.postgres_users.empty()) {
    SCYPER_ASSIGN_OR_RETURN(context->users, UserFile::read(options.postgres_users));
  } else if (!is_loopback(options.postgres_listen) && options.tls_client_ca.empty()) {
    return with_hint(absl::InvalidArgumentError("refusing to listen on " + options.postgres_listen +
                                                " for PostgreSQL's clients without passwords"),
                     "Give postgres_users, or tls_client_ca.");
  }
  return {};
}

StatusOr<std::unique_ptr<Endpoint>> Endpoint::start(NodeParts* node) {
  std::unique_ptr<Endpoint> endpoint(new Endpoint(node));
  SCYPER_RETURN_IF_ERROR(read_files(node->options, &endpoint->context_));
  SCYPER_RETURN_IF_ERROR(endpoint->listen());
  endpoint->watcher_ = std::thread([p = endpoint.get()] { p->watch(); });
  return endpoint;
}

Status Endpoint::listen() {
  SCYPER_RETURN_IF_ERROR(listen_on_port());
  SCYPER_RETURN_IF_ERROR(listen_on_file());
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  wake_ = make_event();
  const auto watch = [this](int descriptor, uint64_t tag) {
    epoll_event event{EPOLLIN, {.u64 = tag}};
    return descriptor >= 0 && ::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0;
  };
  const bool is_watched = watch(listener_, kListenerTag) && watch(wake_, kWakeTag) &&
                          (local_listener_ < 0 || watch(local_listener_, kLocalTag));
  if (is_watched) return {};
  return absl::UnavailableError(std::string("cannot watch connections: ") + std::strerror(errno));
}

// Beside the port, under the name that libpq looks for.
Status Endpoint::listen_on_file() {
  const std::string& directory = node_->options.postgres_socket_directory;
  if (directory.empty()) return {};
  const std::string path = directory + "/.s.PGSQL." + std::to_string(port_);
  SCYPER_ASSIGN_OR_RETURN(const mode_t mode, parse_permissions(node_->options.unix_socket_permissions));
  SCYPER_RETURN_IF_ERROR(clear_unix_socket(path));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);  // clear_unix_socket() has looked at its length
  local_listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const NarrowFiles narrow;
  if (local_listener_ < 0 ||
      ::bind(local_listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(local_listener_, kBacklog) != 0) {
    return absl::UnavailableError("cannot listen for PostgreSQL's clients on " + path + ": " + std::strerror(errno));
  }
  local_path_ = path;
  return set_permissions(path, mode);
}

Status Endpoint::listen_on_port() {
  const std::string& address = node_->options.postgres_listen;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* places = nullptr;
  const int error =
      ::getaddrinfo(host_of(address).c_str(), address.substr(address.rfind(':') + 1).c_str(), &hints, &places);
  if (error != 0) {
    return absl::InvalidArgumentError("postgres_listen: " + address + ": " + ::gai_strerror(error));
  }
  for (const addrinfo* place = places; place != nullptr && listener_ < 0; place = place->ai_next) {
    listener_ = open_listener(*place);
  }
  ::freeaddrinfo(places);
  if (listener_ < 0) {
    return absl::UnavailableError("cannot listen for PostgreSQL's clients on " + address + ": " + std::strerror(errno));
  }
  port_ = port_of(listener_);
  return {};
}

Endpoint::~Endpoint() {
  begin_stop();
  {
    absl::MutexLock lock(&mutex_);
    for (auto& [process, entry] : entries_) entry->session->cancel();
    // they tell their clients why
    const auto is_empty = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return entries_.empty(); };
    mutex_.AwaitWithTimeout(absl::Condition(&is_empty), kFarewell);
    for (auto& [process, entry] : entries_) entry->session->cut_off();
  }
  is_closed_ = true;
  wake();
  if (watcher_.joinable()) watcher_.join();
  for (int descriptor : {listener_, local_listener_, epoll_, wake_}) {
    if (descriptor >= 0) ::close(descriptor);
  }
  if (!local_path_.empty()) ::unlink(local_path_.c_str());
}

void Endpoint::wake() {
  if (wake_ >= 0) signal_event(wake_);
}

void Endpoint::begin_stop() {
  if (is_stopping_.exchange(true)) return;
  wake();
  absl::MutexLock lock(&mutex_);
  for (auto& [process, entry] : entries_) entry->session->end();
}

bool Endpoint::is_busy() {
  absl::MutexLock lock(&mutex_);
  for (auto& [process, entry] : entries_) {
    if (!entry->is_done && entry->session->is_running_statement()) return true;
  }
  return false;
}

void Endpoint::cancel(int32_t process, int32_t key) {
  std::shared_ptr<Session> session;
  {
    absl::MutexLock lock(&mutex_);
    auto found = entries_.find(process);
    if (found == entries_.end() || found->second->session->key() != key) return;
    session = found->second->session;
  }
  session->cancel();
}

// --- the watcher ---

void Endpoint::watch() {
  epoll_event events[64];
  while (true) {
    const int count = ::epoll_wait(epoll_, events, std::size(events), kTickMs);
    for (int i = 0; i < count; ++i) {
      const uint64_t tag = events[i].data.u64;
      if (tag == kListenerTag) {
        accept_all(listener_);
      } else if (tag == kLocalTag) {
        accept_all(local_listener_);
      } else if (tag == kWakeTag) {
        drain_event(wake_);
      } else {
        std::shared_ptr<Session> session;
        {
          absl::MutexLock lock(&mutex_);
          auto found = entries_.find(static_cast<int32_t>(tag));
          if (found != entries_.end()) session = found->second->session;
        }
        if (session != nullptr) session->hang_up();
      }
    }
    end_overdue();
    join_done();
    absl::MutexLock lock(&mutex_);
    if (is_closed_ && entries_.empty()) return;
  }
}

void Endpoint::accept_all(int listener) {
  while (true) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const int descriptor = ::accept4(listener, reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC);
    if (descriptor < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // out of descriptors: the connection stays in the queue, and is tried again when a session has ended
      if (errno != EAGAIN && errno != EWOULDBLOCK) ::usleep(1000 * kTickMs);
      return;
    }
    if (is_stopping_) {
      ::close(descriptor);
      continue;
    }
    join_done();  // those that have ended do not count
    add_session(descriptor, {.process = 0,
                             .is_loopback = is_loopback_address(address),
                             .is_local = address.ss_family == AF_UNIX,
                             .address = text_of_address(address)});
  }
}

// Whoever connects and says nothing must not keep others out: of too many strangers the oldest goes. Who speaks the
// protocol is a stranger for milliseconds only. False: many are on their way out already.
bool Endpoint::make_room() {
  const size_t strangers_max = node_->options.postgres_connections_max + kStrangersMax;
  size_t strangers = 0;
  Session* oldest = nullptr;
  for (auto& [process, entry] : entries_) {
    if (entry->session->is_admitted()) continue;
    ++strangers;
    if (entry->is_cut_off || entry->is_done) continue;
    if (oldest == nullptr || entry->session->deadline_ns() < oldest->deadline_ns()) oldest = entry->session.get();
  }
  if (strangers < strangers_max) return true;
  if (oldest != nullptr) {
    for (auto& [process, entry] : entries_) entry->is_cut_off |= entry->session.get() == oldest;
    oldest->cut_off();
    if (context_.refused != nullptr) context_.refused->add(1);
  }
  return strangers < 2 * strangers_max;
}

void Endpoint::add_session(int descriptor, Session::Start start) {
  auto entry = std::make_unique<Entry>();
  Entry* p = entry.get();
  absl::MutexLock lock(&mutex_);
  if (!make_room()) {
    ::close(descriptor);
    return;
  }
  int32_t process = 0;
  do {
    process = ActivityList::new_number();
  } while (entries_.contains(process));
  start.process = process;
  p->session = std::make_shared<Session>(&context_, descriptor, std::move(start));
  // tells once that the other side has gone
  epoll_event event{EPOLLRDHUP | EPOLLET, {.u64 = static_cast<uint64_t>(process)}};
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event);
  open_sessions_.add(1);
  try {
    p->thread = std::thread([this, p] {
      p->session->run();
      // a child that was forked meanwhile may hold a copy of the descriptor: closing it is not enough
      p->session->cut_off();
      open_sessions_.add(-1);
      p->is_done = true;
      wake();
    });
  } catch (const std::system_error&) {  // no more threads: this connection is closed, the others go on
    open_sessions_.add(-1);
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr);
    p->session->cut_off();
    return;
  }
  entries_[process] = std::move(entry);
}

void Endpoint::end_overdue() {
  const int64_t now_ns = monotonic_ns();
  absl::MutexLock lock(&mutex_);
  for (auto& [process, entry] : entries_) {
    const int64_t deadline_ns = entry->session->deadline_ns();
    if (deadline_ns != 0 && now_ns > deadline_ns) entry->session->end();
  }
}

void Endpoint::join_done() {
  std::vector<std::unique_ptr<Entry>> done;  // freed without the lock
  {
    absl::MutexLock lock(&mutex_);
    for (auto it = entries_.begin(); it != entries_.end();) {
      if (it->second->is_done) {
        ::epoll_ctl(epoll_, EPOLL_CTL_DEL, it->second->session->descriptor(), nullptr);
        done.push_back(std::move(it->second));
        it = entries_.erase(it);
      } else {
        ++it;
      }
    }
  }
  for (auto& entry : done) entry->thread.join();
}

}  // namespace scyper::server::postgres
