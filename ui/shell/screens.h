// SPDX-License-Identifier: GPL-3.0-or-later
// Windows whose screen is gone, or is smaller than it was, come back onto one.
#pragma once

#include <QList>
#include <QRect>
#include <QWidget>

namespace lathe::ui {

/// `window` as it is where the screens show all of it, also over several of them; else moved, and where it must be shrunk,
/// onto the screen that shows most of it, or is nearest. No smaller than `least` where the screen is smaller than that: then
/// its title bar is on the screen.
QRect rect_on_screens(const QRect& window, const QList<QRect>& screens, const QSize& least = {});

/// The same of a window of the program, with the screens there are. Also before it is shown. `same_screens`: it was so on
/// these screens, and is left as large as it is; and where it is, if the corner with its title is on a screen.
void bring_onto_screen(QWidget& window, bool same_screens);

/// The screens there are, to be compared with those of another time.
QString screens_now();

}  // namespace lathe::ui
