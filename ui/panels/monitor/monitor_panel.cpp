// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/monitor/monitor_panel.h"

#include <qcustomplot.h>

#include <QContextMenuEvent>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLocale>
#include <QMenu>
#include <QPainter>
#include <QSaveFile>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "ui/models/durations.h"
#include "ui/widgets/chart_style.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {
namespace {

// Ten samples and ten repaints a second: more would cost time without being seen.
constexpr int kMonitorTickMs = 100;
constexpr double kTtftWindowS = 30;

double steady_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

QString figure(double value, int decimals = 0) { return QLocale().toString(value, 'f', decimals); }

/// A time on the axis, in the unit that the steps of the axis require.
QString time_on_axis(double seconds, double step_s) {
  if (seconds == 0) return QStringLiteral("0");
  if (step_s < 0.1) return axis_number(seconds * 1000, step_s * 1000) + QStringLiteral(" ms");
  return axis_number(seconds, step_s) + QStringLiteral(" s");
}

/// Requires: sorted values, not empty.
double percentile(const std::vector<double>& sorted, double share) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::lround(share * last))];
}

Panel* make_monitor(const PanelContext& context, QWidget* parent) { return new MonitorPanel(context, parent); }

}  // namespace

extern constexpr PanelDescriptor kMonitorPanel{.id = "monitor",
                                               .title = QT_TRANSLATE_NOOP("Panels", "Monitor"),
                                               .icon = "monitor",
                                               .area = PanelArea::bottom,
                                               .at_first = false,
                                               .make = make_monitor};

MonitorPanel::MonitorPanel(const PanelContext& context, QWidget* parent) : Panel(parent), context_(context) {
  setObjectName(QStringLiteral("monitor"));
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(context.theme.px(14), context.theme.px(6), context.theme.px(14), context.theme.px(4));
  stack_ = new QStackedWidget(this);
  layout->addWidget(stack_);
  build_charts();
  table_ = new QTableWidget(0, 4, stack_);
  table_->setObjectName(QStringLiteral("monitor.table"));
  table_->setAccessibleName(tr("Figures of the charts"));
  table_->setHorizontalHeaderLabels({tr("Figure"), tr("Now"), tr("Mean"), tr("Highest")});
  table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table_->setShowGrid(false);
  table_->verticalHeader()->hide();
  table_->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
  stack_->addWidget(table_);
  timer_.setInterval(kMonitorTickMs);
  connect(&timer_, &QTimer::timeout, this, [this] {
    if (!seen()) return;
    sample();
    redraw();
  });
  context.actions.on("view.freeze_charts", this, [this](bool on) { frozen_ = on; });
  context.bridge.watch(this, Interest::snapshot | Interest::requests);
}

void MonitorPanel::build_charts() {
  auto* charts = new QWidget(stack_);
  auto* row = new QHBoxLayout(charts);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(context_.theme.px(12));
  const Theme& theme = context_.theme;
  throughput_ = new LiveChart(theme, "monitor.throughput", tr("Throughput"),
                              {{tr("decode"), [](const Tokens& t) { return t.decode; }, false, true},
                               {tr("prefill"), [](const Tokens& t) { return t.prefill; }}},
                              charts);
  ttft_ = new LiveChart(
      theme, "monitor.ttft", tr("TTFT"),
      {{tr("p50"), [](const Tokens& t) { return t.series[0]; }}, {tr("p95"), [](const Tokens& t) { return t.series[1]; }}},
      charts);
  ttft_->set_axis_text(time_on_axis);
  requests_ = new LiveChart(theme, "monitor.requests", tr("Requests"),
                            {{tr("running"), [](const Tokens& t) { return t.series[3]; }, true, true},
                             {tr("waiting"), [](const Tokens& t) { return t.queued; }, true}},
                            charts);
  kv_ = new LiveChart(theme, "monitor.kv", tr("KV blocks"),
                      {{tr("in use"), [](const Tokens& t) { return t.series[0]; }, true, true},
                       {tr("cached"), [](const Tokens& t) { return t.queued; }, true},
                       {tr("free"), [](const Tokens& t) { return t.series[2]; }, true}},
                      charts);
  rows_ = new LiveChart(theme, "monitor.rows", tr("Rows per step"),
                        {{tr("wanted"), [](const Tokens& t) { return t.series[0]; }, true},
                         {tr("padding"), [](const Tokens& t) { return t.series[4]; }, true, true}},
                        charts);
  rows_->hide();
  charts_ = {throughput_, ttft_, requests_, kv_, rows_};
  for (LiveChart* chart : charts_) {
    chart->set_empty_text(tr("No data yet: send a message or start the server"));
    row->addWidget(chart, 1);
  }
  stack_->addWidget(charts);
}

QWidget* MonitorPanel::title_tools() {
  auto* tools = new QWidget;
  auto* row = new QHBoxLayout(tools);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(context_.theme.px(4));
  auto* span = new Segmented(context_.theme, {tr("30 s"), tr("5 min"), tr("1 h")}, tools);
  span->setObjectName(QStringLiteral("monitor.span"));
  span->setAccessibleName(tr("Time shown"));
  span->set_compact(true);
  const int kept_s = context_.workbench.settings().get("monitor/window_s").get<int>();
  const auto kept = std::find_if(kSpans.begin(), kSpans.end(), [kept_s](Span s) { return seconds_of(s) == kept_s; });
  const int index = kept == kSpans.end() ? 0 : static_cast<int>(kept - kSpans.begin());
  span->set_current(index);
  set_span(index);
  connect(span, &Segmented::chosen, this, [this](int chosen) {
    const double seconds = seconds_of(kSpans[static_cast<std::size_t>(chosen)]);
    context_.workbench.settings().set("monitor/window_s", static_cast<int>(seconds));
    set_span(chosen);
  });
  row->addWidget(span);
  auto* freeze = make_icon_button(context_.theme, "monitor.freeze", "freeze", tr("Freeze the charts; measuring continues"),
                                  tools, 24, IconTone::quiet);
  follow_action(*freeze, *context_.actions[QStringLiteral("view.freeze_charts")]);
  row->addWidget(freeze);
  auto* table =
      make_icon_button(context_.theme, "monitor.as_table", "table", tr("View as table"), tools, 24, IconTone::quiet);
  table->setCheckable(true);
  connect(table, &QToolButton::toggled, this, &MonitorPanel::show_table);
  row->addWidget(table);
  return tools;
}

void MonitorPanel::showEvent(QShowEvent* event) {
  Panel::showEvent(event);
  timer_.start();
}

void MonitorPanel::hideEvent(QHideEvent* event) {
  Panel::hideEvent(event);
  timer_.stop();
}

void MonitorPanel::came_into_view() { redraw(); }

void MonitorPanel::sample() {
  const auto& snapshot = context_.bridge.snapshot();
  if (snapshot == nullptr) return;
  const double now = steady_s();
  const double decode = context_.bridge.decode_rate();
  throughput_->append(now, {decode, context_.bridge.prefill_rate()});
  throughput_->set_value(figure(decode, decode < 100 ? 1 : 0), tr("tok/s"));
  requests_->append(now, {double(snapshot->n_running), double(snapshot->n_waiting)});
  requests_->set_value(figure(snapshot->n_running), tr("running"));
  kv_->append(now, {double(snapshot->n_blocks_used), double(snapshot->n_blocks_cached), double(snapshot->n_blocks_free)});
  kv_->set_limit(snapshot->n_blocks);
  kv_->set_value(figure(snapshot->n_blocks_used), tr("of %1").arg(figure(snapshot->n_blocks)));
  sample_ttft(now);
  sample_rows(now, *snapshot);
}

/// Hides the chart of rows if the policy pads no batch; the other charts then take its space.
void MonitorPanel::sample_rows(double now_s, const engine::EngineSnapshot& snapshot) {
  rows_->setVisible(snapshot.counters.n_padding_tokens > 0);
  if (rows_->isHidden()) return;
  const bool idle = snapshot.n_running == 0;  // an idle engine still reports the values of its last step
  const double wanted = idle ? 0 : snapshot.step_prefill_tokens + snapshot.step_decode_tokens;
  const double padding = idle ? 0 : snapshot.step_padding_tokens;
  rows_->append(now_s, {wanted, padding});
  rows_->set_value(padding > 0 ? figure(100 * padding / (wanted + padding)) + QStringLiteral(" %") : QStringLiteral("0 %"),
                   tr("padding"));
}

void MonitorPanel::sample_ttft(double now_s) {
  std::vector<double> seconds;
  for (const app::RequestRecord& record : context_.workbench.requests().records()) {
    const double first_token_s = record.submitted_ns * 1e-9 + record.timings.ttft_ms * 1e-3;
    if (record.timings.ttft_ms > 0 && now_s - first_token_s < kTtftWindowS) seconds.push_back(record.timings.ttft_ms * 1e-3);
  }
  const double missing = std::numeric_limits<double>::quiet_NaN();
  std::sort(seconds.begin(), seconds.end());
  const double p50 = seconds.empty() ? missing : percentile(seconds, 0.5);
  ttft_->append(now_s, {p50, seconds.empty() ? missing : percentile(seconds, 0.95)});
  const QString words = seconds.empty() ? QStringLiteral("– s") : duration_text(p50 * 1000);
  ttft_->set_value(words.section(QLatin1Char(' '), 0, 0), words.section(QLatin1Char(' '), 1));
}

void MonitorPanel::redraw() {
  if (frozen_) return;
  if (stack_->currentIndex() == 1) return fill_table();
  for (LiveChart* chart : charts_) {
    if (!chart->history().empty()) chart->refresh(steady_s());
  }
}

void MonitorPanel::fill_table() {
  int row = 0;
  for (const LiveChart* chart : charts_) {
    if (chart->isHidden()) continue;
    const std::vector<Sample>& samples = chart->history().samples(Span::half_minute);
    for (std::size_t i = 0; i < chart->lines().size(); ++i, ++row) {
      if (table_->rowCount() <= row) table_->insertRow(row);
      double sum = 0, highest = 0, now = std::numeric_limits<double>::quiet_NaN();
      int n = 0;
      for (const Sample& sample : samples) {
        if (std::isnan(sample.values[i])) continue;
        now = sample.values[i];
        sum += now;
        highest = std::max(highest, now);
        ++n;
      }
      const QStringList words{QStringLiteral("%1, %2").arg(chart->title(), chart->lines()[i].name),
                              n == 0 ? "–" : figure(now, 2), n == 0 ? "–" : figure(sum / n, 2),
                              n == 0 ? "–" : figure(highest, 2)};
      for (int column = 0; column < words.size(); ++column) {
        if (table_->item(row, column) == nullptr) table_->setItem(row, column, new QTableWidgetItem);
        table_->item(row, column)->setText(words[column]);
        if (column > 0) table_->item(row, column)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
      }
    }
  }
  table_->setRowCount(row);
}

void MonitorPanel::set_span(int index) {
  for (LiveChart* chart : charts_) {
    chart->set_span(kSpans[static_cast<std::size_t>(index)]);
    chart->refresh(steady_s());
  }
}

void MonitorPanel::show_table(bool shown) {
  stack_->setCurrentIndex(shown ? 1 : 0);
  if (shown) fill_table();  // the table is filled even if the charts are frozen
  else redraw();
}

void MonitorPanel::contextMenuEvent(QContextMenuEvent* event) {
  const auto under = std::find_if(charts_.begin(), charts_.end(), [&](LiveChart* c) {
    return c->isVisible() && c->rect().contains(c->mapFrom(this, event->pos()));
  });
  if (under == charts_.end()) return;
  QMenu menu(this);
  menu.addAction(tr("Save as PNG…"), this, [this, under] { save(*under, true); });
  menu.addAction(tr("Save as CSV…"), this, [this, under] { save(*under, false); });
  menu.exec(event->globalPos());
}

void MonitorPanel::save(LiveChart* chart, bool picture) {
  const QString ending = picture ? QStringLiteral("png") : QStringLiteral("csv");
  const QString file =
      QFileDialog::getSaveFileName(this, tr("Save %1").arg(chart->title()), chart->title() + "." + ending, "*." + ending);
  if (file.isEmpty()) return;
  if (picture) {
    chart->grab().save(file, "PNG");
    return;
  }
  QSaveFile out(file);
  if (!out.open(QIODevice::WriteOnly) || out.write(chart->csv().toUtf8()) < 0 || !out.commit()) {
    context_.workbench.log().error("ui", "cannot write " + file.toStdString() + ": " + out.errorString().toStdString());
  }
}

void MonitorPanel::paintEvent(QPaintEvent*) { QPainter(this).fillRect(rect(), context_.theme.tokens().page); }

}  // namespace lathe::ui
