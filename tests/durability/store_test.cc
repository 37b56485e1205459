#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/metrics.h"
#include "primary/engine.h"
#include "query/database.h"
#include "replay/archive.h"
#include "replay/recovery.h"
#include "secondary/node.h"
#include "server/server.h"
#include "storage/object_store.h"

// Backups in an S3-compatible store: moto, from PyPI, which checks signatures (tools/install-packages).
namespace scyper {
namespace {

std::string python() {
  if (const char* given = std::getenv("SCYPER_TEST_MOTO_PYTHON")) return given;
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : "") + "/.cache/scyper/moto/bin/python";
}

class StoreTest : public testing::Test {
 public:
  static void SetUpTestSuite() {
    if (::access(python().c_str(), X_OK) != 0) return;
    int to[2], from[2];
    ASSERT_EQ(::pipe(to) + ::pipe(from), 0);
    server_ = ::fork();
    if (server_ == 0) {
      ::dup2(to[0], 0);
      ::dup2(from[1], 1);
      ::close(to[1]);
      ::execl(python().c_str(), python().c_str(), SCYPER_STORE_SERVER, nullptr);
      ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    input_ = to[1];
    FILE* lines = ::fdopen(from[0], "r");
    int port = 0;
    char key[100] = "", secret[100] = "";
    ASSERT_EQ(std::fscanf(lines, "%d %99s %99s", &port, key, secret), 3) << "the store has not started";
    std::fclose(lines);
    endpoint_ = "http://127.0.0.1:" + std::to_string(port);
    key_ = key;
    secret_ = secret;
  }
  static void TearDownTestSuite() {
    if (server_ <= 0) return;
    ::close(input_);
    ::waitpid(server_, nullptr, 0);
  }
  void SetUp() override {
    if (server_ <= 0) GTEST_SKIP() << "no moto at " << python() << ": tools/install-packages installs it";
    ::setenv("AWS_ENDPOINT_URL_S3", endpoint_.c_str(), 1);
    ::setenv("AWS_ACCESS_KEY_ID", key_.c_str(), 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", secret_.c_str(), 1);
    disk_ = storage::make_disk_with_stores();
    directory_ = testing::TempDir() + "store_test_" + std::to_string(::getpid());
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

 protected:
  static inline pid_t server_ = 0;
  static inline int input_ = -1;
  static inline std::string endpoint_, key_, secret_;
  std::unique_ptr<Disk> disk_;
  std::string directory_;
};

TEST_F(StoreTest, FilesInOneAndInSeveralParts) {
  for (const size_t size : {size_t{0}, size_t{100}, size_t{20'000'000}}) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * i >> 7);
    const std::string path = "s3://backups/some/files/f" + std::to_string(size);
    {
      auto file = disk_->open(path, OpenMode::kCreate);
      ASSERT_TRUE(file.ok()) << file.status();
      for (size_t at = 0; at < size; at += 3'000'000) {
        ASSERT_TRUE((*file)->write(at, std::string_view(bytes).substr(at, 3'000'000)).ok());
      }
      EXPECT_FALSE(disk_->exists(path));
      EXPECT_FALSE((*file)->write(size + 1, "x").ok());
      Status status = (*file)->sync();
      ASSERT_TRUE(status.ok()) << status;
    }
    EXPECT_TRUE(disk_->exists(path));
    auto read = disk_->read_file(path);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(*read == bytes);
  }
  EXPECT_EQ(*disk_->list("s3://backups/some/files"), (std::vector<std::string>{"f0", "f100", "f20000000"}));
  EXPECT_EQ(*disk_->list("s3://backups/some"), (std::vector<std::string>{"files"}));
  EXPECT_TRUE(disk_->exists("s3://backups/some"));
  EXPECT_TRUE(disk_->remove("s3://backups/some/files/f100").ok());
  EXPECT_FALSE(disk_->exists("s3://backups/some/files/f100"));
  EXPECT_EQ(disk_->list("s3://backups/many")->size(), 1050u);  // more than one answer holds
}

TEST_F(StoreTest, ClearErrors) {
  EXPECT_TRUE(absl::IsNotFound(disk_->open("s3://backups/nothing", OpenMode::kRead).status()));
  EXPECT_EQ(sqlstate_of(disk_->make_directory("s3://no-such-bucket/x")), "58P01");
  EXPECT_EQ(sqlstate_of(disk_->make_directory("s3://backups/what?")), "22023");
  EXPECT_EQ(sqlstate_of(disk_->rename("s3://backups/a", "s3://backups/b")), "0A000");
  ::setenv("AWS_SECRET_ACCESS_KEY", "wrong", 1);
  Status status = disk_->make_directory("s3://backups/x");
  EXPECT_EQ(sqlstate_of(status), "42501") << status;
  EXPECT_NE(std::string(status.message()).find("SignatureDoesNotMatch"), std::string::npos) << status;
  ::setenv("AWS_SECRET_ACCESS_KEY", "", 1);
  EXPECT_EQ(sqlstate_of(disk_->make_directory("s3://backups/x")), "28000");
  ::setenv("AWS_SECRET_ACCESS_KEY", secret_.c_str(), 1);
  ::setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1", 1);
  status = disk_->make_directory("s3://backups/x");
  EXPECT_EQ(sqlstate_of(status), "58030");
  EXPECT_NE(std::string(status.message()).find("127.0.0.1:1"), std::string::npos) << status;
}

TEST_F(StoreTest, BackupVerifyAndRestore) {
  primary::EngineOptions options;
  options.partitions = 2;
  options.memory_bytes = size_t{512} << 20;
  options.log.directory = directory_ + "/data";
  uint64_t lsn = 0;
  {
    auto engine = primary::Engine::create(options);
    ASSERT_TRUE(engine.ok()) << engine.status();
    ASSERT_TRUE((*engine)->execute("CREATE TABLE t (a integer PRIMARY KEY, b text)", {}, nullptr).ok());
    for (int i = 0; i < 300; ++i) {
      ASSERT_TRUE(
          (*engine)->execute("INSERT INTO t VALUES ($1, 'text')", std::vector<Datum>{int_datum(i)}, nullptr).ok());
    }
    auto made = (*engine)->write_archive("s3://backups/nightly", nullptr);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->path.rfind("s3://backups/nightly/0", 0), 0u) << made->path;
    EXPECT_GT(made->stored_bytes, 0u);
    lsn = made->lsn;
    // again, with nothing new
    made = (*engine)->write_archive("s3://backups/weekly", nullptr);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->lsn, lsn);
    EXPECT_EQ(sqlstate_of((*engine)->write_archive("s3://no-such-bucket/x", nullptr).status()), "58P01");
  }
  for (const char* archives : {"s3://backups/nightly", "s3://backups/weekly"}) {
    auto entries = storage::list_archives(disk_.get(), archives);
    ASSERT_TRUE(entries.ok()) << entries.status();
    ASSERT_EQ(entries->size(), 1u);
    EXPECT_TRUE((*entries)[0].is_complete);
    auto checked = replay::verify_archive(disk_.get(), (*entries)[0].path);
    ASSERT_TRUE(checked.ok()) << checked.status();
    EXPECT_EQ(checked->rows, 300u);
    query::DatabaseOptions database_options;
    database_options.partitions = 2;
    database_options.memory_bytes = size_t{512} << 20;
    auto database = *query::Database::create(database_options);
    auto loaded = replay::load_archive(disk_.get(), (*entries)[0].path, 2, database.get());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->rows, 300u);
    EXPECT_EQ(loaded->manifest.lsn, lsn);
  }
}

// A secondary's archives go to the store that the nodes share, and by `backup` to any; who joins starts from there.
TEST_F(StoreTest, SecondariesWriteAndReadThere) {
  primary::EngineOptions options;
  options.partitions = 2;
  options.memory_bytes = size_t{512} << 20;
  options.log.directory = directory_ + "/p";
  options.replication.is_on = true;
  options.replication.transport = primary::TransportChoice::kUnicast;
  auto engine = *primary::Engine::create(options);
  MetricsRegistry metrics;
  server::ServerOptions serving;
  serving.listen = "127.0.0.1:0";
  serving.http_listen.clear();
  auto server = server::Server::start(serving, engine.get(), &metrics);
  ASSERT_TRUE(server.ok()) << server.status();
  ASSERT_TRUE(engine->execute("CREATE TABLE t (a integer PRIMARY KEY, b text)", {}, nullptr).ok());
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(engine->execute("INSERT INTO t VALUES ($1, 'text')", std::vector<Datum>{int_datum(i)}, nullptr).ok());
  }
  secondary::NodeOptions following;
  following.link.target = "127.0.0.1:" + std::to_string((*server)->port());
  following.link.node = "s1";
  following.database.memory_bytes = options.memory_bytes;
  following.data_directory = directory_ + "/s1";
  following.archive_directory = "s3://backups/shared";
  const uint64_t lsn = engine->log_info().last_lsn;
  const auto join = [&] {
    auto node = secondary::Node::start(following);
    EXPECT_TRUE(node.ok()) << node.status();
    while (node.ok() && (*node)->info().applied_lsn < lsn) ::usleep(1000);
    return node.ok() ? *std::move(node) : nullptr;
  };
  // as soon as the node knows that its state is the primary's
  const auto write = [](secondary::Node* node, const std::string& to) {
    auto made = node->write_archive(to);
    for (int i = 0; i < 60'000 && sqlstate_of(made.status()) == "57P03"; ++i) {
      ::usleep(1000);
      made = node->write_archive(to);
    }
    return made;
  };
  {
    auto node = join();
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(sqlstate_of(write(node.get(), "s3://no-such-bucket/x").status()), "58P01");
    for (const std::string to : {"s3://backups/secondary", ""}) {
      auto made = write(node.get(), to);
      ASSERT_TRUE(made.ok()) << made.status();
      auto entries = storage::list_archives(disk_.get(), to.empty() ? following.archive_directory : to);
      ASSERT_TRUE(entries.ok() && entries->size() == 1) << entries.status();
      if (!to.empty()) EXPECT_EQ(made->second, entries->front().path);
      auto checked = replay::verify_archive(disk_.get(), entries->front().path);
      ASSERT_TRUE(checked.ok()) << checked.status();
      EXPECT_EQ(checked->rows, 300u);
    }
  }
  std::string said;
  following.link.node = "s2";
  following.data_directory = directory_ + "/s2";
  following.on_progress = [&](const std::string& line) { said += line + "\n"; };
  auto node = join();
  ASSERT_NE(node, nullptr);
  EXPECT_NE(said.find("join: archive s3://backups/shared/"), std::string::npos) << said;
  node.reset();
  following.link.node = "s3";
  following.data_directory.clear();
  node = join();
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(sqlstate_of(write(node.get(), "s3://backups/x").status()), "0A000");  // it has no place on the way
  node.reset();
  (*server)->stop();
}

}  // namespace
}  // namespace scyper
