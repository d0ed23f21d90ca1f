// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/state_map.h"

#include <QHelpEvent>
#include <QImage>
#include <QLocale>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

namespace lathe::ui {
namespace {

constexpr int kStateHeight = 16, kSmallestStatePitch = 3;

}  // namespace

StateMap::StateMap(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("kv.states"));
  setAccessibleName(tr("States of recurrent layers"));
  setFixedHeight(theme.px(kStateHeight));
  setMouseTracking(true);
  hide();
}

void StateMap::show_states(const engine::RecurrentStates& states) {
  states_ = states;
  setVisible(!states_.slot_states.empty());
  setAccessibleDescription(tr("%1 of %2 in use, %3 of %4 snapshots held")
                               .arg(states_.n_slots_used)
                               .arg(states_.n_slots)
                               .arg(states_.n_snapshots_held)
                               .arg(states_.n_snapshots));
  if (isVisible()) update();
}

void StateMap::highlight(std::uint64_t request) {
  highlighted_ = request;
  if (isVisible()) update();
}

/// A cell is left out between the requests' slots and the snapshots.
QRect StateMap::cell_of_slot(int i) const {
  const KvGrid at = grid();
  if (at.pitch < kSmallestStatePitch) return {};
  const int cell = is_snapshot(i) ? i + 1 : i;
  return {cell % at.columns * at.pitch, cell / at.columns * at.pitch, at.pitch - 1, at.pitch - 1};
}

QColor StateMap::color_of(int i) const {
  const engine::StateSlot& slot = states_.slot_states[static_cast<std::size_t>(i)];
  const Tokens& tokens = theme_.tokens();
  if (is_snapshot(i)) return slot.n_tokens > 0 ? tokens.kv_cached : tokens.kv_free;
  if (slot.owner == 0) return tokens.kv_free;
  const QColor color = kv_color(tokens, slot.owner);
  return highlighted_ == 0 || highlighted_ == slot.owner ? color : mixed(color, tokens.page, 0.35);
}

/// Draws one pixel for each slot, and scales the row.
void StateMap::paint_pixels(QPainter& painter) const {
  QImage image(n_cells(), 1, QImage::Format_RGB32);
  image.fill(theme_.tokens().page);
  for (int i = 0; i + 1 < n_cells(); ++i) image.setPixelColor(is_snapshot(i) ? i + 1 : i, 0, color_of(i));
  painter.drawImage(rect(), image);
}

void StateMap::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme_.tokens().page);
  if (states_.slot_states.empty()) return;
  if (grid().pitch < kSmallestStatePitch) return paint_pixels(painter);
  for (int i = 0; i + 1 < n_cells(); ++i) {
    const engine::StateSlot& slot = states_.slot_states[static_cast<std::size_t>(i)];
    const QRect cell = cell_of_slot(i);
    if (is_snapshot(i) ? slot.n_tokens > 0 : slot.owner != 0) {
      painter.fillRect(cell, color_of(i));
    } else {
      painter.setPen(color_of(i));
      painter.drawRect(cell.adjusted(0, 0, -1, -1));
    }
  }
}

int StateMap::slot_at(const QPoint& point) const {
  if (grid().pitch < kSmallestStatePitch) return -1;
  for (int i = 0; i + 1 < n_cells(); ++i) {
    if (cell_of_slot(i).contains(point)) return i;
  }
  return -1;
}

QString StateMap::text_for(int i) const {
  const engine::StateSlot& slot = states_.slot_states[static_cast<std::size_t>(i)];
  const QString n_tokens = QLocale().toString(static_cast<qlonglong>(slot.n_tokens));
  if (is_snapshot(i)) {
    const QString head = tr("Snapshot %1").arg(QLocale().toString(i - states_.n_slots));
    return slot.n_tokens > 0 ? tr("%1: state after %2 tokens").arg(head, n_tokens) : tr("%1: free").arg(head);
  }
  const QString head = tr("State %1").arg(QLocale().toString(i));
  return slot.owner == 0 ? tr("%1: free").arg(head)
                         : tr("%1: request %2, after %3 tokens").arg(head).arg(slot.owner).arg(n_tokens);
}

bool StateMap::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int slot = slot_at(help->pos());
  if (slot < 0) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(help->globalPos(), text_for(slot), this);
  }
  return true;
}

void StateMap::mousePressEvent(QMouseEvent* event) {
  const int slot = slot_at(event->pos());
  Q_EMIT request_clicked(slot < 0 ? 0 : states_.slot_states[static_cast<std::size_t>(slot)].owner);
}

}  // namespace lathe::ui
