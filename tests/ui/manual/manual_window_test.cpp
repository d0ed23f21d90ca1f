// SPDX-License-Identifier: GPL-3.0-or-later
// The manual in the window: pages, links, search, back and forward, themes, and F1 on controls of every panel.
#include "ui/manual/manual_window.h"

#include <QComboBox>
#include <QScrollBar>
#include <QSpinBox>
#include <QTextBlock>

#include "tests/support/test_class.h"
#include "tests/ui/window_fixture.h"

namespace manual_window_test {

using namespace lathe;
using namespace lathe::tests;
using namespace lathe::ui;

namespace {

struct Shown {
  explicit Shown(WindowFixture& fixture) : window(fixture.find<ManualWindow>("manual")) {
    if (window == nullptr) return;
    view = window->findChild<ManualView*>();
    list = window->findChild<ManualList*>();
    field = window->findChild<QLineEdit*>("manual.search");
  }
  ManualWindow* window;
  ManualView* view = nullptr;
  ManualList* list = nullptr;
  QLineEdit* field = nullptr;

  /// Whether a line with these words is in sight.
  bool shows(const QString& words) const {
    for (QTextBlock block = view->document()->begin(); block.isValid(); block = block.next())
      if (block.text().startsWith(words) || block.text().startsWith("\u2022\t" + words))
        return view->viewport()->rect().contains(view->cursorRect(QTextCursor(block)).center());
    return false;
  }
};

/// The target of F1 while a control has the focus.
ManualTarget target_of(WindowFixture& fixture, const char* control) {
  auto* const widget = fixture.find<QWidget>(control);
  return widget == nullptr ? ManualTarget{"no such control", {}} : manual_target_of(widget);
}

}  // namespace

class ManualWindowTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void the_menu_opens_the_first_page();
  void f1_opens_at_the_control_with_the_focus();
  void every_option_of_the_model_dock_has_its_section();
  void controls_lead_to_their_definitions();
  void a_control_without_an_option_leads_to_its_panel();
  void the_list_has_every_page_and_the_sections_of_the_open_one();
  void a_target_is_scrolled_to_the_top_and_marked();
  void links_lead_to_pages_and_sections();
  void back_and_forward_keep_the_scroll_position();
  void a_search_lists_sections_and_marks_words();
  void a_search_without_a_hit_says_so();
  void escape_clears_the_search_then_closes();
  void the_page_follows_the_theme();
  void every_link_of_every_page_can_be_followed();
  void tables_and_code_are_drawn();
};

void ManualWindowTest::the_menu_opens_the_first_page() {
  WindowFixture fixture;
  QVERIFY(fixture.find<ManualWindow>("manual") == nullptr);
  fixture.trigger("help.manual");
  const Shown shown(fixture);
  QVERIFY(shown.window != nullptr && shown.window->isVisible());
  QCOMPARE(shown.window->target().page, QString("window"));
  fixture.trigger("help.manual");
  QCOMPARE(fixture.window->findChildren<ManualWindow*>().size(), 1);
}

void ManualWindowTest::f1_opens_at_the_control_with_the_focus() {
  WindowFixture fixture;
  QVERIFY(fixture.load_model());  // without a model the dock shows sources instead of options
  fixture.show_panel("model");
  auto* const field = fixture.find<QSpinBox>("model.max_num_seqs");
  fixture.window->activateWindow();
  QVERIFY(QTest::qWaitForWindowActive(fixture.window.get()));
  QTRY_VERIFY(field->isVisible());
  field->setFocus();
  QTRY_COMPARE(QApplication::focusWidget(), field);
  QTest::keyClick(field, Qt::Key_F1);
  const Shown shown(fixture);
  QVERIFY(shown.window != nullptr);
  QCOMPARE(shown.window->target().page, QString("serving"));
  QCOMPARE(shown.window->target().anchor, QString("max_num_seqs"));
  QVERIFY(shown.shows("--max-num-seqs"));
}

void ManualWindowTest::every_option_of_the_model_dock_has_its_section() {
  WindowFixture fixture;
  int n = 0;
  for (const engine::OptionDescriptor& option : engine::engine_option_table()) {
    const std::string name(option.name);
    const auto* const control = fixture.find<QWidget>(("model." + name).c_str());
    if (control == nullptr) continue;
    QCOMPARE(manual_target_of(control).anchor.toStdString(), name);
    ++n;
  }
  QVERIFY(n >= 20);
}

void ManualWindowTest::controls_lead_to_their_definitions() {
  const struct {
    const char *control, *page, *anchor;
  } rows[] = {
      {"model.max_model_len.spin", "serving", "max_model_len"},
      {"model.context.4096", "serving", "max_model_len"},
      {"model.kv_memory", "serving", "kv_cache_memory_bytes"},
      {"model.quantization", "quantization", "quantization"},
      {"sampling.seed", "sampling", "seed"},
      {"sampling.seed.kind", "sampling", "seed"},
      {"sampling.top_k.on", "sampling", "top_k"},
      {"sampling.stop.add", "sampling", "stop"},
      {"serve.port", "server", "port"},
      {"serve.key", "server", "api_key"},
      {"serve.cors", "server", "allowed_origins"},
      {"bench.load", "sweeps", "load"},
      {"bench.shuffle", "sweeps", "in_order"},
      {"bench.goal_ttft", "sweeps", "goal_ttft_ms"},
      {"bench.think_time", "sweeps", "think_time"},
      {"bench.repeats", "sweeps", "repeats"},
      {"bench.target.choice", "sweeps", "target"},
  };
  WindowFixture fixture;
  for (const auto& row : rows) {
    const ManualTarget target = target_of(fixture, row.control);
    QVERIFY2(target.page == row.page && target.anchor == row.anchor,
             qPrintable(QString("%1 leads to %2 %3").arg(row.control, target.page, target.anchor)));
  }
}

void ManualWindowTest::a_control_without_an_option_leads_to_its_panel() {
  WindowFixture fixture;
  for (const auto& [control, page, anchor] : {std::tuple{"composer.field", "window", "#chat"},
                                              {"model.load", "window", "#model-dock"},
                                              {"sampling.preset", "sampling", ""},
                                              {"serve.autostart", "server", ""},
                                              {"bench.start", "sweeps", ""},
                                              {"kv.freeze", "window", "#kv-cache"},
                                              {"monitor.freeze", "window", "#monitor"}}) {
    const ManualTarget target = target_of(fixture, control);
    QCOMPARE(target.page, QString(page));
    QCOMPARE(target.anchor, QString(anchor));
  }
  QCOMPARE(manual_target_of(nullptr).page, QString("window"));
  QCOMPARE(manual_target_of(fixture.window.get()).page, QString("window"));
}

void ManualWindowTest::the_list_has_every_page_and_the_sections_of_the_open_one() {
  WindowFixture fixture;
  fixture.trigger("help.manual");
  const Shown shown(fixture);
  const std::size_t n_sections = app::sections_of(*app::find_manual_page("window")).size() - 1;  // all but the title
  QCOMPARE(static_cast<std::size_t>(shown.list->count()), app::manual_pages().size() + n_sections);
  Q_EMIT shown.list->itemClicked(shown.list->item(shown.list->count() - 1));
  QCOMPARE(shown.window->target().page, QString("measured"));
}

void ManualWindowTest::a_target_is_scrolled_to_the_top_and_marked() {
  WindowFixture fixture;
  fixture.trigger("help.manual");
  const Shown shown(fixture);
  for (const app::ManualEntry& entry : app::manual_entries()) {
    const QString page = QString::fromUtf8(entry.page->name.data(), static_cast<qsizetype>(entry.page->name.size()));
    shown.window->open_at({page, QString::fromStdString(entry.name)});
    QVERIFY2(shown.view->go_to(QString::fromStdString(entry.name)), entry.name.c_str());
    QCOMPARE(shown.view->extraSelections().size(), 1);
    QVERIFY(!shown.view->extraSelections().front().cursor.selectedText().isEmpty());
  }
  QVERIFY(!shown.view->go_to("no_such_option"));
  QVERIFY(!shown.view->go_to("#no-such-section"));
}

void ManualWindowTest::links_lead_to_pages_and_sections() {
  WindowFixture fixture;
  fixture.trigger("help.manual");
  const Shown shown(fixture);
  shown.window->open_at({"policies", {}});
  Q_EMIT shown.view->anchorClicked(QUrl("serving.md#scheduling"));
  QCOMPARE(shown.window->target().page, QString("serving"));
  QVERIFY(shown.shows("Scheduling"));
  QVERIFY(!shown.shows("You want to"));
  Q_EMIT shown.view->anchorClicked(QUrl("#kv-cache"));
  QCOMPARE(shown.window->target().page, QString("serving"));
  QVERIFY(shown.shows("KV cache"));
  for (const char* bad : {"https://example.org/x.md", "file:///etc/passwd", "nothing.md"}) {
    Q_EMIT shown.view->anchorClicked(QUrl(bad));
    QCOMPARE(shown.window->target().anchor, QString("#kv-cache"));
  }
}

void ManualWindowTest::back_and_forward_keep_the_scroll_position() {
  WindowFixture fixture;
  fixture.trigger("help.manual");
  const Shown shown(fixture);
  auto* const back = shown.window->findChild<QAbstractButton*>("manual.back");
  auto* const forward = shown.window->findChild<QAbstractButton*>("manual.forward");
  QVERIFY(!back->isEnabled() && !forward->isEnabled());
  shown.window->open_at({"models", {}});
  shown.view->verticalScrollBar()->setValue(200);
  shown.window->open_at({"sweeps", "turns"});
  back->click();
  QCOMPARE(shown.window->target().page, QString("models"));
  QCOMPARE(shown.view->verticalScrollBar()->value(), 200);
  forward->click();
  QCOMPARE(shown.window->target().anchor, QString("turns"));
  QVERIFY(!forward->isEnabled());
  shown.window->back();
  shown.window->open_at({"cuda", {}});  // a new way: what was in front is gone
  QVERIFY(!forward->isEnabled());
  shown.window->back();
  shown.window->back();
  shown.window->back();
  QCOMPARE(shown.window->target().page, QString("window"));
}

void ManualWindowTest::a_search_lists_sections_and_marks_words() {
  WindowFixture fixture;
  fixture.trigger("help.manual");
  const Shown shown(fixture);
  QTest::keyClicks(shown.field, "padding hatches");
  QCOMPARE(shown.list->count(), 1);
  QCOMPARE(shown.window->findChild<QLabel*>("manual.count")->text(), QString("1 section"));
  QTest::keyClick(shown.field, Qt::Key_Return);
  QCOMPARE(shown.window->target().page, QString("policies"));
  QVERIFY(shown.view->extraSelections().size() > 3);
  for (const QTextEdit::ExtraSelection& hit : shown.view->extraSelections()) {
    const QString word = hit.cursor.selectedText().toLower();
    QVERIFY2(word == "padding" || word == "hatches", qPrintable(word));
  }
  shown.field->clear();
  QVERIFY(shown.list->count() > 1);
}

void ManualWindowTest::a_search_without_a_hit_says_so() {
  WindowFixture fixture;
  fixture.trigger("help.manual");
  const Shown shown(fixture);
  shown.field->setText("xylophone");
  QCOMPARE(shown.list->count(), 0);
  QVERIFY(shown.window->findChild<QLabel*>("manual.count")->text().startsWith("No section"));
  QTest::keyClick(shown.field, Qt::Key_Return);
  QCOMPARE(shown.window->target().page, QString("window"));
}

void ManualWindowTest::escape_clears_the_search_then_closes() {
  WindowFixture fixture;
  fixture.trigger("help.manual");
  const Shown shown(fixture);
  shown.field->setText("cache");
  QTest::keyClick(shown.window, Qt::Key_Escape);
  QVERIFY(shown.field->text().isEmpty());
  QVERIFY(shown.window->isVisible());
  QTest::keyClick(shown.window, Qt::Key_Escape);
  QVERIFY(!shown.window->isVisible());
  fixture.trigger("help.manual");
  QVERIFY(shown.window->isVisible());
}

void ManualWindowTest::the_page_follows_the_theme() {
  WindowFixture fixture;
  fixture.trigger("help.manual");
  const Shown shown(fixture);
  const auto color = [&] { return shown.view->document()->begin().next().charFormat().foreground().color(); };
  fixture.theme->choose(ThemeChoice::light, false);
  const QColor light = color();
  fixture.theme->choose(ThemeChoice::dark, false);
  QVERIFY(light != color());
  QCOMPARE(color(), dark_tokens().text);
}

void ManualWindowTest::every_link_of_every_page_can_be_followed() {
  WindowFixture fixture;
  fixture.trigger("help.manual");
  const Shown shown(fixture);
  int n = 0;
  for (const app::ManualPage& page : app::manual_pages()) {
    const QString name = QString::fromUtf8(page.name.data(), static_cast<qsizetype>(page.name.size()));
    shown.window->open_at({name, {}});
    QStringList links;
    for (QTextBlock block = shown.view->document()->begin(); block.isValid(); block = block.next())
      for (auto at = block.begin(); !at.atEnd(); ++at)
        if (at.fragment().charFormat().isAnchor()) links.append(at.fragment().charFormat().anchorHref());
    for (const QString& link : links) {
      shown.window->open_at({name, {}});
      Q_EMIT shown.view->anchorClicked(QUrl(link));
      QVERIFY2(shown.view->go_to(shown.window->target().anchor), qPrintable(name + " " + link));
      ++n;
    }
  }
  QVERIFY(n > 20);
}

void ManualWindowTest::tables_and_code_are_drawn() {
  WindowFixture fixture;
  fixture.trigger("help.manual");
  const Shown shown(fixture);
  shown.window->open_at({"policies", {}});
  const QString text = shown.view->toPlainText();
  QVERIFY(!text.contains("|---"));
  QVERIFY(!text.contains("```"));
  QVERIFY(text.contains("--template policy-shoot-out"));
  QVERIFY(shown.view->document()->rootFrame()->childFrames().size() >= 2);
}

LATHE_WINDOW_TEST(ManualWindowTest)

}  // namespace manual_window_test
#include "manual_window_test.moc"
