// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/model/source_row.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

namespace lathe::ui {
namespace {

constexpr int kSourceRow = 44;

}  // namespace

SourceRow::SourceRow(const Theme& theme, const app::LibraryEntry& entry, QWidget* parent)
    : QAbstractButton(parent), theme_(theme), entry_(entry), chip_(new Chip(theme, this)) {
  const QString name = entry.is_demo ? tr("Lathe demo") : QString::fromStdString(entry.name);
  setObjectName(QStringLiteral("model.source.") + QString::fromStdString(entry.name));
  setText(name);
  setAccessibleName(name);
  setToolTip(QString::fromStdString(entry.path));
  setFocusPolicy(Qt::TabFocus);
  setFixedHeight(theme.px(kSourceRow));
  chip_->setObjectName(QStringLiteral("model.source.chip"));
  chip_->hide();
}

QSize SourceRow::sizeHint() const { return {theme_.px(200), theme_.px(kSourceRow)}; }

void SourceRow::set_facts(const QString& line, ChipState state, const QString& word) {
  line_ = line;
  chip_->set(state, ChipMark::none, word);
  chip_->setVisible(!word.isEmpty());
  setAccessibleDescription(line + QStringLiteral(", ") + word);
  // The tool tip has the full text of what the narrow dock cuts off.
  setToolTip(QStringLiteral("%1\n%2").arg(QString::fromStdString(entry_.path), line));
  update();
}

void SourceRow::paintEvent(QPaintEvent*) {
  const Tokens& t = theme_.tokens();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  if (underMouse() || hasFocus()) {
    painter.setPen(hasFocus() ? QPen(t.focus, 1) : QPen(Qt::NoPen));
    painter.setBrush(underMouse() ? t.hover : Qt::transparent);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme_.px(6), theme_.px(6));
  }
  const int side = theme_.px(16);
  theme_.icon(QStringLiteral("model")).paint(&painter, QRect(theme_.px(8), (height() - side) / 2, side, side));
  const QSize chip = chip_->sizeHint();
  chip_->setGeometry(width() - chip.width() - theme_.px(8), (height() - chip.height()) / 2, chip.width(), chip.height());
  const QRect words(theme_.px(32), theme_.px(5),
                    width() - theme_.px(40) - (chip_->isHidden() ? 0 : chip.width() + theme_.px(10)),
                    height() - theme_.px(10));
  painter.setFont(theme_.font(13, QFont::Medium));
  painter.setPen(t.text);
  painter.drawText(words, Qt::AlignTop | Qt::AlignLeft,
                   painter.fontMetrics().elidedText(text(), Qt::ElideRight, words.width()));
  painter.setFont(theme_.font(11));
  painter.setPen(t.text3);
  painter.drawText(words, Qt::AlignBottom | Qt::AlignLeft,
                   painter.fontMetrics().elidedText(line_, Qt::ElideRight, words.width()));
}

void SourceRow::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
    Q_EMIT load_asked();
    return;
  }
  QAbstractButton::keyPressEvent(event);
}

/// Waits for a second click, because after the first the settings of the chosen model replace the list.
void SourceRow::mouseReleaseEvent(QMouseEvent* event) {
  const bool is_click = isDown() && event->button() == Qt::LeftButton && hitButton(event->position().toPoint());
  if (is_click) second_click_.wait(event->globalPosition().toPoint(), [this] { Q_EMIT load_asked(); });
  QAbstractButton::mouseReleaseEvent(event);
}

void SourceRow::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) Q_EMIT load_asked();
}

}  // namespace lathe::ui
