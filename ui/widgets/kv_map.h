// SPDX-License-Identifier: GPL-3.0-or-later
// KvMap: every block of the KV cache as one cell: whose it is, how full, reserved, shared, cached or free.
#pragma once

#include <QImage>
#include <QWidget>
#include <memory>

#include "engine/api/snapshot.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

enum class KvCell { free, cached, reserved, owned, shared };
/// `reserves`: of an engine whose requests hold room before they need it. Else a held block that is still empty is filled by
/// the step that runs.
KvCell cell_of(const engine::KvBlockState& block, bool reserves = false);
/// Whether requests of this engine hold room before they need it: over its steps so far, some held block had no content.
bool reserves_room(const engine::EngineSnapshot& snapshot);

/// Whole pixels: the largest cell with which `n` cells, a pixel apart, fit into the area; 0 when not even 1 px each does.
struct KvGrid {
  int pitch = 0;  ///< cell and gap
  int columns = 0;
};
KvGrid kv_grid(int n, int width, int height);

/// Thread: GUI. Reads the snapshot that it was given last.
class KvMap : public QWidget {
  Q_OBJECT
 public:
  explicit KvMap(const Theme& theme, QWidget* parent = nullptr);
  void show_snapshot(std::shared_ptr<const engine::EngineSnapshot> snapshot);
  /// Its blocks are drawn as they are, those of others paler; 0: all alike.
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

/// A reserved cell: pale, with lines at 45 degrees.
void paint_reserved_cell(QPainter& painter, const QRect& cell, const QColor& color, const Tokens& tokens);

/// The colour of a request's blocks; it repeats after eight.
QColor kv_color(const Tokens& tokens, std::uint64_t request);

}  // namespace lathe::ui
