// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/form_row.h"

#include <QPainter>

#include "ui/widgets/controls.h"

namespace lathe::ui {

FormRow::FormRow(const Theme& theme, const QString& name, const QString& label, const QString& tip, QWidget* control,
                 int label_width, QWidget* parent)
    : QWidget(parent), theme_(theme), name_(name) {
  setObjectName(QStringLiteral("row.") + name);
  row_ = new QHBoxLayout(this);
  row_->setContentsMargins(0, 0, 0, 0);
  row_->setSpacing(theme.px(4));
  label_ = make_label(theme, QStringLiteral("row.%1.label").arg(name), label, this);
  label_->setFixedWidth(theme.px(label_width));
  label_->setBuddy(control);
  label_->setToolTip(tip);
  if (control->toolTip().isEmpty()) control->setToolTip(tip);
  if (control->accessibleName().isEmpty()) control->setAccessibleName(label);
  control->setAccessibleDescription(tip);
  row_->addWidget(label_);
  row_->addWidget(control);
}

void FormRow::add(QWidget* widget) { row_->addWidget(widget); }

void FormRow::set_changed(bool changed) {
  if (changed_ == changed) return;
  changed_ = changed;
  label_->setAccessibleDescription(changed ? tr("changed, not applied yet") : QString());
  update();
}

void FormRow::paintEvent(QPaintEvent*) {
  if (!changed_) return;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme_.tokens().accent);
  const qreal dot = theme_.px(6);
  const int x = label_->x() + label_->fontMetrics().horizontalAdvance(label_->text()) + theme_.px(6);
  painter.drawEllipse(QRectF(x, label_->geometry().center().y() - dot / 2 + 0.5, dot, dot));
}

}  // namespace lathe::ui
