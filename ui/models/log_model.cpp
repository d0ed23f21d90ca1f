// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/log_model.h"

#include <QDateTime>
#include <QStringList>

namespace lathe::ui {
namespace {

constexpr std::size_t kMaxLogLines = 50'000;

}  // namespace

bool LogModel::shows(const app::LogLine& line) const {
  return line.level >= level_ && (words_.isEmpty() || text_of(line).contains(words_, Qt::CaseInsensitive));
}

QString LogModel::text_of(const app::LogLine& line) {
  const std::string_view level = app::name_of(line.level);
  return QStringLiteral("%1  %2  %3  %4")
      .arg(QDateTime::fromMSecsSinceEpoch(line.unix_ms).toString(QStringLiteral("hh:mm:ss.zzz")),
           QString::fromUtf8(level.data(), static_cast<qsizetype>(level.size())).leftJustified(7),
           QString::fromStdString(line.category).leftJustified(9), QString::fromStdString(line.text));
}

void LogModel::append(std::vector<app::LogLine> lines) {
  std::deque<app::LogLine> fresh;
  for (app::LogLine& line : lines) {
    if (shows(line)) fresh.push_back(line);
    all_.push_back(std::move(line));
  }
  while (all_.size() > kMaxLogLines) all_.pop_front();
  if (fresh.empty()) return;
  const int first = rowCount();
  beginInsertRows({}, first, first + static_cast<int>(fresh.size()) - 1);
  shown_.insert(shown_.end(), fresh.begin(), fresh.end());
  endInsertRows();
  if (shown_.size() <= kMaxLogLines) return;
  const int surplus = static_cast<int>(shown_.size() - kMaxLogLines);
  beginRemoveRows({}, 0, surplus - 1);
  shown_.erase(shown_.begin(), shown_.begin() + surplus);
  endRemoveRows();
}

void LogModel::clear() {
  beginResetModel();
  all_.clear();
  shown_.clear();
  endResetModel();
}

void LogModel::set_filter(app::LogLevel level, const QString& words) {
  beginResetModel();
  level_ = level;
  words_ = words;
  shown_.clear();
  for (const app::LogLine& line : all_) {
    if (shows(line)) shown_.push_back(line);
  }
  endResetModel();
}

QString LogModel::text() const {
  QStringList lines;
  for (const app::LogLine& line : shown_) lines << text_of(line);
  return lines.join(QLatin1Char('\n'));
}

int LogModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(shown_.size()); }

QVariant LogModel::data(const QModelIndex& index, int role) const {
  if (index.row() < 0 || index.row() >= rowCount()) return {};
  const app::LogLine& line = shown_[static_cast<std::size_t>(index.row())];
  if (role == Qt::DisplayRole) return text_of(line);
  if (role == level_role) return int(line.level);
  return {};
}

}  // namespace lathe::ui
