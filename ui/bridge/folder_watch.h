// SPDX-License-Identifier: GPL-3.0-or-later
// FolderWatch: says that folders changed, once things have been quiet for a moment.
#pragma once

#include <QFileSystemWatcher>
#include <QObject>
#include <QStringList>
#include <QTimer>

namespace lathe::ui {

class FolderWatch : public QObject {
  Q_OBJECT
 public:
  explicit FolderWatch(QObject* parent);
  /// Of these from now on, the first 256 of them; empty: of none.
  void watch(QStringList folders);

 Q_SIGNALS:
  void changed();

 private:
  QFileSystemWatcher watcher_;
  QTimer quiet_;
};

}  // namespace lathe::ui
