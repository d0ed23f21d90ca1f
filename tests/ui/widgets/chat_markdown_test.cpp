// SPDX-License-Identifier: GPL-3.0-or-later
// Markdown as models write it in a chat: line breaks, entities, formulas, code in lists, tables, and what is no Markdown.
#include <QAbstractButton>
#include <QClipboard>
#include <QGuiApplication>
#include <QTest>
#include <QTextBlock>
#include <QTextDocument>
#include <QTextFragment>

#include "tests/support/test_class.h"
#include "ui/widgets/formulas.h"
#include "ui/widgets/html_entities.h"
#include "ui/widgets/markdown.h"
#include "ui/widgets/markdown_view.h"
#include "ui/widgets/protected_spans.h"

namespace chat_markdown_test {

using namespace lathe::ui;

namespace {

/// A document's text, a block a line: *bold*, _italic_, ~struck~, `code`, {formula}, [link|address]; "/" is a line
/// break.
QString drawn(const QTextDocument& document, const Theme& theme) {
  QStringList blocks;
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
    QString words;
    for (auto it = block.begin(); !it.atEnd(); ++it) {
      const QTextCharFormat format = it.fragment().charFormat();
      QString text = it.fragment().text().replace(QChar::LineSeparator, QLatin1Char('/'));
      if (format.background().style() != Qt::NoBrush) text = '`' + text + '`';
      if (format.foreground().color() == theme.tokens().code_keyword) text = '{' + text + '}';
      if (format.fontItalic()) text = '_' + text + '_';
      if (format.fontStrikeOut()) text = '~' + text + '~';
      if (format.fontWeight() >= QFont::DemiBold) text = '*' + text + '*';
      if (format.isAnchor()) text = '[' + text + '|' + format.anchorHref() + ']';
      words += text;
    }
    if (block.blockFormat().lineHeightType() != QTextBlockFormat::FixedHeight) blocks.append(words);
  }
  return blocks.join(QLatin1Char('\n'));
}

struct Row {
  const char* name;
  const char* source;
  const char* drawn;
};

}  // namespace

class ChatMarkdownTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() { theme = std::make_unique<Theme>(); }

  void line_breaks_data() {
    add_rows({{"br", "a<br>b", "a/b"},
              {"closed, upper case", "a<br/>b<BR />c</br>d", "a/b/c/d"},
              {"at the end of a line", "a<br>\nb", "a/b"},
              {"two", "a<br><br>b", "a//b"},
              {"in a cell", "| h |\n|---|\n| x<br>y<br/>z |", "*h*\nx/y/z"},
              {"in code", "`a<br>b`", "`a<br>b`"},
              {"escaped", "a\\<br>b &lt;br&gt;", "a<br>b <br>"},
              {"other tags", "<b>x</b> <think>y</think> <brx> Vec<T>", "<b>x</b> <think>y</think> <brx> Vec<T>"},
              {"a tag alone in a line", "<div>\n*x*\n</div>", "<div>/_x_/</div>"},
              {"a comment", "<!-- a -->", "<!-- a -->"},
              {"soft", "1\n2\n3", "1/2/3"},
              {"soft in items", "- a\n  b\n- c", "•\ta/b\n•\tc"},
              {"soft in quotes", "> a\n> b", "a/b"},
              {"hard", "a  \nb\\\nc", "a/b/c"},
              {"code keeps its lines", "    a\n    b", "a/b/"}});
  }
  void line_breaks() { check(); }

  void entities_data() {
    add_rows(
        {{"of the report", "It&#39;s &mdash; &copy; &hellip; &#x1F600;", "It's — © … 😀"},
         {"once", "&amp;lt; &amp;amp;", "&lt; &amp;"},
         {"long names, two characters", "&CounterClockwiseContourIntegral;&NotEqualTilde;", "∳≂̸"},
         {"unknown", "&foo; &mdash &; &#; AT&T; R&D", "&foo; &mdash &; &#; AT&T; R&D"},
         {"numbers of no character", "&#0; &#xD800; &#x110000; &#27; &#xFDD0;", "&#0; &#xD800; &#x110000; &#27; &#xFDD0;"},
         {"Windows-1252", "&#151;&#147;", "—“"},
         {"in code", "`&amp;`\n\n    &lt;", "`&amp;`\n&lt;/"},
         {"makes no mark", "&#42;a&#42; &lt;br&gt;", "*a* <br>"},
         {"in an address", "[a](http://x.y/?a=1&amp;b=2)", "[a|http://x.y/?a=1&b=2]"},
         {"in a cell", "| &lt; |\n|---|\n| &nbsp; |", "*<*\n\u00a0"}});
  }
  void entities() { check(); }

  void formulas_data() {
    add_rows({{"round and square", "\\(a_1 \\times b_1\\) and \\[x^2\\]", "{\\(a_1 \\times b_1\\)} and {\\[x^2\\]}"},
              {"dollars", "$a_1 * b_1 * c$ and $$x_i * y_i * z$$", "{$a_1 * b_1 * c$} and {$$x_i * y_i * z$$}"},
              {"prices", "$5 and $10, $3.50-$4.50 (US$5), **$6** or **$7**", "$5 and $10, $3.50-$4.50 (US$5), *$6* or *$7*"},
              {"a price behind its number", "costs $5, or 10$ then", "costs $5, or 10$ then"},
              {"variables", "$HOME/bin:$PATH", "$HOME/bin:$PATH"},
              {"numbers", "$5x = 10$ and $2$", "{$5x = 10$} and {$2$}"},
              {"escaped dollars", "\\$5 \\$x\\$", "$5 $x$"},
              {"endings", "the $n$th of the $x$s", "the {$n$}th of the {$x$}s"},
              {"code first", "`$a` $b `c$` d$", "`$a` $b `c$` d$"},
              {"bars in a table", "| $P(A|B)$ | \\(|x|\\) |\n|---|---|\n| 1 | 2 |", "*{$P(A|B)$}*\n*{\\(|x|\\)}*\n1\n2"},
              {"bold", "**\\(x_1\\)** _y_", "*{\\(x_1\\)}* _y_"},
              {"over lines", "\\[\na = b\n+ c\n- d\n\\]\nend", "{\\[/a = b/+ c/- d/\\]}/end"},
              {"over empty lines", "$$\n\nx\n\n$$\n\nend", "{$$//x//$$}\nend"},
              {"in a quote", "> \\[\n> x\n> \\]\n> y", "{\\[/x/\\]}/y"},
              {"in an item", "1. a:\n   \\[\n   x\n   \\]\n2. b", "1.\ta:/{\\[/x/\\]}\n2.\tb"},
              {"new lines of TeX", "\\[a \\\\ b \\\\\\]", "{\\[a \\\\ b \\\\\\]}"},
              {"not closed yet", "so \\(a_1 \\times b_1", "so {\\(a_1 \\times b_1}"},
              {"dollars not closed yet", "$$\na_1 * b\\", "{$$/a_1 * b\\}"},
              {"tags", "\\(a <br> b\\)", "{\\(a <br> b\\)}"},
              {"entities", "\\(a &lt; b\\)", "{\\(a &lt; b\\)}"},
              {"empty", "\\[ \\] \\(\\) $ $ $$", "[ ] () $ $ $$"}});
  }
  void formulas() { check(); }

  void words_data() {
    add_rows(
        {{"special names", "__init__ `__x__` **__init__** self.__len__()", "__init__ `__x__` *__init__* self.__len__()"},
         {"bold underscores", "__bold__", "*bold*"},
         {"products", "2*3*4, x**2 + y**2, **b**2", "2*3*4, x**2 + y**2, *b*2"},
         {"ranges", "5~10, 3~4 ~~gone~~", "5~10, 3~4 ~gone~"},
         {"bold before a letter", "**重要：**请看**这里**", "*重要：*请看*这里*"},
         {"bold quotes", "的**“重要”**的", "的*“重要”*的"},
         {"bold Korean", "**\"강조\"**는", "*\"강조\"*는"},
         {"addresses", "https://e.org/a_b_c/_x_?q=*y see",
          "[https://e.org/a_b_c/_x_?q=*y|https://e.org/a_b_c/_x_?q=*y] see"},
         {"this computer", "http://localhost:8000/__init__/_x_", "http://localhost:8000/__init__/_x_"},
         {"right to left", "مرحبا **نص**", "مرحبا *نص*"},
         {"controls", "a\x1b[1mb", "a␛[1mb"},
         {"an image in a link", "[![i](http://x.y/i.png) t](http://x.y/)", "[i|http://x.y/i.png][ t|http://x.y/]"}});
  }
  void words() { check(); }

  void blocks_data() {
    add_rows({{"headings without blank lines", "# A\nb\n## C\n- d", "*A*\nb\n*C*\n•\td"},
              {"tasks", "- [ ] a\n- [x] b", "☐\ta\n☑\tb"},
              {"numbers", "7) a\n8) b", "7)\ta\n8)\tb"},
              {"a heading in an item", "- # A\n  b", "•\t*A*\nb"},
              {"text behind a list in an item", "- a\n  > q\n\n  b", "•\ta\nq\nb"},
              {"a table behind a line", "see:\n| a | b |\n|-|:-:|\n| 1 | 2 |", "see:\n*a*\n*b*\n1\n2"},
              {"a table without outer bars", "a | b\n--|--\n1 | 2", "*a*\n*b*\n1\n2"},
              {"bars in cells", "| a |\n|---|\n| 1 \\| 2 `x\\|y` |", "*a*\n1 | 2 `x|y`"},
              {"a table in an item", "1. a\n   |x|\n   |-|\n   |1|\n2. b", "1.\ta\n*x*\n1\n2.\tb"}});
  }
  void blocks() { check(); }

  void code_in_lists_data();
  void code_in_lists();
  void code_is_copied_without_its_list();
  void infos_name_a_language_data();
  void infos_name_a_language();
  void a_table_of_bars_is_no_table();
  void written_piece_by_piece_it_ends_the_same_data();
  void written_piece_by_piece_it_ends_the_same();
  void halves_wait_data();
  void halves_wait();
  void nothing_shown_is_taken_away();
  void long_texts_stay_linear();

 private:
  static void add_rows(std::initializer_list<Row> rows) {
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("wanted");
    for (const Row& row : rows) QTest::newRow(row.name) << QString::fromUtf8(row.source) << QString::fromUtf8(row.drawn);
  }
  void check() {
    QFETCH(QString, source);
    QFETCH(QString, wanted);
    QTextDocument document;
    append_markdown(QTextCursor(&document), *theme, source);
    QCOMPARE(drawn(document, *theme), wanted);
  }

  std::unique_ptr<Theme> theme;
};

void ChatMarkdownTest::code_in_lists_data() {
  QTest::addColumn<QString>("source");
  QTest::addColumn<QString>("code");
  QTest::addColumn<int>("lists");
  QTest::addColumn<int>("quotes");
  QTest::addColumn<QString>("after");
  QTest::newRow("item") << "1. do\n   ```sh\n   a\n     b\n   ```\n2. next" << "a\n  b" << 1 << 0 << "2. next";
  QTest::newRow("bullet, indented more") << "- do\n    ```\n    a\n      b\n    ```\n    then" << "a\n  b" << 1 << 0
                                         << "then";
  QTest::newRow("tabs") << "1. do\n\t```\n\ta\n\t\tb\n\t```" << "a\n\tb" << 1 << 0 << "";
  QTest::newRow("nested") << "- a\n  - b\n    ```\n    a\n      b\n    ```\n  - c" << "a\n  b" << 2 << 0 << "- c";
  QTest::newRow("behind the mark") << "1. ```sh\n   a\n     b\n   ```\n   then" << "a\n  b" << 1 << 0 << "then";
  QTest::newRow("quote") << "> ```\n> a\n>   b\n> ```\n> then" << "a\n  b" << 0 << 1 << "then";
  QTest::newRow("quote in an item") << "- > ```\n  > a\n  >   b\n  > ```" << "a\n  b" << 1 << 1 << "";
  QTest::newRow("the quote ends") << "> ```\n> a\n>   b\nthen" << "a\n  b" << 0 << 1 << "then";
  QTest::newRow("not indented") << "1. do\n   ```\na\n  b\n   ```\nthen" << "a\nb" << 1 << 0 << "then";
  QTest::newRow("empty lines") << "- do\n\n  ```\n  a\n\n    b\n  ```" << "a\n\n  b" << 1 << 0 << "";
  QTest::newRow("tildes around ticks") << "~~~~\n```\na\n```\n~~~~\nthen" << "```\na\n```" << 0 << 0 << "then";
  QTest::newRow("open") << "- do\n  ```\n  a\n    b" << "a\n  b" << 1 << 0 << "";
}

void ChatMarkdownTest::code_in_lists() {
  QFETCH(QString, source);
  const std::vector<MarkdownPart> parts = split_markdown(source);
  const auto code = std::find_if(parts.begin(), parts.end(), [](const MarkdownPart& part) { return part.is_code; });
  QVERIFY(code != parts.end());
  QTEST(code->source, "code");
  QTEST(code->depth.lists, "lists");
  QTEST(code->depth.quotes, "quotes");
  QTEST(code + 1 == parts.end() ? QString("") : (code + 1)->source, "after");
}

void ChatMarkdownTest::code_is_copied_without_its_list() {
  MarkdownView view(*theme, nullptr);
  view.resize(600, 400);
  view.set_text("1. do\n   ```sh\n   a\n     b\n   ```\n");
  auto* code = view.findChild<CodeView*>();
  QVERIFY(code != nullptr && code->x() > 0);
  QTest::mouseClick(code->findChild<QAbstractButton*>("code.copy"), Qt::LeftButton);
  QCOMPARE(QGuiApplication::clipboard()->text(), QString("a\n  b"));
}

void ChatMarkdownTest::infos_name_a_language_data() {
  QTest::addColumn<QString>("info");
  QTest::addColumn<QString>("language");
  for (const auto& [info, language] :
       std::initializer_list<std::pair<const char*, const char*>>{{"c++ title=\"x\"", "c++"},
                                                                  {"", ""},
                                                                  {" python ", "python"},
                                                                  {"{.python .numberLines}", "python"},
                                                                  {"js{1,3}", "js"},
                                                                  {"c#", "c#"}})
    QTest::newRow(info) << info << language;
}

void ChatMarkdownTest::infos_name_a_language() {
  QFETCH(QString, info);
  QTEST(split_markdown("```" + info + "\nx\n```").at(0).language, "language");
}

void ChatMarkdownTest::a_table_of_bars_is_no_table() {
  // Each short line would be a row of as many cells as the head has.
  const QString source =
      QString("|").repeated(1000) + "\n" + QString("|---").repeated(1000) + "|\n" + QString("|\n").repeated(1000);
  QTextDocument document;
  append_markdown(QTextCursor(&document), *theme, source);
  QVERIFY(document.characterCount() < 3 * source.size());
}

void ChatMarkdownTest::written_piece_by_piece_it_ends_the_same_data() {
  QTest::addColumn<QString>("reply");
  QTest::newRow("breaks") << "a<br>b\nc &mdash; d &amp;lt; e";
  QTest::newRow("formulas") << "So \\(a_1 \\times b_1\\) and\n\n\\[\nx^2\n\\]\n\nor $y$ for $5.";
  QTest::newRow("table") << "see:\n| a | b |\n|-|-|\n| 1<br>2 | `x\\|y` |\n\nend";
  QTest::newRow("code in a list") << "1. do\n   ```sh\n   a\n     b\n   ```\n   then\n2. next\n\n> ```\n> q\n> ```\n> r";
  QTest::newRow("blocks of all kinds") << "Memory is cut into **blocks**:\n\n- one `a`\n- two\n\nThen code:\n\n"
                                          "```python\ndef f(x):\n    return x\n```\n\nAnd an end.";
  QTest::newRow("tables alone") << "| a |\n|---|\n| 1 |";
  QTest::newRow("emphasis") << "**重要：**请 __init__ *x* ~~y~~ 2*3*4";
  QTest::newRow("fences in fences") << "````md\n```sh\nx\n```\n````\nend `` ` `` and ~ or &";
}

void ChatMarkdownTest::written_piece_by_piece_it_ends_the_same() {
  QFETCH(QString, reply);
  MarkdownView at_once(*theme, nullptr), grown(*theme, nullptr);
  at_once.resize(600, 400);
  grown.resize(600, 400);
  at_once.set_text(reply);
  grown.set_streaming(true);
  for (const QChar c : reply) grown.append(QString(c));
  grown.set_streaming(false);
  QCOMPARE(grown.shown_text(), at_once.shown_text());
  QCOMPARE(grown.height_for(600), at_once.height_for(600));
  QCOMPARE(grown.text(), reply);
}

void ChatMarkdownTest::halves_wait_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<int>("n");
  QTest::newRow("words") << "a b" << 0;
  QTest::newRow("entity") << "a &mda" << 4;
  QTest::newRow("number of an entity") << "a &#82" << 4;
  QTest::newRow("ampersand") << "a &" << 1;
  QTest::newRow("ampersand and blank") << "a & b" << 0;
  QTest::newRow("ticks") << "a\n``" << 2;
  QTest::newRow("fence") << "a\n```py" << 5;
  QTest::newRow("end of a fence") << "```\nx\n  ``" << 4;
  QTest::newRow("whole fence") << "```py\n" << 0;
  QTest::newRow("code in words") << "`a" << 0;
  QTest::newRow("line under a head") << "| a | b |\n|--" << 3;
  QTest::newRow("row") << "| a | b |\n|---|---|\n| 1" << 0;
  QTest::newRow("list") << "a\n-" << 0;
}

void ChatMarkdownTest::halves_wait() {
  QFETCH(QString, text);
  QTEST(static_cast<int>(unfinished_tail(text)), "n");
}

void ChatMarkdownTest::nothing_shown_is_taken_away() {
  const QString reply = "It &mdash; so\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\nx\n```\n\nand \\(a_1\\) end";
  QString whole;
  qsizetype most = 0;
  for (const QChar c : reply) {
    whole += c;
    MarkdownView view(*theme, nullptr);
    view.set_streaming(true);
    view.set_text(whole);
    const QString shown = view.shown_text();
    QVERIFY2(!shown.contains("&mda") && !shown.contains("``") && !shown.contains("|--"), qPrintable(shown));
    // Bars of a head that becomes a table are the only characters that go.
    QVERIFY2(shown.size() + 8 >= most, qPrintable(shown));
    most = std::max(most, shown.size());
  }
}

void ChatMarkdownTest::long_texts_stay_linear() {
  // Not timed: a search that starts again at each of these would take hours, and the test would be ended.
  for (const QString& part :
       {QString("$a "), QString("\\("), QString("\\[\n"), QString("\\[\n\n"), QString("$$\n\n"), QString("`a``b```"),
        QString("__a_"), QString("- "), QString("&am"), QString("http://a.b/"), QString("|-"), QString("**a ")}) {
    const QString text = part.repeated(200'000 / part.size());
    QCOMPARE(without_protection(protect_spans(text)), text);
    QVERIFY(split_markdown(text).size() < kMaxMarkdownParts);
  }
}

LATHE_WINDOW_TEST(ChatMarkdownTest)

}  // namespace chat_markdown_test
#include "chat_markdown_test.moc"
