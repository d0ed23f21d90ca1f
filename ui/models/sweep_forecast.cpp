// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/sweep_forecast.h"

namespace lathe::ui {
namespace {

struct Found {
  kernels::Ceilings ceilings;
  std::optional<double> seconds;
};

Found least_of(const app::SweepPlan& plan, const engine::ModelInfo& info, std::optional<kernels::Ceilings> ceilings) {
  if (!ceilings) {
    const auto machine = engine::measure_machine({}, 0);
    ceilings = machine ? machine->ceilings : kernels::Ceilings{};
  }
  return {*ceilings, app::least_seconds(plan, info, *ceilings, app::weight_bytes_of(info))};
}

}  // namespace

void SweepForecast::set_rates(std::vector<app::KnownRate> rates) {
  rates_ = std::move(rates);
  Q_EMIT changed();
}

std::optional<ForecastTime> SweepForecast::of(const app::SweepPlan& plan, const app::SweepReport* measured,
                                              const std::optional<engine::ModelInfo>& info, bool may_measure) {
  if (const auto seconds = app::estimated_seconds(plan, rates_, measured)) return ForecastTime{*seconds, false};
  if (!info || !plan.target.url.empty()) return {};
  const std::string key = engine::dump_json(app::to_json(plan));
  if (key != asked_ && !is_looking_ && (ceilings_ || may_measure)) find_least(plan, key, *info);
  if (key != asked_ || is_looking_ || !least_) return {};
  return ForecastTime{*least_, true};
}

/// One at a time: who asks for another plan meanwhile is told by changed() to ask again.
void SweepForecast::find_least(const app::SweepPlan& plan, const std::string& key, const engine::ModelInfo& info) {
  is_looking_ = true;
  asked_ = key;
  background_.run(
      this, [plan, info, ceilings = ceilings_] { return least_of(plan, info, ceilings); },
      [this](Found found) {
        is_looking_ = false;
        ceilings_ = found.ceilings;
        least_ = found.seconds;
        Q_EMIT changed();
      });
}

}  // namespace lathe::ui
