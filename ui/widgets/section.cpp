// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/section.h"

#include <QHBoxLayout>

namespace lathe::ui {

Section::Section(const Theme& theme, const QString& name, const QString& title, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(name);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(theme.px(4));
  auto* head = new QHBoxLayout;
  head->setContentsMargins(0, 0, 0, 0);
  heading_ = new QToolButton(this);
  heading_->setObjectName(name + QStringLiteral(".heading"));
  heading_->setAccessibleName(title);
  heading_->setText(title);
  heading_->setFont(theme.font(12, QFont::DemiBold));
  heading_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  heading_->setIconSize({theme.px(12), theme.px(12)});
  heading_->setFixedHeight(theme.px(24));
  heading_->setFocusPolicy(Qt::TabFocus);
  fact_ = make_label(theme, name + QStringLiteral(".fact"), QString(), this, 11, QFont::Normal, TextTone::text3);
  head->addWidget(heading_);
  head->addStretch(1);
  head->addWidget(fact_);
  column->addLayout(head);
  body_ = new QWidget(this);
  rows_ = new QVBoxLayout(body_);
  rows_->setContentsMargins(0, 0, 0, 0);
  rows_->setSpacing(theme.px(6));
  column->addWidget(body_);
  connect(heading_, &QToolButton::clicked, this, [this] { set_open(folded_); });
  heading_->setIcon(theme.icon(QStringLiteral("chevron-down"), IconTone::quiet));
}

void Section::set_open(bool open) {
  if (folded_ == !open) return;
  folded_ = !open;
  body_->setVisible(open);
  heading_->setIcon(theme_.icon(open ? QStringLiteral("chevron-down") : QStringLiteral("chevron-right"), IconTone::quiet));
  Q_EMIT folded(folded_);
}

void Section::set_fact(const QString& fact) { fact_->setText(fact); }

}  // namespace lathe::ui
