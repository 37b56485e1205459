// scyperd and scyper as processes, on the real engine: what a user types.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace scyper {
namespace {

struct Output {
  int code = -1;
  std::string text;  // both streams
};

Output run(const std::string& command) {
  Output out;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return out;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) out.text.append(buffer, n);
  int status = pclose(pipe);
  out.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return out;
}

Output scyper(const std::string& arguments) { return run(std::string(SCYPER_PROGRAM) + " " + arguments); }

class ProgramsTest : public testing::Test {
 protected:
  ProgramsTest() {
    char path[] = "/tmp/scyper_programs_XXXXXX";
    directory_ = mkdtemp(path);
  }
  ~ProgramsTest() override {
    stop();
    std::filesystem::remove_all(directory_);
  }
  std::string file(const std::string& name, const std::string& text) {
    std::string path = directory_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  // Starts scyperd on a free port and waits for its first line.
  void start(const std::string& flags) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    node_ = fork();
    if (node_ == 0) {
      dup2(pipe_ends[1], STDOUT_FILENO);
      close(pipe_ends[0]);
      close(pipe_ends[1]);
      std::string command = "exec " SCYPERD_PROGRAM " --listen 127.0.0.1:0 --http-listen 127.0.0.1:0 " + flags;
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    close(pipe_ends[1]);
    std::string line;
    for (char c; read(pipe_ends[0], &c, 1) == 1 && c != '\n';) line += c;
    out_ = pipe_ends[0];
    size_t port = line.find("gRPC on port ");
    ASSERT_NE(port, std::string::npos) << line;
    target_ = " --target 127.0.0.1:" + std::to_string(std::atoi(line.c_str() + port + 13)) + " ";
  }
  int stop() {
    if (node_ <= 0) return -1;
    kill(node_, SIGTERM);
    int status = 0;
    waitpid(node_, &status, 0);
    close(out_);
    node_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string directory_;
  std::string target_;
  pid_t node_ = -1;
  int out_ = -1;
};

TEST_F(ProgramsTest, EphemeralSqlIsADatabaseInOneCommand) {
  std::string script = file("script.sql",
                            "CREATE TABLE t (a int PRIMARY KEY, b numeric(5,2));\n"
                            "INSERT INTO t VALUES (1, 2.5), (2, NULL);\n"
                            "SELECT *\n  FROM t\n ORDER BY a;\nSELECT x FROM t;\nSELECT count(*) FROM t;\n");
  Output out = scyper("sql --ephemeral -f " + script);
  EXPECT_EQ(out.code, 1);
  EXPECT_EQ(out.text,
            "CREATE TABLE\nINSERT 0 2\n a |  b   \n---+------\n 1 | 2.50\n 2 |     \n(2 rows)\n\n"
            "ERROR:  column \"x\" does not exist\nLINE 1: SELECT x FROM t\n               ^\n"
            " count \n-------\n     2\n(1 row)\n\n");
  EXPECT_EQ(scyper("sql --ephemeral -o csv -t -c 'SELECT 1, 2'").text, "1,2\n");
  EXPECT_EQ(scyper("sql --ephemeral --partitions 0 -c 'SELECT 1'").code, 2);
  EXPECT_EQ(scyper("sql --wrong").code, 2);
  EXPECT_EQ(run("echo 'SELECT 40 + 2;' | " SCYPER_PROGRAM " sql --ephemeral -t").text, "       42\n\n");
}

TEST_F(ProgramsTest, TablesAreDescribedWithTheirRules) {
  std::string script =
      file("script.sql",
           "CREATE TABLE o (id integer PRIMARY KEY);\n"
           "CREATE TABLE t (a integer NOT NULL DEFAULT 7 CHECK (a > 0), b integer REFERENCES o ON DELETE CASCADE);\n"
           "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;\n"
           "CREATE TRIGGER g BEFORE INSERT OR UPDATE OF b ON t FOR EACH ROW EXECUTE FUNCTION f('x');\n"
           "\\d t\n");
  const std::string text = scyper("sql --ephemeral -f " + script).text;
  for (const char* part :
       {"a      | integer | not null | 7", "b      | integer |          |", "CONSTRAINT t_a_check CHECK ((a > 0))",
        "CONSTRAINT t_b_fkey FOREIGN KEY (b) REFERENCES o(id) ON DELETE CASCADE",
        "TRIGGER g BEFORE INSERT OR UPDATE OF b FOR EACH ROW EXECUTE FUNCTION f(x)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST_F(ProgramsTest, ANodeServesAllCommands) {
  start("--partitions 2 --workers 1");
  Output loaded = scyper("load ch --warehouses 2 --scale tiny --check" + target_);
  EXPECT_EQ(loaded.code, 0) << loaded.text;
  auto status = nlohmann::json::parse(scyper("status -o json" + target_).text);
  EXPECT_EQ(status["partitions"], 2);
  EXPECT_EQ(scyper("call tpcc_stock_level 1 1 15" + target_).code, 0);
  Output failed = scyper("call tpcc_new_order 1 1 1 '{999999}' '{1}' '{1}'" + target_);
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.text, "ERROR:  item number is not valid\n");
  EXPECT_EQ(scyper("sql -c 'CREATE TABLE t (a int PRIMARY KEY, b varchar(3))'" + target_).code, 0);
  Output csv = scyper("load t " + file("t.csv", "1,x\n2,long\n1,y\n3,\n") + target_);
  EXPECT_EQ(csv.code, 1);
  EXPECT_NE(csv.text.find("line 2: 22001"), std::string::npos) << csv.text;
  EXPECT_NE(csv.text.find("line 3: 23505"), std::string::npos) << csv.text;
  EXPECT_NE(csv.text.find("2 rows loaded, 2 rejected"), std::string::npos) << csv.text;
  EXPECT_EQ(scyper("sql -o csv -t -c 'SELECT * FROM t ORDER BY a'" + target_).text, "1,x\n3,\n");
  Output bench =
      scyper("bench oltp --loaded --warehouses 2 --scale tiny --transactions 2000 --check -o json" + target_);
  EXPECT_EQ(bench.code, 0) << bench.text;
  EXPECT_EQ(nlohmann::json::parse(bench.text)["transactions"], 2000);
  EXPECT_EQ(stop(), 0);
  EXPECT_EQ(scyper("status" + target_).code, 3);
}

// In this process and on a node.
TEST_F(ProgramsTest, ScriptsCopy) {
  start("--partitions 2 --workers 1");
  const std::string text = file("rows.csv", "7,seven\n8,\"a, b\"\n");
  const std::string out = file("out.txt", "");
  const std::string script = file("copy.sql",
                                  "CREATE TABLE t (a integer PRIMARY KEY, b text);\n"
                                  "COPY t FROM STDIN; SELECT count(*) AS n FROM t;\n"
                                  "1\tone\n2\t\\N\n\\.\n"
                                  "COPY t FROM STDIN;\n3\tthree\nSELECT 1;\n\\.\n"
                                  "COPY nothing FROM STDIN;\n"
                                  "\\copy t FROM '" +
                                      text +
                                      "' CSV\n"
                                      "\\copy t (a) FROM STDIN\n9\n\\.\n"
                                      "\\copy t (a) FROM PROGRAM 'echo 10; false'\n"
                                      "\\copy (SELECT * FROM t WHERE a < 3 ORDER BY a) TO '" +
                                      out +
                                      "'\n"
                                      "\\copy t FROM /nowhere/file\n"
                                      "\\copy (SELECT * FROM t WHERE a > 6 ORDER BY a) TO STDOUT (FORMAT csv, HEADER)\n"
                                      "COPY (SELECT a FROM t ORDER BY a LIMIT 1) TO STDOUT;\n"
                                      "COPY t (a) FROM STDIN;\n20\n");
  for (const std::string& where : {std::string(" --ephemeral"), target_}) {
    const Output output = scyper("sql -f " + script + where);
    EXPECT_EQ(output.code, 1);
    EXPECT_EQ(output.text,
              "CREATE TABLE\nCOPY 2\n n \n---\n 2\n(1 row)\n\n"
              "ERROR:  invalid input syntax for type integer: \"SELECT 1;\"\n"
              "CONTEXT:  COPY t, line 2, column a: \"SELECT 1;\"\n"
              "ERROR:  relation \"nothing\" does not exist\n"
              "COPY 2\nCOPY 1\n"
              "ERROR:  program \"echo 10; false\" failed\n"
              "COPY 2\n"
              "ERROR:  /nowhere/file: No such file or directory\n"
              "a,b\n7,seven\n8,\"a, b\"\n9,\n1\nCOPY 1\n")
        << where;
    EXPECT_EQ(run("cat " + out).text, "1\tone\n2\t\\N\n");
  }
  EXPECT_EQ(run("printf '30\\n31\\n' | " SCYPER_PROGRAM " sql -c 'COPY t (a) FROM STDIN' -c 'SELECT count(*) FROM t'" +
                target_)
                .text,
            "COPY 2\n count \n-------\n     8\n(1 row)\n\n");
}

// The same calls give the same answers and tables whichever way they take.
TEST_F(ProgramsTest, BenchmarksAgreeOnOutcomes) {
  std::string flags = "bench oltp --warehouses 2 --scale tiny --transactions 3000 --digest --check -o json ";
  auto digests_of = [&](const std::string& more) {
    Output out = scyper(flags + more);
    EXPECT_EQ(out.code, 0) << out.text;
    auto report = nlohmann::json::parse(out.text, nullptr, /*allow_exceptions=*/false);
    return report.is_object() ? report["digest"].dump() + report["tables"].dump() : out.text;
  };
  std::string expected = digests_of("--in-process");
  for (const char* more : {"--grpc", "--grpc --batch 7", "--grpc --unary", "--in-process --execution interpreted",
                           "--in-process --layout row", "--in-process --redo physical --partitions 5"}) {
    EXPECT_EQ(digests_of(more), expected) << more;
  }
}

TEST_F(ProgramsTest, TheDemoRuns) {
  Output demo = scyper("demo --warehouses 1 --scale tiny --seconds 1.5");
  EXPECT_EQ(demo.code, 0) << demo.text;
  EXPECT_NE(demo.text.find("What to try next"), std::string::npos) << demo.text;
  EXPECT_EQ(demo.text.find("FAIL"), std::string::npos) << demo.text;
  EXPECT_NE(demo.text.find("| kill-primary | quorum_durable | 1 |"), std::string::npos) << demo.text;
}

}  // namespace
}  // namespace scyper
