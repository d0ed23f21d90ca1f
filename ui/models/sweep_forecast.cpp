// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/sweep_forecast.h"

#include <utility>

namespace lathe::ui {
namespace {

struct Found {
  std::optional<kernels::Ceilings> ceilings;  ///< none: the measurement was given up
  std::optional<double> seconds;
};

}  // namespace

kernels::Ceilings measured_ceilings() {
  const auto machine = engine::measure_machine({});
  return machine ? machine->ceilings : kernels::Ceilings{};
}

void SweepForecast::set_rates(std::vector<app::KnownRate> rates) {
  rates_ = std::move(rates);
  has_rates_ = true;
  Q_EMIT changed();
}

std::optional<ForecastTime> SweepForecast::of(const app::SweepPlan& plan, const app::SweepReport* measured,
                                              const std::optional<engine::ModelInfo>& info, bool may_measure) {
  if (const auto seconds = app::estimated_seconds(plan, rates_, measured)) return ForecastTime{*seconds, false};
  if (!info || !plan.target.url.empty() || !has_rates_) return {};
  if (plan.options.device != "cpu") return {};  // the ceilings are those of the processors
  const std::string key = engine::dump_json(app::to_json(plan));
  if (key != asked_ && !is_looking_ && (ceilings_ || may_measure)) find_least(plan, key, *info);
  if (key != asked_ || is_looking_ || !least_) return {};
  return ForecastTime{*least_, true};
}

/// Runs one at a time: a caller that asks for another plan meanwhile is notified by changed() and asks again.
void SweepForecast::find_least(const app::SweepPlan& plan, const std::string& key, const engine::ModelInfo& info) {
  is_looking_ = true;
  asked_ = key;
  if (!ceilings_) look_ = std::make_shared<std::atomic<Look>>(Look::waits);
  background_.run(
      this,
      [plan, info, ceilings = ceilings_, look = look_, measure = measure_]() mutable {
        Look before = Look::waits;
        if (!ceilings && look->compare_exchange_strong(before, Look::measures)) ceilings = measure();
        if (!ceilings) return Found{};
        return Found{ceilings, app::least_seconds(plan, info, *ceilings, app::weight_bytes_of(info))};
      },
      [this](Found found) {
        is_looking_ = false;
        if (!found.ceilings) asked_.clear();
        else ceilings_ = found.ceilings;
        least_ = found.seconds;
        if (then_) std::exchange(then_, nullptr)();
        Q_EMIT changed();
      });
}

void SweepForecast::make_way(std::function<void()> then) {
  Look before = Look::waits;
  const bool measures =
      is_looking_ && !ceilings_ && !look_->compare_exchange_strong(before, Look::given_up) && before == Look::measures;
  if (!measures) return then();
  then_ = std::move(then);
}

}  // namespace lathe::ui
