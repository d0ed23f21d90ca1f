// SPDX-License-Identifier: GPL-3.0-or-later
// Texts about the time that a plan will take.
#pragma once

#include <QString>
#include <optional>

#include "ui/models/sweep_forecast.h"

namespace lathe::ui {

struct ForecastText {
  QString takes;   ///< duration of a plan
  QString source;  ///< source of the duration
};
/// Text of a plan's time; none: it is unknown.
ForecastText text_of(const std::optional<ForecastTime>& time);

/// Cells and repeats of a plan with the time that it takes, as rich text: "<b>6 cells × 3 repeats</b> ≈ 2 min".
QString cost_text(const app::SweepPlan& plan, const QString& takes);

/// Time left of a running sweep of which only the forecast is known, as rich text; empty: unknown, or it takes longer than
/// expected. `elapsed`: seconds since it was started.
QString left_text(const std::optional<ForecastTime>& time, double elapsed);

}  // namespace lathe::ui
