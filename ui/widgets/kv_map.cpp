// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/kv_map.h"

#include <QHelpEvent>
#include <QLocale>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

namespace lathe::ui {
namespace {

constexpr int kLargestPitch = 17;
// Smallest pitch of a drawn cell: a smaller cell with a gap shows nothing but its colour, so one image pixel per block is
// drawn and scaled.
constexpr int kSmallestPitch = 4;

int rows_for(int n, int columns) { return (n + columns - 1) / columns; }

}  // namespace

KvCell cell_of(const engine::KvBlockState& block, bool reserves) {
  if (block.n_references > 1) return KvCell::shared;
  if (block.n_references == 1) return reserves && block.n_filled == 0 ? KvCell::reserved : KvCell::owned;
  return block.hashed ? KvCell::cached : KvCell::free;
}

bool reserves_room(const engine::EngineSnapshot& snapshot) { return snapshot.counters.n_kv_reserved > 0; }

/// Draws in whole pixels without a clip, because there may be a thousand reserved cells ten times a second.
void paint_reserved_cell(QPainter& painter, const QRect& cell, const QColor& color, const Tokens& tokens) {
  constexpr int kPitch = 4;
  painter.fillRect(cell, mixed(color, tokens.page, 0.2));
  painter.setPen(color);
  const int last = cell.width() - 1;
  for (int sum = kPitch - 1; sum <= 2 * last; sum += kPitch) {
    const int x = std::max(0, sum - last);
    painter.drawLine(cell.left() + x, cell.top() + sum - x, cell.left() + sum - x, cell.top() + x);
  }
}

KvGrid kv_grid(int n, int width, int height) {
  for (int pitch = kLargestPitch; pitch >= 1; --pitch) {
    const int columns = (width + 1) / pitch;
    if (columns > 0 && rows_for(n, columns) * pitch <= height + 1) return {pitch, columns};
  }
  return {};
}

QColor kv_color(const Tokens& tokens, std::uint64_t request) { return tokens.kv[(request + 7) % tokens.kv.size()]; }

KvMap::KvMap(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("kv.map"));
  setAccessibleName(tr("Blocks of the KV cache"));
  setMouseTracking(true);
}

void KvMap::show_snapshot(std::shared_ptr<const engine::EngineSnapshot> snapshot) {
  snapshot_ = std::move(snapshot);
  reserves_ = snapshot_ != nullptr && reserves_room(*snapshot_);
  if (snapshot_ != nullptr) {
    QString reserved;
    if (reserves_) {
      const auto n = std::count_if(snapshot_->blocks.begin(), snapshot_->blocks.end(),
                                   [this](const auto& block) { return kind_of(block) == KvCell::reserved; });
      reserved = tr(", %1 of them reserved and empty").arg(n);
    }
    setAccessibleDescription(tr("%1 in use%2, %3 cached, %4 free")
                                 .arg(snapshot_->n_blocks_used)
                                 .arg(reserved)
                                 .arg(snapshot_->n_blocks_cached)
                                 .arg(snapshot_->n_blocks_free));
  }
  if (isVisible()) update();
}

void KvMap::highlight(std::uint64_t request) {
  highlighted_ = request;
  if (isVisible()) update();
}

QColor KvMap::color_of(const engine::KvBlockState& block) const {
  const Tokens& tokens = theme_.tokens();
  switch (kind_of(block)) {
    case KvCell::free: return tokens.kv_free;
    case KvCell::cached: return tokens.kv_cached;
    case KvCell::shared: return tokens.accent;
    case KvCell::reserved:
    case KvCell::owned: break;
  }
  // A block without an owner is held by the batch: static batching keeps the space of finished requests until the last one
  // ends.
  const QColor color = block.owner == 0 ? tokens.queued : kv_color(tokens, block.owner);
  return highlighted_ == 0 || highlighted_ == block.owner ? color : mixed(color, tokens.page, 0.35);
}

void KvMap::paint_cell(QPainter& painter, const QRect& cell, const engine::KvBlockState& block) const {
  const QColor color = color_of(block);
  switch (kind_of(block)) {
    case KvCell::free:
      painter.setPen(color);
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(cell.adjusted(0, 0, -1, -1));
      return;
    case KvCell::shared:
      painter.fillRect(cell, color);
      painter.setClipRect(cell);
      painter.setPen(QPen(Qt::white, 1));
      for (int x = -cell.height(); x < cell.width(); x += 3)
        painter.drawLine(cell.left() + x, cell.bottom() + 1, cell.left() + x + cell.height(), cell.top());
      painter.setClipping(false);
      return;
    case KvCell::cached: painter.fillRect(cell, color); return;
    case KvCell::reserved: return paint_reserved_cell(painter, cell, color, theme_.tokens());
    case KvCell::owned: break;
  }
  const int block_size = std::max(1, snapshot_->block_size);
  const int filled =
      std::clamp(static_cast<int>(std::lround(double(cell.height()) * block.n_filled / block_size)), 1, cell.height());
  if (filled < cell.height()) painter.fillRect(cell, mixed(color, theme_.tokens().page, 0.25));
  painter.fillRect(QRect(cell.left(), cell.bottom() + 1 - filled, cell.width(), filled), color);
}

void KvMap::paint_pixels(QPainter& painter) const {
  const int n = static_cast<int>(snapshot_->blocks.size());
  const int columns = std::max(1, static_cast<int>(std::ceil(std::sqrt(double(n) * width() / std::max(1, height())))));
  QImage image(columns, rows_for(n, columns), QImage::Format_RGB32);
  image.fill(theme_.tokens().page);
  for (int i = 0; i < n; ++i) {
    const engine::KvBlockState& block = snapshot_->blocks[static_cast<std::size_t>(i)];
    const QColor color = color_of(block);
    // A pixel has no space for a pattern: it is paler, like a hatched cell as a whole.
    const bool is_pale = kind_of(block) == KvCell::reserved;
    image.setPixelColor(i % columns, i / columns, is_pale ? mixed(color, theme_.tokens().page, 0.4) : color);
  }
  painter.drawImage(rect(), image);
}

void KvMap::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme_.tokens().page);
  if (snapshot_ == nullptr || snapshot_->blocks.empty()) return;
  const int n = static_cast<int>(snapshot_->blocks.size());
  const KvGrid grid = kv_grid(n, width(), height());
  if (grid.pitch < kSmallestPitch) return paint_pixels(painter);
  for (int i = 0; i < n; ++i) {
    const QRect cell(i % grid.columns * grid.pitch, i / grid.columns * grid.pitch, grid.pitch - 1, grid.pitch - 1);
    paint_cell(painter, cell, snapshot_->blocks[static_cast<std::size_t>(i)]);
  }
}

int KvMap::block_at(const QPoint& point) const {
  if (snapshot_ == nullptr || snapshot_->blocks.empty() || !rect().contains(point)) return -1;
  const int n = static_cast<int>(snapshot_->blocks.size());
  KvGrid grid = kv_grid(n, width(), height());
  int column = 0;
  int row = 0;
  if (grid.pitch >= kSmallestPitch) {
    column = point.x() / grid.pitch;
    row = point.y() / grid.pitch;
    if (column >= grid.columns) return -1;
  } else {
    grid.columns = std::max(1, static_cast<int>(std::ceil(std::sqrt(double(n) * width() / std::max(1, height())))));
    column = point.x() * grid.columns / std::max(1, width());
    row = point.y() * rows_for(n, grid.columns) / std::max(1, height());
  }
  const int block = row * grid.columns + column;
  return block < n ? block : -1;
}

QString KvMap::text_for(int index) const {
  const engine::KvBlockState& block = snapshot_->blocks[static_cast<std::size_t>(index)];
  const QString head = tr("Block %1").arg(QLocale().toString(index));
  switch (kind_of(block)) {
    case KvCell::free: return tr("%1: free").arg(head);
    case KvCell::cached: return tr("%1: cached, %2 tokens, not used by any request").arg(head).arg(block.n_filled);
    case KvCell::shared:
      return tr("%1: shared by %2 requests, %3 tokens").arg(head).arg(block.n_references).arg(block.n_filled);
    case KvCell::reserved:
      return block.owner == 0 ? tr("%1: kept until the batch ends; its request has ended").arg(head)
                              : tr("%1: reserved by request %2, empty").arg(head).arg(block.owner);
    case KvCell::owned: break;
  }
  return tr("%1: request %2, %3 of %4 tokens").arg(head).arg(block.owner).arg(block.n_filled).arg(snapshot_->block_size);
}

bool KvMap::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int block = block_at(help->pos());
  if (block < 0) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(help->globalPos(), text_for(block), this);
  }
  return true;
}

void KvMap::mousePressEvent(QMouseEvent* event) {
  const int block = block_at(event->pos());
  Q_EMIT request_clicked(block < 0 ? 0 : snapshot_->blocks[static_cast<std::size_t>(block)].owner);
}

}  // namespace lathe::ui
