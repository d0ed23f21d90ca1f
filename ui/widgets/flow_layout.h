// SPDX-License-Identifier: GPL-3.0-or-later
// FlowLayout: widgets in rows, with as many in a row as fit.
#pragma once

#include <QLayout>
#include <QList>

namespace lathe::ui {

class FlowLayout : public QLayout {
  Q_OBJECT
 public:
  FlowLayout(QWidget* parent, int gap);
  ~FlowLayout() override;
  void addItem(QLayoutItem* item) override;
  int count() const override { return static_cast<int>(items_.size()); }
  QLayoutItem* itemAt(int index) const override { return items_.value(index); }
  QLayoutItem* takeAt(int index) override;
  Qt::Orientations expandingDirections() const override { return {}; }
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override { return arrange(QRect(0, 0, width, 0), false); }
  QSize sizeHint() const override { return minimumSize(); }
  QSize minimumSize() const override;
  void setGeometry(const QRect& rect) override;

 private:
  int arrange(const QRect& rect, bool place) const;

  QList<QLayoutItem*> items_;
  int gap_;
};

}  // namespace lathe::ui
