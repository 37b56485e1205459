#include "base/tls_files.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/synchronization/mutex.h"

namespace scyper {
namespace {

class TlsFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/tls_files_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory = name;
    make("a");
    make("b");
    put("a", "a");
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  void make(const std::string& name) const {
    const std::string path = directory + "/" + name;
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=" + name +
        " -keyout " + path + ".key -out " + path + ".pem 2>/dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  // As a tool does that replaces them: never half of a file.
  void put(const std::string& certificate, const std::string& key) const {
    for (const auto& [from, to] : {std::pair(certificate + ".pem", "node.pem"), std::pair(key + ".key", "node.key")}) {
      std::filesystem::copy_file(directory + "/" + from, directory + "/new");
      std::filesystem::rename(directory + "/new", directory + "/" + to);
    }
  }
  StatusOr<std::shared_ptr<TlsFiles>> open() {
    return TlsFiles::open({directory + "/node.pem", directory + "/node.key", ""}, [this](const std::string& line) {
      absl::MutexLock lock(&mutex);
      said.push_back(line);
    });
  }
  size_t lines() {
    absl::MutexLock lock(&mutex);
    return said.size();
  }

  std::string directory;
  absl::Mutex mutex;
  std::vector<std::string> said;
};

TEST_F(TlsFilesTest, NewFilesAreSeen) {
  const auto files = open();
  ASSERT_TRUE(files.ok()) << files.status();
  const auto before = (*files)->texts();
  EXPECT_EQ(before->version, 1u);
  EXPECT_GT(before->expires_s, 0);
  put("b", "b");
  while ((*files)->texts()->version == 1) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_NE((*files)->texts()->certificate, before->certificate);
  EXPECT_NE((*files)->texts()->key, before->key);
  EXPECT_EQ((*files)->reloads(), 1u);
  EXPECT_EQ((*files)->failures(), 0u);  // those that are replaced one after the other, too
}

TEST_F(TlsFilesTest, FilesThatDoNotFitChangeNothing) {
  const auto files = open();
  ASSERT_TRUE(files.ok()) << files.status();
  const auto before = (*files)->texts();
  uint64_t failures = 0;
  const auto expect_refused = [&](const char* what) {
    (*files)->reload();
    EXPECT_EQ((*files)->texts(), before) << what;
    EXPECT_EQ((*files)->failures(), ++failures) << what;
    EXPECT_EQ(lines(), failures) << what;
    (*files)->reload();  // told once
    EXPECT_EQ(lines(), failures) << what;
  };
  put("b", "a");
  expect_refused("another key");
  std::ofstream(directory + "/node.pem") << "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  expect_refused("no certificate");
  std::ofstream(directory + "/node.pem") << "";
  expect_refused("empty");
  std::filesystem::remove(directory + "/node.key");
  expect_refused("no key");
  put("b", "b");
  (*files)->reload();
  EXPECT_EQ((*files)->texts()->version, 2u);
  EXPECT_EQ((*files)->reloads(), 1u);
}

TEST_F(TlsFilesTest, OpenRefusesWhatCannotBeUsed) {
  put("b", "a");
  EXPECT_NE(open().status().message().find("not the certificate's"), absl::string_view::npos);
  EXPECT_FALSE(TlsFiles::open({directory + "/node.pem", "", ""}, {}).ok());
  EXPECT_TRUE(absl::IsNotFound(TlsFiles::open({"/nowhere/a", "/nowhere/b", ""}, {}).status()));
  put("b", "b");
  EXPECT_TRUE(open().ok());
}

}  // namespace
}  // namespace scyper
