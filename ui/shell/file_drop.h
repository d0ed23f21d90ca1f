// SPDX-License-Identifier: GPL-3.0-or-later
// FileDrop: files and folders that are dropped on the window: taken by the widget under them that has a use for them, else
// opened as a model, else refused in words.
#pragma once

#include <QDropEvent>
#include <QObject>
#include <QWidget>

#include "ui/widgets/file_taker.h"

namespace lathe::ui {

class FileDrop : public QObject {
  Q_OBJECT
 public:
  /// `window` owns it. Docks that float belong to it too.
  explicit FileDrop(QWidget& window);

 Q_SIGNALS:
  void model_dropped(const QString& path);
  void refused(const QString& words);

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  bool is_mine(const QWidget& widget) const;
  void take(const QStringList& files, FileTaker* taker);

  QWidget& window_;
};

/// The one model that the files are or belong to; empty: there is none, or there are several.
QString model_of_files(const QStringList& files);
/// A sentence: the reason that they are no model, and what to do with them.
QString why_no_model(const QStringList& files);

}  // namespace lathe::ui
