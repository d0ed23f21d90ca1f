// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/page_header.h"

#include <QPainter>

namespace lathe::ui {

PageHeader::PageHeader(const Theme& theme, const QString& title, QWidget* parent) : QWidget(parent), theme_(theme) {
  setFixedHeight(theme.px(49));
  row_ = new QHBoxLayout(this);
  row_->setContentsMargins(theme.px(20), 0, theme.px(14), 1);
  row_->setSpacing(theme.px(6));
  title_ = make_label(theme, QStringLiteral("page.title"), title, this, 15, QFont::DemiBold, TextTone::text);
  title_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Preferred);
  title_->setMinimumWidth(0);
  row_->addWidget(title_);
  row_->addStretch(1);
}

void PageHeader::set_title(const QString& title) {
  title_->setText(title);
  title_->setToolTip(title);
}

void PageHeader::add_left(QWidget* widget) { row_->insertWidget(n_left_++, widget); }

void PageHeader::add_right(QWidget* widget) { row_->addWidget(widget); }

void PageHeader::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme_.tokens().page);
  painter.fillRect(QRect(0, height() - 1, width(), 1), theme_.tokens().border);
}

}  // namespace lathe::ui
