// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/status_bar.h"

#include <QHelpEvent>
#include <QLocale>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "ui/bridge/system_memory.h"
#include "ui/theme/digits.h"

namespace lathe::ui {
namespace {

constexpr int kMemoryEveryMs = 1000;

QString gib(double bytes) { return QLocale().toString(bytes / (1 << 30), 'f', 1); }

}  // namespace

StatusBar::StatusBar(const Theme& theme, Bridge& bridge, QWidget* parent)
    : QStatusBar(parent), theme_(theme), bridge_(bridge) {
  setObjectName(QStringLiteral("status_bar"));
  setSizeGripEnabled(false);
  setFixedHeight(theme.px(27));
  setMouseTracking(true);
  bridge.watch(this, Interest::model | Interest::snapshot | Interest::sweep);
  connect(&bridge, &Bridge::sweep_changed, this, &StatusBar::refresh);
  connect(&bridge, &Bridge::model_changed, this, &StatusBar::refresh);
  connect(&bridge, &Bridge::snapshot_changed, this, &StatusBar::refresh);
  connect(&bridge, &Bridge::streams_changed, this, &StatusBar::refresh);
  connect(this, &QStatusBar::messageChanged, this, qOverload<>(&QWidget::update));
  read_memory();
  refresh();
}

void StatusBar::read_memory() {
  if (memory_age_.isValid() && memory_age_.elapsed() < kMemoryEveryMs) return;
  memory_age_.start();
  const SystemMemory memory = read_system_memory();
  memory_total_ = memory.total;
  memory_used_ = memory.total - memory.available;
}

void StatusBar::add_model(Shown& s) const {
  const Tokens& t = theme_.tokens();
  const app::ModelStatus& status = bridge_.model_status();
  const engine::EngineSnapshot* snapshot = bridge_.snapshot().get();
  const int n = snapshot ? snapshot->n_running + snapshot->n_waiting : 0;
  switch (status.state) {
    case app::ModelState::none: s.state = tr("No model"); break;
    case app::ModelState::loading: {
      s.led = t.accent;
      if (status.n_finishing > 0) {
        s.state = tr("Finishing %1").arg(status.n_finishing);
        break;
      }
      const engine::LoadProgress& p = status.progress;
      const double percent =
          p.bytes_total > 0 ? 100.0 * static_cast<double>(p.bytes_done) / static_cast<double>(p.bytes_total) : 0;
      s.state = tr("Loading %1 %").arg(static_cast<int>(percent));
      break;
    }
    case app::ModelState::ready:
      s.state = n > 0 ? tr("Generating %1").arg(n) : tr("Ready");
      s.led = t.success.fill;
      break;
    case app::ModelState::failed:
      if (status.error && status.error->code == engine::ErrorCode::cancelled) {
        s.state = tr("No model");
        break;
      }
      s.state = tr("Error");
      s.led = t.error.fill;
      break;
  }
}

void StatusBar::add_sweep(Shown& s) const {
  const app::SweepStatus& sweep = bridge_.sweep_status();
  const app::SweepProgress& at = sweep.progress;
  s.state = (sweep.state == app::SweepState::paused ? tr("Paused at %1 of %2") : tr("Measuring %1 of %2"))
                .arg(std::min(at.cells_done + 1, at.cells_total))
                .arg(at.cells_total);
  s.led = theme_.tokens().accent;
  const double runs = static_cast<double>(at.repeat > 0 ? at.repeat - 1 : 0) / static_cast<double>(sweep.plan->repeats);
  s.sweep_share =
      (static_cast<double>(at.cells_done) + runs) / static_cast<double>(std::max<std::size_t>(at.cells_total, 1));
}

StatusBar::Shown StatusBar::now() const {
  const QLocale locale;
  Shown s;
  s.led = theme_.tokens().text3;
  const app::SweepStatus& sweep = bridge_.sweep_status();
  const bool measures = sweep.runs();
  measures ? add_sweep(s) : add_model(s);
  const bool rests = sweep.state == app::SweepState::paused;
  const engine::EngineSnapshot* snapshot = !measures ? bridge_.snapshot().get()
                                           : rests   ? nullptr
                                                     : sweep.progress.engine.get();
  const int running = snapshot ? snapshot->n_running : 0, waiting = snapshot ? snapshot->n_waiting : 0;
  const double rate = measures ? sweep.progress.tok_s : bridge_.decode_rate();
  const bool is_known = measures ? rate > 0 && !rests : snapshot != nullptr;
  s.rate = is_known ? tr("%1 tok/s").arg(locale.toString(rate, 'f', rate < 99.95 && rate > 0 ? 1 : 0)) : tr("– tok/s");
  s.kv = snapshot
             ? QStringLiteral("%1 / %2").arg(locale.toString(snapshot->n_blocks_used), locale.toString(snapshot->n_blocks))
             : QStringLiteral("–");
  s.kv_share = snapshot ? snapshot->kv_usage() : -1;
  s.requests =
      measures && snapshot == nullptr ? tr("Running –, waiting –") : tr("Running %1, waiting %2").arg(running).arg(waiting);
  s.memory = tr("RAM %1 of %2 GiB").arg(gib(memory_used_), gib(memory_total_));
  s.cost = tr("UI %1 ms").arg(locale.toString(bridge_.tick_ms(), 'f', 1));
  return s;
}

void StatusBar::refresh() {
  read_memory();
  Shown next = now();
  if (next == shown_) return;
  shown_ = std::move(next);
  setAccessibleName(QStringList{shown_.state, shown_.rate, tr("KV %1").arg(shown_.kv), shown_.requests, shown_.memory}.join(
      QStringLiteral(", ")));
  update();
}

void StatusBar::paint_meter(QPainter& painter, qreal& x, double share) const {
  const QRectF meter(x, (height() - theme_.px(6)) / 2.0 + 0.5, theme_.px(54), theme_.px(6));
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme_.tokens().pressed);
  painter.drawRoundedRect(meter, 3, 3);
  painter.setBrush(theme_.tokens().accent);
  if (share > 0)
    painter.drawRoundedRect(QRectF(meter.topLeft(), QSizeF(std::max(6.0, meter.width() * share), meter.height())), 3, 3);
  x = meter.right() + theme_.px(7);
}

bool StatusBar::is_of_sweep(const QPointF& point) const { return shown_.sweep_share >= 0 && point.x() < state_end_; }

bool StatusBar::is_of_chats(const QPointF& point) const {
  return shown_.sweep_share < 0 && !writing_.isEmpty() && point.x() < state_end_;
}

void StatusBar::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton && is_of_chats(event->position())) return Q_EMIT writing_wanted();
  if (event->button() == Qt::LeftButton && is_of_sweep(event->position())) return Q_EMIT sweep_wanted();
  QStatusBar::mousePressEvent(event);
}

void StatusBar::mouseMoveEvent(QMouseEvent* event) {
  setCursor(is_of_sweep(event->position()) || is_of_chats(event->position()) ? Qt::PointingHandCursor : Qt::ArrowCursor);
  QStatusBar::mouseMoveEvent(event);
}

bool StatusBar::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QStatusBar::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  if (is_of_sweep(help->pos())) QToolTip::showText(help->globalPos(), tr("Show the sweep"), this);
  else if (is_of_chats(help->pos()))
    QToolTip::showText(help->globalPos(), tr("Writing into %1").arg(writing_.join(QStringLiteral(", "))), this);
  else if (!currentMessage().isEmpty()) QToolTip::showText(help->globalPos(), currentMessage(), this);
  else QToolTip::hideText();
  return true;
}

void StatusBar::paintEvent(QPaintEvent*) {
  const Tokens& t = theme_.tokens();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(rect(), t.chrome);
  painter.fillRect(QRect(0, 0, width(), 1), t.border);
  const qreal led = theme_.px(8), gap = theme_.px(12);
  qreal x = theme_.px(14);
  const auto line = [&] {
    x += gap;
    painter.fillRect(QRectF(x, (height() - theme_.px(12)) / 2.0, 1, theme_.px(12)), t.strong);
    x += gap + 1;
  };
  const auto word = [&](const QString& text, int weight, const QColor& color) {
    painter.setFont(theme_.font(12, weight));
    painter.setPen(color);
    x += draw_digits(painter, QRectF(x, 1, width(), height() - 1), Qt::AlignLeft | Qt::AlignVCenter, text);
  };
  painter.setPen(Qt::NoPen);
  painter.setBrush(shown_.led);
  painter.drawEllipse(QRectF(x, (height() - led) / 2 + 0.5, led, led));
  x += led + theme_.px(6);
  word(shown_.state, QFont::DemiBold, t.text);
  if (shown_.sweep_share >= 0) {
    x += theme_.px(7);
    paint_meter(painter, x, shown_.sweep_share);
    x -= theme_.px(7);
  }
  state_end_ = x + gap;
  line();
  if (!currentMessage().isEmpty()) {
    const int most = width() - static_cast<int>(x + gap);
    return word(QFontMetrics(theme_.font(12)).elidedText(currentMessage(), Qt::ElideRight, most), QFont::Normal, t.text);
  }
  word(shown_.rate, QFont::Normal, t.text2);
  line();
  word(tr("KV"), QFont::Normal, t.text2);
  x += theme_.px(7);
  if (shown_.kv_share >= 0) paint_meter(painter, x, shown_.kv_share);
  word(shown_.kv, QFont::Normal, t.text2);
  line();
  word(shown_.requests, QFont::Normal, t.text2);
  line();
  word(shown_.memory, QFont::Normal, t.text2);
  painter.setFont(theme_.font(12));
  painter.setPen(t.text3);
  const qreal right = digits_width(QFontMetricsF(painter.font()), shown_.cost) + theme_.px(14);
  if (x + right + gap < width())
    draw_digits(painter, QRectF(0, 1, width() - theme_.px(14), height() - 1), Qt::AlignRight | Qt::AlignVCenter,
                shown_.cost);
}

}  // namespace lathe::ui
