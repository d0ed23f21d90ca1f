// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/section.h"

#include <QHBoxLayout>
#include <QPainter>

namespace lathe::ui {
namespace {

/// Chevron and title, flush with the labels below.
class Heading final : public QAbstractButton {
 public:
  Heading(const Theme& theme, const QString& title, QWidget* parent) : QAbstractButton(parent), theme_(theme) {
    setText(title);
    setAccessibleName(title);
    setCheckable(true);
    setFocusPolicy(Qt::TabFocus);
    setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
  }
  QSize sizeHint() const override {
    return {theme_.px(20) + QFontMetrics(theme_.font(12, QFont::DemiBold)).horizontalAdvance(text()), theme_.px(24)};
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Tokens& t = theme_.tokens();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const int side = theme_.px(14);
    const QString icon = isChecked() ? QStringLiteral("chevron-down") : QStringLiteral("chevron-right");
    theme_.icon(icon, IconTone::quiet).paint(&painter, QRect(-theme_.px(3), (height() - side) / 2, side, side));
    painter.setFont(theme_.font(12, QFont::DemiBold));
    painter.setPen(hasFocus() ? t.accent_text : t.text2);
    painter.drawText(rect().adjusted(theme_.px(15), 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, text());
  }

 private:
  const Theme& theme_;
};

}  // namespace

Section::Section(const Theme& theme, const QString& name, const QString& title, QWidget* parent) : QWidget(parent) {
  setObjectName(name);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(theme.px(4));
  auto* head = new QHBoxLayout;
  head->setContentsMargins(0, 0, 0, 0);
  heading_ = new Heading(theme, title, this);
  heading_->setObjectName(name + QStringLiteral(".heading"));
  heading_->setChecked(true);
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
  connect(heading_, &QAbstractButton::clicked, this, [this] { set_open(folded_); });
}

void Section::set_open(bool open) {
  if (folded_ == !open) return;
  folded_ = !open;
  body_->setVisible(open);
  heading_->setChecked(open);
  Q_EMIT folded(folded_);
}

void Section::set_fact(const QString& fact) { fact_->setText(fact); }

}  // namespace lathe::ui
