// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/about.h"

#include <QCoreApplication>
#include <QDialog>
#include <QVBoxLayout>

#include "app/api/workbench.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {
namespace {

QString translated_about(const char* text) { return QCoreApplication::translate("About", text); }

}  // namespace

void show_about(const Theme& theme, QWidget* parent) {
  auto* dialog = new QDialog(parent);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setObjectName(QStringLiteral("about"));
  dialog->setWindowTitle(translated_about("About Lathe"));
  auto* column = new QVBoxLayout(dialog);
  column->setContentsMargins(theme.px(24), theme.px(20), theme.px(24), theme.px(16));
  column->setSpacing(theme.px(8));
  const QString version = QString::fromStdString(app::version());
  column->addWidget(make_label(theme, QStringLiteral("about.title"), QStringLiteral("Lathe %1").arg(version), dialog, 15,
                               QFont::DemiBold, TextTone::text));
  const char* lines[] = {
      QT_TRANSLATE_NOOP("About", "A workbench for serving and testing language models on your own computer."),
      QT_TRANSLATE_NOOP(
          "About",
          "Lathe runs on this computer. Nothing is sent anywhere unless you start the server or open a link. No telemetry."),
      QT_TRANSLATE_NOOP("About", "The window is licensed under the GPL 3 or later, everything else under Apache 2.0."),
  };
  int number = 0;
  for (const char* line : lines) {
    QLabel* label = make_label(theme, QStringLiteral("about.line%1").arg(++number), translated_about(line), dialog);
    label->setWordWrap(true);
    label->setMinimumWidth(theme.px(400));
    column->addWidget(label);
  }
  QPushButton* close = make_button(theme, QStringLiteral("about.close"), translated_about("Close"), dialog);
  QObject::connect(close, &QPushButton::clicked, dialog, &QDialog::accept);
  column->addWidget(close, 0, Qt::AlignRight);
  dialog->open();
}

}  // namespace lathe::ui
