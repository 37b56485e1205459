#include "command_tree.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace scyper::client {
namespace {

class CommandTreeTest : public testing::Test {
 protected:
  CommandTreeTest() {
    app_.add_option("--target", target_, "who's asked")->envname("SCYPER_TARGET")->capture_default_str();
    CLI::App* bench = app_.add_subcommand("bench", "measures");
    CLI::App* log = bench->add_subcommand("log", "the log\nmore of it");
    log->add_option("-o,--output", output_, "how it looks")->check(CLI::IsMember({"table", "json"}));
    log->add_flag("--keep", keeps_, "leave it");
    log->add_option("--hidden", target_, "never shown")->group("");
    CLI::App* man = app_.add_subcommand("man", "a page");
    man->add_option("PAGE", page_, "which")->check(CLI::IsMember({"one", "two"}))->required();
    app_.add_subcommand("secret", "never shown")->group("");
  }
  CLI::App app_{"A program.", "prog"};
  std::string target_ = "here", output_, page_;
  bool keeps_ = false;
};

TEST_F(CommandTreeTest, HasWhatTheParserHas) {
  const Command tree = read_command_tree(app_);
  ASSERT_EQ(tree.commands.size(), 2u);
  const CommandOption& target = tree.options.at(1);
  EXPECT_EQ(target.names, std::vector<std::string>{"--target"});
  EXPECT_EQ(target.default_text, "here");
  EXPECT_EQ(target.variable, "SCYPER_TARGET");
  const Command& log = tree.commands[0].commands.at(0);
  ASSERT_EQ(log.options.size(), 3u);  // --help, and two
  EXPECT_EQ(log.options[1].names, (std::vector<std::string>{"-o", "--output"}));
  EXPECT_EQ(log.options[1].choices, (std::vector<std::string>{"table", "json"}));
  EXPECT_EQ(log.options[2].value, "");
  const CommandOption& page = tree.commands[1].options.at(1);
  EXPECT_TRUE(page.is_positional && page.is_required);
  EXPECT_EQ(page.choices, (std::vector<std::string>{"one", "two"}));
}

TEST_F(CommandTreeTest, ManualPagesAreWhatTroffTakes) {
  ManualText text{.section = 1, .version = "1.0", .summary = "a program", .sections = {{"FILES", ".profile\n\nmore"}}};
  const std::string page = manual_page(read_command_tree(app_), text);
  EXPECT_NE(page.find(".TH PROG 1 \"\" \"ScyPer 1.0\" \"ScyPer\"\n.SH NAME\nprog \\- a program\n"), std::string::npos);
  EXPECT_NE(page.find(".SS prog bench log\nthe log\nmore of it\n.TP\n.B \\-o, \\-\\-output "), std::string::npos)
      << page;
  EXPECT_NE(page.find(".SS prog man PAGE\n"), std::string::npos) << page;
  EXPECT_NE(page.find("(default: here) (environment: SCYPER_TARGET)"), std::string::npos) << page;
  EXPECT_NE(page.find(".SH FILES\n\\&.profile\n.PP\nmore\n"), std::string::npos) << page;
  EXPECT_EQ(page.find("secret"), std::string::npos);
  EXPECT_EQ(page.find("hidden"), std::string::npos);
}

}  // namespace
}  // namespace scyper::client
