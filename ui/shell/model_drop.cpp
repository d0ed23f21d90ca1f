// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/model_drop.h"

#include <QApplication>
#include <QUrl>

namespace lathe::ui {
namespace {

/// The one local file of a drag; empty: it is something else, which goes its way.
QString file_of(const QMimeData* data) {
  const QList<QUrl> urls = data == nullptr ? QList<QUrl>() : data->urls();
  return urls.size() == 1 && urls.front().isLocalFile() ? urls.front().toLocalFile() : QString();
}

}  // namespace

ModelDrop::ModelDrop(QWidget& window) : QObject(&window), window_(window) {
  window.setAcceptDrops(true);
  qApp->installEventFilter(this);
}

bool ModelDrop::eventFilter(QObject* object, QEvent* event) {
  const QEvent::Type type = event->type();
  if (type != QEvent::DragEnter && type != QEvent::DragMove && type != QEvent::Drop) return false;
  const auto* widget = qobject_cast<QWidget*>(object);
  if (widget == nullptr || widget->window() != &window_) return false;
  auto* drop = static_cast<QDropEvent*>(event);  // the base of all three
  const QString file = file_of(drop->mimeData());
  if (file.isEmpty()) return false;
  drop->acceptProposedAction();
  if (type == QEvent::Drop) Q_EMIT dropped(file);
  return true;
}

}  // namespace lathe::ui
