// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/theme/theme.h"

#include <QApplication>
#include <QFontInfo>
#include <QPalette>
#include <QStyleFactory>
#include <algorithm>
#include <cmath>

#include "ui/theme/style_sheet.h"
#include "ui/theme/tinted_icon.h"

// Links icons and style sheet: they are in a static library, which the linker leaves out without a call. The macro must be
// used in the global namespace.
static void init_resources() { Q_INIT_RESOURCE(lathe); }

namespace lathe::ui {
namespace {

constexpr double kBaseFontPx = 13;

QPalette palette_of(const Tokens& t) {
  QPalette p;
  const auto set = [&p](std::initializer_list<QPalette::ColorRole> roles, const QColor& color) {
    for (const QPalette::ColorRole role : roles) p.setColor(role, color);
  };
  set({QPalette::Window}, t.dock);
  set({QPalette::Base, QPalette::Button, QPalette::Light, QPalette::ToolTipBase}, t.raised);
  set({QPalette::AlternateBase}, t.sunken);
  set({QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::ToolTipText}, t.text);
  set({QPalette::PlaceholderText}, t.text3);
  set({QPalette::Highlight}, t.accent);
  set({QPalette::HighlightedText}, t.on_accent);
  set({QPalette::Link, QPalette::LinkVisited}, t.accent_text);
  set({QPalette::Midlight}, t.hover);
  set({QPalette::Mid}, t.border);
  set({QPalette::Dark, QPalette::Shadow}, t.strong);
  set({QPalette::BrightText}, t.error.text);
  for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    p.setColor(QPalette::Disabled, role, t.disabled);
  return p;
}

}  // namespace

ThemeChoice theme_choice(const QString& name) {
  if (name == QLatin1String("light")) return ThemeChoice::light;
  if (name == QLatin1String("dark")) return ThemeChoice::dark;
  return ThemeChoice::system;
}

Theme::Theme(QObject* parent) : QObject(parent) {
  init_resources();
  // Qt 6.4 does not report the colour scheme of the desktop, but its initial palette shows it.
  system_dark_ = QApplication::palette().color(QPalette::Window).lightness() < 128;
  scale_ = std::max(1.0, QFontInfo(QApplication::font()).pixelSize() / kBaseFontPx);
  tokens_ = system_dark_ ? dark_tokens() : light_tokens();
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  QApplication::setFont(font(kBaseFontPx));
  apply();
}

void Theme::choose(ThemeChoice choice, bool strong_outlines) {
  const bool dark = choice == ThemeChoice::dark || (choice == ThemeChoice::system && system_dark_);
  Tokens next = dark ? dark_tokens() : light_tokens();
  if (strong_outlines) next.strong = next.text3;
  if (next.dark == tokens_.dark && next.strong == tokens_.strong) return;
  tokens_ = next;
  apply();
  Q_EMIT changed();
}

void Theme::apply() {
  QApplication::setPalette(palette_of(tokens_));
  qApp->setStyleSheet(filled_style_sheet(tokens_, scale_));
}

int Theme::px(double design) const { return static_cast<int>(std::lround(design * scale_)); }

QFont Theme::font(double size, int weight) const {
  QFont font;
  font.setFamilies({QStringLiteral("Inter"), QStringLiteral("Noto Sans"), QStringLiteral("DejaVu Sans")});
  font.setPixelSize(px(size));
  font.setWeight(static_cast<QFont::Weight>(weight));
  font.setHintingPreference(QFont::PreferNoHinting);
  return font;
}

QFont Theme::code_font(double size, int weight) const {
  QFont font;
  font.setFamilies({QStringLiteral("JetBrains Mono"), QStringLiteral("DejaVu Sans Mono")});
  font.setPixelSize(px(size));
  font.setWeight(static_cast<QFont::Weight>(weight));
  font.setHintingPreference(QFont::PreferNoHinting);
  font.setStyleStrategy(QFont::PreferNoShaping);
  font.setFixedPitch(true);
  return font;
}

QIcon Theme::icon(const QString& name, IconTone tone) const { return make_tinted_icon(*this, name, tone); }

QColor Theme::tone_color(IconTone tone) const {
  switch (tone) {
    case IconTone::rest: return tokens_.text2;
    case IconTone::quiet: return tokens_.text3;
    case IconTone::accent: return tokens_.accent_text;
    case IconTone::on_accent: return tokens_.on_accent;
    case IconTone::error: return tokens_.error.text;
    case IconTone::success: return tokens_.success.text;
    case IconTone::warning: return tokens_.warning.text;
    case IconTone::text: return tokens_.text;
  }
  return tokens_.text2;
}

}  // namespace lathe::ui
