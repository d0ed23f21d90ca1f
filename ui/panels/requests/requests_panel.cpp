// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/requests/requests_panel.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QPainter>
#include <QSaveFile>
#include <QShowEvent>
#include <QVBoxLayout>
#include <array>

#include "engine/api/json.h"
#include "ui/widgets/chip.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/table_delegate.h"

namespace lathe::ui {
namespace {

constexpr int kInspectorWidth = 360;
constexpr QLatin1String kRequestColumnsKey("requests/columns"), kSplitterKey("requests/splitter");
constexpr std::array<int, RequestsModel::n_columns> kColumnWidths{58, 66, 92, 146, 90, 58, 60, 58, 72, 66, 62, 52, 64, 56};

struct StatusLook {
  ChipState state;
  ChipMark mark;
};
StatusLook look_of_status(app::RequestStatus status) {
  switch (status) {
    case app::RequestStatus::queued: return {ChipState::quiet, ChipMark::none};
    case app::RequestStatus::reading:
    case app::RequestStatus::writing: return {ChipState::accent, ChipMark::none};
    case app::RequestStatus::done: return {ChipState::success, ChipMark::icon};
    case app::RequestStatus::cancelled: return {ChipState::warning, ChipMark::none};
    case app::RequestStatus::refused:
    case app::RequestStatus::failed: return {ChipState::error, ChipMark::icon};
  }
  return {ChipState::quiet, ChipMark::none};
}

/// Paints the status as a chip, and nonzero preemptions in amber.
class RequestDelegate : public TableDelegate {
 public:
  using TableDelegate::TableDelegate;

 protected:
  void paint_content(QPainter& painter, const QRectF& area, const QModelIndex& index) const override {
    if (index.column() == RequestsModel::status) {
      const StatusLook look =
          look_of_status(static_cast<app::RequestStatus>(index.data(RequestsModel::status_role).toInt()));
      const QString word = index.data().toString();
      const QRectF chip(area.left(), area.center().y() - theme().px(18) / 2.0, chip_width(theme(), look.mark, word),
                        theme().px(18));
      paint_chip(painter, theme(), chip, look.state, look.mark, word);
      return;
    }
    const bool preempted = index.column() == RequestsModel::preemptions && index.data().toString().toInt() > 0;
    if (!preempted) return TableDelegate::paint_content(painter, area, index);
    painter.setFont(theme().font(12, QFont::DemiBold));
    painter.setPen(theme().tokens().warning.text);
    painter.drawText(area, Qt::AlignRight | Qt::AlignVCenter, index.data().toString());
  }
};

engine::Json json_of(const app::RequestRecord& record) {
  engine::Json why = engine::Json::array();
  for (const engine::SchedulerEvent& event : record.why) {
    why.push_back({{"ms", static_cast<double>(event.time_ns - record.submitted_ns) * 1e-6},
                   {"step", event.step},
                   {"event", engine::word_of(event.kind)},
                   {"why", engine::sentence_of(event)}});
  }
  return {{"number", record.number},
          {"unix_ms", record.unix_ms},
          {"client", record.client},
          {"route", record.route},
          {"model", record.model},
          {"source", record.source},
          {"status", app::name_of(record.status)},
          {"http_status", record.http_status},
          {"prompt_tokens", record.usage.n_prompt_tokens},
          {"cached_tokens", record.usage.n_cached_tokens},
          {"output_tokens", record.usage.n_completion_tokens},
          {"queue_ms", record.timings.queue_ms},
          {"ttft_ms", record.timings.ttft_ms},
          {"itl_p50_ms", record.timings.itl_p50_ms},
          {"itl_p99_ms", record.timings.itl_p99_ms},
          {"end_ms", record.timings.end_ms},
          {"preemptions", record.timings.n_preemptions},
          {"stop", record.stop},
          {"error", record.error},
          {"events", why}};
}

Panel* make_requests(const PanelContext& context, QWidget* parent) { return new RequestsPanel(context, parent); }

}  // namespace

extern constexpr PanelDescriptor kRequestsPanel{.id = "requests",
                                                .title = QT_TRANSLATE_NOOP("Panels", "Requests"),
                                                .icon = "requests",
                                                .area = PanelArea::bottom,
                                                .at_first = false,
                                                .make = make_requests};

RequestsPanel::RequestsPanel(const PanelContext& context, QWidget* parent) : Panel(parent), context_(context) {
  setObjectName(QStringLiteral("requests"));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  splitter_ = new QSplitter(Qt::Horizontal, this);
  splitter_->setObjectName(QStringLiteral("requests.splitter"));
  splitter_->setHandleWidth(1);
  row->addWidget(splitter_);
  build_table();
  inspector_ = new RequestInspector(context.theme, splitter_);
  splitter_->addWidget(inspector_);
  splitter_->setStretchFactor(0, 1);
  splitter_->setSizes({900, context.theme.px(kInspectorWidth)});
  restore_columns();
  connect(&context.bridge, &Bridge::requests_changed, this, &RequestsPanel::follow_records);
  connect(&context.navigator, &Navigator::inspect_request, this, [this](quint64 number) {
    Q_EMIT context_.navigator.show_panel(objectName());
    show_records();
    select_number(number);
  });
  context.actions.on("requests.clear", this, [this] {
    context_.workbench.requests().clear();
    selected_ = 0;  // selects the next row that appears
    context_.bridge.refresh();
  });
  context.bridge.watch(this, Interest::requests);
  show_records();
}

void RequestsPanel::build_table() {
  auto* left = new QWidget(splitter_);
  auto* column = new QVBoxLayout(left);
  column->setContentsMargins(0, 0, 0, 0);
  table_ = new QTableView(left);
  table_->setObjectName(QStringLiteral("requests.table"));
  table_->setAccessibleName(tr("Requests"));
  table_->setModel(&model_);
  table_->setItemDelegate(new RequestDelegate(context_.theme, table_));
  shape_table(*table_, context_.theme);
  for (int i = 0; i < RequestsModel::n_columns; ++i)
    table_->setColumnWidth(i, context_.theme.px(kColumnWidths[static_cast<std::size_t>(i)]));
  table_->horizontalHeader()->setStretchLastSection(true);
  column->addWidget(table_, 1);
  empty_ = make_label(context_.theme, "requests.empty",
                      tr("No requests yet: each message of a chat and each request to the server becomes a row here."), left,
                      12, QFont::Normal, TextTone::text3);
  empty_->setAlignment(Qt::AlignCenter);
  empty_->setWordWrap(true);
  column->addWidget(empty_, 1);
  splitter_->addWidget(left);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &RequestsPanel::show_selected);
}

/// Restores the widths that the user gave to the columns and to the inspector, and saves later changes.
void RequestsPanel::restore_columns() {
  UiState& state = context_.state;
  QHeaderView* header = table_->horizontalHeader();
  header->restoreState(state.get(kRequestColumnsKey).toByteArray());
  header->setStretchLastSection(true);
  splitter_->restoreState(state.get(kSplitterKey).toByteArray());
  connect(header, &QHeaderView::sectionResized, this, [&state, header](int section) {
    // The last column follows the width of the table by itself.
    if (section + 1 < header->count()) state.set(kRequestColumnsKey, header->saveState());
  });
  connect(splitter_, &QSplitter::splitterMoved, this, [this, &state] { state.set(kSplitterKey, splitter_->saveState()); });
}

QWidget* RequestsPanel::title_tools() {
  auto* tools = new QWidget;
  auto* row = new QHBoxLayout(tools);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(context_.theme.px(2));
  auto* filter = new QLineEdit(tools);
  filter->setObjectName(QStringLiteral("requests.filter"));
  filter->setAccessibleName(tr("Filter requests"));
  filter->setPlaceholderText(tr("Filter, e.g.  status:error ttft>500"));
  filter->setFixedSize(context_.theme.px(260), context_.theme.px(24));
  connect(filter, &QLineEdit::textChanged, this, [this](const QString& text) {
    context_.workbench.settings().set("requests/filter", text.toStdString());
    model_.set_filter(text);
    select_number(selected_);
  });
  filter->setText(QString::fromStdString(context_.workbench.settings().get("requests/filter").get<std::string>()));
  row->addWidget(filter);
  auto* pause =
      make_icon_button(context_.theme, "requests.pause", "pause", tr("Pause the table"), tools, 24, IconTone::quiet);
  pause->setCheckable(true);
  connect(pause, &QToolButton::toggled, this, [this](bool on) {
    paused_ = on;
    show_records();
  });
  row->addWidget(pause);
  auto* clear =
      make_icon_button(context_.theme, "requests.clear", "delete", tr("Clear the table"), tools, 24, IconTone::quiet);
  follow_action(*clear, *context_.actions[QStringLiteral("requests.clear")]);
  row->addWidget(clear);
  auto* save =
      make_icon_button(context_.theme, "requests.export", "export", tr("Save as JSON lines"), tools, 24, IconTone::quiet);
  connect(save, &QToolButton::clicked, this, &RequestsPanel::save_all);
  row->addWidget(save);
  return tools;
}

/// Updates only while the panel can be seen, because it copies every record.
void RequestsPanel::follow_records() {
  if (seen()) show_records();
}

void RequestsPanel::showEvent(QShowEvent* event) {
  Panel::showEvent(event);
  if (event->spontaneous()) show_records();  // the window was minimised before
}

void RequestsPanel::show_records() {
  if (paused_) return;
  model_.show_records(context_.workbench.requests().records());
  table_->setVisible(!model_.all().empty());
  empty_->setVisible(model_.all().empty());
  if (selected_ == 0 && model_.rowCount() > 0) selected_ = model_.record_at(0)->number;
  select_number(selected_);
}

void RequestsPanel::select_number(quint64 number) {
  selected_ = number;
  const int row = model_.row_of(number);
  if (row >= 0 && table_->currentIndex().row() != row) table_->setCurrentIndex(model_.index(row, 0));
  inspector_->show_record(model_.record_at(row));
}

void RequestsPanel::show_selected() {
  const app::RequestRecord* record = model_.record_at(table_->currentIndex().row());
  if (record == nullptr) return;
  selected_ = record->number;
  inspector_->show_record(record);
}

void RequestsPanel::save_all() {
  const QString file =
      QFileDialog::getSaveFileName(this, tr("Save requests"), QStringLiteral("requests.jsonl"), QStringLiteral("*.jsonl"));
  if (file.isEmpty()) return;
  QByteArray lines;
  for (const app::RequestRecord& record : model_.all())
    lines += QByteArray::fromStdString(engine::dump_json(json_of(record))) + '\n';
  QSaveFile out(file);
  if (!out.open(QIODevice::WriteOnly) || out.write(lines) < 0 || !out.commit()) {
    context_.workbench.log().error("ui", "cannot write " + file.toStdString() + ": " + out.errorString().toStdString());
  }
}

}  // namespace lathe::ui
