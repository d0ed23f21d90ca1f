// SPDX-License-Identifier: Apache-2.0
// lathe help: topics, pages, commands, options, and Markdown drawn for a terminal.
#include <QTest>
#include <algorithm>
#include <sstream>

#include "app/api/manual.h"
#include "app/cli/command.h"
#include "app/cli/terminal_markdown.h"
#include "app/cli/terminal_table.h"
#include "app/cli/wrapped_text.h"
#include "tests/support/cli_run.h"
#include "tests/support/test_class.h"

namespace help_command_test {

using namespace lathe::app;
using lathe::tests::CliRun;
using lathe::tests::run_cli;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The output that a reader at a terminal gets.
std::string on_terminal(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  Terminal terminal{.out = out, .err = err, .out_is_terminal = true};
  run_command_line(arguments, terminal);
  return out.str();
}

}  // namespace

class HelpCommandTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void without_a_topic_every_page_has_a_line();
  void a_page_is_Markdown_for_a_pipe();
  void a_page_is_drawn_for_a_terminal();
  void an_unknown_topic_names_the_nearest_data();
  void an_unknown_topic_names_the_nearest();
  void a_command_gets_its_help();
  void an_option_gets_its_section();
  void no_line_is_wider_than_the_terminal();
  void marks_of_Markdown_are_gone();
  void a_table_becomes_columns();
  void cells_that_do_not_fit_are_wrapped();
  void code_stays_as_it_is();
  void items_hang_under_their_mark();
  void styles_come_only_when_asked_for();
  void umlauts_are_one_column();
};

void HelpCommandTest::without_a_topic_every_page_has_a_line() {
  const CliRun run = run_cli({"help"});
  QCOMPARE(run.code, std::optional<int>(0));
  QVERIFY(run.err.empty());
  for (const ManualPage& page : manual_pages()) {
    const auto lines = lines_of(run.out);
    const auto n = std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.starts_with("  " + std::string(page.name) + " ");
    });
    QVERIFY2(n == 1, std::string(page.name).c_str());
  }
  for (const std::string& line : lines_of(run.out))
    QVERIFY2(columns_of(line) <= 80 || line.starts_with("The help of a command"), line.c_str());
}

void HelpCommandTest::a_page_is_Markdown_for_a_pipe() {
  for (const ManualPage& page : manual_pages()) {
    const CliRun run = run_cli({"help", std::string(page.name)});
    QCOMPARE(run.code, std::optional<int>(0));
    QVERIFY2(run.out == page.text, std::string(page.name).c_str());
  }
}

void HelpCommandTest::a_page_is_drawn_for_a_terminal() {
  const std::string text = on_terminal({"help", "policies"});
  QVERIFY(text.find("Batching policies") != std::string::npos);
  QVERIFY(text.find("# Batching") == std::string::npos);
  QVERIFY(text.find("|---") == std::string::npos);
}

void HelpCommandTest::an_unknown_topic_names_the_nearest_data() {
  QTest::addColumn<QString>("topic");
  QTest::addColumn<QString>("nearest");
  QTest::newRow("page") << "polices" << "policies";
  QTest::newRow("in capitals") << "Server" << "server";
  QTest::newRow("command") << "benhc" << "bench";
}

void HelpCommandTest::an_unknown_topic_names_the_nearest() {
  QFETCH(QString, topic);
  QFETCH(QString, nearest);
  const CliRun run = run_cli({"help", topic.toStdString()});
  QCOMPARE(run.code, std::optional<int>(2));
  QVERIFY(run.out.empty());
  QVERIFY2(run.err.find("did you mean '" + nearest.toStdString() + "'?") != std::string::npos, run.err.c_str());
  QCOMPARE(lines_of(run.err).size(), std::size_t{1});
}

void HelpCommandTest::a_command_gets_its_help() {
  for (const Command* command : command_table()) {
    const std::string name(command->name);
    if (find_manual_page(name) != nullptr) continue;  // the page explains the command too
    const CliRun help = run_cli({"help", name});
    QCOMPARE(help.code, std::optional<int>(0));
    QVERIFY2(help.out == run_cli({name, "--help"}).out, name.c_str());
  }
}

void HelpCommandTest::an_option_gets_its_section() {
  for (const char* word : {"--no-enable-prefix-caching", "/metrics", "GET /metrics"})
    QVERIFY2(run_cli({"help", word}).code == 0, word);
  for (const char* word : {"--max-num-seqs", "max_num_seqs"}) {
    const CliRun run = run_cli({"help", word});
    QVERIFY2(run.code == 0, run.err.c_str());
    QVERIFY(run.out.starts_with("## Scheduling\n"));
    QVERIFY(run.out.find("`--max-num-seqs N`") != std::string::npos);
    QVERIFY(run.out.find("## Chat options") == std::string::npos);
  }
}

/// Code and the longest word of a cell are not cut.
void HelpCommandTest::no_line_is_wider_than_the_terminal() {
  for (const std::size_t width : {40, 80, 110}) {
    for (const ManualPage& page : manual_pages()) {
      std::string text;
      for (const std::string& line : lines_of(std::string(page.text)))
        if (!line.starts_with('|')) text += line + '\n';
      for (const std::string& line : lines_of(terminal_markdown(text, width, true))) {
        const std::size_t first = line.find_first_not_of(" -");
        const bool is_code = line.starts_with("    "), is_one_word = line.find(' ', first) == line.npos;
        QVERIFY2(columns_of(line) <= width || is_code || is_one_word, (std::string(page.name) + ": " + line).c_str());
      }
    }
  }
}

void HelpCommandTest::marks_of_Markdown_are_gone() {
  const std::string text = terminal_markdown("# A\n\nb `c d` **e** [f](g.md)\nh\n", 80, false);
  QCOMPARE(text, std::string("A\n\nb c d e f (lathe help g) h\n"));
}

void HelpCommandTest::a_table_becomes_columns() {
  const std::string text = terminal_markdown("| a | bcd |\n|---|---|\n| efg | h |\n", 80, false);
  QCOMPARE(text, std::string("a    bcd\n---  ---\nefg  h\n"));
}

void HelpCommandTest::cells_that_do_not_fit_are_wrapped() {
  const std::string text = terminal_table({{"a", "one two three"}, {"b", "four"}}, 0, 12);
  QCOMPARE(text, std::string("a  one two\n   three\n\nb  four\n"));
}

void HelpCommandTest::code_stays_as_it_is() {
  const std::string text = terminal_markdown("a\n\n```sh\nx  y   z\n\n# w\n```\n\nb\n", 40, false);
  QCOMPARE(text, std::string("a\n\n    x  y   z\n\n    # w\n\nb\n"));
}

void HelpCommandTest::items_hang_under_their_mark() {
  const std::string text = terminal_markdown("a\n\n- one two three four five six seven eight nine ten\n- b\n", 40, false);
  QCOMPARE(text, std::string("a\n\n- one two three four five six seven\n  eight nine ten\n- b\n"));
}

void HelpCommandTest::styles_come_only_when_asked_for() {
  QVERIFY(terminal_markdown("# A\n\n`b`\n", 80, false).find('\x1b') == std::string::npos);
  QVERIFY(terminal_markdown("# A\n\n`b`\n", 80, true).find('\x1b') != std::string::npos);
}

void HelpCommandTest::umlauts_are_one_column() {
  QCOMPARE(columns_of("größe ±"), std::size_t{7});
  QCOMPARE(columns_of("\x1b[1mab\x1b[0m"), std::size_t{2});
  QCOMPARE(wrap("größe größe", 11).size(), std::size_t{1});
  QCOMPARE(wrap("", 10).size(), std::size_t{1});
}

LATHE_TEST(HelpCommandTest)

}  // namespace help_command_test
#include "help_command_test.moc"
