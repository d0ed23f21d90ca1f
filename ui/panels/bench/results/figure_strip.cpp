// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/results/figure_strip.h"

#include <QPainter>
#include <QVBoxLayout>

#include "ui/widgets/controls.h"

namespace lathe::ui {

FigureStrip::FigureStrip(const Theme& theme, const QString& name, const QString& title,
                         const std::array<const char*, 3>& figures, QWidget* parent)
    : QWidget(parent), theme_(theme) {
  setObjectName(name);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(theme.px(16), theme.px(8), theme.px(16), theme.px(8));
  row->setSpacing(theme.px(20));
  auto* words = new QVBoxLayout;
  words->setSpacing(theme.px(2));
  words->addWidget(make_label(theme, name + QStringLiteral(".title"), title, this, 13, QFont::DemiBold, TextTone::text));
  words->addWidget(goal_ = make_label(theme, name + QStringLiteral(".goal"), {}, this, 12));
  row->addLayout(words, 2);
  for (std::size_t i = 0; i < figures.size(); ++i) figures_[i] = make_figure(figures[i], *row);
}

FigureStrip::Figure FigureStrip::make_figure(const char* name, QHBoxLayout& row) {
  const QString id = objectName() + QLatin1Char('.') + QLatin1String(name);
  auto* column = new QVBoxLayout;
  column->setSpacing(theme_.px(2));
  auto* head = new QHBoxLayout;
  head->setSpacing(theme_.px(8));
  Figure figure{};
  head->addWidget(figure.number = make_label(theme_, id, {}, this, 17, QFont::DemiBold, TextTone::text), 0,
                  Qt::AlignBaseline);
  head->addWidget(figure.unit = make_label(theme_, id + QStringLiteral(".unit"), {}, this, 12), 1, Qt::AlignBaseline);
  column->addLayout(head);
  column->addWidget(figure.words = make_label(theme_, id + QStringLiteral(".words"), {}, this, 12));
  // Long values of a cell must not widen the page.
  figure.words->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  row.addLayout(column, 3);
  return figure;
}

void FigureStrip::set_goal(const QString& words, const QString& tip) {
  goal_->setText(words);
  goal_->setToolTip(tip);
}

void FigureStrip::set_figure(std::size_t index, const QString& value, const QString& of, const QString& below) {
  const Figure& figure = figures_[index];
  figure.number->setText(value);
  figure.unit->setText(of);
  figure.words->setText(below);
}

void FigureStrip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme_.tokens().sunken);
  painter.drawRoundedRect(rect(), theme_.px(8), theme_.px(8));
}

}  // namespace lathe::ui
