// Every file of tests/features on a node with a data directory, which dies as by kill -9 after a random statement and
// at the end: the next life, and a secondary, hold what was there before.

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "base/test_seed.h"
#include "features/script.h"
#include "killed_node.h"

namespace scyper::tests {
namespace {

using features::ScriptStatement;
using primary::RedoMode;

constexpr const char* kAlways = "dml/update_generated_default";  // which found records that no restart could read
constexpr uint64_t kSliceEvery = 9;                              // one file of so many, in a run that is not full

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> feature_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SCYPER_FEATURES)) {
    if (entry.path().extension() != ".sql") continue;
    const std::string name = std::filesystem::relative(entry.path(), SCYPER_FEATURES).string();
    names.push_back(name.substr(0, name.size() - 4));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string first_word(const std::string& sql) {
  std::string word;
  for (char c : sql) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) break;
    word += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return word;
}

// A client of one life of the node. What it has SET is set again in the next.
class Client {
 public:
  explicit Client(uint16_t port)
      : connection_(PQconnectdb(
            absl::StrCat("host=127.0.0.1 user=scyper dbname=scyper connect_timeout=20 port=", port).c_str())) {
    EXPECT_EQ(PQstatus(connection_), CONNECTION_OK) << PQerrorMessage(connection_);
    PQsetNoticeReceiver(connection_, [](void*, const PGresult*) {}, nullptr);
  }
  ~Client() { PQfinish(connection_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Whether it succeeded.
  bool run(const std::string& sql, const std::string& data = "") {
    return finish(PQsendQuery(connection_, sql.c_str()), data);
  }
  // By the extended protocol.
  bool run_prepared(const std::string& sql) {
    return finish(PQsendQueryParams(connection_, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0), "");
  }
  bool is_in_block() const { return PQtransactionStatus(connection_) != PQTRANS_IDLE; }
  bool is_alive() const { return PQstatus(connection_) == CONNECTION_OK; }

 private:
  bool finish(int is_sent, const std::string& data) {
    bool ok = is_sent == 1;
    for (PGresult* result = PQgetResult(connection_); result != nullptr; result = PQgetResult(connection_)) {
      const ExecStatusType status = PQresultStatus(result);
      if (status == PGRES_COPY_IN) {
        PQputCopyData(connection_, data.data(), static_cast<int>(data.size()));
        PQputCopyEnd(connection_, nullptr);
      } else if (status == PGRES_COPY_OUT) {
        char* row = nullptr;
        while (PQgetCopyData(connection_, &row, 0) > 0) PQfreemem(row);
      } else if (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE) {
        ok = false;
      }
      PQclear(result);
    }
    return ok;
  }

  PGconn* const connection_;
};

// The place where two images differ, with what can be read around it.
std::string image_difference(const std::string& a, const std::string& b) {
  if (a == b) return "";
  const size_t at = static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  auto around = [at](const std::string& image) {
    std::string text = image.substr(at > 120 ? at - 120 : 0, 240);
    for (char& c : text) c = c >= ' ' && c <= '~' ? c : '.';
    return text;
  };
  return absl::StrCat("catalogs of ", a.size(), " and ", b.size(), " bytes differ at ", at, ":\n  ", around(a), "\n  ",
                      around(b), "\n");
}

// Draws that no committed transaction has seen may be lost: of each sequence the least state that must be there.
using LeastStates = std::map<std::string, uint64_t>;

std::string state_difference(const NodeState& before, const NodeState& after, const LeastStates& least) {
  std::string text = image_difference(before.catalog, after.catalog);
  for (const auto& [part, digest] : before.parts) {
    auto found = after.parts.find(part);
    if (found == after.parts.end() || found->second != digest)
      absl::StrAppend(&text, part, ": ", digest, ", then ", found == after.parts.end() ? "no rows" : found->second,
                      "\n");
  }
  for (const auto& [part, digest] : after.parts)
    if (!before.parts.contains(part)) absl::StrAppend(&text, part, ": no rows, then ", digest, "\n");
  for (const auto& [name, state] : before.sequences) {
    auto found = after.sequences.find(name);
    if (found == after.sequences.end()) continue;  // the catalogs differ, too
    const storage::SequenceState& now = found->second;
    const bool is_same = now.changes == state.changes && now.value == state.value && now.is_called == state.is_called;
    auto known = least.find(name);
    const bool is_lost_draw = known != least.end() && now.changes >= known->second && now.changes < state.changes;
    if (!is_same && !is_lost_draw)
      absl::StrAppend(&text, "sequence ", name, ": ", state.changes, " changes, ", state.value, ", then ", now.changes,
                      " changes, ", now.value, "\n");
  }
  return text;
}

class ReplayTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/scyper_replay_XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void begin_life();
  void end_life(const std::string& where);
  bool step(const ScriptStatement& statement, Random* random);
  void note_sequences(bool succeeded);

  std::string directory_;
  KilledNodeOptions options_;
  std::unique_ptr<KilledNode> node_, secondary_;
  std::unique_ptr<Client> client_;
  std::vector<std::string> settings_;
  std::map<std::string, storage::SequenceState> sequences_;
  LeastStates least_;
};

void ReplayTest::begin_life() {
  auto node = KilledNode::start(options_);
  ASSERT_TRUE(node.ok()) << node.status();
  node_ = std::make_unique<KilledNode>(*std::move(node));
  client_ = std::make_unique<Client>(node_->postgres_port());
  for (const std::string& setting : settings_) client_->run(setting);
}

void ReplayTest::end_life(const std::string& where) {
  auto before = node_->state();
  ASSERT_TRUE(before.ok()) << where << ": " << before.status();
  if (secondary_ != nullptr) {
    auto copied = secondary_->state(before->lsn);
    ASSERT_TRUE(copied.ok()) << where << ": the secondary: " << copied.status();
    EXPECT_EQ(state_difference(*before, *copied, least_), "") << where << ": the secondary";
    secondary_.reset();
  }
  client_.reset();
  node_->kill();
  ASSERT_NO_FATAL_FAILURE(begin_life()) << where;
  auto after = node_->state();
  ASSERT_TRUE(after.ok()) << where << ": " << after.status();
  EXPECT_EQ(state_difference(*before, *after, least_), "") << where;
  sequences_ = after->sequences;
}

void ReplayTest::note_sequences(bool succeeded) {
  auto now = node_->sequences();
  ASSERT_TRUE(now.ok()) << now.status();
  for (const auto& [name, state] : *now) {
    auto before = sequences_.find(name);
    const bool is_new = before == sequences_.end();
    if (is_new || (succeeded && before->second.changes != state.changes)) least_[name] = state.changes;
  }
  sequences_ = *std::move(now);
}

// One statement, now and then in a block of its own or by the extended protocol. False: the node has ended.
bool ReplayTest::step(const ScriptStatement& statement, Random* random) {
  const std::string word = first_word(statement.text);
  const bool is_setting = word == "SET" || word == "RESET";
  const uint64_t way = random->below(4);
  const bool takes_block = way == 0 && !is_setting && word != "CALL" && word != "DO" && !client_->is_in_block();
  if (takes_block) client_->run("BEGIN");
  bool ok = way == 1 && word != "COPY" && statement.text.find("$1") == std::string::npos
                ? client_->run_prepared(statement.text)
                : client_->run(statement.text, statement.data);
  if (takes_block && client_->is_in_block()) ok &= client_->run("COMMIT");
  if (is_setting && ok && !client_->is_in_block()) settings_.push_back(statement.text);
  if (!client_->is_alive()) return false;
  if (!client_->is_in_block()) note_sequences(ok && word != "ROLLBACK");
  return true;
}

class ReplayFeaturesTest : public ReplayTest, public testing::WithParamInterface<std::string> {
 protected:
  void run_file(const std::string& name, RedoMode redo, bool has_secondary, Random* random);
};

void ReplayFeaturesTest::run_file(const std::string& name, RedoMode redo, bool has_secondary, Random* random) {
  options_ = {absl::StrCat(directory_, "/primary"), redo, has_secondary, 0};
  settings_.clear();
  sequences_.clear();
  least_.clear();
  ASSERT_NO_FATAL_FAILURE(begin_life());
  if (has_secondary) {
    auto node = KilledNode::start({absl::StrCat(directory_, "/secondary"), redo, false, node_->port()});
    ASSERT_TRUE(node.ok()) << node.status();
    secondary_ = std::make_unique<KilledNode>(*std::move(node));
  }
  const auto statements = features::split_script(read_text(absl::StrCat(SCYPER_FEATURES "/", name, ".sql")));
  const bool trace = std::getenv("SCYPER_TEST_TRACE") != nullptr;
  const uint64_t deaths = has_secondary ? 0 : std::getenv("SCYPER_TEST_FULL") != nullptr ? 3 : 1;
  for (size_t i = 0; i < statements.size() && !HasFailure(); ++i) {
    if (trace) std::fprintf(stderr, "%d: %s\n", statements[i].line, statements[i].text.c_str());
    const std::string where = absl::StrCat(name, ".sql:", statements[i].line);
    ASSERT_TRUE(step(statements[i], random)) << where << ": the node has ended at " << statements[i].text;
    const bool is_last = i + 1 == statements.size();
    if (client_->is_in_block()) {
      if (is_last)
        client_->run("ROLLBACK");
      else
        continue;
    }
    if (random->below(statements.size()) == 0) ASSERT_EQ(node_->write_archive(), Status()) << where;
    if (is_last || random->below(statements.size()) < deaths) ASSERT_NO_FATAL_FAILURE(end_life(where));
  }
  secondary_.reset();
  client_.reset();
  node_.reset();
}

bool is_full() { return std::getenv("SCYPER_TEST_FULL") != nullptr; }

// One file of so many; 1 = all.
uint64_t slice() {
  const char* asked = std::getenv("SCYPER_TEST_REPLAY_EVERY");
  if (asked != nullptr) return std::max<uint64_t>(1, std::strtoull(asked, nullptr, 10));
  return is_full() ? 1 : kSliceEvery;
}

TEST_P(ReplayFeaturesTest, LivesHoldTheSame) {
  const uint64_t seed = test_seed();
  const uint64_t number = seed + std::hash<std::string>()(GetParam());
  for (uint64_t way = 0; way < 4; ++way) {  // kind of redo, with a secondary or without
    if (!is_full() && number % 4 != way) continue;
    const RedoMode redo = way % 2 == 1 ? RedoMode::kPhysical : RedoMode::kLogical;
    const bool has_secondary = way >= 2;
    SCOPED_TRACE(
        absl::StrCat(redo == RedoMode::kPhysical ? "physical" : "logical", has_secondary ? ", secondary" : ""));
    Random random(number + way);
    run_file(GetParam(), redo, has_secondary, &random);
    std::filesystem::remove_all(absl::StrCat(directory_, "/primary"));
    std::filesystem::remove_all(absl::StrCat(directory_, "/secondary"));
    if (HasFailure()) return;
  }
}

std::vector<std::string> files_of_run() {
  const std::vector<std::string> all = feature_files();
  std::vector<std::string> files;
  for (size_t i = 0; i < all.size(); ++i)
    if (i % slice() == 0 || all[i] == kAlways) files.push_back(all[i]);
  return files;
}

// After a restart from an archive rows lie in other places: what came first in a table without order is told by the
// log, and not found again.
TEST_F(ReplayTest, PlacesOfRowsDecideNothing) {
  options_ = {absl::StrCat(directory_, "/primary"), RedoMode::kLogical, false, 0};
  ASSERT_NO_FATAL_FAILURE(begin_life());
  auto run = [&](const std::string& sql) { EXPECT_TRUE(client_->run(sql)) << sql; };
  run("CREATE TABLE t (a integer)");
  run("CREATE TABLE few (n integer GENERATED ALWAYS AS IDENTITY, a integer)");
  run("CREATE TABLE copies (a integer)");
  run("CREATE TABLE sums (a integer PRIMARY KEY, list text)");
  run("CREATE PROCEDURE walk() LANGUAGE plpgsql AS $$ DECLARE x integer; seen text := ''; BEGIN "
      "FOR x IN SELECT a FROM t LOOP seen := seen || ' ' || x; END LOOP; "
      "INSERT INTO sums SELECT 1 + count(*), seen FROM sums; END $$");
  run("INSERT INTO t SELECT * FROM generate_series(1, 40)");
  run("DELETE FROM t WHERE a % 3 = 0");
  ASSERT_EQ(node_->write_archive(), Status());
  run("INSERT INTO t SELECT * FROM generate_series(100, 105)");  // to where rows were deleted
  run("INSERT INTO copies SELECT a FROM t LIMIT 5");
  run("INSERT INTO copies SELECT a FROM t");
  run("INSERT INTO copies SELECT x.a FROM t x JOIN t y ON x.a = y.a");
  run("INSERT INTO few (a) SELECT a FROM t LIMIT 5");
  run("INSERT INTO sums VALUES (1000, (SELECT string_agg(a::text, ',') FROM t))");
  run("INSERT INTO sums VALUES (1001, (SELECT a FROM t LIMIT 1)::text)");
  run("CALL walk()");
  run("CREATE TABLE firsts (k integer PRIMARY KEY, a integer)");
  run("INSERT INTO firsts VALUES (1), (2)");
  run("UPDATE firsts SET a = t.a FROM t WHERE t.a % 2 + 1 = k");
  run("WITH gone AS (DELETE FROM t WHERE a > 20 RETURNING a) INSERT INTO copies SELECT a FROM gone");
  run("UPDATE copies SET a = a + 1 WHERE a > 90");
  run("BEGIN");
  run("DELETE FROM copies WHERE a % 2 = 0");
  run("COMMIT");
  ASSERT_NO_FATAL_FAILURE(end_life("after the archive"));
}

INSTANTIATE_TEST_SUITE_P(Files, ReplayFeaturesTest, testing::ValuesIn(files_of_run()), [](const auto& parameter) {
  std::string name = parameter.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace scyper::tests
