// SPDX-License-Identifier: GPL-3.0-or-later
// TextAttachment: a text file as part of a message.
#pragma once

#include <QString>

namespace lathe::ui {

struct TextAttachment {
  QString text;     ///< name of the file, and its text between fences
  QString refusal;  ///< the reason why the file is not attached; empty: it is
};

/// Reads a file in UTF-8, or in UTF-16 or UTF-32 with a byte order mark; at most 256 KiB.
TextAttachment read_attachment(const QString& path);

}  // namespace lathe::ui
