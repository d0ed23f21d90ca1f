// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/export/svg_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/bench/sweep/export/markup.h"

namespace lathe::app {
namespace {

constexpr double kWidth = 640, kHeight = 360, kLeft = 64, kRight = 16, kTop = 16, kBottom = 44, kLegendRow = 18;
/// Colours of the series; lines also differ by their dashes. Source: the series of the light theme.
constexpr std::array<const char*, 6> kColors = {"#1f6fc0", "#b8430a", "#00a07a", "#6a2c86", "#c08a00", "#3f4652"};
// "none" instead of "": some SVG readers draw nothing for an empty dash array.
constexpr std::array<const char*, 6> kDashes = {"none", "6 3", "8 3 2 3", "2 2", "10 4", "4 2 1 2"};

/// Returns 1, 2 or 5 times a power of ten, so that about five steps reach the end.
double round_step(double end) {
  if (end <= 0) return 1;
  const double power = std::pow(10.0, std::floor(std::log10(end / 5)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (end / (factor * power) <= 5.5) return factor * power;
  }
  return 10 * power;
}

class Drawing {
 public:
  Drawing(DrawnAxis across, DrawnAxis up, const std::vector<DrawnSeries>& series)
      : across_(std::move(across)), up_(std::move(up)), series_(series) {
    n_named_ = std::count_if(series.begin(), series.end(), [](const DrawnSeries& one) { return !one.name.empty(); });
  }

  std::string text() {
    const double height = kHeight + kLegendRow * static_cast<double>(n_named_);
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:g} {:g}\" width=\"{:g}\" height=\"{:g}\" "
        "font-family=\"Inter, sans-serif\" font-size=\"11\" role=\"img\"><title>{}</title>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        kWidth, height, kWidth, height, escaped(fmt::format("{} over {}", up_.title, across_.title)));
    add_axes();
    for (const DrawnSeries& one : series_) add_series(one);
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

  static std::string stroke_of(const DrawnSeries& one) {
    return fmt::format("stroke=\"{}\" stroke-width=\"1.6\" stroke-dasharray=\"{}\"", kColors[one.look % kColors.size()],
                       one.has_line ? kDashes[(one.look + one.look / kColors.size()) % kDashes.size()] : kDashes[0]);
  }

  void add_series(const DrawnSeries& one) {
    const char* color = kColors[one.look % kColors.size()];
    std::string path;
    for (const DrawnPoint& point : one.points) path += fmt::format("{:.1f},{:.1f} ", x(point.x), y(point.y));
    if (one.has_line) out_ += fmt::format("<polyline points=\"{}\" fill=\"none\" {}/>\n", path, stroke_of(one));
    if (!one.has_marks) return;
    for (const DrawnPoint& point : one.points) {
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
    for (const DrawnSeries& one : series_) {
      if (one.name.empty()) continue;
      if (one.has_line) line(kLeft, at - 4, kLeft + 22, at - 4, stroke_of(one));
      if (one.has_marks && (one.has_line || !one.points.empty()))
        out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", kLeft + 11, at - 4,
                            kColors[one.look % kColors.size()]);
      words(kLeft + 30, at, "start", one.name);
      at += kLegendRow;
    }
  }

  const DrawnAxis across_, up_;
  const std::vector<DrawnSeries>& series_;
  std::ptrdiff_t n_named_ = 0;
  std::string out_;
};

}  // namespace

DrawnAxis value_axis(std::string title, double most) {
  const double step = round_step(most);
  DrawnAxis axis{
      .title = std::move(title), .low = 0, .high = std::max(step, std::ceil(most / step - 1e-9) * step) * 1.03, .ticks = {}};
  for (double tick = 0; tick <= axis.high; tick += step) axis.ticks.emplace_back(tick, fmt::format("{:.6g}", tick));
  return axis;
}

DrawnSeries left_out(std::size_t n) {
  return {.name = fmt::format("{} more in the table", n), .look = 0, .has_line = false, .points = {}};
}

std::string drawing(const DrawnAxis& across, const DrawnAxis& up, const std::vector<DrawnSeries>& series) {
  return Drawing(across, up, series).text();
}

}  // namespace lathe::app
