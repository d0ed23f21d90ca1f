// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/plan/path_field.h"

#include <QAction>
#include <QCoreApplication>
#include <QFileDialog>
#include <QFileInfo>

#include "ui/widgets/file_field.h"

namespace lathe::ui {

QLineEdit* make_path_field(const Theme& theme, const QString& name, const QString& hint, QWidget* parent) {
  auto* edit = new FileField(parent);
  edit->setObjectName(name);
  edit->setPlaceholderText(hint);
  const QString title = QCoreApplication::translate("PathField", "Choose a file");
  QAction* choose = edit->addAction(theme.icon(QStringLiteral("folder")), QLineEdit::TrailingPosition);
  choose->setToolTip(title);
  QObject::connect(choose, &QAction::triggered, edit, [edit, title] {
    const QString file = QFileDialog::getOpenFileName(edit->window(), title, QFileInfo(edit->text()).path());
    if (!file.isEmpty()) edit->setText(file);
  });
  return edit;
}

}  // namespace lathe::ui
