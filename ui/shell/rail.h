// SPDX-License-Identifier: GPL-3.0-or-later
// Rail: the column at the left with one item for each page, and the settings at its end.
#pragma once

#include <QAbstractButton>
#include <QButtonGroup>
#include <QToolBar>
#include <vector>

#include "ui/theme/theme.h"

namespace lathe::ui {

class RailItem : public QAbstractButton {
  Q_OBJECT
 public:
  RailItem(const Theme& theme, const QString& name, const QString& icon, const QString& word, QWidget* parent);
  void set_compact(bool compact);
  /// Shows a state dot at the icon; an invalid colour removes it.
  void set_dot(const QColor& color);
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Theme& theme_;
  QString icon_;
  QColor dot_;
  bool compact_ = false;
};

class Rail : public QToolBar {
  Q_OBJECT
 public:
  explicit Rail(const Theme& theme, QWidget* parent);
  /// Adds an item that chooses page `id`.
  RailItem* add_page(const QString& id, const QString& word, const QString& icon, const QString& tip);
  RailItem* add_tool(const QString& id, const QString& word, const QString& icon, const QString& tip);
  void set_current(const QString& id);
  /// Shows icons only, with the names as tool tips.
  void set_compact(bool compact);
  RailItem* item(const QString& id) const;

 Q_SIGNALS:
  void page_chosen(const QString& id);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  RailItem* make_item(const QString& id, const QString& word, const QString& icon, const QString& tip);

  const Theme& theme_;
  QWidget* column_;
  QButtonGroup pages_;
  std::vector<RailItem*> items_;
  int n_pages_ = 0;
};

}  // namespace lathe::ui
