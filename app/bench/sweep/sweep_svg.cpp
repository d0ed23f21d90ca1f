// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "app/api/sweep_export.h"
#include "app/bench/sweep/markup.h"

namespace lathe::app {
namespace {

constexpr double kWidth = 640, kHeight = 360, kLeft = 64, kRight = 16, kTop = 16, kBottom = 44, kLegendRow = 18;
constexpr std::size_t kMostLines = 24;
constexpr double kLogFrom = 8;  // an axis of numbers further apart than this shows their ratios
/// Told apart by colour and by dash. Source: the series of the light theme.
constexpr std::array<const char*, 6> kColors = {"#1f6fc0", "#b8430a", "#00a07a", "#6a2c86", "#c08a00", "#3f4652"};
constexpr std::array<const char*, 6> kDashes = {"", "6 3", "8 3 2 3", "2 2", "10 4", "4 2 1 2"};

struct Point {
  double x = 0, y = 0, half = 0;
  std::string name{};  ///< of its cell
};
struct Series {
  std::string name;
  std::size_t look = 0;
  bool has_line = true;
  bool has_names = false;  ///< beside its points
  std::vector<Point> points;
};
struct Axis {
  std::string title;
  double low = 0, high = 1;
  std::vector<std::pair<double, std::string>> ticks;
  double place(double value) const { return (value - low) / (high - low); }
};

/// 1, 2 or 5 times a power of ten, about five to the end.
double round_step(double end) {
  if (end <= 0) return 1;
  const double power = std::pow(10.0, std::floor(std::log10(end / 5)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (end / (factor * power) <= 5.5) return factor * power;
  }
  return 10 * power;
}

std::string metric_title(std::size_t metric) {
  return fmt::format("{} ({})", sweep_metrics()[metric].name, sweep_metrics()[metric].unit);
}

Axis value_axis(std::size_t metric, double most) {
  const double step = round_step(most);
  Axis axis{.title = metric_title(metric),
            .low = 0,
            .high = std::max(step, std::ceil(most / step - 1e-9) * step) * 1.03,
            .ticks = {}};
  for (double tick = 0; tick <= axis.high; tick += step) axis.ticks.emplace_back(tick, fmt::format("{:.6g}", tick));
  return axis;
}

/// Numbers lie where they belong, by ratios when they are far apart; words lie one after the other.
Axis variable_axis(const SweepVariable* variable) {
  if (variable == nullptr) return {.title = {}, .low = -1, .high = 1, .ticks = {{0, "all"}}};
  std::vector<double> places;
  for (const std::string& value : variable->values) {
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size()) places.push_back(number);
  }
  const bool all_numbers = places.size() == variable->values.size();
  places.resize(variable->values.size());
  for (std::size_t i = 0; !all_numbers && i < places.size(); ++i) places[i] = static_cast<double>(i);
  auto [low, high] = std::minmax_element(places.begin(), places.end());
  if (all_numbers && *low > 0 && *high / *low >= kLogFrom) {
    for (double& place : places) place = std::log2(place);
  }
  std::tie(low, high) = std::minmax_element(places.begin(), places.end());
  const double room = *high == *low ? 1 : 0.05 * (*high - *low);
  Axis axis{.title = variable->name, .low = *low - room, .high = *high + room, .ticks = {}};
  for (std::size_t i = 0; i < places.size(); ++i) axis.ticks.emplace_back(places[i], variable->values[i]);
  return axis;
}

/// "paged", "block_size 32": with the name of its setting where the value says little by itself.
std::string value_name(const std::string& setting, const std::string& value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool is_number = error == std::errc() && end == value.data() + value.size();
  return is_number || value == "true" || value == "false" ? setting + " " + value : value;
}

/// The values of the variables, of all but `n_left_out` at the end.
std::string name_of(const SweepPlan& plan, std::size_t cell, std::size_t n_left_out = 0) {
  const auto values = values_of(plan, cell);
  std::string name;
  for (std::size_t i = 0; i + n_left_out < values.size(); ++i)
    name += (i > 0 ? ", " : "") + value_name(values[i].first, values[i].second);
  return name;
}

std::vector<Series> lines_of(const SweepPlan& plan, const SweepReport& report, std::size_t metric, const Axis& across) {
  const std::size_t n_columns = plan.variables.empty() ? 1 : plan.variables.back().values.size();
  std::vector<Series> lines;
  const std::size_t n_rows = n_cells(plan) / n_columns;
  for (std::size_t row = 0; row < std::min(kMostLines, n_rows); ++row) {
    Series line{.name = name_of(plan, row * n_columns, 1), .look = row, .points = {}};
    for (std::size_t column = 0; column < n_columns; ++column) {
      const auto found = report.cells.find(row * n_columns + column);
      if (found == report.cells.end() || !found->second.error.empty()) continue;
      const Estimate value = found->second.estimate_of(metric);
      if (value.n > 0)
        line.points.push_back({across.ticks[column].first, value.mean, value.half_width, name_of(plan, found->first)});
    }
    std::sort(line.points.begin(), line.points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
    lines.push_back(std::move(line));
  }
  if (n_rows > kMostLines) {
    lines.push_back(
        {.name = fmt::format("{} more in the table", n_rows - kMostLines), .look = 0, .has_line = false, .points = {}});
  }
  return lines;
}

std::vector<Series> front_of(const SweepPlan& plan, const SweepReport& report, std::size_t metric, std::size_t over) {
  Series all{.name = "all cells", .look = 5, .has_line = false, .points = {}};
  Series front{.name = "no other cell is better in both", .look = 0, .has_names = true, .points = {}};
  const auto point_of = [&](std::size_t index, const CellResult& cell) {
    return Point{cell.estimate_of(over).mean, cell.estimate_of(metric).mean, 0, name_of(plan, index)};
  };
  for (const auto& [index, cell] : report.cells) {
    if (cell.error.empty() && cell.estimate_of(over).n > 0 && cell.estimate_of(metric).n > 0)
      all.points.push_back(point_of(index, cell));
  }
  for (const std::size_t cell : pareto_front(report, metric, over))
    front.points.push_back(point_of(cell, report.cells.at(cell)));
  return {all, front};
}

class Drawing {
 public:
  Drawing(Axis across, Axis up, const std::vector<Series>& series)
      : across_(std::move(across)), up_(std::move(up)), series_(series) {
    n_named_ = std::count_if(series.begin(), series.end(), [](const Series& one) { return !one.name.empty(); });
  }

  std::string text() {
    const double height = kHeight + kLegendRow * static_cast<double>(n_named_);
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:g} {:g}\" width=\"{:g}\" height=\"{:g}\" "
        "font-family=\"Inter, sans-serif\" font-size=\"11\" role=\"img\"><title>{}</title>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        kWidth, height, kWidth, height, escaped(fmt::format("{} over {}", up_.title, across_.title)));
    add_axes();
    for (const Series& one : series_) add_series(one);
    add_legend();
    return out_ + "</svg>\n";
  }

 private:
  double x(double value) const { return kLeft + across_.place(value) * (kWidth - kLeft - kRight); }
  double y(double value) const { return kHeight - kBottom - up_.place(value) * (kHeight - kTop - kBottom); }

  void line(double x1, double y1, double x2, double y2, const std::string& look) {
    out_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1, x2, y2, look);
  }
  void words(double at_x, double at_y, const char* anchor, const std::string& text) {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"#5b6472\">{}</text>\n", at_x, at_y,
                        anchor, escaped(text));
  }

  void add_axes() {
    for (const auto& [value, label] : up_.ticks) {
      line(kLeft, y(value), kWidth - kRight, y(value), "stroke=\"#dfe3e9\"");
      words(kLeft - 6, y(value) + 4, "end", label);
    }
    for (const auto& [value, label] : across_.ticks) words(x(value), kHeight - kBottom + 16, "middle", label);
    words((kLeft + kWidth - kRight) / 2, kHeight - 8, "middle", across_.title);
    words(kLeft, kTop - 4, "start", up_.title);
  }

  static std::string stroke_of(const Series& one) {
    return fmt::format("stroke=\"{}\" stroke-width=\"1.6\" stroke-dasharray=\"{}\"", kColors[one.look % kColors.size()],
                       one.has_line ? kDashes[(one.look + one.look / kColors.size()) % kDashes.size()] : "");
  }

  void add_series(const Series& one) {
    const char* color = kColors[one.look % kColors.size()];
    std::string path;
    for (const Point& point : one.points) path += fmt::format("{:.1f},{:.1f} ", x(point.x), y(point.y));
    if (one.has_line) out_ += fmt::format("<polyline points=\"{}\" fill=\"none\" {}/>\n", path, stroke_of(one));
    for (const Point& point : one.points) {
      const double low = std::max(0.0, point.y - point.half), high = std::min(point.y + point.half, up_.high);
      if (point.half > 0) line(x(point.x), y(low), x(point.x), y(high), fmt::format("stroke=\"{}\"", color));
      out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{}</title></circle>\n", x(point.x),
                          y(point.y), color, escaped(point.name));
      if (!one.has_names) continue;
      const bool has_room = x(point.x) < kWidth / 2;
      words(x(point.x) + (has_room ? 6 : -6), y(point.y) - 6, has_room ? "start" : "end", point.name);
    }
  }

  void add_legend() {
    double at = kHeight + 8;
    for (const Series& one : series_) {
      if (one.name.empty()) continue;
      if (one.has_line) line(kLeft, at - 4, kLeft + 22, at - 4, stroke_of(one));
      if (one.has_line || !one.points.empty())
        out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", kLeft + 11, at - 4,
                            kColors[one.look % kColors.size()]);
      words(kLeft + 30, at, "start", one.name);
      at += kLegendRow;
    }
  }

  const Axis across_, up_;
  const std::vector<Series>& series_;
  std::ptrdiff_t n_named_ = 0;
  std::string out_;
};

double most_of(const std::vector<Series>& series, double (*of)(const Point&)) {
  double most = 0;
  for (const Series& one : series) {
    for (const Point& point : one.points) most = std::max(most, of(point));
  }
  return most;
}

}  // namespace

std::string chart_svg(const SweepPlan& plan, const SweepReport& report, std::size_t metric,
                      std::optional<std::size_t> over) {
  const auto height_of = [](const Point& point) { return point.y + std::min(point.half, point.y); };
  if (over) {
    const std::vector<Series> series = front_of(plan, report, metric, *over);
    return Drawing(value_axis(*over, most_of(series, [](const Point& point) { return point.x; })),
                   value_axis(metric, most_of(series, height_of)), series)
        .text();
  }
  const Axis across = variable_axis(plan.variables.empty() ? nullptr : &plan.variables.back());
  const std::vector<Series> series = lines_of(plan, report, metric, across);
  return Drawing(across, value_axis(metric, most_of(series, height_of)), series).text();
}

}  // namespace lathe::app
