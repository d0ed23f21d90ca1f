// SPDX-License-Identifier: GPL-3.0-or-later
// Controls: functions that make the plain controls, each with a name, a tool tip, a height and a font.
#pragma once

#include <QFrame>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>

#include "ui/theme/theme.h"

namespace lathe::ui {

enum class ButtonLook { plain, primary, ghost, link };

/// Makes a button that shows only an icon; `tip` is also its accessible name. `side`: size of the button; the icon has size
/// 16.
QToolButton* make_icon_button(const Theme& theme, const QString& name, const QString& icon, const QString& tip,
                              QWidget* parent, int side = 28, IconTone tone = IconTone::rest);
/// Lets the button trigger the action and show whether it is checked.
void follow_action(QToolButton& button, QAction& action);
QPushButton* make_button(const Theme& theme, const QString& name, const QString& text, QWidget* parent,
                         ButtonLook look = ButtonLook::plain, bool compact = false);

/// Tone of a label: a role instead of a colour, so that the colour follows the theme.
enum class TextTone { text, text2, text3, accent, error, success, warning };

class ToneLabel : public QLabel {
  Q_OBJECT
 public:
  ToneLabel(const Theme& theme, double size, int weight, TextTone tone, QWidget* parent);
  void set_tone(TextTone tone);
  /// Paints the disabled label in the colour of a hint, which is readable, instead of the colour of disabled text.
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

/// Makes a one-pixel line of the frame.
QFrame* make_line(QWidget* parent);
QFrame* make_column(QWidget* parent);

}  // namespace lathe::ui
