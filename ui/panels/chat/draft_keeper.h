// SPDX-License-Identifier: GPL-3.0-or-later
// DraftKeeper: writes the text of the composer to its file while it changes: seldom, and never on the GUI thread but at the
// end.
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
  /// `text` gives what is to be kept.
  DraftKeeper(const PanelContext& context, std::function<QString()> text, QObject* parent);
  ~DraftKeeper() override;

  /// The text that was kept last, also by an older version, which had it among the settings.
  QString load();
  /// The text is another: it is written within a few seconds, or by flush().
  void changed();
  void flush();

 private:
  /// Writers take turns, and an older text does not come after a newer one.
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
