// SPDX-License-Identifier: GPL-3.0-or-later
// DockLayout: the docks of the panel table: makes them, arranges them by presets, folds them on narrow windows, and saves
// their layout.
#pragma once

#include <QDockWidget>
#include <QMainWindow>
#include <QToolBar>
#include <vector>

#include "ui/models/load_choice.h"
#include "ui/panels/panel.h"

namespace lathe::ui {

/// A dock and its panel. The panel's title tools are in the dock's title bar, or above the panel while a tab replaces the
/// title bar.
struct DockEntry {
  const PanelDescriptor* descriptor = nullptr;
  QDockWidget* dock = nullptr;
  Panel* panel = nullptr;
};

class DockLayout : public QObject {
  Q_OBJECT
 public:
  DockLayout(QMainWindow& window, const PanelContext& context);

  const std::vector<DockEntry>& entries() const { return entries_; }
  QDockWidget* dock(const QString& id) const;
  void raise(const QString& id);

  /// Applies "chat", "serving", "benchmark" or "everything": which docks are open, and where.
  void apply_preset(const QString& name);
  /// Remembers the docks of the page before, and arranges those of `page` as they were last, at first by its preset. Docks
  /// that float stay. In narrow windows the docks stay as they are until the window is wide.
  void show_for_page(const QString& page);
  const QString& page() const { return page_; }
  /// Saves the docks of the page that is shown, unless the window is narrow.
  void keep();
  /// Forgets the docks of all pages.
  void forget_pages();

  bool area_visible(PanelArea area) const;
  void set_area_visible(PanelArea area, bool visible);

  /// Folds the left docks into a strip in windows under 1180 px, and leaves one side dock open.
  void set_narrow(bool narrow);
  bool narrow() const { return narrow_; }

  /// Lets the dock take the space of the page; again: undoes this.
  void toggle_maximised(QDockWidget* dock);

 Q_SIGNALS:
  void changed();

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  /// A dock that floats, and where.
  struct Floating {
    QDockWidget* dock = nullptr;
    QRect geometry;
  };
  std::vector<Floating> floating() const;
  void arrange();
  bool restore(const QByteArray& state);
  void update_bodies();
  void make_dock(const PanelDescriptor& descriptor);
  void make_strip();
  void place_docks();
  void update_titles();
  void update_tab_bars();
  void update_strip();
  void size_docks();
  Qt::DockWidgetArea qt_area(PanelArea area) const;

  QMainWindow& window_;
  const PanelContext& context_;
  std::vector<DockEntry> entries_;
  QToolBar* strip_ = nullptr;
  bool narrow_ = false, update_queued_ = false;
  bool left_before_narrow_ = true, right_before_narrow_ = true;
  QDockWidget* maximised_ = nullptr;
  QByteArray before_maximised_;
  QString page_, arranged_;  ///< the page that is shown; the page whose docks are open
};

}  // namespace lathe::ui
