// SPDX-License-Identifier: GPL-3.0-or-later
// Navigator: signals by which one panel asks for another without including it.
#pragma once

#include <QObject>
#include <QString>

namespace lathe::ui {

class Navigator : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

  /// False: nobody is asked before running work is ended; in tests, and while the system ends the program.
  bool asks() const { return asks_; }
  void set_asks(bool asks) { asks_ = asks; }

 Q_SIGNALS:
  /// Asks for a page to be shown or a dock to be raised, by the id of the panel table.
  void show_panel(const QString& id);
  /// Asks for a row of the request log with its why-events. The Requests dock answers.
  void inspect_request(quint64 number);
  /// Asks for a chat of the history to be opened. The Chat page answers.
  void open_chat(qint64 id);
  /// The list of watched folders has changed. The Model dock answers.
  void folders_changed();
  /// The window closes: stop running work and save everything that is not saved yet.
  void closing();

 private:
  bool asks_ = true;
};

}  // namespace lathe::ui
