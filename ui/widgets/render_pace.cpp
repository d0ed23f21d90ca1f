// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/render_pace.h"

#include <algorithm>

namespace lathe::ui {
namespace {

constexpr qint64 kEveryMs = 200;
constexpr qint64 kPausePerCost = 4;

}  // namespace

RenderPace::RenderPace(QObject* parent) : QObject(parent) {
  timer_.setSingleShot(true);
  connect(&timer_, &QTimer::timeout, this, &RenderPace::due);
}

bool RenderPace::may_render() {
  const qint64 pause = std::max(kEveryMs, kPausePerCost * cost_ms_);
  const qint64 wait = since_.isValid() ? pause - since_.elapsed() : 0;
  if (wait <= 0) return true;
  if (!timer_.isActive()) timer_.start(static_cast<int>(wait));
  return false;
}

}  // namespace lathe::ui
