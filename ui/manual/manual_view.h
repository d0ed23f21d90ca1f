// SPDX-License-Identifier: GPL-3.0-or-later
// ManualView: one page of the manual: headings, tables and code, links between pages, words of a search highlighted.
#pragma once

#include <QStringList>
#include <QTextBrowser>

#include "app/api/manual.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

/// Nothing is fetched: the view has no images and opens no address.
class ManualView : public QTextBrowser {
  Q_OBJECT
 public:
  ManualView(const Theme& theme, QWidget* parent);

  void show_page(const app::ManualPage& page);
  /// Scrolls to a section ("#kv-cache") or the definition of a name, which gets a coloured ground. Empty: to the start.
  /// Returns whether the page has it.
  bool go_to(const QString& anchor);
  /// Every occurrence of a word gets a coloured ground. Returns how many there are.
  int highlight(const QStringList& words);
  /// Draws the page again in the colours of the theme.
  void restyle();

 Q_SIGNALS:
  /// A link to a page of the manual was followed.
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
  int target_scroll_ = -1;  ///< where the target was scrolled to; a resize keeps it there until the reader scrolls
};

}  // namespace lathe::ui
