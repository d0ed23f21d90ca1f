// SPDX-License-Identifier: GPL-3.0-or-later
// Navigator: how one panel asks for another without knowing it.
#pragma once

#include <QObject>
#include <QString>

namespace lathe::ui {

class Navigator : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

 Q_SIGNALS:
  /// Shows a page or raises a dock, by the id of the panel table.
  void show_panel(const QString& id);
  /// Shows a row of the request log with its why-events. The Requests dock answers.
  void inspect_request(quint64 number);
  /// Opens a chat of the history. The Chat page answers.
  void open_chat(qint64 id);
  /// The watched folders became others. The Model dock answers.
  void folders_changed();
  /// The window closes: stop what runs and keep what is not kept yet.
  void closing();
};

}  // namespace lathe::ui
