// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/bridge/bridge.h"

#include <QEvent>
#include <algorithm>

namespace lathe::ui {
namespace {

constexpr int kTickMs = 33;         // 30 Hz: every second frame of a 60 Hz screen
constexpr int kHiddenTickMs = 250;  // a hidden chat is still saved within a second
constexpr std::int64_t kRateWindowNs = 1'000'000'000;

bool same(const app::ModelStatus& a, const app::ModelStatus& b) {
  return a.generation == b.generation && a.state == b.state && a.progress.phase == b.progress.phase &&
         a.progress.bytes_done == b.progress.bytes_done && a.path == b.path && a.error.has_value() == b.error.has_value() &&
         a.next == b.next && a.n_finishing == b.n_finishing;
}

bool same(const app::ServerStatus& a, const app::ServerStatus& b) {
  return a.state == b.state && a.port == b.port && a.host == b.host && a.n_requests == b.n_requests &&
         a.n_errors == b.n_errors && a.n_connections == b.n_connections && a.error == b.error &&
         a.free_port == b.free_port &&
         std::equal(a.dialects.begin(), a.dialects.end(), b.dialects.begin(), b.dialects.end(),
                    [](const app::DialectState& x, const app::DialectState& y) {
                      return x.on == y.on && x.n_requests == y.n_requests && x.base_url == y.base_url && x.curl == y.curl;
                    });
}

}  // namespace

Bridge::Bridge(app::Workbench& workbench, QObject* parent) : QObject(parent), workbench_(workbench) {
  timer_.setInterval(kTickMs);
  connect(&timer_, &QTimer::timeout, this, &Bridge::tick);
}

Bridge::~Bridge() = default;

void Bridge::watch(QWidget* widget, Interests what) {
  watchers_[widget] |= what;
  widget->installEventFilter(this);
  widget->window()->installEventFilter(this);
  connect(widget, &QObject::destroyed, this, [this](QObject* gone) { watchers_.remove(gone); });
  update_timer();
}

bool Bridge::eventFilter(QObject* object, QEvent* event) {
  const QEvent::Type type = event->type();
  if (type == QEvent::Show || type == QEvent::Hide || type == QEvent::WindowStateChange) {
    // A dock has another window when it floats, so the window is looked up each time that the widget is shown.
    if (auto* widget = qobject_cast<QWidget*>(object); widget != nullptr && type == QEvent::Show) {
      widget->window()->removeEventFilter(this);
      widget->window()->installEventFilter(this);
    }
    QMetaObject::invokeMethod(this, &Bridge::update_timer, Qt::QueuedConnection);
  }
  return QObject::eventFilter(object, event);
}

Interests Bridge::visible_interests() const {
  Interests all;
  for (auto it = watchers_.begin(); it != watchers_.end(); ++it) {
    const auto* widget = static_cast<const QWidget*>(it.key());
    // A dock under another tab counts as visible in Qt, but no part of it can be seen.
    if (widget->isVisible() && !widget->window()->isMinimized() && !widget->visibleRegion().isEmpty()) all |= it.value();
  }
  return all;
}

void Bridge::update_block_watch(Interests visible) {
  if (!visible.testFlag(Interest::blocks)) {
    block_watch_.reset();
  } else if (!block_watch_ && loaded_) {
    if (const app::EngineLease lease = workbench_.models().lease()) block_watch_ = lease->watch_blocks();
  }
}

void Bridge::update_timer() {
  update_block_watch(visible_interests());
  bool any = false;
  for (auto it = watchers_.begin(); it != watchers_.end(); ++it) {
    const auto* widget = static_cast<const QWidget*>(it.key());
    any |= widget->isVisible() && !widget->window()->isMinimized();
  }
  if (!any && streams_.empty()) return timer_.stop();
  timer_.setInterval(any ? kTickMs : kHiddenTickMs);
  if (!timer_.isActive()) timer_.start();
}

void Bridge::refresh() {
  look(Interest::model | Interest::snapshot | Interest::server | Interest::requests | Interest::log | Interest::sweep);
}

void Bridge::tick() {
  QElapsedTimer clock;
  clock.start();
  const Interests visible = visible_interests();
  update_block_watch(visible);
  look(visible);
  const double ms = static_cast<double>(clock.nsecsElapsed()) * 1e-6;
  tick_ms_ += 0.1 * (ms - tick_ms_);
}

void Bridge::look(Interests what) {
  if (what.testFlag(Interest::model) || what.testFlag(Interest::snapshot) || !streams_.empty()) look_at_model();
  if (what.testFlag(Interest::snapshot) || !streams_.empty()) look_at_snapshot();
  drain_streams();
  if (what.testFlag(Interest::server)) {
    app::ServerStatus status = workbench_.server().status();
    if (!same(status, server_status_)) {
      server_status_ = std::move(status);
      Q_EMIT server_changed();
    }
  }
  if (what.testFlag(Interest::requests) && workbench_.requests().revision() != requests_revision_) {
    requests_revision_ = workbench_.requests().revision();
    Q_EMIT requests_changed();
  }
  if (what.testFlag(Interest::log) && !workbench_.log().lines_since(log_cursor_).empty()) Q_EMIT log_changed();
  if (what.testFlag(Interest::sweep)) look_at_sweep();
}

/// Reports a running sweep at least once a second, for its clock.
void Bridge::look_at_sweep() {
  app::SweepStatus status = workbench_.sweeper().status();
  const auto second = [](const app::SweepStatus& at) { return static_cast<std::int64_t>(at.progress.seconds); };
  if (status.revision == sweep_status_.revision && second(status) == second(sweep_status_)) return;
  sweep_status_ = std::move(status);
  Q_EMIT sweep_changed();
}

void Bridge::look_at_model() {
  app::ModelStatus status = workbench_.models().status();
  if (same(status, model_status_)) return;
  const bool reloaded = status.generation != model_status_.generation;
  model_status_ = std::move(status);
  if (reloaded || model_status_.state != app::ModelState::ready) {
    loaded_.reset();
    snapshot_.reset();
    block_watch_.reset();
    rate_points_.clear();
    decode_rate_ = prefill_rate_ = 0;
  }
  if (model_status_.state == app::ModelState::ready) {
    if (const app::EngineLease lease = workbench_.models().lease()) loaded_ = lease->model();
  }
  Q_EMIT model_changed();
  Q_EMIT snapshot_changed();
}

void Bridge::look_at_snapshot() {
  if (!loaded_) return;
  std::shared_ptr<const engine::EngineSnapshot> next;
  if (const app::EngineLease lease = workbench_.models().lease()) next = lease->snapshot();
  if (!next) return;
  const double before = decode_rate_ + prefill_rate_;
  measure_rates(*next);
  if (next == snapshot_ && before == decode_rate_ + prefill_rate_) return;
  snapshot_ = std::move(next);
  Q_EMIT snapshot_changed();
}

void Bridge::measure_rates(const engine::EngineSnapshot& snapshot) {
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  rate_points_.push_back({now, snapshot.counters.n_prefill_tokens, snapshot.counters.n_generation_tokens});
  const auto old = std::find_if(rate_points_.begin(), rate_points_.end(),
                                [now](const RatePoint& point) { return point.time_ns >= now - kRateWindowNs; });
  rate_points_.erase(rate_points_.begin(), old);
  const RatePoint& first = rate_points_.front();
  const double seconds = static_cast<double>(now - first.time_ns) * 1e-9;
  if (seconds <= 0) return;
  decode_rate_ = static_cast<double>(snapshot.counters.n_generation_tokens - first.generation_tokens) / seconds;
  prefill_rate_ = static_cast<double>(snapshot.counters.n_prefill_tokens - first.prefill_tokens) / seconds;
}

ChatStream* Bridge::follow(std::unique_ptr<app::ChatGeneration> generation, QObject* parent) {
  auto* stream = new ChatStream(std::move(generation), parent);
  streams_.push_back(stream);
  connect(stream, &QObject::destroyed, this, [this, stream] {
    if (std::erase(streams_, stream) > 0) Q_EMIT streams_changed();
    update_timer();
  });
  update_timer();
  Q_EMIT streams_changed();
  return stream;
}

void Bridge::drain_streams() {
  if (streams_.empty()) return;
  const std::vector<ChatStream*> running = streams_;
  for (ChatStream* stream : running) {
    // a slot of an earlier stream deleted this one
    if (std::find(streams_.begin(), streams_.end(), stream) == streams_.end()) continue;
    stream->drain(snapshot_.get());
  }
  const auto gone = std::remove_if(streams_.begin(), streams_.end(), [](ChatStream* stream) { return stream->finished(); });
  if (gone == streams_.end()) return;
  streams_.erase(gone, streams_.end());
  update_timer();
  Q_EMIT streams_changed();
}

}  // namespace lathe::ui
