// SPDX-License-Identifier: GPL-3.0-or-later
// SweepForecast: how long a plan takes, before it has measured anything itself.
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

/// At the rates of earlier sweeps, or else the least that the machine allows.
struct ForecastTime {
  double seconds = 0;
  bool is_least = false;
};

/// What this machine can do at most; nothing where it could not be measured. Takes all cores for about a second.
kernels::Ceilings measured_ceilings();

/// Thread: GUI. The least time is found in the background; changed() says that an answer may be another now.
class SweepForecast : public QObject {
  Q_OBJECT
 public:
  SweepForecast(Background& background, QObject* parent, std::function<kernels::Ceilings()> measure = measured_ceilings)
      : QObject(parent), background_(background), measure_(std::move(measure)) {}
  /// Before it the least time is not looked for: a kept sweep may know better.
  void set_rates(std::vector<app::KnownRate> rates);
  /// None while nothing is known. `measured`: what is done there takes no time. `info`: of the plan's model, if it is known.
  /// `may_measure`: nothing else computes, and the machine's ceilings may be measured, once.
  std::optional<ForecastTime> of(const app::SweepPlan& plan, const app::SweepReport* measured,
                                 const std::optional<engine::ModelInfo>& info, bool may_measure);
  /// Calls `then` once it can have the machine alone: at once, or after the measurement that has begun. One that has not is
  /// given up. Requires: !is_awaited().
  void make_way(std::function<void()> then);
  bool is_awaited() const { return then_ != nullptr; }  ///< a measurement is at work, and make_way() waits for it

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
  std::string asked_;  ///< plan of least_, as text
  bool is_looking_ = false;
  std::shared_ptr<std::atomic<Look>> look_;  ///< of the last measurement that was asked for; null: none was
  std::function<void()> then_;
  std::optional<double> least_;
};

}  // namespace lathe::ui
