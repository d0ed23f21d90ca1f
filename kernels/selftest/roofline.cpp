// SPDX-License-Identifier: Apache-2.0
#include "kernels/api/roofline.h"

#include <algorithm>

#include "kernels/formats/format.h"
#include "kernels/selftest/random_tensor.h"
#include "kernels/selftest/roof.h"
#include "kernels/selftest/stopwatch.h"

namespace lathe::kernels {
namespace {

// Several times the largest L3 of the measured machines (48 MB): copies that are read one after another come from memory.
constexpr std::int64_t kCopiesBytes = std::int64_t{192} << 20;
// From this many rows on, the arithmetic takes several times as long as the reads: one copy gives the same result sooner.
constexpr std::int64_t kManyRows = 128;
constexpr double kPointSeconds = 0.15;

using Copies = std::vector<std::unique_ptr<PackedMatrix>>;

/// Makes `n_wanted` copies of a random matrix; fewer, or none, if memory runs out.
Copies make_copies(Backend& backend, WeightFormat format, const RooflineMatrix& matrix, std::int64_t n_wanted) {
  RandomNumbers numbers(1);
  const RandomTensor weights(descriptor_of(format).element, {matrix.n, matrix.k}, numbers);
  Copies copies;
  while (static_cast<std::int64_t>(copies.size()) < n_wanted) {
    auto copy = backend.make_packed(format, matrix.n, matrix.k);
    if (!copy) break;
    backend.pack_rows(*copy, 0, weights.view());
    if (backend.take_error()) break;
    copies.push_back(std::move(copy));
  }
  return copies;
}

RooflinePoint measure_point(Backend& backend, const Ceilings& ceilings, const RooflineMatrix& matrix, const Copies& copies,
                            std::int64_t n_rows) {
  const WeightFormat format = copies.front()->format();
  RandomNumbers numbers(2);
  const RandomTensor x(Dtype::f32, {n_rows, matrix.k}, numbers, 1, &backend);
  const RandomTensor out({n_rows, matrix.n}, &backend);
  const std::size_t n_copies = n_rows < kManyRows ? copies.size() : 1;
  const double seconds = best_seconds(kPointSeconds, [&] {
    for (std::size_t i = 0; i < n_copies; ++i) backend.linear(out.view(), x.view(), *copies[i], TensorView{});
    backend.finish();
  });
  RooflineFigures figures{.bytes = static_cast<double>(copies.front()->n_bytes()),
                          .operations = 2.0 * static_cast<double>(n_rows * matrix.n * matrix.k),
                          .seconds = seconds / static_cast<double>(n_copies),
                          .bound = {}};
  place_under_roof(figures, ceilings, format);
  return {.matrix = matrix, .format = format, .n_rows = n_rows, .figures = figures};
}

}  // namespace

std::vector<RooflinePoint> measure_roofline(Backend& backend, const Ceilings& ceilings, const RooflinePlan& plan,
                                            const std::function<bool(const RooflinePoint&)>& report) {
  std::vector<RooflinePoint> points;
  const bool reads_memory = std::any_of(plan.rows.begin(), plan.rows.end(), [](std::int64_t n) { return n < kManyRows; });
  for (const WeightFormat format : plan.formats) {
    for (const RooflineMatrix& matrix : plan.matrices) {
      const auto bytes = static_cast<std::int64_t>(backend.packed_bytes(format, matrix.n, matrix.k));
      const Copies copies = make_copies(backend, format, matrix, reads_memory ? 1 + kCopiesBytes / bytes : 1);
      if (copies.empty()) continue;
      for (const std::int64_t n_rows : plan.rows) {
        RooflinePoint point = measure_point(backend, ceilings, matrix, copies, n_rows);
        if (backend.take_error()) continue;
        points.push_back(std::move(point));
        if (!report(points.back())) return points;
      }
    }
  }
  return points;
}

std::string_view name_of(WeightFormat format) { return descriptor_of(format).name; }

std::optional<WeightFormat> weight_format_named(std::string_view name) {
  for (const FormatDescriptor& format : weight_formats()) {
    if (format.name == name) return format.format;
  }
  return std::nullopt;
}

std::vector<std::string_view> weight_format_names() {
  std::vector<std::string_view> names;
  for (const FormatDescriptor& format : weight_formats()) names.push_back(format.name);
  return names;
}

}  // namespace lathe::kernels
