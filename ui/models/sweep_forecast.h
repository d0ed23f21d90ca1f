// SPDX-License-Identifier: GPL-3.0-or-later
// SweepForecast: the time that a plan will take, before it has measured anything itself.
#pragma once

#include <QObject>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/api/sweep_bound.h"
#include "app/api/sweep_estimate.h"
#include "ui/bridge/background.h"

namespace lathe::ui {

/// The time at the rates of earlier sweeps, or else the least time that the machine allows.
struct ForecastTime {
  double seconds = 0;
  bool is_least = false;
};

/// The ceilings of this machine; nothing if they could not be measured. Takes all cores for about a second.
kernels::Ceilings measured_ceilings();

/// Thread: GUI. The least time is computed in the background; changed() says that of() may answer differently now.
class SweepForecast : public QObject {
  Q_OBJECT
 public:
  SweepForecast(Background& background, QObject* parent, std::function<kernels::Ceilings()> measure = measured_ceilings)
      : QObject(parent), background_(background), measure_(std::move(measure)) {}
  /// Sets the rates of earlier sweeps. The least time is not computed before this call, because a saved sweep may know
  /// better.
  void set_rates(std::vector<app::KnownRate> rates);
  /// The time of a plan; none while nothing is known. `measured`: runs that are already measured take no time. `info`:
  /// metadata of the plan's model, if known. `may_measure`: nothing else computes, so the machine's ceilings may be
  /// measured, once.
  std::optional<ForecastTime> of(const app::SweepPlan& plan, const app::SweepReport* measured,
                                 const std::optional<engine::ModelInfo>& info, bool may_measure);
  /// Calls `then` once it can have the machine alone: at once, or after a measurement that has begun. A measurement that has
  /// not begun is given up. Requires: !is_awaited().
  void make_way(std::function<void()> then);
  bool is_awaited() const { return then_ != nullptr; }  ///< a measurement is running, and make_way() waits for it

 Q_SIGNALS:
  void changed();

 private:
  enum class Look { waits, measures, given_up };
  void find_least(const app::SweepPlan& plan, const std::string& key, const engine::ModelInfo& info);

  Background& background_;
  const std::function<kernels::Ceilings()> measure_;
  std::vector<app::KnownRate> rates_;
  bool has_rates_ = false;
  std::optional<kernels::Ceilings> ceilings_;
  std::string asked_;  ///< plan of least_, as JSON text
  bool is_looking_ = false;
  std::shared_ptr<std::atomic<Look>> look_;  ///< state of the last requested measurement; null: none was requested
  std::function<void()> then_;
  std::optional<double> least_;
};

}  // namespace lathe::ui
