// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/bridge/folder_watch.h"

namespace lathe::ui {
namespace {

/// A download changes its folder many times a second.
constexpr int kQuietMs = 1500;
/// Linux allows a user at least 8192 watches on old kernels, which other programs share.
constexpr qsizetype kMaxFolders = 256;

}  // namespace

FolderWatch::FolderWatch(QObject* parent) : QObject(parent) {
  quiet_.setSingleShot(true);
  quiet_.setInterval(kQuietMs);
  connect(&watcher_, &QFileSystemWatcher::directoryChanged, &quiet_, qOverload<>(&QTimer::start));
  connect(&quiet_, &QTimer::timeout, this, &FolderWatch::changed);
}

void FolderWatch::watch(QStringList folders) {
  if (const QStringList old = watcher_.directories(); !old.isEmpty()) watcher_.removePaths(old);
  folders.removeDuplicates();
  folders = folders.mid(0, kMaxFolders);
  if (folders.isEmpty()) quiet_.stop();
  else watcher_.addPaths(folders);
}

}  // namespace lathe::ui
