// SPDX-License-Identifier: GPL-3.0-or-later
// ManualWindow: the manual in a separate window: pages, search over all of them, back and forward.
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QToolButton>
#include <QWidget>
#include <vector>

#include "ui/manual/manual_list.h"
#include "ui/manual/manual_target.h"
#include "ui/manual/manual_view.h"
#include "ui/theme/theme.h"
#include "ui/widgets/page_header.h"

namespace lathe::ui {

class ManualWindow : public QWidget {
  Q_OBJECT
 public:
  /// Makes a top-level window, which closes with `main_window`.
  ManualWindow(Theme& theme, QWidget* main_window);
  /// Opens the window, or raises it, and shows the target.
  void open_at(const ManualTarget& target);
  /// The target that is shown: the last one that was opened, followed or gone back to.
  ManualTarget target() const;
  void back();
  void forward();

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  struct Visit {
    ManualTarget target;
    int scroll = 0;
  };
  QWidget* make_side();
  QWidget* make_page();
  void add_keys();
  void visit(const ManualTarget& target);
  void show_visit(std::size_t index, bool keeps_scroll);
  void search();

  Theme& theme_;
  QLineEdit* field_ = nullptr;
  QLabel* count_ = nullptr;
  ManualList* list_ = nullptr;
  PageHeader* header_ = nullptr;
  QToolButton *back_ = nullptr, *forward_ = nullptr;
  ManualView* view_ = nullptr;
  std::vector<Visit> visits_;
  std::size_t current_ = 0;
};

}  // namespace lathe::ui
