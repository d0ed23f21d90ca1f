// SPDX-License-Identifier: GPL-3.0-or-later
// SweepForecast: how long a plan takes, before it has measured anything itself.
#pragma once

#include <QObject>
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

/// Thread: GUI. The least time is found in the background; changed() says that an answer may be another now.
class SweepForecast : public QObject {
  Q_OBJECT
 public:
  SweepForecast(Background& background, QObject* parent) : QObject(parent), background_(background) {}
  void set_rates(std::vector<app::KnownRate> rates);
  /// None while nothing is known. `measured`: what is done there takes no time. `info`: of the plan's model, if it is known.
  /// `may_measure`: nothing else computes, and the machine's ceilings may be measured, once.
  std::optional<ForecastTime> of(const app::SweepPlan& plan, const app::SweepReport* measured,
                                 const std::optional<engine::ModelInfo>& info, bool may_measure);

 Q_SIGNALS:
  void changed();

 private:
  void find_least(const app::SweepPlan& plan, const std::string& key, const engine::ModelInfo& info);

  Background& background_;
  std::vector<app::KnownRate> rates_;
  std::optional<kernels::Ceilings> ceilings_;
  std::string asked_;  ///< plan of least_, as text
  bool is_looking_ = false;
  std::optional<double> least_;
};

}  // namespace lathe::ui
