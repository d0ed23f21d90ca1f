// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/history/history_view.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/widgets/chip.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/table_delegate.h"

namespace lathe::ui {
namespace {

constexpr int kWidths[HistoryTable::n_columns] = {180, 260, 200, 230, 90, 110, 90};

/// Paints the state as a chip.
class HistoryDelegate final : public TableDelegate {
 public:
  HistoryDelegate(const Theme& theme, QObject* parent) : TableDelegate(theme, parent, kPageMargin) {}
  QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QWidget* editor = TableDelegate::createEditor(parent, option, index);
    editor->setObjectName(QStringLiteral("bench.history.name"));
    editor->setAccessibleName(HistoryView::tr("Name of the sweep"));
    return editor;
  }

 protected:
  void paint_content(QPainter& painter, const QRectF& area, const QModelIndex& index) const override {
    if (index.column() != HistoryTable::state) return TableDelegate::paint_content(painter, area, index);
    const auto end = static_cast<SweepEnd>(index.data(HistoryTable::end_role).toInt());
    const ChipState state = end == SweepEnd::done           ? ChipState::success
                            : end == SweepEnd::failed_cells ? ChipState::error
                            : end == SweepEnd::running      ? ChipState::accent
                                                            : ChipState::warning;
    const ChipMark mark = end == SweepEnd::done || end == SweepEnd::failed_cells ? ChipMark::icon : ChipMark::none;
    const QString words = index.data().toString();
    const QRectF chip(area.left(), area.center().y() - theme().px(18) / 2.0, chip_width(theme(), mark, words),
                      theme().px(18));
    paint_chip(painter, theme(), chip, state, mark, words);
  }
};

}  // namespace

HistoryView::HistoryView(const PanelContext& context, QWidget* parent) : QWidget(parent), context_(context) {
  setObjectName(QStringLiteral("bench.history"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(make_head());
  auto* margins = new QHBoxLayout;
  margins->setContentsMargins(context.theme.px(20), 0, context.theme.px(20), 0);
  message_ = new InlineMessage(context.theme, QStringLiteral("bench.history.message"), this);
  message_->hide();
  margins->addWidget(message_);
  column->addLayout(margins);
  make_table();
  column->addWidget(table_, 1);
  empty_ = make_label(context.theme, "bench.history.empty",
                      tr("No sweeps yet. Every sweep is kept here from its first run on: measure one under Run, or open a "
                         "journal from another machine."),
                      this, 13);
  empty_->setAlignment(Qt::AlignCenter);
  empty_->setWordWrap(true);
  empty_->setContentsMargins(context.theme.px(20), 0, context.theme.px(20), context.theme.px(40));
  column->addWidget(empty_, 1);
  connect(&model_, &HistoryTable::rename_wanted, this, &HistoryView::rename, Qt::QueuedConnection);
  show_sweeps({});
}

QWidget* HistoryView::make_head() {
  const Theme& theme = context_.theme;
  auto* head = new QWidget(this);
  auto* row = new QHBoxLayout(head);
  row->setContentsMargins(theme.px(20), theme.px(8), theme.px(14), theme.px(8));
  row->setSpacing(theme.px(8));
  row->addWidget(make_label(theme, "bench.history.title", tr("Kept sweeps"), head, 13, QFont::DemiBold, TextTone::text));
  row->addWidget(count_ = make_label(theme, "bench.history.count", {}, head, 12));
  row->addStretch(1);
  const auto add = [&](const char* name, const QString& words, const char* icon, const QString& tip) {
    QPushButton* button = make_button(theme, name, words, head, ButtonLook::ghost, true);
    button->setIcon(theme.icon(QLatin1String(icon)));
    button->setToolTip(tip);
    row->addWidget(button);
    return button;
  };
  open_ = add("bench.history.open", tr("Open"), "chevron-right", tr("Show the plan and results (Enter)"));
  compare_ = add("bench.history.compare", tr("Compare"), "table",
                 tr("Compare two selected sweeps, the newer one with the older one"));
  rename_ = add("bench.history.rename", tr("Rename"), "edit", tr("Rename the sweep (F2)"));
  remove_ = add("bench.history.remove", tr("Delete"), "delete", tr("Delete the journal (Del)"));
  QPushButton* file = make_button(theme, "bench.history.file", tr("Open file…"), head, ButtonLook::plain, true);
  file->setIcon(theme.icon(QStringLiteral("folder")));
  file->setToolTip(tr("Open a journal from elsewhere: of lathe sweep --journal, or of another machine"));
  row->addWidget(file);
  connect(open_, &QPushButton::clicked, this, [this] { Q_EMIT open_wanted(selected().value(0)); });
  connect(compare_, &QPushButton::clicked, this,
          [this] { Q_EMIT compare_wanted(selected().value(0), selected().value(1)); });
  connect(rename_, &QPushButton::clicked, this,
          [this] { table_->edit(sorted_.index(table_->currentIndex().row(), HistoryTable::name)); });
  connect(remove_, &QPushButton::clicked, this, &HistoryView::ask_to_remove);
  connect(file, &QPushButton::clicked, this, &HistoryView::open_file);
  return head;
}

void HistoryView::make_table() {
  table_ = new QTableView(this);
  table_->setObjectName(QStringLiteral("bench.history.table"));
  table_->setAccessibleName(tr("Kept sweeps"));
  shape_table(*table_, context_.theme, kPageMargin);
  table_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  table_->setEditTriggers(QAbstractItemView::EditKeyPressed);
  sorted_.setSourceModel(&model_);
  sorted_.setSortRole(HistoryTable::sort_role);
  table_->setModel(&sorted_);
  table_->setItemDelegate(new HistoryDelegate(context_.theme, table_));
  table_->setSortingEnabled(true);
  table_->sortByColumn(HistoryTable::when, Qt::DescendingOrder);
  for (int i = 0; i < HistoryTable::n_columns; ++i) table_->setColumnWidth(i, context_.theme.px(kWidths[i]));
  table_->horizontalHeader()->setSectionResizeMode(HistoryTable::variables, QHeaderView::Stretch);
  table_->installEventFilter(this);
  connect(table_, &QTableView::doubleClicked, this,
          [this](const QModelIndex& index) { Q_EMIT open_wanted(index.data(HistoryTable::path_role).toString()); });
  connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &HistoryView::follow_selection);
}

bool HistoryView::eventFilter(QObject* object, QEvent* event) {
  if (object != table_ || event->type() != QEvent::KeyPress) return QWidget::eventFilter(object, event);
  const int key = static_cast<QKeyEvent*>(event)->key();
  if (key == Qt::Key_Delete) {
    ask_to_remove();
    return true;
  }
  if ((key == Qt::Key_Return || key == Qt::Key_Enter) && selected().size() == 1) {
    Q_EMIT open_wanted(selected().front());
    return true;
  }
  return QWidget::eventFilter(object, event);
}

void HistoryView::show_sweeps(const std::vector<app::SweepFacts>& sweeps) {
  const QStringList before = selected();
  const app::SweepStatus& status = context_.bridge.sweep_status();
  model_.show_sweeps(sweeps, status.runs() ? QString::fromStdString(status.journal) : QString());
  for (int row = 0; row < sorted_.rowCount(); ++row) {
    const QModelIndex index = sorted_.index(row, HistoryTable::name);
    if (!before.contains(index.data(HistoryTable::path_role).toString())) continue;
    table_->selectionModel()->select(index, QItemSelectionModel::Select | QItemSelectionModel::Rows);
    table_->selectionModel()->setCurrentIndex(index, QItemSelectionModel::NoUpdate);
  }
  count_->setText(sweeps.empty() ? QString() : QString::number(sweeps.size()));
  table_->setVisible(!sweeps.empty());
  empty_->setVisible(sweeps.empty());
  follow_selection();
}

QStringList HistoryView::selected() const {
  QModelIndexList rows = table_->selectionModel()->selectedRows(HistoryTable::when);
  std::sort(rows.begin(), rows.end(), [](const QModelIndex& a, const QModelIndex& b) {
    return a.data(HistoryTable::sort_role).toLongLong() < b.data(HistoryTable::sort_role).toLongLong();
  });
  QStringList paths;
  for (const QModelIndex& row : rows) paths << row.data(HistoryTable::path_role).toString();
  return paths;
}

void HistoryView::follow_selection() {
  const QModelIndexList rows = table_->selectionModel()->selectedRows(HistoryTable::name);
  const bool one = rows.size() == 1;
  const bool is_still = one && rows.front().flags().testFlag(Qt::ItemIsEditable);
  open_->setEnabled(one);
  compare_->setEnabled(rows.size() == 2);
  rename_->setEnabled(is_still);
  remove_->setEnabled(is_still);
}

void HistoryView::open_file() {
  const QString path =
      QFileDialog::getOpenFileName(this, tr("Open the journal of a sweep"), {}, tr("Journals (*.jsonl);;All files (*)"));
  if (!path.isEmpty()) Q_EMIT open_wanted(path);
}

/// Renames a sweep; if it is the shown one, its shown name changes too.
void HistoryView::rename(const QString& path, const QString& name) {
  message_->hide();
  if (const auto done = app::rename_sweep(path.toStdString(), name.toStdString()); !done)
    return tell(tr("The sweep was not renamed"), done.error());
  app::Sweeper& sweeper = context_.workbench.sweeper();
  const app::SweepStatus status = sweeper.status();
  if (!status.runs() && status.journal == path.toStdString()) {
    const auto opened = sweeper.open(status.journal);
    if (!opened) tell(tr("The sweep could not be opened again"), opened.error());
    context_.bridge.refresh();
  }
  Q_EMIT changed();
}

void HistoryView::ask_to_remove() {
  if (!remove_->isEnabled()) return;
  const QModelIndex index = sorted_.index(table_->selectionModel()->selectedRows().front().row(), HistoryTable::name);
  const QString path = index.data(HistoryTable::path_role).toString();
  const auto of = [&](int column) { return sorted_.index(index.row(), column).data().toString(); };
  message_->set(MessageTone::warning, tr("Delete “%1”?").arg(index.data().toString()),
                tr("%1, %2 cells, %3 on the disk. This cannot be undone.")
                    .arg(of(HistoryTable::when), of(HistoryTable::cells), of(HistoryTable::size)),
                {{QStringLiteral("yes"), tr("Delete"), [this, path] { remove(path); }},
                 {QStringLiteral("no"), tr("Keep it"), [this] { message_->hide(); }, true}});
  message_->show();
}

void HistoryView::remove(const QString& path) {
  message_->hide();
  if (const auto done = app::remove_sweep(path.toStdString()); !done)
    return tell(tr("The sweep was not deleted"), done.error());
  app::Sweeper& sweeper = context_.workbench.sweeper();
  if (sweeper.status().journal == path.toStdString()) sweeper.clear();
  context_.bridge.refresh();
  Q_EMIT changed();
}

void HistoryView::tell(const QString& what, const engine::Error& error) {
  const std::string words = error.where.empty() ? error.message : error.where + ": " + error.message;
  message_->set(MessageTone::error, what, QString::fromStdString(words), {});
  message_->show();
}

}  // namespace lathe::ui
