// SPDX-License-Identifier: GPL-3.0-or-later
// Bridge: the only place where the window reads from other threads. A 30 Hz timer polls the workbench and emits one signal
// for each kind of change.
#pragma once

#include <QElapsedTimer>
#include <QHash>
#include <QObject>
#include <QTimer>
#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "app/api/workbench.h"
#include "ui/bridge/chat_stream.h"

namespace lathe::ui {

/// Tokens that the engine had computed at a point in time.
struct RatePoint {
  std::int64_t time_ns;
  std::uint64_t prefill_tokens, generation_tokens;
};

/// Kinds of changes that a widget is notified of while it can be seen; `blocks`: the engine puts the state of each KV block
/// into snapshots as long as a widget with this interest can be seen.
enum class Interest : unsigned { model = 1, snapshot = 2, server = 4, requests = 8, log = 16, sweep = 32, blocks = 64 };
Q_DECLARE_FLAGS(Interests, Interest)
Q_DECLARE_OPERATORS_FOR_FLAGS(Interests)

/// Thread: GUI. Signals are coalesced: at most one of each kind in a tick, none when nothing changed, none per token.
/// Invariant: with no visible watcher and no running chat the timer is stopped.
class Bridge : public QObject {
  Q_OBJECT
 public:
  explicit Bridge(app::Workbench& workbench, QObject* parent = nullptr);
  ~Bridge() override;

  /// Polls `what` from now on while `widget` is visible in a window that is not minimised. A watcher that becomes visible is
  /// notified of every change that it missed.
  void watch(QWidget* widget, Interests what);
  /// Polls everything now, visible or not: after a command of the user, and in tests.
  void refresh();

  const app::ModelStatus& model_status() const { return model_status_; }
  /// The loaded model; none while no model is loaded.
  const std::optional<engine::LoadedModel>& loaded() const { return loaded_; }
  /// True while a model is loaded, checked before its load, or waited for before it is unloaded.
  bool is_loading() const { return model_status_.state == app::ModelState::loading || !model_status_.next.empty(); }
  /// Requests of the loaded model that run or wait.
  int n_requests() const { return snapshot_ ? snapshot_->n_running + snapshot_->n_waiting : n_streams(); }
  /// True if a model is ready that writes replies, or completes text for want of a chat template.
  bool can_chat() const {
    return model_status_.state == app::ModelState::ready && (!lacks_template() || loaded_->generates);
  }
  /// True if the loaded model has no chat template: texts go to it as they are.
  bool completes() const { return lacks_template() && loaded_->generates; }
  bool lacks_template() const { return loaded_ && !loaded_->info.has_chat_template; }
  /// Null while no model is loaded.
  const std::shared_ptr<const engine::EngineSnapshot>& snapshot() const { return snapshot_; }
  const app::ServerStatus& server_status() const { return server_status_; }
  const app::SweepStatus& sweep_status() const { return sweep_status_; }
  /// Decode tokens per second of the whole engine, over the last second.
  double decode_rate() const { return decode_rate_; }
  double prefill_rate() const { return prefill_rate_; }
  /// Smoothed time that a tick takes on the GUI thread. Units: milliseconds.
  double tick_ms() const { return tick_ms_; }

  /// Follows a generation until it finishes or is destroyed. Owned by `parent`.
  ChatStream* follow(std::unique_ptr<app::ChatGeneration> generation, QObject* parent);
  int n_streams() const { return static_cast<int>(streams_.size()); }

 Q_SIGNALS:
  void model_changed();  ///< state, progress or error
  void snapshot_changed();
  void server_changed();
  void requests_changed();
  void log_changed();
  void sweep_changed();    ///< state, progress or results of the sweep
  void streams_changed();  ///< a chat generation began or ended

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void tick();
  Interests visible_interests() const;
  void update_timer();
  void update_block_watch(Interests visible);
  void look(Interests what);
  void look_at_model();
  void look_at_snapshot();
  void look_at_sweep();
  void drain_streams();
  void measure_rates(const engine::EngineSnapshot& snapshot);

  app::Workbench& workbench_;
  QTimer timer_;
  QHash<QObject*, Interests> watchers_;
  std::vector<ChatStream*> streams_;
  app::ModelStatus model_status_;
  std::optional<engine::LoadedModel> loaded_;
  std::shared_ptr<const engine::EngineSnapshot> snapshot_;
  engine::BlockWatch block_watch_;  ///< null: no widget that shows blocks can be seen
  app::ServerStatus server_status_;
  std::uint64_t requests_revision_ = ~std::uint64_t{0};
  app::SweepStatus sweep_status_;
  std::uint64_t log_cursor_ = 0;
  std::vector<RatePoint> rate_points_;
  double decode_rate_ = 0, prefill_rate_ = 0, tick_ms_ = 0;
};

}  // namespace lathe::ui
