// SPDX-License-Identifier: GPL-3.0-or-later
// StateMap: the slots of the states of recurrent layers as one row of cells: those of requests, then the snapshots from
// which the prefix cache continues.
#pragma once

#include <QWidget>

#include "engine/api/snapshot.h"
#include "ui/theme/theme.h"
#include "ui/widgets/kv_map.h"

namespace lathe::ui {

/// Thread: GUI. Hidden while no layer is recurrent.
class StateMap : public QWidget {
  Q_OBJECT
 public:
  explicit StateMap(const Theme& theme, QWidget* parent = nullptr);
  void show_states(const engine::RecurrentStates& states);
  /// Draws slots of other requests paler than that of `request`; 0: draws all alike.
  void highlight(std::uint64_t request);
  /// Text about the content of a slot; `i`: index in RecurrentStates::slot_states.
  QString text_for(int i) const;
  /// The cell of a slot; empty: the cells are too small to be drawn one by one.
  QRect cell_of_slot(int i) const;

 Q_SIGNALS:
  void request_clicked(std::uint64_t request);

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;

 private:
  int n_cells() const { return static_cast<int>(states_.slot_states.size()) + 1; }
  bool is_snapshot(int i) const { return i >= states_.n_slots; }
  KvGrid grid() const { return kv_grid(n_cells(), width(), height()); }
  QColor color_of(int i) const;
  int slot_at(const QPoint& point) const;
  void paint_pixels(QPainter& painter) const;

  const Theme& theme_;
  engine::RecurrentStates states_;
  std::uint64_t highlighted_ = 0;
};

}  // namespace lathe::ui
