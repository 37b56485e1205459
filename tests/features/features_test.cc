#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <utility>

#include "base/test_slice.h"
#include "features/script.h"
#include "testing/outcome.h"

// tests/features/*/*.sql against the answers that PostgreSQL gave, and those against the live server.
namespace scyper::features {
namespace {

using query::StatementOutcome;

query::DatabaseOptions options_for(query::ExecutionMode mode) {
  query::DatabaseOptions options;
  options.partitions = 4;
  options.memory_bytes = size_t{1} << 30;
  options.execution = mode;
  return options;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string first_line(const ScriptStatement& statement) {
  std::string line = statement.text.substr(0, statement.text.find('\n'));
  return "@ " + std::to_string(statement.line) + ": " + line.substr(0, 100);
}

// What is compared of an outcome, as text.
std::string shown(const ScriptStatement& statement, StatementOutcome outcome) {
  // PostgreSQL reports no position for what it finds in a body; ours is in the body's own text
  if (statement.text.find('$') != std::string::npos) outcome.position = 0;
  if (!outcome.ok() && !statement.state_only.empty()) outcome.message = outcome.context = "", outcome.position = 0;
  if (!query::is_ordered(statement.text)) std::sort(outcome.rows.begin(), outcome.rows.end());
  std::string text = to_string(outcome);
  return text.empty() ? "ok" : text;
}

// The answers of a file, one per statement.
std::vector<std::string> read_answers(const std::string& path) {
  std::vector<std::string> answers;
  std::istringstream in(read_file(path));
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, 2, "@ ") == 0)
      answers.emplace_back();
    else if (!answers.empty())
      answers.back() += line + "\n";
  }
  return answers;
}

query::PostgresSession* postgres() {
  static query::PostgresSession session("scyper_features");  // ends, and its server, with the program
  return &session;
}

// A database as it was made, but for roles.
void clear_postgres() {
  postgres()->reconnect();
  StatementOutcome done = postgres()->run(
      "SET client_min_messages = error; DO $$ DECLARE s text; BEGIN FOR s IN SELECT nspname FROM pg_namespace "
      "WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' LOOP EXECUTE format('DROP SCHEMA %I CASCADE', s); "
      "END "
      "LOOP; END $$; CREATE SCHEMA public; SET client_encoding = 'UTF8'; SET timezone = 'UTC'; RESET "
      "client_min_messages");
  ASSERT_TRUE(done.ok()) << done.message;
}

// Roles are the whole server's, which several programs ask: one file that makes some at a time.
class RolesAlone {
 public:
  explicit RolesAlone(const std::string& sql) {
    if (sql.find("CREATE ROLE") == std::string::npos) return;
    descriptor_ = ::open((std::filesystem::temp_directory_path() / "scyper_features_roles.lock").c_str(),
                         O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    EXPECT_EQ(::flock(descriptor_, LOCK_EX), 0);
  }
  ~RolesAlone() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

 private:
  int descriptor_ = -1;
};

class Feature : public testing::TestWithParam<std::string> {};

TEST_P(Feature, IsAsOnPostgres) {
  const std::string path = SCYPER_FEATURES "/" + GetParam();
  const bool trace = std::getenv("SCYPER_TEST_TRACE") != nullptr;  // to find the one that ends the process
  std::vector<ScriptStatement> statements = split_script(read_file(path + ".sql"));
  ASSERT_FALSE(statements.empty()) << path;
  const RolesAlone roles_alone(read_file(path + ".sql"));
  clear_postgres();
  std::vector<std::string> truth;
  std::string record;
  for (const auto& statement : statements) {
    truth.push_back(shown(statement, postgres()->run(statement.text, statement.data)) + "\n");
    record += first_line(statement) + "\n" + truth.back();
  }
  if (std::getenv("SCYPER_TEST_RECORD_FEATURES") != nullptr) std::ofstream(path + ".out") << record;
  std::vector<std::string> answers = read_answers(path + ".out");
  ASSERT_EQ(answers.size(), statements.size()) << path << ".out: record it anew";
  for (size_t i = 0; i < statements.size(); i++)
    EXPECT_EQ(answers[i], truth[i]) << path << ":" << statements[i].line << " record and live PostgreSQL";
  // under a sanitizer every other file is interpreted, the rest compiled
  std::vector<query::ExecutionMode> modes = {query::ExecutionMode::kInterpreted, query::ExecutionMode::kQuick};
  if (test_slice(false, true)) modes.erase(modes.begin() + static_cast<ptrdiff_t>(GetParam().size() % 2));
  for (auto mode : modes) {
    query::Session session(options_for(mode));
    for (size_t i = 0; i < statements.size(); i++) {
      const ScriptStatement& statement = statements[i];
      if (trace) std::cerr << path << ":" << statement.line << ": " << statement.text << std::endl;
      std::string ours = shown(statement, run_statement(&session, statement.text, nullptr, statement.data)) + "\n";
      if (!statement.differs.empty() || ours == answers[i]) continue;
      ADD_FAILURE() << GetParam() << ".sql:" << statement.line
                    << (mode == query::ExecutionMode::kQuick ? " compiled: " : " interpreted: ") << statement.text
                    << "\n  PostgreSQL " << answers[i] << "  ours       " << ours;
    }
  }
}

std::vector<std::string> feature_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SCYPER_FEATURES)) {
    if (entry.path().extension() != ".sql") continue;
    std::string name = std::filesystem::relative(entry.path(), SCYPER_FEATURES).string();
    names.push_back(name.substr(0, name.size() - 4));
  }
  std::sort(names.begin(), names.end());
  return every_in_slice(std::move(names), 2);
}
INSTANTIATE_TEST_SUITE_P(Files, Feature, testing::ValuesIn(feature_names()), [](const auto& parameter) {
  std::string name = parameter.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

TEST(Script, IsCutAtSemicolons) {
  auto cut = split_script(
      "-- differs: x\nSELECT ';' /* ; /* ; */ ; */, E'\\';', \";\"; -- ;\nSELECT $$;$$, $a$;$$;$a$, $1; "
      "CREATE FUNCTION f() BEGIN ATOMIC SELECT CASE WHEN a THEN b END; SELECT 1; END; CREATE RULE r DO (a; b);");
  ASSERT_EQ(cut.size(), 4u);
  EXPECT_EQ(cut[0].differs, " x");
  EXPECT_EQ(cut[1].text, "SELECT $$;$$, $a$;$$;$a$, $1;");
  EXPECT_EQ(cut[1].differs, "");
  EXPECT_EQ(cut[3].line, 3);
}

}  // namespace
}  // namespace scyper::features
