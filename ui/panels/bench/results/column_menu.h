// SPDX-License-Identifier: GPL-3.0-or-later
// ColumnMenu: the menu that chooses the metrics of the results table, in groups.
#pragma once

#include <QMenu>
#include <vector>

namespace lathe::ui {

class ColumnMenu : public QMenu {
  Q_OBJECT
 public:
  explicit ColumnMenu(QWidget* parent);
  /// Ticks these metrics; the last ticked one cannot be unticked.
  void show_metrics(const std::vector<std::size_t>& shown);

 Q_SIGNALS:
  void chosen(const std::vector<std::size_t>& metrics);  ///< in the order of the table of metrics
  void reset_wanted();

 private:
  void add_group(const QString& title, const std::vector<std::size_t>& metrics);
  void tell();

  std::vector<QAction*> metrics_;
};

}  // namespace lathe::ui
