#include "consensus/peers.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

namespace scyper::consensus {
namespace {

constexpr int64_t kPatienceUs = 60'000'000;

// Voters n1 and n2, a client ada of the same authority.
class PeersTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/peers_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory = name;
    run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=authority "
        "-keyout ca.key -out ca.pem");
    for (const char* who : {"n1", "n2", "ada"}) sign(who, who);
    sign("other", "n9", ",DNS:n2");  // its second name counts
    serve("n1");
  }
  void TearDown() override {
    server.reset();
    std::filesystem::remove_all(directory);
  }

  void run(const std::string& command) const {
    ASSERT_EQ(std::system(("cd " + directory + " && " + command + " 2>/dev/null").c_str()), 0) << command;
  }
  void sign(const std::string& file, const std::string& name, const std::string& more = "") const {
    run("openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=" + name + " -keyout " + file +
        ".key -out " + file + ".csr");
    run("printf 'subjectAltName=IP:127.0.0.1" + more + "' >" + file + ".ext");
    run("openssl x509 -req -in " + file + ".csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile " + file +
        ".ext -out " + file + ".pem");
  }
  PeerOptions options_of(const std::string& file) {
    PeerOptions options;
    options.cluster = "c";
    options.listen = "127.0.0.1:0";
    const std::string path = directory + "/" + file;
    auto tls = TlsFiles::open({path + ".pem", path + ".key", directory + "/ca.pem"}, [](const std::string&) {});
    EXPECT_TRUE(tls.ok()) << tls.status();
    options.tls = *tls;
    return options;
  }
  void serve(const std::string& file) {
    PeerOptions options = options_of(file);
    server_tls = options.tls;
    options.is_member = [](const std::string& node) { return node == "n1" || node == "n2"; };
    options.on_refused = [this](const std::string& why) {
      const std::lock_guard<std::mutex> lock(mutex);
      refused.push_back(why);
    };
    auto started = PeerServer::start(
        options,
        [this](const Promise&) {
          const std::lock_guard<std::mutex> lock(mutex);
          ++fences;
          return FenceAnswer{};
        },
        [](const std::string&, uint64_t) { return true; });
    ASSERT_TRUE(started.ok()) << started.status();
    server = *std::move(started);
  }
  // A fence that says to come from `node`, with that certificate.
  Status fence(const std::string& file, const std::string& node) {
    const auto client = PeerClient::make(options_of(file), node);
    return client->fence("127.0.0.1:" + std::to_string(server->port()), 1, 1, kPatienceUs).status();
  }
  size_t refusals() {
    const std::lock_guard<std::mutex> lock(mutex);
    return refused.size();
  }

  std::string directory;
  std::shared_ptr<TlsFiles> server_tls;
  std::unique_ptr<PeerServer> server;
  std::mutex mutex;
  std::vector<std::string> refused;
  int fences = 0;
};

TEST_F(PeersTest, ACertificateSpeaksForItsOwnNode) {
  EXPECT_TRUE(fence("n2", "n2").ok());
  EXPECT_TRUE(fence("other", "n2").ok());
  EXPECT_EQ(refusals(), 0u);
  EXPECT_TRUE(absl::IsPermissionDenied(fence("n2", "n1")));
  EXPECT_TRUE(absl::IsPermissionDenied(fence("ada", "n2")));
  EXPECT_TRUE(absl::IsPermissionDenied(fence("ada", "ada")));  // no member
  EXPECT_TRUE(absl::IsPermissionDenied(fence("ada", "")));
  EXPECT_EQ(refusals(), 4u);
  EXPECT_EQ(fences, 2);
  const auto client = PeerClient::make(options_of("ada"), "n2");
  EXPECT_TRUE(
      absl::IsPermissionDenied(client->grant("127.0.0.1:" + std::to_string(server->port()), 1, kPatienceUs).status()));
  EXPECT_EQ(refusals(), 5u);
}

// Both sides: new connections are made with it, calls go on.
TEST_F(PeersTest, NewCertificatesCount) {
  PeerOptions options = options_of("n2");
  const auto client = PeerClient::make(options, "n2");
  const std::string address = "127.0.0.1:" + std::to_string(server->port());
  EXPECT_TRUE(client->fence(address, 1, 1, kPatienceUs).ok());
  sign("n2", "n1");  // a name that does not speak for n2
  options.tls->reload();
  EXPECT_TRUE(absl::IsPermissionDenied(client->fence(address, 2, 1, kPatienceUs).status()));
  sign("n2", "n2");
  options.tls->reload();
  // an authority that has not signed the old ones: both have to have read the new files
  run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=next "
      "-keyout ca.key -out ca.pem");
  sign("n1", "n1");
  sign("n2", "n2");
  server_tls->reload();
  options.tls->reload();
  EXPECT_TRUE(client->fence(address, 3, 1, kPatienceUs).ok());
}

}  // namespace
}  // namespace scyper::consensus
