// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/elided_combo_box.h"

#include <QHelpEvent>
#include <QStyleOptionComboBox>
#include <QStylePainter>
#include <QToolTip>

namespace lathe::ui {
namespace {

constexpr int kArrowMargin = 4;  // free pixels between the text's field and the arrow

}  // namespace

ElidedComboBox::ElidedComboBox(QWidget* parent) : QComboBox(parent) {}

QString ElidedComboBox::shown() const {
  QStyleOptionComboBox option;
  initStyleOption(&option);
  const QRect field = style()->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, this);
  return fontMetrics().elidedText(currentText(), Qt::ElideRight, field.width() + kArrowMargin);
}

void ElidedComboBox::paintEvent(QPaintEvent* event) {
  if (isEditable()) return QComboBox::paintEvent(event);
  QStyleOptionComboBox option;
  initStyleOption(&option);
  option.currentText = shown();
  QStylePainter painter(this);
  painter.drawComplexControl(QStyle::CC_ComboBox, option);
  painter.drawControl(QStyle::CE_ComboBoxLabel, option);
}

/// Puts a shortened text before an explicit tool tip.
bool ElidedComboBox::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || isEditable() || shown() == currentText()) return QComboBox::event(event);
  const QString text = currentText().toHtmlEscaped();
  QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(),
                     toolTip().isEmpty() ? text : QStringLiteral("<p>%1</p>%2").arg(text, toolTip()), this);
  return true;
}

}  // namespace lathe::ui
