// SPDX-License-Identifier: Apache-2.0
// robustness row T6: what a request wrote keeps its mark through every filter that cuts, fills or joins it.
#include <QTest>

#include "tests/support/template_render.h"
#include "tests/support/test_class.h"

namespace marks_test {

namespace jinja = lathe::engine::jinja;

namespace {

/// The rendering with [ ] around what came from the request, here `u` and the fields of `d`.
std::string marked(const std::string& source) {
  jinja::Variables values;
  const auto text = [](std::string_view value) { return jinja::Value::text(value, jinja::Source::request); };
  values.emplace_back("u", text("<b>us er</b>"));
  values.emplace_back("l", jinja::from_json(lathe::engine::Json::parse(R"([{"r": "x", "t": "1"}, {"r": "x", "t": "2"}])"),
                                            jinja::Source::request));
  const jinja::MarkedText out = jinja::render(jinja::parse_template(source), std::move(values), {});
  std::string shown;
  std::size_t begin = 0;
  for (const jinja::MarkedText::Run& run : out.runs()) {
    const std::string part = out.text().substr(begin, run.end - begin);
    shown += run.source == jinja::Source::model ? part : "[" + part + "]";
    begin = run.end;
  }
  return shown;
}

}  // namespace

class MarksTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void marks_stay_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("shown");
    const auto row = [](const char* source, const char* shown) { QTest::newRow(source) << source << shown; };
    row("{{ '{}|{:>14}|{:.3}'.format(u, u, u) }}", "[<b>us er</b>]|  [<b>us er</b>]|[<b>]");
    row("{{ '{!r}'.format(u) }}", "'[<b>us er</b>]'");
    row("{{ '{a[0].t}'.format(a=l) }}", "[1]");
    row("{{ '%s|%14s|%.3s|%%' % (u, u, u) }}", "[<b>us er</b>]|  [<b>us er</b>]|[<b>]|%");
    row("{{ '%(k)-14s|' % {'k': u} }}", "[<b>us er</b>]  |");
    row("{{ u % () }}", "[<b>us er</b>]");
    row("{{ u.format() }}", "[<b>us er</b>]");
    row("{{ u|striptags }}", "[us] [er]");
    row("{{ u|wordwrap(6) }}", "[<b>us]\n[er</b>]");
    row("{{ {'k': l[0].t}|xmlattr }}", " k=\"[1]\"");
    row("{{ u.casefold() }}{{ u.expandtabs() }}", "[<b>us er</b><b>us er</b>]");
    row("{{ '\\t'.expandtabs(2) }}{{ (l[0].t ~ '\\t|').expandtabs(4) }}", "  [1]   |");
    row("{{ u.rsplit(none, 1)|join('-') }}", "[<b>us]-[er</b>]");
    row("{% for g in l|groupby('r') %}{{ g.grouper }}:{{ g.list|map(attribute='t')|join(',') }}{% endfor %}", "[x]:[1],[2]");
    row("{% for x in [l[0].t, [l[1].t]] recursive %}{% if x is string %}{{ x }}{% else %}({{ loop(x) }}){% endif %}{% "
        "endfor %}",
        "[1]([2])");
    row("{% set j = joiner(l[0].t) %}{{ j() }}a{{ j() }}b", "a[1]b");
    row("{% set c = cycler(l[0].t, 'm') %}{{ c.next() }}{{ c.next() }}", "[1]m");
    row("{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(*[u]) }}{{ m(**{'a': u}) }}", "<[<b>us er</b>]><[<b>us er</b>]>");
    row("{% block b %}{{ l[0].t }}{% endblock %}{% print l[1].t, 'x' %}", "[12]x");
  }
  void marks_stay() {
    QFETCH(QString, source);
    QFETCH(QString, shown);
    QCOMPARE(QString::fromStdString(marked(source.toStdString())), shown);
  }
};

LATHE_TEST(MarksTest)

}  // namespace marks_test
#include "marks_test.moc"
