// SPDX-License-Identifier: GPL-3.0-or-later
// FolderWatch: a watch over folders that reports a change once they have been quiet for a moment.
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
  /// Watches only these folders from now on, at most the first 256; empty: none.
  void watch(QStringList folders);

 Q_SIGNALS:
  void changed();

 private:
  QFileSystemWatcher watcher_;
  QTimer quiet_;
};

}  // namespace lathe::ui
