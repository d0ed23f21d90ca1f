// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>

#include "kernels/api/roofline.h"
#include "kernels/selftest/random_tensor.h"
#include "kernels/selftest/roof.h"
#include "kernels/selftest/stopwatch.h"

namespace lathe::kernels {
namespace {

// Several times the largest L3 of the measured machines (48 MB), as for weights.
constexpr std::size_t kCopiesBytes = std::size_t{192} << 20;
// From this many rows of a context on, the arithmetic takes several times as long as the reads.
constexpr int kManyRows = 64;
constexpr double kPointSeconds = 0.15;
constexpr int kBlockSize = 16;

/// Copies of a cache filled with random tokens, in which each sequence of a step has consecutive blocks.
class Caches {
 public:
  Caches(Backend& backend, const AttentionMeasurement& plan, Dtype kv_type, const AttentionStep& step)
      : n_blocks_((step.context + kBlockSize - 1) / kBlockSize),
        shape_{.n_layers = 1,
               .n_kv_heads = plan.n_kv_heads,
               .head_dim = plan.head_dim,
               .block_size = kBlockSize,
               .n_blocks = step.n_seqs * n_blocks_,
               .dtype = kv_type},
        bytes_(backend.kv_layer_bytes(shape_)) {
    const std::size_t n_wanted = step.n_rows < kManyRows ? 1 + kCopiesBytes / bytes_ : 1;
    while (copies_.size() < n_wanted) {
      Buffer copy = backend.allocate(bytes_);
      if (!copy) return;
      copies_.push_back(std::move(copy));
      if (copies_.size() == 1) {
        fill(backend);
      } else {
        std::memcpy(copies_.back().data(), copies_.front().data(), bytes_);
      }
    }
  }
  int n_blocks() const { return n_blocks_; }  ///< blocks of one sequence
  std::size_t n_copies() const { return copies_.size(); }
  KvLayer layer(std::size_t copy) const { return {.data = copies_[copy].data(), .shape = shape_}; }

 private:
  void fill(Backend& backend) const {
    RandomNumbers numbers(1);
    const std::int64_t n_columns = std::int64_t{shape_.n_kv_heads} * shape_.head_dim;
    const RandomTensor k(Dtype::f32, {kBlockSize, n_columns}, numbers, 2, &backend);
    const RandomTensor v(Dtype::f32, {kBlockSize, n_columns}, numbers, 1, &backend);
    std::int32_t slots[kBlockSize];
    for (std::int32_t first = 0; first < shape_.n_blocks * kBlockSize; first += kBlockSize) {
      for (std::int32_t i = 0; i < kBlockSize; ++i) slots[i] = first + i;
      backend.kv_write(layer(0), k.view(), v.view(), slots);
    }
    backend.finish();
  }

  int n_blocks_;
  KvShape shape_;
  std::size_t bytes_;
  std::vector<Buffer> copies_;
};

/// Bytes of the cache that a step reads, and its operations: each row attends to the tokens up to its own.
RooflineFigures work_of(const Backend& backend, const AttentionMeasurement& plan, const AttentionStep& step,
                        const KvShape& shape) {
  KvShape seen = shape;
  seen.n_blocks = 1;
  const double token_bytes = static_cast<double>(backend.kv_layer_bytes(seen)) / kBlockSize;
  const double pairs = step.n_rows * (step.context - 0.5 * (step.n_rows - 1));
  return {.bytes = token_bytes * step.n_seqs * step.context,
          .operations = 4.0 * plan.n_heads * plan.head_dim * pairs * step.n_seqs,
          .bound = {}};
}

AttentionPoint measure_point(Backend& backend, const Ceilings& ceilings, const AttentionMeasurement& plan, Dtype kv_type,
                             const AttentionStep& step, const Caches& caches) {
  RandomNumbers numbers(2);
  const std::int64_t n_rows = std::int64_t{step.n_seqs} * step.n_rows;
  const std::int64_t n_columns = std::int64_t{plan.n_heads} * plan.head_dim;
  const RandomTensor q(Dtype::f32, {n_rows, n_columns}, numbers, 2, &backend);
  const RandomTensor out({n_rows, n_columns}, &backend);
  std::vector<std::int32_t> query_start, tables;
  for (int i = 0; i <= step.n_seqs; ++i) query_start.push_back(i * step.n_rows);
  for (int i = 0; i < step.n_seqs * caches.n_blocks(); ++i) tables.push_back(i);
  const std::vector<std::int32_t> context_len(static_cast<std::size_t>(step.n_seqs), step.context);
  const AttentionBatch batch{.n_seqs = step.n_seqs,
                             .query_start = query_start,
                             .context_len = context_len,
                             .block_tables = tables,
                             .max_blocks = caches.n_blocks()};
  const float scale = 1 / std::sqrt(static_cast<float>(plan.head_dim));
  const double seconds = best_seconds(kPointSeconds, [&] {
    for (std::size_t i = 0; i < caches.n_copies(); ++i) {
      backend.attention(out.view(), q.view(), plan.n_heads, caches.layer(i), batch, {.scale = scale});
    }
    backend.finish();
  });
  AttentionPoint point{.kv_type = kv_type, .step = step, .figures = work_of(backend, plan, step, caches.layer(0).shape)};
  point.figures.seconds = seconds / static_cast<double>(caches.n_copies());
  place_under_roof(point.figures, ceilings, WeightFormat::f32);
  return point;
}

}  // namespace

std::vector<AttentionPoint> measure_attention(Backend& backend, const Ceilings& ceilings, const AttentionMeasurement& plan,
                                              const std::function<bool(const AttentionPoint&)>& report) {
  std::vector<AttentionPoint> points;
  for (const Dtype kv_type : plan.kv_types) {
    for (const AttentionStep& step : plan.steps) {
      const Caches caches(backend, plan, kv_type, step);
      if (caches.n_copies() == 0) continue;
      const AttentionPoint point = measure_point(backend, ceilings, plan, kv_type, step, caches);
      if (backend.take_error()) continue;
      points.push_back(point);
      if (!report(points.back())) return points;
    }
  }
  return points;
}

std::vector<Dtype> kv_types() { return {std::begin(kKvDtypes), std::end(kKvDtypes)}; }

}  // namespace lathe::kernels
