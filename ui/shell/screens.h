// SPDX-License-Identifier: GPL-3.0-or-later
// Screens: moves windows back onto a screen if theirs is gone or has become smaller.
#pragma once

#include <QList>
#include <QRect>
#include <QWidget>

namespace lathe::ui {

/// Returns `window` unchanged if the screens show all of it, also across several of them. Else it is moved, and shrunk if it
/// must be, onto the screen that shows most of it or is nearest. The result is at least as large as `least`; if the screen
/// is smaller than `least`, the title bar is on the screen.
QRect rect_on_screens(const QRect& window, const QList<QRect>& screens, const QSize& least = {});

/// Place of a window at its first start.
struct FirstPlace {
  QRect rect;
  bool maximised = false;
};
/// The designed size, in the middle of a screen that is larger; else the whole screen, maximised. `screen`: its area without
/// the desktop's panels.
FirstPlace first_place(const QSize& designed, const QRect& screen);

/// Applies rect_on_screens() to a window with the present screens, also before it is shown. `same_screens`: the window was
/// saved on these screens; it then keeps its size, and also its position if its title corner is on a screen.
void bring_onto_screen(QWidget& window, bool same_screens);

/// The present screens as text, to be compared with those of another time.
QString screens_now();

}  // namespace lathe::ui
