// SPDX-License-Identifier: GPL-3.0-or-later
// Theme: the current look: tokens, fonts, icons, palette and style sheet; widgets ask it when they paint.
#pragma once

#include <QFont>
#include <QIcon>
#include <QObject>

#include "ui/theme/tokens.h"

namespace lathe::ui {

enum class ThemeChoice { system, light, dark };
/// Parses "system", "light" or "dark" of the settings file. Any other name is `system`.
ThemeChoice theme_choice(const QString& name);

enum class IconTone { rest, quiet, accent, on_accent, error, success, warning, text };

/// Thread: GUI. One per application, passed by reference; outlives every widget.
class Theme : public QObject {
  Q_OBJECT
 public:
  explicit Theme(QObject* parent = nullptr);

  const Tokens& tokens() const { return tokens_; }
  bool dark() const { return tokens_.dark; }
  /// Sets palette and style sheet of the application; emits changed() when the look has changed.
  void choose(ThemeChoice choice, bool strong_outlines);

  /// Converts a length of the design, which is drawn for a 13 px base font, to pixels of this system.
  int px(double design) const;
  QFont font(double size, int weight = QFont::Normal) const;
  /// The code font without ligatures: `==` must look like two characters.
  QFont code_font(double size, int weight = QFont::Normal) const;
  /// An icon that is tinted when it is painted: it follows the theme, and the button's mode and state (on: accent text).
  QIcon icon(const QString& name, IconTone tone = IconTone::rest) const;
  QColor tone_color(IconTone tone) const;

 Q_SIGNALS:
  void changed();

 private:
  void apply();

  Tokens tokens_;
  double scale_ = 1;
  bool system_dark_ = false;
};

}  // namespace lathe::ui
