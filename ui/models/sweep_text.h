// SPDX-License-Identifier: GPL-3.0-or-later
// Words for what a sweep varies and measures.
#pragma once

#include <QString>

#include "app/api/sweeper.h"

namespace lathe::ui {

/// Names and titles of the app are UTF-8.
QString text_of(std::string_view text);
/// "max_num_seqs" as "Max num seqs".
QString setting_text(std::string_view name);
/// "TTFT p99, ms", "Output, tok/s".
QString metric_text(std::size_t metric);
/// Short, for a column: "TTFT p99 ms".
QString metric_column(std::size_t metric);
/// A value of that metric, without its unit; three significant digits.
QString metric_value(std::size_t metric, double value);
/// "TTFT, ms": a latency of which distributions are kept.
QString latency_text(std::size_t latency);
/// Without a unit, three significant digits.
QString ms_text(double ms);
/// "6 min 10 s", "19 s".
QString time_text(double seconds);
/// The same of a time that is no more than estimated: from ten minutes on without seconds.
QString about_text(double seconds);

/// "2 failed, 1 skipped"; empty: none.
QString error_counts(std::size_t failed, std::size_t skipped);

/// "paged, concurrency 4": of the variables that have more than one value. Empty: there are none.
QString differing_text(const app::SweepPlan& plan, std::size_t cell);
/// "paged", "concurrency 4": a value, with the name of its setting where it says little by itself.
QString value_text(std::string_view setting, const std::string& value);

}  // namespace lathe::ui
