// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/fitted_area.h"

#include <QEvent>

namespace lathe::ui {
namespace {

/// Gives its widget the whole place, and has its minimum. Without a layout, so that no height depends on a width.
class FittedContents final : public QWidget {
 public:
  explicit FittedContents(QWidget* contents) : contents_(contents) {
    contents->setParent(this);
    contents->show();
  }
  QSize minimumSizeHint() const override { return contents_->minimumSizeHint().expandedTo(contents_->minimumSize()); }
  QSize sizeHint() const override { return contents_->sizeHint(); }

 protected:
  bool event(QEvent* event) override {
    if (event->type() == QEvent::LayoutRequest) updateGeometry();  // the widget's minimum has changed
    return QWidget::event(event);
  }
  void resizeEvent(QResizeEvent*) override { contents_->setGeometry(rect()); }

 private:
  QWidget* contents_;
};

}  // namespace

FittedArea::FittedArea(QWidget* contents, QWidget* parent) : QScrollArea(parent) {
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::NoFocus);  // the controls in the area take the focus
  setWidgetResizable(true);
  setWidget(new FittedContents(contents));
}

}  // namespace lathe::ui
