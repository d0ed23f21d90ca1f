// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/html_entities.h"

#include <md4c-html.h>

#include <QStringDecoder>

namespace lathe::ui {
namespace {

/// HTML5 reads numbers 128 to 159 as bytes of Windows-1252, from which old texts took their dashes and quotes.
QString of_windows_1252(uint number) {
  QStringDecoder decoder("windows-1252");
  if (!decoder.isValid()) return {};
  const QString text = decoder(QByteArray(1, static_cast<char>(number)));
  return text.size() == 1 && text[0].isPrint() ? text : QString();
}

QString of_number(const QString& entity) {
  const bool hex = entity.size() > 2 && entity[2].toLower() == QLatin1Char('x');
  bool good = false;
  const uint number = entity.mid(hex ? 3 : 2).chopped(1).toUInt(&good, hex ? 16 : 10);
  if (!good) return entity;
  if (number == '\t' || number == '\n') return QString(QChar(number));
  if (number >= 0x80 && number < 0xA0) {
    const QString text = of_windows_1252(number);
    return text.isEmpty() ? entity : text;
  }
  const bool character = number >= ' ' && number != 0x7F && number <= 0x10FFFF && !QChar::isSurrogate(number) &&
                         !QChar::isNonCharacter(number) && number != 0xFFFC;
  return character ? QString::fromUcs4(reinterpret_cast<const char32_t*>(&number), 1) : entity;
}

/// Decodes a named entity by md4c's HTML renderer, which has the list of names and escapes the characters that HTML
/// reserves.
QString of_name(const QString& entity) {
  const QByteArray source = entity.toUtf8();
  QByteArray html;
  const auto append = [](const MD_CHAR* text, MD_SIZE size, void* data) {
    static_cast<QByteArray*>(data)->append(text, static_cast<qsizetype>(size));
  };
  if (md_html(source.constData(), static_cast<MD_SIZE>(source.size()), append, &html, 0, 0) != 0) return entity;
  html = html.trimmed();
  if (!html.startsWith("<p>") || !html.endsWith("</p>")) return entity;
  QString text = QString::fromUtf8(html.mid(3).chopped(4));
  const struct {
    const char* escaped;
    const char* plain;
  } escapes[] = {{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&amp;", "&"}};
  for (const auto& escape : escapes) text.replace(QLatin1String(escape.escaped), QLatin1String(escape.plain));
  return text.isEmpty() ? entity : text;
}

}  // namespace

QString decode_entity(const QString& entity) {
  if (entity.size() < 3 || entity[0] != QLatin1Char('&') || !entity.endsWith(QLatin1Char(';'))) return entity;
  // The renderer leaves out a paragraph that has only blanks.
  if (entity == QLatin1String("&Tab;")) return QStringLiteral("\t");
  if (entity == QLatin1String("&NewLine;")) return QStringLiteral("\n");
  return entity[1] == QLatin1Char('#') ? of_number(entity) : of_name(entity);
}

}  // namespace lathe::ui
