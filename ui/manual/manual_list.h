// SPDX-License-Identifier: GPL-3.0-or-later
// ManualList: the pages of the manual with the sections of the open page, or the sections that a search found.
#pragma once

#include <QListWidget>

#include "ui/theme/theme.h"

namespace lathe::ui {

class ManualList : public QListWidget {
  Q_OBJECT
 public:
  ManualList(const Theme& theme, QWidget* parent);
  /// Lists all pages, and under page `open` its sections.
  void show_pages(const QString& open);
  /// Lists the sections that contain every word. Returns their number.
  int show_hits(const QString& words);

 Q_SIGNALS:
  void chosen(const QString& page, const QString& anchor);

 private:
  void add(const QString& page, const QString& anchor, const QString& title, const QString& where, const QString& excerpt,
           int depth);
};

}  // namespace lathe::ui
