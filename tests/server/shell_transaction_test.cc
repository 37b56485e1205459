// BEGIN ... COMMIT in the shell, against a real node.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "real_node.h"
#include "session.h"
#include "shell.h"

namespace scyper::server {
namespace {

class ShellTransactionTest : public RealNodeTest {
 protected:
  ShellTransactionTest() {
    start_node({}, {});
    run("CREATE TABLE x (a integer PRIMARY KEY)");
    session_ = client::remote_session(connect(), "node");
    client::ShellOptions options;
    options.is_verbose = true;
    shell_ = std::make_unique<client::Shell>(session_.get(), options, out_, err_);
  }
  ~ShellTransactionTest() override {
    std::fclose(out_);
    std::fclose(err_);
  }
  // What a line prints, errors and all.
  std::string feed(const std::string& line) {
    const long out = std::ftell(out_), err = std::ftell(err_);
    shell_->feed_line(line);
    return rest_of(err_, err) + rest_of(out_, out);
  }
  static std::string rest_of(std::FILE* file, long from) {
    std::fflush(file);
    std::string text(4096, '\0');
    std::fseek(file, from, SEEK_SET);
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fseek(file, 0, SEEK_END);
    return text;
  }
  static void expect_has(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" has no \"" << part << '"';
  }

  std::FILE* const out_ = std::tmpfile();
  std::FILE* const err_ = std::tmpfile();
  std::unique_ptr<client::Session> session_;
  std::unique_ptr<client::Shell> shell_;
};

TEST_F(ShellTransactionTest, ThePromptShowsTheState) {
  EXPECT_EQ(shell_->prompt(), "scyper=> ");
  expect_has(feed("BEGIN;"), "BEGIN");
  EXPECT_EQ(shell_->prompt(), "scyper=*> ");
  feed("INSERT INTO");
  EXPECT_EQ(shell_->prompt(), "scyper-*> ");
  expect_has(feed("x VALUES (1);"), "INSERT 0 1");
  expect_has(feed("SELECT count(*) FROM x;"), "     1\n");
  expect_has(feed("INSERT INTO x VALUES (1);"), "23505");
  EXPECT_EQ(shell_->prompt(), "scyper=!> ");
  expect_has(feed("SELECT 1;"), "25P02");
  expect_has(feed("COMMIT;"), "ROLLBACK");
  EXPECT_EQ(shell_->prompt(), "scyper=> ");
  expect_has(feed("SELECT count(*) FROM x;"), "     0\n");
}

TEST_F(ShellTransactionTest, CommitsAndRollsBack) {
  feed("-- a comment first\nSTART TRANSACTION ISOLATION LEVEL SERIALIZABLE; INSERT INTO x VALUES (1);");
  EXPECT_EQ(shell_->prompt(), "scyper=*> ");
  expect_has(feed("SHOW transaction_isolation;"), "serializable");
  expect_has(feed("SAVEPOINT s; INSERT INTO x VALUES (1); ROLLBACK TO s; END;"), "COMMIT");
  expect_has(feed("SELECT count(*) FROM x;"), "     1\n");
  feed("BEGIN; DELETE FROM x; ROLLBACK;");
  expect_has(feed("SELECT count(*) FROM x;"), "     1\n");
  feed("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;");
  expect_has(feed("SHOW transaction_deferrable;"), "on");
  feed("ROLLBACK; BEGIN READ ONLY;");
  expect_has(feed("SHOW transaction_deferrable;"), "off");
  expect_has(feed("DELETE FROM x;"), "25006");
  feed("ROLLBACK;");
  expect_has(feed("COMMIT;"), "no transaction in progress");
  expect_has(feed("BEGIN; BEGIN;"), "already a transaction in progress");
  expect_has(feed("ABORT;"), "ROLLBACK");
}

TEST_F(ShellTransactionTest, CopiesAndReadsCursors) {
  feed("BEGIN;");
  feed("COPY x FROM STDIN;");
  feed("7");
  feed("8");
  expect_has(feed("\\."), "COPY 2");
  feed("DECLARE c SCROLL CURSOR FOR SELECT a FROM x ORDER BY a;");
  expect_has(feed("FETCH LAST FROM c;"), " 8\n");
  expect_has(feed("FETCH PRIOR FROM c;"), " 7\n");
  expect_has(feed("PREPARE p AS SELECT a + $1 FROM x WHERE a = 8; EXECUTE p (100);"), " 108\n");
  feed("COPY x FROM STDIN;");
  feed("9");
  feed("7");
  expect_has(feed("\\."), "23505");
  EXPECT_EQ(shell_->prompt(), "scyper=!> ");
  feed("ROLLBACK;");
  expect_has(feed("SELECT count(*) FROM x;"), "     0\n");
}

// What follows a lost transaction in a script must not run on its own.
TEST_F(ShellTransactionTest, ALostTransactionIsAFailedOne) {
  feed("BEGIN; SET idle_in_transaction_session_timeout = '100ms'; INSERT INTO x VALUES (1);");
  std::string found;
  for (int i = 0; i < 600 && found.find("25P03") == std::string::npos; ++i) {
    ::usleep(200'000);
    found = feed("SELECT 1;");
  }
  expect_has(found, "25P03");
  EXPECT_EQ(shell_->prompt(), "scyper=!> ");
  expect_has(feed("INSERT INTO x VALUES (2);"), "25P02");
  expect_has(feed("COMMIT;"), "ROLLBACK");
  EXPECT_EQ(shell_->prompt(), "scyper=> ");
  expect_has(feed("SELECT count(*) FROM x;"), "     0\n");
  expect_has(feed("INSERT INTO x VALUES (3);"), "INSERT 0 1");
}

}  // namespace
}  // namespace scyper::server
