// SPDX-License-Identifier: GPL-3.0-or-later
// KvMap: every block of the KV cache as one cell: its owner, how full it is, and whether it is reserved, shared, cached or
// free.
#pragma once

#include <QImage>
#include <QWidget>
#include <memory>

#include "engine/api/snapshot.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

enum class KvCell { free, cached, reserved, owned, shared };
/// The state of a block. `reserves`: requests of the engine reserve space before they need it. Otherwise an empty owned
/// block is one that the running step fills.
KvCell cell_of(const engine::KvBlockState& block, bool reserves = false);
/// True if requests of this engine reserve space before they need it: in its steps so far, some owned block had no content.
bool reserves_room(const engine::EngineSnapshot& snapshot);

/// The largest cell, in whole pixels, with which `n` cells, one pixel apart, fit into the area; 0 if even cells of 1 px do
/// not fit.
struct KvGrid {
  int pitch = 0;  ///< width of a cell and its gap
  int columns = 0;
};
KvGrid kv_grid(int n, int width, int height);

/// Thread: GUI. Reads the snapshot that was set last.
class KvMap : public QWidget {
  Q_OBJECT
 public:
  explicit KvMap(const Theme& theme, QWidget* parent = nullptr);
  void show_snapshot(std::shared_ptr<const engine::EngineSnapshot> snapshot);
  /// Draws blocks of other requests paler than those of `request`; 0: draws all alike.
  void highlight(std::uint64_t request);
  QSize minimumSizeHint() const override { return {120, 60}; }

 Q_SIGNALS:
  void request_clicked(std::uint64_t request);

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;

 private:
  int block_at(const QPoint& point) const;
  QString text_for(int block) const;
  KvCell kind_of(const engine::KvBlockState& block) const { return cell_of(block, reserves_); }
  QColor color_of(const engine::KvBlockState& block) const;
  void paint_cell(QPainter& painter, const QRect& cell, const engine::KvBlockState& block) const;
  void paint_pixels(QPainter& painter) const;

  const Theme& theme_;
  std::shared_ptr<const engine::EngineSnapshot> snapshot_;
  bool reserves_ = false;
  std::uint64_t highlighted_ = 0;
};

/// Paints a reserved cell: pale, with lines at 45 degrees.
void paint_reserved_cell(QPainter& painter, const QRect& cell, const QColor& color, const Tokens& tokens);

/// The colour of a request's blocks; colours repeat after eight requests.
QColor kv_color(const Tokens& tokens, std::uint64_t request);

}  // namespace lathe::ui
