// SPDX-License-Identifier: GPL-3.0-or-later
// DockStrip: the folded left docks of a narrow window: for each its icon, its name turned by 90 degrees, and one fact.
#pragma once

#include <QAbstractButton>
#include <QToolBar>
#include <vector>

#include "ui/theme/theme.h"

namespace lathe::ui {

class DockStripItem : public QAbstractButton {
  Q_OBJECT
 public:
  DockStripItem(const Theme& theme, const QString& id, const QString& name, const QString& icon, QWidget* parent);
  void set_fact(const QString& fact, const QColor& dot);
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Theme& theme_;
  QString icon_, fact_;
  QColor dot_;
};

class DockStrip : public QToolBar {
  Q_OBJECT
 public:
  DockStrip(const Theme& theme, QWidget* parent);
  void add(const QString& id, const QString& name, const QString& icon);
  void set_fact(const QString& id, const QString& fact, const QColor& dot);

 Q_SIGNALS:
  void chosen(const QString& id);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Theme& theme_;
  QWidget* column_;
  std::vector<DockStripItem*> items_;
};

}  // namespace lathe::ui
