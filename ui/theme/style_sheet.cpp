// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/theme/style_sheet.h"

#include <QFile>
#include <QHash>
#include <QRegularExpression>
#include <cmath>

namespace lathe::ui {
namespace {

QHash<QString, QColor> names_of(const Tokens& t) {
  return {{"chrome", t.chrome},
          {"dock", t.dock},
          {"page", t.page},
          {"raised", t.raised},
          {"sunken", t.sunken},
          {"hover", t.hover},
          {"pressed", t.pressed},
          {"border", t.border},
          {"strong", t.strong},
          {"text", t.text},
          {"text2", t.text2},
          {"text3", t.text3},
          {"disabled", t.disabled},
          {"accent", t.accent},
          {"accenthover", t.accent_hover},
          {"onaccent", t.on_accent},
          {"accenttext", t.accent_text},
          {"focus", t.focus},
          {"tint", t.tint},
          {"tintborder", t.tint_border},
          {"handle", t.dark ? t.strong : t.pressed},
          {"knob", t.dark ? t.text : t.page},
          {"groove", t.pressed},
          {"errortext", t.error.text},
          {"errorborder", t.error.border}};
}

}  // namespace

QString filled_style_sheet(const Tokens& tokens, double scale) {
  QFile file(QStringLiteral(":/themes/lathe.qss"));
  if (!file.open(QIODevice::ReadOnly)) return {};
  const QString source = QString::fromUtf8(file.readAll());
  const QHash<QString, QColor> names = names_of(tokens);
  static const QRegularExpression placeholder(QStringLiteral("@([a-z][a-z0-9]*|[0-9]+)"));
  QString filled;
  qsizetype done = 0;
  for (auto it = placeholder.globalMatch(source); it.hasNext();) {
    const QRegularExpressionMatch match = it.next();
    filled += QStringView(source).mid(done, match.capturedStart() - done);
    const QString name = match.captured(1);
    bool is_length = false;
    const double length = name.toDouble(&is_length);
    if (is_length) filled += QString::number(std::lround(length * scale)) + QStringLiteral("px");
    else if (name == QLatin1String("scheme")) filled += tokens.dark ? QStringLiteral("dark") : QStringLiteral("light");
    else filled += names.value(name).name();
    done = match.capturedEnd();
  }
  return filled + source.mid(done);
}

}  // namespace lathe::ui
