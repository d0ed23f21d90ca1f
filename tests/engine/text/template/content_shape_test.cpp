// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/content_shape.h"

#include <QTest>

#include "engine/text/template/syntax/parser.h"
#include "tests/support/test_class.h"

namespace content_shape_test {

using namespace lathe::engine::jinja;

namespace {

QByteArray shape_of(const std::string& source) {
  switch (content_shape_of(parse_template(source))) {
    case ContentShape::text: return "text";
    case ContentShape::either: return "either";
    case ContentShape::parts: return "parts";
  }
  return {};
}

}  // namespace

class ContentShapeTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void a_template_takes_what_it_walks_over_data() {
    QTest::addColumn<QByteArray>("source");
    QTest::addColumn<QByteArray>("shape");
    const auto row = [](const char* source, const char* shape) {
      QTest::newRow(source) << QByteArray(source) << QByteArray(shape);
    };
    row("", "text");
    row("{% for m in messages %}{{ m.content }}{% endfor %}", "text");
    row("{% for m in messages %}{% for c in m.content %}{{ c.text }}{% endfor %}{% endfor %}", "parts");
    row("{% for m in messages %}{% for c in m['content'] %}{{ c.text }}{% endfor %}{% endfor %}", "parts");
    row("{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for c in m.content %}{{ c.text }}"
        "{% endfor %}{% endif %}{% endfor %}",
        "either");
    row("{% for m in messages %}{% if m['content'] is not string %}{% for c in m['content'] %}{{ c.text }}{% endfor %}"
        "{% endif %}{% endfor %}",
        "either");
    row("{% macro show(content) %}{% for c in content %}{{ c.text }}{% endfor %}{% endmacro %}{{ show(messages[0].content) "
        "}}",
        "either");
    row("{% for m in messages %}{{ m.content if m.content is string }}{% endfor %}", "text");
    row("{% for t in tools %}{% for p in t.parameters %}{{ p }}{% endfor %}{% endfor %}", "text");
    row("{% for c in m[0] %}{% endfor %}{% for c in m[x] %}{% endfor %}{% for c in m['other'] %}{% endfor %}", "text");
  }
  void a_template_takes_what_it_walks_over() {
    QFETCH(QByteArray, source);
    QFETCH(QByteArray, shape);
    QCOMPARE(shape_of(source.toStdString()), shape);
  }
  void loops_are_found_in_every_kind_of_block() {
    const std::string loop = "{% for c in m.content %}{% endfor %}";
    for (const std::string& source :
         {"{% if a %}{% else %}" + loop + "{% endif %}", "{% set x %}" + loop + "{% endset %}",
          "{% macro f() %}" + loop + "{% endmacro %}", "{% for m in ms %}{% else %}" + loop + "{% endfor %}",
          "{% filter trim %}" + loop + "{% endfilter %}"}) {
      QCOMPARE(shape_of(source), QByteArray("parts"));
    }
  }
};

LATHE_TEST(ContentShapeTest)

}  // namespace content_shape_test
#include "content_shape_test.moc"
