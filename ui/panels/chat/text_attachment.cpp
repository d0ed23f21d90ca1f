// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/text_attachment.h"

#include <QCoreApplication>
#include <QFile>
#include <QFileInfo>
#include <QLocale>
#include <QStringDecoder>
#include <algorithm>

namespace lathe::ui {
namespace {

constexpr qint64 kMostBytes = 256 << 10;

QString translated_attachment(const char* text) { return QCoreApplication::translate("TextAttachment", text); }

/// The bytes as text; null if they are no text.
QString decoded(const QByteArray& bytes) {
  QStringDecoder decoder(QStringConverter::encodingForData(bytes).value_or(QStringConverter::Utf8));
  QString text = decoder(bytes);
  if (decoder.hasError() || text.contains(QChar(0))) return {};
  return text.isNull() ? QStringLiteral("") : text;
}

/// A fence of more ticks than the text has in a row, so that no line of the text ends the block.
QString fence_for(const QString& text) {
  qsizetype longest = 2, run = 0;
  for (const QChar c : text) {
    run = c == QLatin1Char('`') ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return QString(longest + 1, QLatin1Char('`'));
}

}  // namespace

TextAttachment read_attachment(const QString& path) {
  const QFileInfo info(path);
  const QString name = info.fileName();
  if (info.isSymLink() && !info.exists())
    return {{}, translated_attachment("%1 is a link to %2, which does not exist.").arg(name, info.symLinkTarget())};
  if (!info.exists()) return {{}, translated_attachment("%1 does not exist.").arg(path)};
  if (info.isDir()) return {{}, translated_attachment("%1 is a folder; only text files can be attached.").arg(name)};
  QFile file(path);
  if (!info.isFile() || !file.open(QIODevice::ReadOnly)) return {{}, translated_attachment("%1 cannot be read.").arg(name)};
  const QByteArray bytes = file.read(kMostBytes + 1);
  if (bytes.size() > kMostBytes)
    return {{},
            translated_attachment("%1 has %2 KiB; at most 256 KiB can be attached.")
                .arg(name, QLocale().toString((info.size() + 1023) >> 10))};
  QString text = decoded(bytes);
  if (text.isNull()) return {{}, translated_attachment("%1 is not UTF-8 text.").arg(name)};
  text.replace(QLatin1String("\r\n"), QLatin1String("\n"));
  if (text.endsWith(QLatin1Char('\n'))) text.chop(1);
  const QString fence = fence_for(text);
  const QString head = QString(name).replace(QLatin1Char('\n'), QLatin1Char(' '));
  return {head + QStringLiteral(":\n") + fence + QLatin1Char('\n') + text + QLatin1Char('\n') + fence + QLatin1Char('\n'),
          {}};
}

}  // namespace lathe::ui
