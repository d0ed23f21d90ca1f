// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/results/results_table.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QMenu>
#include <QPainter>
#include <QPoint>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/panels/bench/results/cell_paint.h"
#include "ui/theme/digits.h"
#include "ui/widgets/chip.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/quiet_field.h"
#include "ui/widgets/table_columns.h"
#include "ui/widgets/table_delegate.h"

namespace lathe::ui {
namespace {

constexpr QLatin1String kResultColumnsKey("bench/columns");
constexpr int kColumnsFrom = 500;  // a narrower table has only the context menu of its header
constexpr int kVariableWidth = 112, kMetricWidth = 94, kNarrowWidth = 66, kVerdictWidth = 96;

/// Paints means with their intervals in text3, differences in the colour of their verdict, verdicts as chips.
class CellDelegate final : public TableDelegate {
 public:
  CellDelegate(const Theme& theme, const SweepTable& model, QObject* parent)
      : TableDelegate(theme, parent, kPageMargin), model_(model) {}

 protected:
  void paint_content(QPainter& painter, const QRectF& area, const QModelIndex& index) const override {
    const Tokens& t = theme().tokens();
    const SweepTable::Column& column = model_.columns()[static_cast<std::size_t>(index.column())];
    const auto verdict = static_cast<app::Verdict>(index.data(SweepTable::verdict_role).toInt());
    const QString words = index.data().toString();
    if (column.kind == SweepTable::Kind::verdict) return paint_verdict(painter, theme(), area, verdict, words);
    if (column.kind == SweepTable::Kind::metric && !words.isEmpty()) {
      const QColor color = index.data(SweepTable::failed_role).toBool()    ? t.error.text
                           : index.data(SweepTable::skipped_role).toBool() ? t.text3
                                                                           : t.text;
      return paint_estimate(painter, theme(), area, words, half_width_of(index), color, is_main(column));
    }
    if (column.kind == SweepTable::Kind::difference) {
      painter.setFont(theme().font(12));
      painter.setPen(verdict_color(t, verdict));
      draw_digits(painter, area, Qt::AlignRight | Qt::AlignVCenter, words);
      return;
    }
    TableDelegate::paint_content(painter, area, index);
  }

  qreal content_width(const QModelIndex& index) const override {
    const SweepTable::Column& column = model_.columns()[static_cast<std::size_t>(index.column())];
    const QString words = index.data().toString();
    if (column.kind == SweepTable::Kind::verdict) return words.isEmpty() ? 0 : chip_width(theme(), ChipMark::icon, words);
    if (column.kind != SweepTable::Kind::metric) return TableDelegate::content_width(index);
    return estimate_width(theme(), words, half_width_of(index), is_main(column));
  }

 private:
  static bool is_main(const SweepTable::Column& column) {
    return column.index == app::metric_index("output_tok_s") || column.index == app::metric_index("max_rate");
  }
  static QString half_width_of(const QModelIndex& index) { return index.data(SweepTable::half_width_role).toString(); }

  const SweepTable& model_;
};

}  // namespace

ResultsTable::ResultsTable(const Theme& theme, UiState& state, QWidget* parent)
    : QWidget(parent), theme_(theme), state_(state) {
  setObjectName(QStringLiteral("bench.results"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(make_line(this));
  column->addWidget(make_head());
  column->addWidget(make_line(this));
  table_ = new QTableView(this);
  table_->setObjectName(QStringLiteral("bench.table"));
  table_->setAccessibleName(tr("Cells"));
  shape_table(*table_, theme, kPageMargin);
  table_->verticalHeader()->setDefaultSectionSize(theme.px(27));
  sorted_.setSourceModel(&model_);
  sorted_.setSortRole(SweepTable::sort_role);
  table_->setModel(&sorted_);
  connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &ResultsTable::cell_selected);
  table_->setItemDelegate(new CellDelegate(theme, model_, table_));
  table_->horizontalHeader()->setStretchLastSection(true);
  table_->setSortingEnabled(true);
  table_->sortByColumn(-1, Qt::AscendingOrder);  // in the order of the plan
  QHeaderView* const header = table_->horizontalHeader();
  header->setContextMenuPolicy(Qt::CustomContextMenu);
  connect(header, &QWidget::customContextMenuRequested, this,
          [this, header](const QPoint& at) { column_menu_->popup(header->mapToGlobal(at)); });
  restore_metrics();
  column->addWidget(table_, 1);
}

/// Deletes the table first: a visible table asks its model during destruction, and the models would be destroyed before it.
ResultsTable::~ResultsTable() { delete table_; }

QWidget* ResultsTable::make_head() {
  auto* head = new QWidget(this);
  auto* row = new QHBoxLayout(head);
  row->setContentsMargins(theme_.px(20), theme_.px(4), theme_.px(14), theme_.px(4));
  row->setSpacing(theme_.px(8));
  row->addWidget(make_label(theme_, "bench.cells.title", tr("Cells"), head, 13, QFont::DemiBold, TextTone::text));
  row->addWidget(count_ = make_label(theme_, "bench.cells.count", {}, head, 12));
  said_ = new ElidedLabel(theme_, QStringLiteral("bench.cells.said"), head, 12, QFont::Normal, TextTone::success);
  said_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  row->addWidget(said_, 1);
  baseline_ = new Quiet<QComboBox>(head);
  baseline_->setObjectName(QStringLiteral("bench.baseline"));
  baseline_->setAccessibleName(tr("Baseline"));
  baseline_->setToolTip(tr("Every cell is compared with the cell that has this value and is otherwise the same"));
  baseline_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  connect(baseline_, &QComboBox::activated, this,
          [this] { change_columns([this] { model_.set_baseline(chosen_baseline()); }); });
  row->addWidget(baseline_);
  make_columns(head);
  row->addWidget(columns_);
  reproduce_ = make_button(theme_, "bench.reproduce", tr("Reproduce"), head, ButtonLook::ghost, true);
  reproduce_->setIcon(theme_.icon(QStringLiteral("code")));
  reproduce_->setToolTip(tr("Copy how to measure it again"));
  reproduce_->setMenu(make_ways());
  export_ = make_button(theme_, "bench.export", tr("Export"), head, ButtonLook::ghost, true);
  export_->setIcon(theme_.icon(QStringLiteral("export")));
  auto* formats = new ExportMenu(export_);
  connect(formats, &ExportMenu::chosen, this, &ResultsTable::export_wanted);
  export_->setMenu(formats);
  row->addWidget(reproduce_);
  row->addWidget(export_);
  return head;
}

void ResultsTable::make_columns(QWidget* head) {
  columns_ = make_button(theme_, "bench.columns", tr("Columns"), head, ButtonLook::ghost, true);
  columns_->setIcon(theme_.icon(QStringLiteral("table")));
  columns_->setToolTip(tr("Which metrics the table shows; CSV and JSON have all of them"));
  columns_->setMenu(column_menu_ = new ColumnMenu(columns_));
  connect(column_menu_, &ColumnMenu::chosen, this, &ResultsTable::choose_metrics);
  connect(column_menu_, &ColumnMenu::reset_wanted, this, [this] { choose_metrics({}); });
}

void ResultsTable::choose_metrics(const std::vector<std::size_t>& metrics) {
  QStringList names;
  for (const std::size_t metric : metrics) names << text_of(app::sweep_metrics()[metric].name);
  state_.set(kResultColumnsKey, names);
  change_columns([&] { model_.set_metrics(metrics); });
  column_menu_->show_metrics(model_.metrics());
}

/// Restores the chosen metrics by name; unknown names of other versions are ignored.
void ResultsTable::restore_metrics() {
  std::vector<std::size_t> metrics;
  const QStringList names = state_.get(kResultColumnsKey).toStringList();
  for (std::size_t i = 0; i < app::sweep_metrics().size(); ++i) {
    if (names.contains(text_of(app::sweep_metrics()[i].name))) metrics.push_back(i);
  }
  model_.set_metrics(std::move(metrics));
}

ReproduceMenu* ResultsTable::make_ways() {
  auto* menu = new ReproduceMenu(reproduce_);
  connect(menu, &ReproduceMenu::chosen, this, [this](const Reproduction* way) {
    const auto cell = way->is_of_cell ? selected_cell() : std::optional<std::size_t>(0);
    if (cell) Q_EMIT reproduce_wanted(static_cast<quint64>(*cell), way);
  });
  // Updated before the menu opens: a model that is reset loses its selection without a signal.
  connect(menu, &QMenu::aboutToShow, this, [this, menu] { menu->set_has_cell(selected_cell().has_value()); });
  return menu;
}

void ResultsTable::say(const QString& what) {
  constexpr int kShownMs = 8000;
  said_->setText(what);
  QTimer::singleShot(kShownMs, said_, [this, what] {
    if (said_->text() == what) said_->clear();
  });
}

void ResultsTable::show_sweep(const app::SweepStatus& status) {
  if (status.plan != plan_) fill_baselines(status);
  const bool is_other = status.plan != plan_;
  const bool has_news = is_other || status.report != report_;
  plan_ = status.plan;
  report_ = status.report;
  if (!has_news) return;
  const auto selected = table_->selectionModel()->hasSelection() ? selected_cell() : std::nullopt;
  change_columns([&] { model_.show_sweep(status); });
  if (selected && !is_other) select_cell(*selected);
  const std::size_t n = report_ ? report_->cells.size() : 0;
  column_menu_->show_metrics(model_.metrics());
  count_->setText(plan_ ? tr("%1 of %2").arg(n).arg(app::n_cells(*plan_)) : QString());
  reproduce_->setEnabled(n > 0);
  export_->setEnabled(n > 0);
}

void ResultsTable::fill_baselines(const app::SweepStatus& status) {
  baseline_->clear();
  baseline_->addItem(tr("No baseline"));
  const bool varies = status.plan && !status.plan->variables.empty();
  baseline_->setVisible(varies);
  if (!varies) return;
  const std::vector<app::SweepVariable>& variables = status.plan->variables;
  for (std::size_t variable = 0; variable < variables.size(); ++variable) {
    baseline_->insertSeparator(baseline_->count());
    for (std::size_t value = 0; value < variables[variable].values.size(); ++value) {
      const QString words = value_text(variables[variable].name, variables[variable].values[value]);
      baseline_->addItem(tr("Baseline: %1").arg(words), QPoint(static_cast<int>(variable), static_cast<int>(value)));
    }
  }
}

std::optional<SweepTable::Baseline> ResultsTable::chosen_baseline() const {
  if (!baseline_->currentData().isValid()) return {};
  const QPoint chosen = baseline_->currentData().toPoint();
  return SweepTable::Baseline{static_cast<std::size_t>(chosen.x()), static_cast<std::size_t>(chosen.y())};
}

/// Changes the columns and sorts by the column with the same meaning; without one, the rows are in the order of the plan.
void ResultsTable::change_columns(const std::function<void()>& change) {
  const QHeaderView* header = table_->horizontalHeader();
  const Qt::SortOrder order = header->sortIndicatorOrder();
  const QString sorted_by = model_.meaning_of(header->sortIndicatorSection());
  change();
  const int column = model_.column_of(sorted_by);
  table_->sortByColumn(column, column < 0 ? Qt::AscendingOrder : order);
  fit_columns();
}

void ResultsTable::fit_columns() {
  std::vector<int> at_least;
  for (int i = 0; i < model_.columnCount(); ++i) {
    const SweepTable::Kind kind = model_.columns()[static_cast<std::size_t>(i)].kind;
    const int width = kind == SweepTable::Kind::variable  ? kVariableWidth
                      : kind == SweepTable::Kind::metric  ? kMetricWidth
                      : kind == SweepTable::Kind::verdict ? kVerdictWidth
                      : kind == SweepTable::Kind::runs    ? kNarrowWidth / 2
                                                          : kNarrowWidth + 24;
    at_least.push_back(theme_.px(width));
  }
  ui::fit_columns(*table_, at_least);
}

/// The widths of the columns depend on the width for all of them.
void ResultsTable::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  columns_->setVisible(width() >= theme_.px(kColumnsFrom));
  fit_columns();
}

void ResultsTable::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  fit_columns();
}

void ResultsTable::select_cell(std::size_t cell) {
  for (int row = 0; row < sorted_.rowCount(); ++row) {
    const QModelIndex index = sorted_.index(row, 0);
    if (index.data(SweepTable::cell_role).toULongLong() == cell) return table_->setCurrentIndex(index);
  }
}

std::optional<std::size_t> ResultsTable::selected_cell() const {
  const QModelIndex index = table_->currentIndex();
  if (!index.isValid() || !table_->selectionModel()->isRowSelected(index.row(), {})) return {};
  return static_cast<std::size_t>(index.data(SweepTable::cell_role).toULongLong());
}

}  // namespace lathe::ui
