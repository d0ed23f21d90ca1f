// SPDX-License-Identifier: Apache-2.0
// The pages of the manual: form, links, lookup and search.
#include "app/api/manual.h"

#include <QRegularExpression>
#include <QTest>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"

namespace manual_test {

using namespace lathe::app;
using lathe::tests::source_path;

namespace {

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Targets of links: "[words](target)".
QStringList links_of(std::string_view text) {
  static const QRegularExpression kLink(QStringLiteral("\\]\\(([^)\\s]+)\\)"));
  QStringList links;
  for (auto at = kLink.globalMatch(QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()))); at.hasNext();)
    links.append(at.next().captured(1));
  return links;
}

bool has_section(const ManualPage& page, const std::string& slug) {
  const auto sections = sections_of(page);
  return std::any_of(sections.begin(), sections.end(), [&](const ManualSection& section) { return section.slug == slug; });
}

/// Empty: the link of a page leads to a page, and to a section of it.
QString problem_of_link(const ManualPage& from, const QString& link) {
  const QString file = link.section('#', 0, 0), slug = link.section('#', 1);
  if (!file.isEmpty() && !file.endsWith(".md")) return link + " is no page";
  const ManualPage* const page = file.isEmpty() ? &from : find_manual_page(file.chopped(3).toStdString());
  if (page == nullptr) return link + " names no page";
  return slug.isEmpty() || has_section(*page, slug.toStdString()) ? QString() : link + " names no section";
}

}  // namespace

class ManualTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_file_is_a_page_and_embedded_as_it_is();
  void pages_have_a_title_and_open_with_a_task();
  void links_between_pages_lead_somewhere();
  void a_dead_link_is_found();
  void headings_of_a_page_differ();
  void slugs_are_those_of_GitHub();
  void sections_cover_the_page();
  void names_are_read_from_definitions_data();
  void names_are_read_from_definitions();
  void a_name_on_two_pages_is_looked_up_where_it_is_preferred();
  void a_search_finds_every_word_in_any_case();
  void a_search_puts_headings_first();
  void a_search_for_nothing_finds_nothing();
  void the_readme_is_short_and_its_files_exist();
};

void ManualTest::every_file_is_a_page_and_embedded_as_it_is() {
  std::size_t n_files = 0;
  for (const auto& file : std::filesystem::directory_iterator(source_path("resources/manual"))) {
    const std::string name = file.path().stem().string();
    QCOMPARE(file.path().extension().string(), std::string(".md"));
    const ManualPage* const page = find_manual_page(name);
    QVERIFY2(page != nullptr, (name + ".md is not in app/CMakeLists.txt").c_str());
    QVERIFY2(page->text == file_text(file.path().string()), (name + " is embedded differently").c_str());
    ++n_files;
  }
  QCOMPARE(n_files, manual_pages().size());
  QVERIFY(n_files >= 10);
}

void ManualTest::pages_have_a_title_and_open_with_a_task() {
  for (const ManualPage& page : manual_pages()) {
    const std::string name(page.name);
    QVERIFY2(page.text.starts_with("# "), name.c_str());
    QVERIFY2(!page.title().empty() && page.title().size() < 30, name.c_str());
    QVERIFY2(page.task().starts_with("You want to "), (name + ": " + page.task()).c_str());
    QVERIFY2(page.task().ends_with('.') && page.task().size() <= 76, (name + ": " + page.task()).c_str());
  }
}

void ManualTest::links_between_pages_lead_somewhere() {
  int n_links = 0;
  for (const ManualPage& page : manual_pages()) {
    for (const QString& link : links_of(page.text)) {
      const QString problem = problem_of_link(page, link);
      QVERIFY2(problem.isEmpty(), qPrintable(QString::fromUtf8(page.name.data()) + ": " + problem));
      ++n_links;
    }
  }
  QVERIFY(n_links > 20);
}

void ManualTest::a_dead_link_is_found() {
  const ManualPage& page = *find_manual_page("policies");
  QVERIFY(problem_of_link(page, "serving.md#scheduling").isEmpty());
  QVERIFY(problem_of_link(page, "#the-four-policies").isEmpty());
  for (const char* link : {"nothing.md", "serving.md#nothing", "#nothing", "../../README.md", "https://example.org/"})
    QVERIFY2(!problem_of_link(page, link).isEmpty(), link);
}

void ManualTest::headings_of_a_page_differ() {
  for (const ManualPage& page : manual_pages()) {
    std::vector<std::string> slugs;
    for (const ManualSection& section : sections_of(page)) slugs.push_back(section.slug);
    std::sort(slugs.begin(), slugs.end());
    const auto twice = std::adjacent_find(slugs.begin(), slugs.end());
    QVERIFY2(twice == slugs.end(), (std::string(page.name) + ": " + (twice == slugs.end() ? "" : *twice)).c_str());
  }
}

void ManualTest::slugs_are_those_of_GitHub() {
  QCOMPARE(slug_of("KV cache"), std::string("kv-cache"));
  QCOMPARE(slug_of("`--top-k`, and more"), std::string("--top-k-and-more"));
  QCOMPARE(slug_of("POST /v1/chat/completions"), std::string("post-v1chatcompletions"));
  QCOMPARE(slug_of("Größe"), std::string("größe"));
}

void ManualTest::sections_cover_the_page() {
  for (const ManualPage& page : manual_pages()) {
    std::string joined;
    for (const ManualSection& section : sections_of(page)) joined += section.text;
    QVERIFY2(joined == page.text, std::string(page.name).c_str());
  }
  const ManualPage code{"x", "# A\n\n```sh\n# a comment\n```\n\n## B\n"};
  QCOMPARE(sections_of(code).size(), std::size_t{2});
}

void ManualTest::names_are_read_from_definitions_data() {
  QTest::addColumn<QString>("line");
  QTest::addColumn<QStringList>("names");
  QTest::newRow("option") << "- `--max-num-seqs N` (16): Requests." << QStringList{"max_num_seqs"};
  QTest::newRow("without marks") << "--max-num-seqs N (16): Requests." << QStringList{"max_num_seqs"};
  QTest::newRow("turned off") << "- `--no-enable-prefix-caching` (on): Do not." << QStringList{"enable_prefix_caching"};
  QTest::newRow("two") << "- `--a-b N`, `--c X`: Both." << QStringList{"a_b", "c"};
  QTest::newRow("another option in the sentence") << "- `--a`: See `--b`." << QStringList{"a"};
  QTest::newRow("a bar in the choices") << "- `--load a|b` (a): When." << QStringList{"load"};
  QTest::newRow("route") << "### POST /v1/completions" << QStringList{"POST /v1/completions"};
  QTest::newRow("route without marks") << "GET /v1/models/{id}" << QStringList{"GET /v1/models/{id}"};
  QTest::newRow("sentence") << "With `--a` it does: nothing." << QStringList{};
  QTest::newRow("item of a list") << "- Use `--a`: it helps." << QStringList{};
  QTest::newRow("no colon") << "- `--a` and no more" << QStringList{};
  QTest::newRow("row of a table") << "| `--a` | b: c |" << QStringList{};
  QTest::newRow("verb alone") << "POST is a method" << QStringList{};
  QTest::newRow("nothing") << "" << QStringList{};
}

void ManualTest::names_are_read_from_definitions() {
  QFETCH(QString, line);
  QFETCH(QStringList, names);
  QStringList found;
  for (const std::string& name : defined_names(line.toStdString())) found.append(QString::fromStdString(name));
  QCOMPARE(found, names);
}

void ManualTest::a_name_on_two_pages_is_looked_up_where_it_is_preferred() {
  QVERIFY(find_manual_entry("seed", "sampling")->page->name == "sampling");
  QVERIFY(find_manual_entry("seed", "serving")->page->name == "serving");
  QVERIFY(find_manual_entry("top_k", "serving")->page->name == "sampling");
  QVERIFY(find_manual_entry("seed")->heading == "Scheduling");
  QVERIFY(find_manual_entry("frobnicate") == nullptr);
  QVERIFY(find_manual_entry("") == nullptr);
}

void ManualTest::a_search_finds_every_word_in_any_case() {
  const auto lower = search_manual("padding hatches"), upper = search_manual("  PADDING   Hatches ");
  QCOMPARE(lower.size(), std::size_t{1});
  QCOMPARE(upper.size(), std::size_t{1});
  QVERIFY(lower.front().section.page->name == "policies");
  QVERIFY(lower.front().excerpt.find("padding") != std::string::npos);
  QVERIFY(search_manual("padding xylophone").empty());
  for (const ManualHit& hit : search_manual("kv cache")) QVERIFY(hit.excerpt.find_first_of("|`*") == std::string::npos);
}

void ManualTest::a_search_puts_headings_first() {
  const auto hits = search_manual("smoothquant");
  QVERIFY(hits.size() > 3);
  QVERIFY(hits.front().section.heading == "SmoothQuant");
}

void ManualTest::a_search_for_nothing_finds_nothing() {
  QVERIFY(search_manual("").empty());
  QVERIFY(search_manual("   ").empty());
}

void ManualTest::the_readme_is_short_and_its_files_exist() {
  const std::string readme = file_text(source_path("README.md"));
  QVERIFY(std::count(readme.begin(), readme.end(), '\n') <= 180);
  static const QRegularExpression kFile(
      QStringLiteral("`((?:tests|resources|packaging|kernels|engine|app|ui)/[\\w./-]*|[A-Z]+\\.md|LICENSES/)`"));
  QStringList files = links_of(readme);
  for (auto at = kFile.globalMatch(QString::fromStdString(readme)); at.hasNext();) files.append(at.next().captured(1));
  QVERIFY(files.size() > 20);
  for (const QString& file : files) {
    const bool exists = std::filesystem::exists(source_path(file.section('#', 0, 0).toStdString()));
    QVERIFY2(exists, qPrintable(file));
  }
  for (const ManualPage& page : manual_pages())
    QVERIFY2(files.contains(QString::fromStdString("resources/manual/" + std::string(page.name) + ".md")),
             std::string(page.name).c_str());
}

LATHE_TEST(ManualTest)

}  // namespace manual_test
#include "manual_test.moc"
