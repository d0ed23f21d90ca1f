// SPDX-License-Identifier: GPL-3.0-or-later
// FitBar: the part of the free memory that a model would take, as a stacked bar with its figures and a verdict; once the
// model is loaded, also the memory that it took.
#pragma once

#include <QStringList>
#include <QWidget>
#include <optional>

#include "engine/api/checkpoint.h"
#include "engine/api/memory_use.h"
#include "ui/widgets/chip.h"

namespace lathe::ui {

class FitBar : public QWidget {
  Q_OBJECT
 public:
  FitBar(const Theme& theme, QWidget* parent);
  /// Shows an estimate. `measured`: the memory that the load with this estimate took. `keeps_height`: an estimate without a
  /// measurement is as high as one with it, so that nothing moves when a setting of a loaded model is changed.
  void set_fit(const engine::FitEstimate& fit, std::int64_t block_size, std::int64_t max_model_len,
               const std::optional<engine::MemoryUse>& measured = {}, bool keeps_height = false);
  /// Shows, while no model is chosen, how much of the machine's memory is free, and a line of text.
  void set_free(double available_bytes, double total_bytes, const QString& words);
  QString words() const;
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void paint_free(QPainter& painter) const;
  void paint_fit(QPainter& painter) const;
  void paint_head(QPainter& painter) const;
  void paint_legend(QPainter& painter) const;
  void paint_thin_bar(QPainter& painter, double px_per_byte) const;
  void paint_measured(QPainter& painter) const;
  void paint_row(QPainter& painter, int row, const QStringList& words, bool strong) const;
  int fit_height() const;
  QString measured_text() const;

  const Theme& theme_;
  std::optional<engine::FitEstimate> fit_;
  std::optional<engine::MemoryUse> measured_;
  bool keeps_height_ = false;
  double available_ = 0, total_ = 0;
  QString meaning_;
  QStringList more_;  ///< lines below it: of recurrent states, of the host of a device
  Chip* chip_;
};

ChipState chip_state(engine::FitVerdict verdict);
QString verdict_word(engine::FitVerdict verdict);

}  // namespace lathe::ui
