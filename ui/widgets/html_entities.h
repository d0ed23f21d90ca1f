// SPDX-License-Identifier: GPL-3.0-or-later
// HTML entities in text: all names of HTML5, and any character by number.
#pragma once

#include <QString>

namespace lathe::ui {

/// The characters of one entity ("&mdash;", "&#8212;", "&#x2014;"). An entity that HTML5 does not know stays as written, and
/// so does a number of no printable character.
QString decode_entity(const QString& entity);

}  // namespace lathe::ui
