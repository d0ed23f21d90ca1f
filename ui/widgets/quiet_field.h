// SPDX-License-Identifier: GPL-3.0-or-later
// Quiet: a field in a scrollable area: the wheel changes its value only while it has the focus, and otherwise scrolls the
// area.
#pragma once

#include <QWheelEvent>
#include <QWidget>

namespace lathe::ui {

/// `Base`: a combo or spin box. Qt's own take the focus by the wheel.
template <class Base>
class Quiet final : public Base {
 public:
  explicit Quiet(QWidget* parent = nullptr) : Base(parent) { Base::setFocusPolicy(Qt::StrongFocus); }

 protected:
  void wheelEvent(QWheelEvent* event) override {
    if (Base::hasFocus()) Base::wheelEvent(event);
    else event->ignore();
  }
};

}  // namespace lathe::ui
