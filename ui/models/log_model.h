// SPDX-License-Identifier: GPL-3.0-or-later
// LogModel: the lines of the log as a list, newest last, at most 50,000.
#pragma once

#include <QAbstractListModel>
#include <deque>

#include "app/api/log.h"

namespace lathe::ui {

class LogModel : public QAbstractListModel {
  Q_OBJECT
 public:
  enum Role { level_role = Qt::UserRole + 1 };
  explicit LogModel(QObject* parent = nullptr) : QAbstractListModel(parent) {}
  void append(std::vector<app::LogLine> lines);
  void clear();
  /// Hides the lines below `level` and those without `words`.
  void set_filter(app::LogLevel level, const QString& words);
  /// The shown lines as text.
  QString text() const;

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;

 private:
  bool shows(const app::LogLine& line) const;
  static QString text_of(const app::LogLine& line);

  std::deque<app::LogLine> all_;
  std::deque<app::LogLine> shown_;
  app::LogLevel level_ = app::LogLevel::info;
  QString words_;
};

}  // namespace lathe::ui
