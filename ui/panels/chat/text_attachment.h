// SPDX-License-Identifier: GPL-3.0-or-later
// TextAttachment: a text file as part of a message.
#pragma once

#include <QString>

namespace lathe::ui {

struct TextAttachment {
  QString text;     ///< the file's name and, between fences, its text
  QString refusal;  ///< why there is none; empty: there is
};

/// UTF-8, or UTF-16 and UTF-32 with a byte order mark; at most 256 KiB.
TextAttachment read_attachment(const QString& path);

}  // namespace lathe::ui
