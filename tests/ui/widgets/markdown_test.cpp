// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/markdown.h"

#include <QAbstractTextDocumentLayout>
#include <QElapsedTimer>
#include <QImage>
#include <QTest>
#include <QTextBlock>
#include <QTextDocument>
#include <QTextLayout>
#include <cmath>

#include "tests/support/test_class.h"
#include "ui/widgets/markdown_view.h"

namespace markdown_test {

using namespace lathe::ui;

class MarkdownTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() { theme = std::make_unique<Theme>(); }

  void text_without_fences_is_one_part();
  void fences_cut_the_text();
  void an_open_fence_is_a_part_that_is_open();
  void tildes_are_fences_too();
  void a_shorter_fence_does_not_close();
  void blocks_are_cut_at_blank_lines();
  void lists_are_not_cut();
  void bold_and_code_are_formatted();
  void bullets_hang();
  void marks_do_not_touch_their_text();
  void quotes_have_a_bar();
  void numbers_count();
  void a_table_becomes_a_table();
  void U8_html_stays_text();
  void U8_images_become_links();
  void U8_deep_quotes_are_drawn();
  void U8_many_fences_make_few_parts();
  void a_reply_that_grows_renders_its_end_again();
  void unformatted_text_is_as_written();
  void a_long_text_is_cut_for_display();

 private:
  static QTextDocument* rendered(const Theme& theme, const QString& source) {
    auto* document = new QTextDocument;
    append_markdown(QTextCursor(document), theme, source);
    return document;
  }
  std::unique_ptr<Theme> theme;
};

void MarkdownTest::text_without_fences_is_one_part() {
  const auto parts = split_markdown("one\n\ntwo");
  QCOMPARE(parts.size(), std::size_t{1});
  QVERIFY(!parts[0].is_code);
  QCOMPARE(parts[0].source, QString("one\n\ntwo"));
}

void MarkdownTest::fences_cut_the_text() {
  const auto parts = split_markdown("before\n```python\nx = 1\n```\nafter");
  QCOMPARE(parts.size(), std::size_t{3});
  QVERIFY(parts[1].is_code && !parts[1].open);
  QCOMPARE(parts[1].language, QString("python"));
  QCOMPARE(parts[1].source, QString("x = 1"));
  QCOMPARE(parts[2].source, QString("after"));
}

void MarkdownTest::an_open_fence_is_a_part_that_is_open() {
  const auto parts = split_markdown("```\nx = 1\ny");
  QCOMPARE(parts.size(), std::size_t{1});
  QVERIFY(parts[0].is_code && parts[0].open);
  QCOMPARE(parts[0].source, QString("x = 1\ny"));
}

void MarkdownTest::tildes_are_fences_too() {
  const auto parts = split_markdown("~~~ c\nint x;\n~~~");
  QCOMPARE(parts.size(), std::size_t{1});
  QCOMPARE(parts[0].language, QString("c"));
}

void MarkdownTest::a_shorter_fence_does_not_close() {
  const auto parts = split_markdown("````\n```\n````\nend");
  QCOMPARE(parts.size(), std::size_t{2});
  QCOMPARE(parts[0].source, QString("```"));
}

void MarkdownTest::blocks_are_cut_at_blank_lines() {
  QCOMPARE(split_blocks("one\n\ntwo\nthree\n\nfour").size(), 3);
  QCOMPARE(split_blocks("one\n\ntwo").join(QString()), QString("one\n\ntwo"));
}

void MarkdownTest::lists_are_not_cut() { QCOMPARE(split_blocks("- a\n\n- b\n\n1. c").size(), 1); }

void MarkdownTest::bold_and_code_are_formatted() {
  const std::unique_ptr<QTextDocument> document(rendered(*theme, "a **bold** and `code`"));
  QCOMPARE(document->toPlainText(), QString("a bold and code"));
  QTextCursor cursor(document.get());
  cursor.setPosition(4);
  QVERIFY(cursor.charFormat().fontWeight() >= QFont::DemiBold);
  cursor.setPosition(13);
  QVERIFY(cursor.charFormat().background().color() == theme->tokens().sunken);
}

void MarkdownTest::bullets_hang() {
  const std::unique_ptr<QTextDocument> document(rendered(*theme, "- one\n- two"));
  QCOMPARE(document->blockCount(), 2);
  QVERIFY(document->lastBlock().text().startsWith(QStringLiteral("•\ttwo")));
  QCOMPARE(document->lastBlock().blockFormat().textIndent(), -14.0 * theme->px(14) / 14);
}

void MarkdownTest::marks_do_not_touch_their_text() {
  for (const char* source :
       {"- text", "1. text", "2. text", "10. text", "1234. text", "- [x] text", "- [ ] text", "1. a\n   1. text"}) {
    const std::unique_ptr<QTextDocument> document(rendered(*theme, source));
    document->setTextWidth(400);
    const QTextBlock block = document->lastBlock();
    document->documentLayout()->blockBoundingRect(block);
    const int tab = static_cast<int>(block.text().indexOf('\t'));
    const QTextLine line = block.layout()->lineAt(0);
    QVERIFY2(line.cursorToX(tab + 1) - line.cursorToX(tab) >= theme->px(4), source);
  }
  // Numbers of one and two digits have their text at one place.
  const std::unique_ptr<QTextDocument> document(rendered(*theme, "9. nine\n10. ten"));
  QVERIFY(std::abs(document->firstBlock().blockFormat().leftMargin() - document->lastBlock().blockFormat().leftMargin()) <=
          2);
}

void MarkdownTest::quotes_have_a_bar() {
  const std::unique_ptr<QTextDocument> document(rendered(*theme, "> quoted\n\nnot"));
  QCOMPARE(document->firstBlock().blockFormat().intProperty(QTextFormat::BlockQuoteLevel), 1);
  QCOMPARE(document->lastBlock().blockFormat().intProperty(QTextFormat::BlockQuoteLevel), 0);
  TextView view(*theme, nullptr);
  append_markdown(view.textCursor(), *theme, "> quoted\n>\n> more\n\nnot", LineEnds::blanks);
  view.resize(300, view.height_for(300));
  const QImage image = view.grab().toImage();
  const auto is_bar = [&](double y) {
    return image.pixelColor(QPoint(theme->px(3), static_cast<int>(y))) == theme->tokens().strong;
  };
  const QRectF first = view.document()->documentLayout()->blockBoundingRect(view.document()->firstBlock());
  QVERIFY(is_bar(first.center().y()));
  QVERIFY(is_bar(first.bottom() + 2));  // also between the two paragraphs
  QVERIFY(!is_bar(view.document()->documentLayout()->blockBoundingRect(view.document()->lastBlock()).center().y()));
}

void MarkdownTest::numbers_count() {
  const std::unique_ptr<QTextDocument> document(rendered(*theme, "3. one\n4. two"));
  QVERIFY(document->firstBlock().text().startsWith("3."));
  QVERIFY(document->lastBlock().text().startsWith("4."));
}

void MarkdownTest::a_table_becomes_a_table() {
  const std::unique_ptr<QTextDocument> document(rendered(*theme, "| a | b |\n|---|---|\n| 1 | 2 |\n\nend"));
  const QString text = document->toPlainText();
  for (const char* cell : {"a", "b", "1", "2", "end"}) QVERIFY(text.contains(cell));
}

void MarkdownTest::U8_html_stays_text() {
  const std::unique_ptr<QTextDocument> document(rendered(*theme, "<script>alert(1)</script> <img src=http://x/y.png>"));
  QVERIFY(document->toPlainText().contains("<script>"));
  QVERIFY(document->toPlainText().contains("<img src=http://x/y.png>"));
}

void MarkdownTest::U8_images_become_links() {
  const std::unique_ptr<QTextDocument> document(rendered(*theme, "![a cat](http://example.com/cat.png)"));
  QCOMPARE(document->toPlainText(), QString("a cat"));
  QTextCursor cursor(document.get());
  cursor.setPosition(2);
  QCOMPARE(cursor.charFormat().anchorHref(), QString("http://example.com/cat.png"));
  QVERIFY(!cursor.charFormat().isImageFormat());
}

void MarkdownTest::U8_deep_quotes_are_drawn() {
  const std::unique_ptr<QTextDocument> document(rendered(*theme, QString("> ").repeated(2000) + "deep"));
  QVERIFY(document->toPlainText().contains("deep"));
  QVERIFY(document->lastBlock().blockFormat().leftMargin() < 300);
}

void MarkdownTest::U8_many_fences_make_few_parts() {
  QVERIFY(split_markdown(QString("```\nx\n```\n").repeated(10000)).size() <= kMaxMarkdownParts);
}

void MarkdownTest::a_reply_that_grows_renders_its_end_again() {
  MarkdownView view(*theme, nullptr);
  view.resize(600, 400);
  view.set_streaming(true);
  view.append("a **bo");
  QCOMPARE(view.shown_text(), QString("a **bo"));
  view.append("ld** word");
  QTRY_COMPARE(view.shown_text(), QString("a bold word"));
}

void MarkdownTest::unformatted_text_is_as_written() {
  MarkdownView view(*theme, nullptr);
  view.set_formatted(false);
  view.set_text("# a **b**\n```\nx\n```");
  QCOMPARE(view.shown_text(), QString("# a **b**\n```\nx\n```"));
}

void MarkdownTest::a_long_text_is_cut_for_display() {
  MarkdownView view(*theme, nullptr);
  view.set_text(QString(1'000'000, QLatin1Char('x')));
  QVERIFY(view.shown_text().size() < 500'000);
  QVERIFY(view.shown_text().contains("600,000"));
  QCOMPARE(view.text().size(), 1'000'000);
}

LATHE_WINDOW_TEST(MarkdownTest)

}  // namespace markdown_test
#include "markdown_test.moc"
