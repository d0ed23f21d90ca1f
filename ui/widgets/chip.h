// SPDX-License-Identifier: GPL-3.0-or-later
// Chip: one word in the colours of its state, with an icon or a dot before it.
#pragma once

#include <QWidget>

#include "ui/theme/theme.h"

namespace lathe::ui {

enum class ChipState { quiet, accent, success, warning, error };
enum class ChipMark { none, dot, icon };  ///< icon: check, warning or error, as the state requires

struct ChipColors {
  QColor text, ground, mark;
};
ChipColors chip_colors(const Tokens& tokens, ChipState state);
/// Paints a chip into `rect` (18 px high), for delegates.
void paint_chip(QPainter& painter, const Theme& theme, const QRectF& rect, ChipState state, ChipMark mark,
                const QString& word);
int chip_width(const Theme& theme, ChipMark mark, const QString& word);

class Chip : public QWidget {
  Q_OBJECT
 public:
  explicit Chip(const Theme& theme, QWidget* parent = nullptr);
  void set(ChipState state, ChipMark mark, const QString& word);
  /// Makes the chip 22 px high, with text of size 12 and weight 500.
  void set_large(bool large);
  const QString& word() const { return word_; }
  ChipState state() const { return state_; }
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Theme& theme_;
  ChipState state_ = ChipState::quiet;
  ChipMark mark_ = ChipMark::none;
  QString word_;
  bool large_ = false;
};

}  // namespace lathe::ui
