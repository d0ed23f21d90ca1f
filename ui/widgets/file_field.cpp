// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/file_field.h"

#include <QCoreApplication>
#include <QFileInfo>

#include "engine/api/checkpoint.h"

namespace lathe::ui {
namespace {

QString translated_field(const char* text) { return QCoreApplication::translate("FileField", text); }

}  // namespace

QString FileField::take_files(const QStringList& files) {
  if (files.size() != 1) return translated_field("This field takes one file; %1 were dropped.").arg(files.size());
  const QFileInfo file(files.front());
  if (file.isDir()) return translated_field("%1 is a folder; this field takes a file.").arg(file.fileName());
  if (!file.exists()) return translated_field("%1 does not exist.").arg(files.front());
  if (!file.isFile() || !file.isReadable()) return translated_field("%1 cannot be read.").arg(file.fileName());
  if (engine::is_gguf_file(files.front().toStdString()))
    return translated_field("%1 is a model; this field takes a text file. Drop models on the Model dock.")
        .arg(file.fileName());
  setText(file.absoluteFilePath());
  setFocus();
  return {};
}

}  // namespace lathe::ui
