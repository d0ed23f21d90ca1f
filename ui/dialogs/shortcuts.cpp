// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/shortcuts.h"

#include <QDialog>
#include <QHeaderView>
#include <QTableWidget>
#include <QVBoxLayout>

#include "ui/widgets/controls.h"

namespace lathe::ui {
namespace {

void add_row(QTableWidget& table, const QStringList& cells) {
  const int row = table.rowCount();
  table.insertRow(row);
  for (int column = 0; column < cells.size(); ++column) table.setItem(row, column, new QTableWidgetItem(cells[column]));
}

QTableWidget* make_table(const Theme& theme, const Actions& actions, QWidget* parent) {
  auto* table = new QTableWidget(0, 3, parent);
  table->setObjectName(QStringLiteral("shortcuts.table"));
  table->setAccessibleName(Actions::tr("Keyboard shortcuts"));
  table->setHorizontalHeaderLabels({Actions::tr("Action"), Actions::tr("Menu"), Actions::tr("Keys")});
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(theme.px(28));
  table->setShowGrid(false);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->horizontalHeader()->setStretchLastSection(true);
  for (const QAction* action : actions.all()) {
    if (!action->isVisible() || action->shortcuts().isEmpty()) continue;
    QStringList keys;
    for (const QKeySequence& key : action->shortcuts()) keys.append(key.toString(QKeySequence::NativeText));
    add_row(*table, {action->text().remove(QLatin1Char('&')), Actions::menu_name(actions.menu_of(action)),
                     keys.join(QStringLiteral(", "))});
  }
  table->resizeColumnsToContents();
  return table;
}

}  // namespace

void show_shortcuts(const Theme& theme, const Actions& actions, QWidget* parent) {
  auto* dialog = new QDialog(parent);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setObjectName(QStringLiteral("shortcuts"));
  dialog->setWindowTitle(Actions::tr("Keyboard shortcuts"));
  auto* column = new QVBoxLayout(dialog);
  column->addWidget(make_table(theme, actions, dialog));
  QPushButton* close = make_button(theme, QStringLiteral("shortcuts.close"), Actions::tr("Close"), dialog);
  QObject::connect(close, &QPushButton::clicked, dialog, &QDialog::accept);
  column->addWidget(close, 0, Qt::AlignRight);
  dialog->resize(theme.px(560), theme.px(520));
  dialog->open();
}

}  // namespace lathe::ui
