// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/screens.h"

#include <QGuiApplication>
#include <QRegion>
#include <QScreen>
#include <QStyle>
#include <algorithm>
#include <cstdlib>

namespace lathe::ui {
namespace {

constexpr int kFrame = 4;  // assumed frame of a window that is not shown yet. Units: pixels

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

FirstPlace first_place(const QSize& designed, const QRect& screen) {
  const bool fits = screen.width() >= designed.width() && screen.height() >= designed.height();
  QRect rect(QPoint(), designed.boundedTo(screen.size()));
  rect.moveCenter(screen.center());
  return {rect, !fits};
}

void bring_onto_screen(QWidget& window, bool same_screens) {
  if (window.isVisible() && (window.isMaximized() || window.isFullScreen())) return;  // the window system has placed it
  QList<QRect> screens;
  for (const QScreen* screen : QGuiApplication::screens()) screens.append(screen->availableGeometry());
  const auto shows_corner = [&window](const QRect& screen) { return screen.contains(window.geometry().topLeft()); };
  if (same_screens && std::any_of(screens.begin(), screens.end(), shows_corner)) return;
  // The window system's frame is known only once the window is shown.
  const QRect inside = window.geometry(), outside = window.frameGeometry();
  const QMargins edges = window.isVisible()
                             ? QMargins(inside.left() - outside.left(), inside.top() - outside.top(),
                                        outside.right() - inside.right(), outside.bottom() - inside.bottom())
                             : QMargins(kFrame, window.style()->pixelMetric(QStyle::PM_TitleBarHeight), kFrame, kFrame);
  const QRect frame = inside.marginsAdded(edges);
  const QSize least = same_screens ? inside.size() : window.minimumSize();
  const QRect wanted =
      rect_on_screens(frame, screens, least + QSize(edges.left() + edges.right(), edges.top() + edges.bottom()));
  if (wanted != frame) window.setGeometry(wanted.marginsRemoved(edges));
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
