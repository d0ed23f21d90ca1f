// SPDX-License-Identifier: Apache-2.0
// The manual names everything that the tables of the program have: options and their choices, flags of commands, routes,
// metrics and templates of sweeps; and its commands can be typed as they are.
#include <QRegularExpression>
#include <QTest>
#include <algorithm>
#include <fstream>
#include <span>
#include <sstream>

#include "app/api/manual.h"
#include "app/api/sweep_metrics.h"
#include "app/api/sweep_plan.h"
#include "app/api/sweep_templates.h"
#include "app/cli/command.h"
#include "app/cli/option_flags.h"
#include "app/server/dialect.h"
#include "engine/api/options.h"
#include "engine/api/sampling_params.h"
#include "tests/support/cli_run.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"

namespace coverage_test {

using namespace lathe::app;
using lathe::engine::OptionDescriptor;
using lathe::tests::run_cli;

namespace {

QString text_of(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

std::vector<OptionDescriptor> all_options() {
  std::vector<OptionDescriptor> all;
  for (const auto& table :
       {lathe::engine::engine_option_table(), lathe::engine::sampling_option_table(), workload_option_table()})
    all.insert(all.end(), table.begin(), table.end());
  return all;
}

/// As the manual defines it: "--no-warm-up" -> "warm_up".
std::string name_of(const QString& flag) {
  const auto names = defined_names((flag + ": x").toStdString());
  return names.empty() ? std::string() : names.front();
}

bool is_option(const std::string& name) {
  const auto options = all_options();
  return std::any_of(options.begin(), options.end(), [&](const OptionDescriptor& option) { return option.name == name; });
}

/// Flags that a help defines, each at the start of its line.
QStringList flags_of_help(const std::string& help) {
  static const QRegularExpression kFlag(QStringLiteral("^\\s+(?:-\\w,)?(--[a-z0-9][a-z0-9-]*)"),
                                        QRegularExpression::MultilineOption);
  QStringList flags;
  for (auto at = kFlag.globalMatch(QString::fromStdString(help)); at.hasNext();) flags.append(at.next().captured(1));
  return flags;
}

/// Every help of a command: of its modes too.
std::vector<std::string> helps_of(const Command& command) {
  if (command.name != "eval") return {run_cli({std::string(command.name), "--help"}).out};
  std::vector<std::string> helps;
  for (const char* mode : {"perplexity", "kl", "compare"}) helps.push_back(run_cli({"eval", mode, "--help"}).out);
  return helps;
}

const ManualSection* section_of(const std::vector<ManualSection>& sections, const std::string& heading) {
  const auto found = std::find_if(sections.begin(), sections.end(),
                                  [&](const ManualSection& section) { return section.heading == heading; });
  return found == sections.end() ? nullptr : &*found;
}

/// Where a flag of a command may be defined: its section, what all commands share, and pages that its section names.
bool defines(const Command& command, const std::string& name) {
  const std::vector<ManualSection> sections = sections_of(*find_manual_page("commands"));
  const std::string heading = "lathe " + std::string(command.name);
  const ManualSection* const own = section_of(sections, heading);
  if (own == nullptr) return false;
  return std::any_of(manual_entries().begin(), manual_entries().end(), [&](const ManualEntry& entry) {
    if (entry.name != name) return false;
    if (entry.page->name == "commands") return entry.heading == heading || entry.heading == "Options of several commands";
    return is_option(name) || own->text.find("(" + std::string(entry.page->name) + ".md") != std::string_view::npos;
  });
}

/// Lines of the code blocks of a page that start a command of lathe.
QStringList commands_in(std::string_view page) {
  QStringList lines;
  bool in_code = false;
  for (QString line : text_of(page).split('\n')) {
    if (line.startsWith("```")) in_code = !in_code;
    else if (in_code && line.startsWith("lathe ")) lines.append(line.section(" #", 0, 0).simplified());
  }
  return lines;
}

/// The names in code font, sorted.
QStringList names_in(const QString& text) {
  static const QRegularExpression kName(QStringLiteral("`([^`]+)`"));
  QStringList names;
  for (auto at = kName.globalMatch(text); at.hasNext();) names.append(at.next().captured(1));
  names.sort();
  return names;
}

/// Each list of the values of an option in a page, sorted: the head of its definition ("- `--load constant|poisson`: ..."),
/// an item "- Values of `--NAME`: `a`, `b`." and the first column of a table that is headed "`--NAME`".
std::vector<QStringList> lists_of_values(const QString& flag, std::string_view page) {
  const QString text = text_of(page), in_code = "`" + flag + "`";
  std::vector<QStringList> lists;
  const auto each = [&](const QString& pattern, const auto& take) {
    const QRegularExpression form(pattern, QRegularExpression::MultilineOption);
    for (auto at = form.globalMatch(text); at.hasNext();) lists.push_back(take(at.next().captured(1)));
  };
  each("^- `" + flag + " ([^`|]+\\|[^`]+)`", [](const QString& values) {
    QStringList names = values.split('|');
    names.sort();
    return names;
  });
  each("^- Values of " + in_code + ":((?:.+\\n(?!- ))*.+)", names_in);
  each("^\\| " + in_code + " \\|.*\\n\\|---.*\\n((?:\\|.*\\n)+)", [](const QString& rows) {
    QString column;
    for (const QString& row : rows.split('\n')) column += row.section('|', 1, 1);
    return names_in(column);
  });
  return lists;
}

/// Empty: the manual has a list of the option's values, and each list has all of them and no other.
QString problem_of_values(const OptionDescriptor& option, std::span<const ManualPage> pages) {
  QStringList values;
  for (const QString& value : QString::fromStdString(lathe::engine::named_choices(option)).split('|')) values.append(value);
  values.sort();
  bool any = false;
  for (const ManualPage& page : pages) {
    for (const QStringList& list : lists_of_values(QString::fromStdString(flag_of(option.name)), page.text)) {
      any = true;
      if (list != values) return text_of(page.name) + ": " + list.join(", ") + "; the table has " + values.join(", ");
    }
  }
  return any ? QString() : QStringLiteral("no page lists the values");
}

}  // namespace

class CoverageTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_option_is_defined_data();
  void every_option_is_defined();
  void the_values_of_an_option_are_those_of_its_table_data();
  void the_values_of_an_option_are_those_of_its_table();
  void a_value_that_is_missing_or_gone_is_found();
  void every_flag_of_a_command_is_defined_data();
  void every_flag_of_a_command_is_defined();
  void every_route_is_defined();
  void every_metric_and_template_of_sweeps_is_named();
  void defined_options_exist();
  void what_is_missing_is_seen();
  void commands_can_be_typed_data();
  void commands_can_be_typed();
};

void CoverageTest::every_option_is_defined_data() {
  QTest::addColumn<QString>("name");
  for (const OptionDescriptor& option : all_options())
    QTest::addRow("%d %s", static_cast<int>(option.group), std::string(option.name).c_str()) << text_of(option.name);
}

void CoverageTest::every_option_is_defined() {
  QFETCH(QString, name);
  QVERIFY2(find_manual_entry(name.toStdString()) != nullptr,
           "no page of resources/manual has a line \"- `--NAME`...: ...\" for this option");
}

void CoverageTest::the_values_of_an_option_are_those_of_its_table_data() {
  QTest::addColumn<int>("index");
  const auto options = all_options();
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (options[i].kind == lathe::engine::OptionKind::choice)
      QTest::addRow("%s", std::string(options[i].name).c_str()) << static_cast<int>(i);
  }
}

void CoverageTest::the_values_of_an_option_are_those_of_its_table() {
  QFETCH(int, index);
  const QString problem = problem_of_values(all_options()[static_cast<std::size_t>(index)], manual_pages());
  QVERIFY2(problem.isEmpty(), qPrintable(problem));
}

void CoverageTest::a_value_that_is_missing_or_gone_is_found() {
  const OptionDescriptor option{"shape",     lathe::engine::OptionGroup::load, lathe::engine::OptionKind::choice, "", 0, 0,
                                "round|flat"};
  const auto problem = [&](std::string_view text) {
    const ManualPage page{"x", text};
    return problem_of_values(option, {&page, 1});
  };
  for (const char* whole : {"- `--shape flat|round` (flat): One of them.\n",
                            "- `--shape NAME`: See below.\n\n- Values of `--shape`: `round`,\n  `flat`.\n- Also `square`.\n",
                            "| `--shape` | In |\n|---|---|\n| `flat` (default), `round` | `x` |\n\nNot `square`.\n",
                            "| `--shape` | In |\n|---|---|\n| `flat` | a |\n| `round` | as `flat` |\n"})
    QVERIFY2(problem(whole).isEmpty(), qPrintable(problem(whole)));
  for (const char* other : {"- `--shape NAME`: `flat` or `round`.\n", "- `--shapes flat|round`: Another option.\n",
                            "- `--shape flat|round|square`: One too many.\n", "- Values of `--shape`: `round`.\n",
                            "| `--shape` | In |\n|---|---|\n| `flat` | `round` |\n",
                            "- `--shape flat|round`: One list.\n- Values of `--shape`: `round`, `square`.\n"})
    QVERIFY2(!problem(other).isEmpty(), other);
}

void CoverageTest::every_flag_of_a_command_is_defined_data() {
  QTest::addColumn<int>("index");
  for (int i = 0; i < static_cast<int>(command_table().size()); ++i)
    QTest::addRow("%s", std::string(command_table()[static_cast<std::size_t>(i)]->name).c_str()) << i;
}

void CoverageTest::every_flag_of_a_command_is_defined() {
  QFETCH(int, index);
  const Command& command = *command_table()[static_cast<std::size_t>(index)];
  for (const std::string& help : helps_of(command)) {
    const QStringList flags = flags_of_help(help);
    QVERIFY(!flags.isEmpty());
    for (const QString& flag : flags)
      QVERIFY2(defines(command, name_of(flag)), qPrintable(flag + " has no line in the section of its command"));
  }
}

void CoverageTest::every_route_is_defined() {
  int n_routes = 0;
  for (const Dialect* dialect : dialects()) {
    for (const Route& route : dialect->routes) {
      std::string name = std::string(route.method) + " " + std::string(route.path);
      if (const std::size_t star = name.find('*'); star != name.npos) name.replace(star, 1, "{id}");
      QVERIFY2(find_manual_entry(name) != nullptr, name.c_str());
      ++n_routes;
    }
  }
  QVERIFY(n_routes >= 9);
}

void CoverageTest::every_metric_and_template_of_sweeps_is_named() {
  for (const SweepMetric& metric : sweep_metrics()) {
    const std::string name = "`" + std::string(metric.name) + "`";
    QVERIFY2(find_manual_page("sweeps")->text.find(name) != std::string_view::npos, name.c_str());
  }
  for (const SweepTemplate& one : sweep_templates())
    QVERIFY2(find_manual_page("sweeps")->text.find(one.name) != std::string_view::npos, std::string(one.name).c_str());
}

/// An option that is gone leaves no line behind.
void CoverageTest::defined_options_exist() {
  QStringList known{"help", "version"};
  for (const Command* command : command_table()) {
    for (const std::string& help : helps_of(*command))
      for (const QString& flag : flags_of_help(help)) known.append(QString::fromStdString(name_of(flag)));
  }
  for (const ManualEntry& entry : manual_entries()) {
    if (entry.name.find('/') != std::string::npos) continue;
    const bool exists = is_option(entry.name) || known.contains(QString::fromStdString(entry.name));
    QVERIFY2(exists, (std::string(entry.page->name) + ": --" + entry.name).c_str());
  }
}

void CoverageTest::what_is_missing_is_seen() {
  QVERIFY(find_manual_entry("an_option_of_tomorrow") == nullptr);
  QVERIFY(find_manual_entry("GET /v1/tomorrow") == nullptr);
  const Command* const bench =
      *std::find_if(command_table().begin(), command_table().end(), [](const Command* one) { return one->name == "bench"; });
  QVERIFY(defines(*bench, "pp"));
  QVERIFY(!defines(*bench, "output"));  // of convert
  QCOMPARE(flags_of_help("  -q,--quiet   Not a --word.\n  --one N   x\n"), (QStringList{"--quiet", "--one"}));
}

void CoverageTest::commands_can_be_typed_data() {
  QTest::addColumn<QString>("line");
  for (const ManualPage& page : manual_pages()) {
    for (const QString& line : commands_in(page.text))
      QTest::addRow("%s: %s", std::string(page.name).c_str(), qPrintable(line)) << line;
  }
  std::ifstream file(lathe::tests::source_path("README.md"));
  std::stringstream readme;
  readme << file.rdbuf();
  static const QRegularExpression kCode(QStringLiteral("`(lathe [a-z][^`]*)`"));
  for (auto at = kCode.globalMatch(QString::fromStdString(readme.str())); at.hasNext();) {
    const QString line = at.next().captured(1);
    QTest::addRow("README: %s", qPrintable(line)) << line;
  }
}

/// The command exists and has every option of the line; files and models are the reader's.
void CoverageTest::commands_can_be_typed() {
  QFETCH(QString, line);
  const QString first = line.section(' ', 1, 1);
  if (first.isUpper() || first.startsWith('[')) return;  // "lathe DIR" opens the window
  const auto commands = command_table();
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const Command* command) { return text_of(command->name) == first; });
  QVERIFY2(found != commands.end(), qPrintable(first));
  QStringList known;
  for (const std::string& help : helps_of(**found))
    for (const QString& flag : flags_of_help(help)) known.append(QString::fromStdString(name_of(flag)));
  if ((*found)->name == "help") return;
  static const QRegularExpression kFlag(QStringLiteral("(?<=\\s)--[a-z][a-z0-9-]*"));
  for (auto at = kFlag.globalMatch(line); at.hasNext();) {
    const QString flag = at.next().captured(0);
    QVERIFY2(known.contains(QString::fromStdString(name_of(flag))), qPrintable(flag));
  }
}

LATHE_TEST(CoverageTest)

}  // namespace coverage_test
#include "coverage_test.moc"
