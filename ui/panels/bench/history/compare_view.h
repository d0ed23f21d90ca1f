// SPDX-License-Identifier: GPL-3.0-or-later
// CompareView: two saved sweeps next to each other, on the cells that both have measured.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QTableView>

#include "ui/panels/bench/history/compare_table.h"
#include "ui/panels/bench/results/figure_strip.h"
#include "ui/panels/panel.h"

namespace lathe::ui {

class CompareView : public QWidget {
  Q_OBJECT
 public:
  CompareView(const PanelContext& context, QWidget* parent);
  /// Sets the sweeps to choose from, newest first. The chosen sweeps stay chosen and are read again.
  void show_sweeps(const std::vector<app::SweepFacts>& sweeps);
  void choose(const QString& a, const QString& b);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* make_head();
  void make_table();
  QComboBox* make_choice(const char* name, const QString& words, QWidget* parent);
  void fill_metrics();
  void choose_metrics();
  void read();
  void show_comparison();
  void show_figures();
  QString problem() const;
  QString difference_text() const;

  PanelContext context_;
  int reading_ = 0;  ///< number of the latest reading; older answers are ignored
  CompareTable::Record a_record_, b_record_;
  QString error_;
  CompareTable model_;
  QSortFilterProxyModel sorted_;
  QComboBox *a_ = nullptr, *b_ = nullptr;
  QPushButton *swap_ = nullptr, *metrics_ = nullptr;
  QMenu* metric_menu_ = nullptr;
  QWidget* results_ = nullptr;
  FigureStrip* figures_ = nullptr;
  QLabel *differences_ = nullptr, *empty_ = nullptr;
  QTableView* table_ = nullptr;
};

}  // namespace lathe::ui
