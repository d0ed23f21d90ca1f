// SPDX-License-Identifier: GPL-3.0-or-later
// Makers of the plain controls, so that each has a name, a tool tip, a height and a font from the first line on.
#pragma once

#include <QFrame>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>

#include "ui/theme/theme.h"

namespace lathe::ui {

enum class ButtonLook { plain, primary, ghost, link };

/// An icon alone; `tip` is its accessible name too. `side` is its box, the icon is 16 in it.
QToolButton* make_icon_button(const Theme& theme, const QString& name, const QString& icon, const QString& tip,
                              QWidget* parent, int side = 28, IconTone tone = IconTone::rest);
/// The button triggers the action and shows whether it is checked.
void follow_action(QToolButton& button, QAction& action);
QPushButton* make_button(const Theme& theme, const QString& name, const QString& text, QWidget* parent,
                         ButtonLook look = ButtonLook::plain, bool compact = false);

/// Colours of labels follow the theme: a role instead of a colour.
enum class TextTone { text, text2, text3, accent, error, success, warning };

class ToneLabel : public QLabel {
  Q_OBJECT
 public:
  ToneLabel(const Theme& theme, double size, int weight, TextTone tone, QWidget* parent);
  void set_tone(TextTone tone);
  /// Disabled, it is a hint in place of the colour of what does not matter.
  void set_readable(bool readable);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void tint();
  const Theme& theme_;
  TextTone tone_;
  bool readable_ = false;
};

ToneLabel* make_label(const Theme& theme, const QString& name, const QString& text, QWidget* parent, double size = 13,
                      int weight = QFont::Normal, TextTone tone = TextTone::text2);

/// One-pixel lines of the frame.
QFrame* make_line(QWidget* parent);
QFrame* make_column(QWidget* parent);

}  // namespace lathe::ui
