// The parsers on CH-benCHmark's statements, whole and damaged.

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "base/test_seed.h"
#include "parse/plpgsql_parser.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/type_resolver.h"

namespace scyper::query {
namespace {

const std::filesystem::path kData = SCYPER_TEST_DATA;

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<std::string> corpus() {
  std::vector<std::string> out = {read(kData / "ch/schema.sql"), read(kData / "ch/procedures.sql")};
  for (const auto& entry : std::filesystem::directory_iterator(kData / "ch/queries")) out.push_back(read(entry.path()));
  return out;
}

// Everything there is to do with an accepted text; must not crash.
void use(const std::vector<ast::StatementPtr>& statements, std::string_view text) {
  for (const auto& statement : statements) {
    to_sql(*statement);
    if (const auto* routine = ast::node_if<ast::CreateRoutineStatement>(statement.get())) {
      for (const auto& parameter : routine->parameters) (void)resolve_type(parameter.type, text);
      (void)parse_plpgsql(routine->body);
    }
    if (const auto* table = ast::node_if<ast::CreateTableStatement>(statement.get())) {
      for (const auto& column : table->columns) (void)resolve_type(column.type, text);
    }
  }
}

TEST(Corpus, Schema) {
  const std::string text = read(kData / "ch/schema.sql");
  const auto parsed = parse_sql(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->size(), 14u);
  int partitioned = 0;
  for (const auto& statement : *parsed) {
    const auto* table = ast::node_if<ast::CreateTableStatement>(statement.get());
    if (table == nullptr) continue;
    if (table->partition_by.strategy == ast::PartitionStrategy::kHash) ++partitioned;
    for (const auto& column : table->columns) {
      const auto type = resolve_type(column.type, text);
      EXPECT_TRUE(type.ok()) << type.status();
    }
  }
  EXPECT_EQ(partitioned, 8);
}

TEST(Corpus, Procedures) {
  const std::string text = read(kData / "ch/procedures.sql");
  const auto parsed = parse_sql(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->size(), 6u);
  for (const auto& statement : *parsed) {
    const auto& routine = ast::node_as<ast::CreateRoutineStatement>(*statement);
    const auto body = parse_plpgsql(routine.body);
    EXPECT_TRUE(body.ok()) << routine.name.back() << ": " << body.status();
    EXPECT_EQ(text.substr(static_cast<size_t>(routine.body_location), routine.body.size()), routine.body);
    for (const auto& parameter : routine.parameters) EXPECT_TRUE(resolve_type(parameter.type, text).ok());
  }
}

TEST(Corpus, QueriesRoundTrip) {
  int queries = 0;
  for (const std::string& text : corpus()) {
    const auto parsed = parse_sql(text);
    ASSERT_TRUE(parsed.ok()) << text << parsed.status();
    for (const auto& statement : *parsed) {
      const std::string printed = to_sql(*statement);
      if (printed[0] == '<') continue;
      const auto again = parse_sql(printed);
      ASSERT_TRUE(again.ok()) << printed << again.status();
      EXPECT_EQ(to_sql(*again->front()), printed);
      if (statement->kind == ast::StatementKind::kSelect) ++queries;
    }
  }
  EXPECT_EQ(queries, 22);
}

// libpg_query keeps its state per thread.
TEST(Corpus, ThreadsDoNotDisturbEachOther) {
  const std::vector<std::string> texts = corpus();
  const auto print_all = [&texts] {
    std::string out;
    for (const std::string& text : texts) {
      const auto parsed = parse_sql(text);
      for (const auto& statement : *parsed) out += to_sql(*statement);
      const Status error = parse_sql(text + " from from").status();
      out += std::string(error.message()) + std::to_string(position_of(error));
    }
    return out;
  };
  const std::string expected = print_all();
  std::vector<std::thread> threads;
  std::atomic<int> same = 0;
  constexpr int kThreads = 4;
  constexpr int kRounds = 20;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) same += print_all() == expected ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, kThreads * kRounds);
}

// Cuts, copies, swaps and bytes, at borders of words mostly.
std::string damage(const std::vector<std::string>& texts, std::mt19937_64& random) {
  const auto below = [&](size_t n) { return n == 0 ? 0 : static_cast<size_t>(random() % n); };
  std::string text = texts[below(texts.size())];
  static constexpr std::string_view kPieces[] = {"(",    ")",  "[",    "]",      "'",      "$$",    ";",        "..",
                                                 ":=",   "<<", ">>",   "--",     "/*",     "*/",    "INTO ",    " END ",
                                                 "E'",   "\\", "\"",   " LOOP ", " CASE ", " NOT ", "%TYPE",    "$1",
                                                 "\xff", "::", " AS ", "NULL",   "1e999",  "ä",     " SELECT ", ","};
  if (below(2) == 0) text = text.substr(below(text.size()), 50 + below(2500));  // so that damage is found early
  for (size_t changes = 1 + below(4); changes > 0; --changes) {
    const size_t at = below(text.size());
    switch (below(5)) {
      case 0:
        text.erase(at, 1 + below(20));
        break;
      case 1:
        text.insert(at, kPieces[below(std::size(kPieces))]);
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), below(60)));
        break;
      case 3: {
        const std::string& other = texts[below(texts.size())];
        text.replace(at, below(40), other.substr(below(other.size()), below(80)));
        break;
      }
      default:
        if (!text.empty()) text[at] = static_cast<char>(random());
    }
  }
  return text;
}

// The bodies of the procedures, and their texts with an intact head.
std::vector<std::string> bodies() {
  std::vector<std::string> out;
  const auto parsed = parse_sql(read(kData / "ch/procedures.sql"));
  for (const auto& statement : *parsed) out.push_back(ast::node_as<ast::CreateRoutineStatement>(*statement).body);
  return out;
}

TEST(Corpus, DamagedTextsDoNoHarm) {
  std::mt19937_64 random(test_seed());
  const std::vector<std::string> texts = corpus();
  const std::vector<std::string> procedures = bodies();
  constexpr int kRounds = 20000;
  int accepted = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string text = damage(texts, random);
    if (const auto parsed = parse_sql(text); parsed.ok()) {
      ++accepted;
      use(*parsed, text);
    } else {
      EXPECT_NE(sqlstate_of(parsed.status()), "XX000") << text << parsed.status();
    }
    const std::string body = "BEGIN " + damage(procedures, random) + (random() % 2 == 0 ? " END" : "");
    if (const auto parsed = parse_plpgsql(body); !parsed.ok()) {
      EXPECT_NE(sqlstate_of(parsed.status()), "XX000") << body << parsed.status();
      EXPECT_LE(position_of(parsed.status()), static_cast<int>(body.size()) + 1) << body;
    }
    (void)parse_expression(damage(texts, random));
  }
  std::printf("%d of %d damaged texts parsed\n", accepted, kRounds);
}

}  // namespace
}  // namespace scyper::query
