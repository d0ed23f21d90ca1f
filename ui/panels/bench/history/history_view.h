// SPDX-License-Identifier: GPL-3.0-or-later
// HistoryView: the saved sweeps, and buttons to open one, compare two, rename one, delete one.
#pragma once

#include <QLabel>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QTableView>

#include "ui/panels/bench/history/history_table.h"
#include "ui/panels/panel.h"
#include "ui/widgets/inline_message.h"

namespace lathe::ui {

class HistoryView : public QWidget {
  Q_OBJECT
 public:
  HistoryView(const PanelContext& context, QWidget* parent);
  void show_sweeps(const std::vector<app::SweepFacts>& sweeps);

 Q_SIGNALS:
  void open_wanted(const QString& path);
  void compare_wanted(const QString& older, const QString& newer);
  void changed();  ///< a journal was renamed or removed

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  QWidget* make_head();
  void make_table();
  QStringList selected() const;  ///< paths of the selected sweeps, the older first
  void follow_selection();
  void open_file();
  void rename(const QString& path, const QString& name);
  void ask_to_remove();
  void remove(const QString& path);
  void tell(const QString& what, const engine::Error& error);

  PanelContext context_;
  HistoryTable model_;
  QSortFilterProxyModel sorted_;
  QTableView* table_ = nullptr;
  QLabel *count_ = nullptr, *empty_ = nullptr;
  InlineMessage* message_ = nullptr;
  QPushButton *open_ = nullptr, *compare_ = nullptr, *rename_ = nullptr, *remove_ = nullptr;
};

}  // namespace lathe::ui
