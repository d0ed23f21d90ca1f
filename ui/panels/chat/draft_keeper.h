// SPDX-License-Identifier: GPL-3.0-or-later
// DraftKeeper: keeps the text of the composer while it changes, with the shown chat, or in its own file while the chat is
// new: seldom, and on the GUI thread only at the end.
#pragma once

#include <QObject>
#include <QTimer>
#include <functional>
#include <memory>

#include "ui/panels/panel.h"

namespace lathe::ui {

class DraftKeeper : public QObject {
  Q_OBJECT
 public:
  /// `text` returns the text to save.
  DraftKeeper(const PanelContext& context, std::function<QString()> text, QObject* parent);
  ~DraftKeeper() override;

  /// The text that was saved last for the shown chat; for a new one also by an older version, which had it in the settings.
  QString load();
  /// Keeps the text that is shown, and loads the one of the chat that is shown now.
  QString change_chat();
  /// The new chat has got its place in the history: its text goes with it.
  void follow_chat();
  /// Reports a changed text: it is written within a few seconds, or by flush().
  void changed();
  bool flush();  ///< false: the text could not be saved

 private:
  /// State shared with the writers: one writes at a time, and an older text never follows a newer one.
  struct Writes;

  void write_behind();
  static engine::Result<void> keep(app::History& history, const app::Paths& paths, std::int64_t chat, const QString& text);
  void report(const engine::Result<void>& written);

  const PanelContext& context_;
  std::function<QString()> text_;
  std::shared_ptr<Writes> writes_;
  QTimer timer_;
  std::int64_t chat_ = 0;  ///< the chat whose draft the text is; 0: a new one
  bool changed_ = false;   ///< since the text was last written
  bool problem_told_ = false;
};

}  // namespace lathe::ui
