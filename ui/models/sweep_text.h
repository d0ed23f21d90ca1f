// SPDX-License-Identifier: GPL-3.0-or-later
// Sweep text: names and values of the settings and metrics of a sweep, as text.
#pragma once

#include <QString>

#include "app/api/sweeper.h"

namespace lathe::ui {

/// Converts a name or title of the app, which is UTF-8.
QString text_of(std::string_view text);
/// "max_num_seqs" as "Max num seqs".
QString setting_text(std::string_view name);
/// "TTFT p99, ms", "Output, tok/s".
QString metric_text(std::size_t metric);
/// A short name for a column: "TTFT p99 ms".
QString metric_column(std::size_t metric);
/// A value of the metric without its unit; three significant digits.
QString metric_value(std::size_t metric, double value);
/// "TTFT, ms": the title of a latency that has a distribution.
QString latency_text(std::size_t latency);
/// A time without its unit; three significant digits.
QString ms_text(double ms);
/// "6 min 10 s", "19 s".
QString time_text(double seconds);
/// time_text() of an estimated time: without seconds from ten minutes on.
QString about_text(double seconds);

/// "2 failed, 1 skipped"; empty: none.
QString error_counts(std::size_t failed, std::size_t skipped);

/// "paged, concurrency 4": the values of a cell for the variables that have more than one value; empty: none has.
QString differing_text(const app::SweepPlan& plan, std::size_t cell);
/// "paged", "concurrency 4": a value, with the name of its setting if the value says little by itself.
QString value_text(std::string_view setting, const std::string& value);

}  // namespace lathe::ui
