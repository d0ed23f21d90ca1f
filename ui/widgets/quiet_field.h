// SPDX-License-Identifier: GPL-3.0-or-later
// Quiet: a field in what can be scrolled: the wheel scrolls, and changes it only while it has the focus.
#pragma once

#include <QWheelEvent>
#include <QWidget>

namespace lathe::ui {

/// `Base`: a combo or spin box. Theirs would take the focus by the wheel.
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
