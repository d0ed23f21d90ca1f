// SPDX-License-Identifier: GPL-3.0-or-later
// FileField: a field for the path of one file, which takes a file that is dropped on it.
#pragma once

#include <QLineEdit>

#include "ui/widgets/file_taker.h"

namespace lathe::ui {

class FileField : public QLineEdit, public FileTaker {
 public:
  using QLineEdit::QLineEdit;
  QString take_files(const QStringList& files) override;
};

}  // namespace lathe::ui
