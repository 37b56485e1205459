// Bytes of a client, before and after it has been let in, to a session over an engine made for tests.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "postgres/session.h"
#include "testing/fake_engine.h"

namespace scyper::server::postgres {
namespace {

// Of one process: engine, node and what sessions share.
struct Fixture {
  Fixture() : node(options(), &engine, &metrics) {
    context.node = &node;
    context.cancel = [](int32_t, int32_t) {};
    engine.open_slow();
  }
  static ServerOptions options() {
    ServerOptions options;
    options.statement_threads = 1;
    options.query_threads = 1;
    options.postgres_message_bytes_max = 1 << 16;
    return options;
  }

  FakeEngine engine;
  MetricsRegistry metrics;
  NodeParts node;
  SessionContext context;
};

std::string start_packet() {
  const std::string payload("\0\3\0\0user\0alice\0\0", 16);
  return std::string("\0\0\0\x14", 4) + payload;
}

// The first byte says how the connection begins: as the input says, let in, or with a password that is asked for.
void run_session(Fixture* fixture, std::string_view input) {
  if (input.empty()) return;
  const int how = input[0] % 3;
  input.remove_prefix(1);
  static const UserFile users = *UserFile::parse("alice:secret\n", "users");
  if (how == 2) {
    fixture->context.users = users;
  } else {
    fixture->context.users.reset();
  }
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  const std::string bytes = (how == 0 ? std::string() : start_packet()) + std::string(input);
  static_cast<void>(!::write(ends[1], bytes.data(), bytes.size()));
  ::shutdown(ends[1], SHUT_WR);
  {
    Session session(&fixture->context, ends[0], Session::Start{.process = 7, .is_loopback = true});
    session.run();
  }
  ::close(ends[1]);
}

}  // namespace
}  // namespace scyper::server::postgres

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* fixture = new scyper::server::postgres::Fixture;
  scyper::server::postgres::run_session(fixture, {reinterpret_cast<const char*>(data), size});
  return 0;
}
