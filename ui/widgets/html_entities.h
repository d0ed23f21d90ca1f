// SPDX-License-Identifier: GPL-3.0-or-later
// HTML entities as text may name them: all of HTML5 by name, any character by number.
#pragma once

#include <QString>

namespace lathe::ui {

/// The characters of one entity ("&mdash;", "&#8212;", "&#x2014;"). An entity that HTML5 does not know, and a number that is
/// no printable character, stay as written.
QString decode_entity(const QString& entity);

}  // namespace lathe::ui
