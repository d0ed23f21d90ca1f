// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/dock_title.h"

#include <QMouseEvent>
#include <QPainter>

#include "ui/widgets/controls.h"

namespace lathe::ui {

DockTitle::DockTitle(const Theme& theme, QDockWidget* dock, QWidget* tools) : QWidget(dock), theme_(theme), tools_(tools) {
  auto* row = row_ = new QHBoxLayout(this);
  row->setContentsMargins(theme.px(14), 0, theme.px(10), 1);
  row->setSpacing(theme.px(2));
  QLabel* title = make_label(theme, QStringLiteral("%1.title").arg(dock->objectName()), dock->windowTitle(), this, 12,
                             QFont::DemiBold, TextTone::text);
  connect(dock, &QWidget::windowTitleChanged, title, &QLabel::setText);
  row->addWidget(title);
  row->addStretch(1);
  if (tools != nullptr) row->addWidget(tools);
  auto* float_button = make_icon_button(theme, QStringLiteral("%1.float").arg(dock->objectName()), QStringLiteral("float"),
                                        tr("Float this dock"), this, 24, IconTone::quiet);
  auto* close_button = make_icon_button(theme, QStringLiteral("%1.close").arg(dock->objectName()), QStringLiteral("close"),
                                        tr("Hide this dock"), this, 24, IconTone::quiet);
  connect(float_button, &QToolButton::clicked, dock, [dock] { dock->setFloating(!dock->isFloating()); });
  connect(close_button, &QToolButton::clicked, dock, &QDockWidget::close);
  row->addWidget(float_button);
  row->addWidget(close_button);
}

void DockTitle::set_tabbed(bool tabbed) {
  if (tabbed_ == tabbed) return;
  tabbed_ = tabbed;
  if (!tabbed && tools_ != nullptr) row_->insertWidget(2, tools_);
  for (QWidget* child : findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly)) child->setVisible(!tabbed);
  updateGeometry();
}

QSize DockTitle::sizeHint() const { return {theme_.px(120), tabbed_ ? 0 : theme_.px(34)}; }

void DockTitle::paintEvent(QPaintEvent*) {
  if (tabbed_) return;
  QPainter painter(this);
  painter.fillRect(rect(), theme_.tokens().dock);
  painter.fillRect(QRect(0, height() - 1, width(), 1), theme_.tokens().border);
}

void DockTitle::mouseDoubleClickEvent(QMouseEvent* event) {
  event->accept();
  Q_EMIT maximise_asked();
}

}  // namespace lathe::ui
