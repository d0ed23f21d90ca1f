// SPDX-License-Identifier: GPL-3.0-or-later
// SourceRow: one model of the list: its name, its kind, whether it fits. A click chooses it; Enter and a double click load
// it.
#pragma once

#include <QAbstractButton>

#include "app/api/library.h"
#include "ui/panels/model/second_click.h"
#include "ui/theme/theme.h"
#include "ui/widgets/chip.h"

namespace lathe::ui {

class SourceRow : public QAbstractButton {
  Q_OBJECT
 public:
  SourceRow(const Theme& theme, const app::LibraryEntry& entry, QWidget* parent);
  const app::LibraryEntry& entry() const { return entry_; }
  void set_facts(const QString& line, ChipState state, const QString& word);
  QSize sizeHint() const override;

 Q_SIGNALS:
  void load_asked();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;

 private:
  const Theme& theme_;
  const app::LibraryEntry entry_;
  QString line_;
  Chip* chip_;
  SecondClick second_click_;
};

}  // namespace lathe::ui
