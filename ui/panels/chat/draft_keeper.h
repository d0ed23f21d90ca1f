// SPDX-License-Identifier: GPL-3.0-or-later
// DraftKeeper: writes the text of the composer to its file while it changes: seldom, and on the GUI thread only at the end.
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

  /// The text that was saved last, also by an older version, which had it in the settings.
  QString load();
  /// Reports a changed text: it is written within a few seconds, or by flush().
  void changed();
  void flush();

 private:
  /// State shared with the writers: one writes at a time, and an older text never follows a newer one.
  struct Writes;

  void write_behind();
  void report(const engine::Result<void>& written);

  const PanelContext& context_;
  std::function<QString()> text_;
  std::shared_ptr<Writes> writes_;
  QTimer timer_;
  bool problem_told_ = false;
};

}  // namespace lathe::ui
