// SPDX-License-Identifier: GPL-3.0-or-later
// ManualView: one page of the manual: headings, tables and code, links between pages, highlighted search words.
#pragma once

#include <QStringList>
#include <QTextBrowser>

#include "app/api/manual.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

/// Fetches nothing: the view has no images and opens no address.
class ManualView : public QTextBrowser {
  Q_OBJECT
 public:
  ManualView(const Theme& theme, QWidget* parent);

  void show_page(const app::ManualPage& page);
  /// Scrolls to a section ("#kv-cache") or to the definition of a name, which gets a coloured ground; empty: to the start.
  /// Returns whether the page has the anchor.
  bool go_to(const QString& anchor);
  /// Gives every occurrence of a word a coloured ground. Returns the number of occurrences.
  int highlight(const QStringList& words);
  /// Draws the page again in the colours of the theme.
  void restyle();

 Q_SIGNALS:
  /// The reader followed a link to a page of the manual.
  void link_followed(const QString& page, const QString& anchor);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  QVariant loadResource(int type, const QUrl& name) override;

 private:
  void render();
  QTextBlock block_of(const QString& anchor) const;
  void lay_out();
  void scroll_to_target();
  void show_marks();
  void follow(const QUrl& link);

  const Theme& theme_;
  const app::ManualPage* page_ = nullptr;
  QString target_;
  QStringList words_;
  QList<ExtraSelection> hits_;
  int target_scroll_ = -1;  ///< scroll position of the target; a resize keeps the target there until the reader scrolls
};

}  // namespace lathe::ui
