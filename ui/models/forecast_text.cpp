// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/forecast_text.h"

#include <QCoreApplication>

#include "ui/models/sweep_text.h"

namespace lathe::ui {
namespace {

struct Texts {
  Q_DECLARE_TR_FUNCTIONS(ForecastText)
};

}  // namespace

ForecastText text_of(const std::optional<ForecastTime>& time) {
  if (!time) {
    return {Texts::tr("time unknown until the first cell"), Texts::tr("No kept sweep has measured this in these formats")};
  }
  if (time->is_least) {
    return {Texts::tr("at least %1").arg(about_text(time->seconds)),
            Texts::tr("The least time that this machine needs to read the weights and to multiply them; no kept sweep has "
                      "measured this model in these formats")};
  }
  return {Texts::tr("≈ %1").arg(about_text(time->seconds)),
          Texts::tr("Estimated from the most similar cells of kept sweeps")};
}

QString cost_text(const app::SweepPlan& plan, const QString& takes) {
  const std::size_t cells = app::n_cells(plan);
  return Texts::tr("<b>%1 %2 × %3 %4</b> %5")
      .arg(cells)
      .arg(cells == 1 ? Texts::tr("cell") : Texts::tr("cells"))
      .arg(plan.repeats)
      .arg(plan.repeats == 1 ? Texts::tr("run") : Texts::tr("repeats"))
      .arg(takes)
      .trimmed();
}

QString left_text(const std::optional<ForecastTime>& time, double elapsed) {
  if (!time) return {};
  const double left = time->seconds - elapsed;
  if (left <= 0) return {};
  return time->is_least ? Texts::tr("at least <b>%1</b> in all").arg(about_text(time->seconds))
                        : Texts::tr("≈ <b>%1</b> left").arg(about_text(left));
}

}  // namespace lathe::ui
