// SPDX-License-Identifier: GPL-3.0-or-later
// SweepExporter: saves the shown sweep in a file of the user's choice, and copies how it is measured again.
#pragma once

#include <QObject>
#include <functional>

#include "app/api/sweep_export.h"
#include "ui/panels/bench/results/reproduce_menu.h"
#include "ui/panels/panel.h"

namespace lathe::ui {

class SweepExporter : public QObject {
  Q_OBJECT
 public:
  /// `shown_chart` returns the chart that drawings show. Requires: `context` outlives this object.
  SweepExporter(const PanelContext& context, std::function<app::ChartChoice()> shown_chart, QWidget* parent);
  /// Asks for a file and writes the sweep. Nothing happens without a sweep or a file.
  void save(const app::ExportFormat& format);
  /// Writes the sweep, the bytes of `lathe sweep` in that format. Nothing happens without a sweep.
  void write(const app::ExportFormat& format, const QString& path);
  /// Copies a way to measure the cell, or the sweep, again. `cell`: its index, if the way is of a cell.
  void copy(const Reproduction& way, std::size_t cell);

 Q_SIGNALS:
  void done(const QString& text);
  void failed(const QString& title, const QString& reason);

 private:
  const PanelContext& context_;
  std::function<app::ChartChoice()> shown_chart_;
  QWidget* window_;
};

}  // namespace lathe::ui
