// SPDX-License-Identifier: Apache-2.0
#include "kernels/selftest/step_checks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "kernels/selftest/stopwatch.h"

namespace lathe::kernels {
namespace {

constexpr std::int64_t kRows = 5, kHidden = 64, kPositions = 40;
constexpr int kHeads = 6, kKvHeads = 2, kBlockSize = 16, kBlocks = 2;

enum class HeadNormKind : std::uint8_t { none, heads, own_heads, rows };

/// A form of project_qkv().
struct Case {
  const char* name;
  int head_dim;
  float clamp;
  HeadNormKind norms;
  NormKind norm_kind;
  std::int64_t n_turned;  ///< elements of a head that are rotated; 0: none
  RopeStyle style;
  Dtype cache;
};
constexpr Case kCases[] = {
    {"without RoPE", 64, 0, HeadNormKind::none, NormKind::rms, 0, RopeStyle::half, Dtype::bf16},
    {"RoPE", 128, 0, HeadNormKind::none, NormKind::rms, 128, RopeStyle::half, Dtype::f32},
    {"norms of heads, part of RoPE", 96, 1.5F, HeadNormKind::heads, NormKind::rms, 24, RopeStyle::interleaved, Dtype::i8},
    {"norms of heads, RoPE", 128, 0, HeadNormKind::heads, NormKind::rms, 128, RopeStyle::half, Dtype::bf16},
    {"own norms of heads", 40, 0, HeadNormKind::own_heads, NormKind::layer, 40, RopeStyle::half, Dtype::f8_e4m3},
    {"norms of rows", 64, 1.5F, HeadNormKind::rows, NormKind::rms, 64, RopeStyle::half, Dtype::f16},
    {"clamp", 20, 1.5F, HeadNormKind::none, NormKind::rms, 0, RopeStyle::half, Dtype::f8_e5m2}};

bool same_bits(const TensorView& a, const TensorView& b) { return std::memcmp(a.data, b.data, a.n_bytes()) == 0; }

/// The cache of one layer.
struct Cache {
  Cache(Backend& backend, int head_dim, Dtype dtype)
      : shape{.n_layers = 1,
              .n_kv_heads = kKvHeads,
              .head_dim = head_dim,
              .block_size = kBlockSize,
              .n_blocks = kBlocks,
              .dtype = dtype},
        memory(backend.allocate(backend.kv_layer_bytes(shape))) {
    if (!memory) throw std::bad_alloc();
  }
  KvLayer layer() const { return {.data = memory.data(), .shape = shape}; }

  KvShape shape;
  Buffer memory;
};

/// Weights and arrays of a case.
struct Projection {
  Projection(Backend& backend, const Case& of, RandomNumbers& numbers)
      : q_size(kHeads * of.head_dim),
        kv_size(kKvHeads * of.head_dim),
        weights(Dtype::f32, {q_size + 2 * kv_size, kHidden}, numbers, 0.3F),
        norm_weights(Dtype::f32, {q_size}, numbers, 1, &backend),
        norm_bias(Dtype::f32, {q_size}, numbers, 1, &backend),
        cos(Dtype::f32, {kPositions, std::max<std::int64_t>(1, of.n_turned / 2)}, numbers, 1, &backend),
        sin(Dtype::f32, {kPositions, std::max<std::int64_t>(1, of.n_turned / 2)}, numbers, 1, &backend),
        matrix(backend.make_packed(WeightFormat::f32, weights.view().dim(0), kHidden)) {
    if (!matrix) throw std::bad_alloc();
    backend.pack_rows(*matrix, 0, weights.view());
  }

  QkvForm form(const Case& of) const {
    QkvForm made{.matrix = *matrix, .n_heads = kHeads, .clamp = of.clamp};
    if (of.norms != HeadNormKind::none) {
      made.norms = {.q = norm(of, kHeads), .k = norm(of, kKvHeads), .is_of_rows = of.norms == HeadNormKind::rows};
    }
    if (of.n_turned > 0) made.q_rope = made.k_rope = {.cos = cos.view(), .sin = sin.view(), .style = of.style};
    return made;
  }
  Norm norm(const Case& of, int n_heads) const {
    const std::int64_t n = (of.norms == HeadNormKind::heads ? 1 : n_heads) * of.head_dim;
    Norm made{.kind = of.norm_kind, .weight = norm_weights.view(), .eps = 1e-6F};
    made.weight.shape[0] = n;
    if (of.norm_kind == NormKind::layer) {
      made.bias = norm_bias.view();
      made.bias.shape[0] = n;
    }
    return made;
  }

  std::int64_t q_size, kv_size;
  RandomTensor weights, norm_weights, norm_bias, cos, sin;
  std::unique_ptr<PackedMatrix> matrix;
  std::vector<std::int32_t> positions{0, 39, 7, 7, 21}, slots{31, 0, 17, 2, 8};
};

/// project_qkv(), one operation after another.
void project_by_parts(Backend& backend, const Projection& of, const QkvForm& form, const TensorView& qkv,
                      const TensorView& x, const KvLayer& layer) {
  const TensorView q = qkv.columns(0, of.q_size), k = qkv.columns(of.q_size, of.kv_size);
  backend.linear(qkv, x, form.matrix, form.bias);
  if (form.clamp > 0) backend.clamp(qkv, form.clamp);
  for (const bool is_query : {true, false}) {
    const TensorView& part = is_query ? q : k;
    const int n_heads = is_query ? kHeads : kKvHeads;
    if (form.norms) {
      const Norm& norm = is_query ? form.norms->q : form.norms->k;
      form.norms->is_of_rows ? backend.norm(part, part, norm) : backend.norm_heads(part, n_heads, norm);
    }
    const RopeForm& rope = is_query ? form.q_rope : form.k_rope;
    if (rope.cos.data != nullptr) backend.rope(part, n_heads, layer.shape.head_dim, of.positions, rope);
  }
  backend.kv_write(layer, k, qkv.columns(of.q_size + of.kv_size, of.kv_size), of.slots);
}

void check_projection(Backend& backend, const Case& of, RandomNumbers& numbers, const std::function<void(OpCheck)>& add) {
  const Projection projection(backend, of, numbers);
  const RandomTensor x(Dtype::f32, {kRows, kHidden}, numbers, 1, &backend);
  const RandomTensor want({kRows, projection.q_size + 2 * projection.kv_size}, &backend), got = want.copy();
  const Cache cache_of_parts(backend, of.head_dim, of.cache), cache(backend, of.head_dim, of.cache);
  const QkvForm form = projection.form(of);
  project_by_parts(backend, projection, form, want.view(), x.view(), cache_of_parts.layer());
  OpCheck check{.op = std::string("project_qkv as its parts, ") + of.name, .bound = {}};
  check.seconds = best_seconds(0, [&] {
    backend.project_qkv(got.view(), {.x = x.view()}, form, projection.positions, cache.layer(), projection.slots);
    backend.finish();
  });
  const bool is_same = same_bits(got.view(), want.view()) &&
                       std::memcmp(cache.memory.data(), cache_of_parts.memory.data(), cache.memory.n_bytes()) == 0;
  check.max_error = is_same ? 0 : 1;
  add(std::move(check));
}

/// Checks that arrays count as they are in a step, and as they have become after it.
void check_arrays(Backend& backend, RandomNumbers& numbers, const std::function<void(OpCheck)>& add) {
  const RandomTensor x(Dtype::f32, {kPositions, kHidden}, numbers, 1, &backend);
  const RandomTensor first({3, kHidden}, &backend), second({2, kHidden}, &backend), third({3, kHidden}, &backend);
  std::vector<std::int32_t> rows{5, 0, 39}, others{17, 3};
  OpCheck check{.op = "arrays of a step", .bound = {}};
  const auto take = [&](const RandomTensor& to, const std::vector<std::int32_t>& from) {
    backend.gather_rows(to.view(), x.view(), from);
  };
  const auto count_wrong = [&](const RandomTensor& of, const std::vector<std::int32_t>& from) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      if (!same_bits(of.view().rows(row, 1), x.view().rows(from[i], 1))) check.max_error += 1;
    }
  };
  check.seconds = best_seconds(0, [&] {
    const std::span<const std::int32_t> known[] = {rows};
    backend.begin_step(known);
    take(first, rows);
    take(second, others);
    take(third, rows);
    backend.finish();
    for (const RandomTensor* of : {&first, &third}) count_wrong(*of, rows);
    count_wrong(second, others);
    std::reverse(rows.begin(), rows.end());
    take(first, rows);
    std::swap(rows[0], rows[1]);
    take(third, rows);
    std::swap(others[0], others[1]);
    take(second, others);
    backend.finish();
    count_wrong(third, rows);
    count_wrong(second, others);
  });
  add(std::move(check));
}

/// Checks that rows come to the host, and that the best of each row is found where the backend searches.
void check_results(Backend& backend, std::int64_t n, RandomNumbers& numbers, const std::function<void(OpCheck)>& add) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const RandomTensor x(Dtype::f32, {8, n}, numbers, 1, &backend);
  float* const equal = x.view().row<float>(1);
  equal[n - 1] = equal[n / 2] = 7;  // of equal numbers the first counts
  x.view().row<float>(2)[n - 2] = std::numeric_limits<float>::quiet_NaN();
  x.view().row<float>(3)[1] = kInfinity;
  std::fill_n(x.view().row<float>(4), n, -kInfinity);
  std::fill_n(x.view().row<float>(5), n, -kInfinity);
  x.view().row<float>(5)[n - 1] = std::numeric_limits<float>::lowest();
  const RandomTensor want = x.copy();
  OpCheck check{.op = "results for the host, rows of " + std::to_string(n), .bound = {}};
  check.seconds = best_seconds(0, [&] {
    const std::span<const std::int32_t> best = backend.arg_max(x.view());
    const std::int32_t wanted[] = {1, 6};
    const TensorView rows = backend.download(x.view(), wanted);
    backend.finish();
    for (const std::int32_t row : wanted) check.max_error += same_bits(rows.rows(row, 1), want.view().rows(row, 1)) ? 0 : 1;
    for (std::int64_t row = 0; row < std::ssize(best); ++row) {
      const float* const begin = want.view().row<float>(row);
      const bool is_usable = row < 2 || row > 4;
      const std::int64_t most = is_usable ? std::max_element(begin, begin + n) - begin : -1;
      check.max_error += best[static_cast<std::size_t>(row)] == most ? 0 : 1;
    }
  });
  add(std::move(check));
}

}  // namespace

void check_steps(Backend& backend, RandomNumbers& numbers, const std::function<void(OpCheck)>& add) {
  for (const Case& of : kCases) check_projection(backend, of, numbers, add);
  check_arrays(backend, numbers, add);
  for (const std::int64_t n : {17, 1003, 32000}) check_results(backend, n, numbers, add);
}

}  // namespace lathe::kernels
