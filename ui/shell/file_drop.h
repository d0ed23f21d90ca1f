// SPDX-License-Identifier: GPL-3.0-or-later
// FileDrop: handles files and folders that are dropped on the window: the widget under them takes them if it can use them,
// else they are opened as a model, else refused with a sentence.
#pragma once

#include <QDropEvent>
#include <QObject>
#include <QWidget>

#include "ui/widgets/file_taker.h"

namespace lathe::ui {

class FileDrop : public QObject {
  Q_OBJECT
 public:
  /// `window` owns the FileDrop, which also handles the floating docks of the window.
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

/// The model that the files are or belong to; empty: none, or several.
QString model_of_files(const QStringList& files);
/// A sentence: the reason why the files are no model, and what to do with them.
QString why_no_model(const QStringList& files);

}  // namespace lathe::ui
