// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/bridge/system_memory.h"

#include <QByteArray>
#include <QFile>

namespace lathe::ui {
namespace {

double line_of(const QByteArray& text, const char* key) {
  const qsizetype at = text.indexOf(key);
  if (at < 0) return 0;
  const qsizetype begin = at + static_cast<qsizetype>(qstrlen(key));
  return text.mid(begin, text.indexOf("kB", begin) - begin).trimmed().toDouble() * 1024;
}

}  // namespace

SystemMemory read_system_memory() {
  QFile file(QStringLiteral("/proc/meminfo"));
  if (!file.open(QIODevice::ReadOnly)) return {};
  const QByteArray text = file.readAll();
  return {line_of(text, "MemTotal:"), line_of(text, "MemAvailable:")};
}

}  // namespace lathe::ui
