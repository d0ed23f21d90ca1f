// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/screens.h"

#include <QGuiApplication>
#include <QRegion>
#include <QScreen>
#include <algorithm>
#include <cstdlib>

namespace lathe::ui {
namespace {

qint64 area(const QRect& rect) { return static_cast<qint64>(std::max(0, rect.width())) * std::max(0, rect.height()); }

qint64 distance(const QRect& a, const QRect& b) {
  const QPoint between = a.center() - b.center();
  return std::abs(static_cast<qint64>(between.x())) + std::abs(static_cast<qint64>(between.y()));
}

}  // namespace

QRect rect_on_screens(const QRect& window, const QList<QRect>& screens, const QSize& least) {
  if (screens.isEmpty()) return window;
  QRegion hidden(window);
  for (const QRect& screen : screens) hidden -= screen;
  if (hidden.isEmpty() && !window.isEmpty()) return window;
  const auto better = [&window](const QRect& a, const QRect& b) {
    const qint64 shown_a = area(a & window), shown_b = area(b & window);
    return shown_a != shown_b ? shown_a > shown_b : distance(a, window) < distance(b, window);
  };
  const QRect screen = *std::min_element(screens.begin(), screens.end(), better);
  QRect moved(window.topLeft(), window.size().boundedTo(screen.size()).expandedTo(least));
  moved.moveLeft(std::max(screen.left(), std::min(moved.left(), screen.right() + 1 - moved.width())));
  moved.moveTop(std::max(screen.top(), std::min(moved.top(), screen.bottom() + 1 - moved.height())));
  return moved;
}

void bring_onto_screen(QWidget& window, bool same_screens) {
  if (window.isVisible() && (window.isMaximized() || window.isFullScreen())) return;  // the system has placed it
  QList<QRect> screens;
  for (const QScreen* screen : QGuiApplication::screens()) screens.append(screen->availableGeometry());
  const QRect frame = window.frameGeometry();
  const auto shows_corner = [&frame](const QRect& screen) { return screen.contains(frame.topLeft()); };
  if (same_screens && std::any_of(screens.begin(), screens.end(), shows_corner)) return;
  const QSize edges = frame.size() - window.size();
  const QRect wanted = rect_on_screens(frame, screens, same_screens ? frame.size() : window.minimumSize() + edges);
  if (wanted == frame) return;
  window.resize(wanted.size() - edges);
  window.move(wanted.topLeft());
}

QString screens_now() {
  QStringList words;
  for (const QScreen* screen : QGuiApplication::screens()) {
    const QRect at = screen->geometry();
    words.append(QStringLiteral("%1x%2+%3+%4").arg(at.width()).arg(at.height()).arg(at.x()).arg(at.y()));
  }
  return words.join(QLatin1Char(' '));
}

}  // namespace lathe::ui
