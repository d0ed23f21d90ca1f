// SPDX-License-Identifier: Apache-2.0
// The operations that are half a layer each give bit for bit what their parts give one after the other.
#include <cmath>
#include <vector>

#include "kernels/cpu/cpu_backend.h"
#include "tests/kernels/attention_sequence.h"
#include "tests/support/test_class.h"

namespace layer_halves_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

constexpr std::int64_t kHidden = 192, kInner = 320;
constexpr int kHeads = 6, kKvHeads = 2, kDim = 32, kBlock = 16;
constexpr std::int64_t kQ = kHeads * kDim, kKv = kKvHeads * kDim;
// One row; less than a tile; one chunk of rows; several; more than are packed at a time.
constexpr std::int64_t kRows[] = {1, 5, 70, 420, 600};
constexpr WeightFormat kFormats[] = {WeightFormat::f32,      WeightFormat::bf16,         WeightFormat::int8_g32,
                                     WeightFormat::int4_g64, WeightFormat::int8_channel, WeightFormat::nf4};

enum class Input { as_it_is, added, normalised, added_and_normalised };
constexpr Input kInputs[] = {Input::as_it_is, Input::added, Input::normalised, Input::added_and_normalised};

/// The rows of one half: residual stream, what is added to it, and a norm.
struct Rows {
  Rows(std::int64_t m, NormKind kind, RandomNumbers& numbers)
      : x(Dtype::f32, {m, kHidden}, numbers, 3),
        delta(Dtype::f32, {m, kHidden}, numbers),
        normed({m, kHidden}),
        weight(Dtype::f32, {kHidden}, numbers),
        bias(Dtype::f32, {kHidden}, numbers),
        norm{.kind = kind,
             .weight = weight.view(),
             .bias = kind == NormKind::layer ? bias.view() : TensorView(),
             .eps = 1e-5F} {}

  HalfInput input(Input form) const {
    const bool adds = form == Input::added || form == Input::added_and_normalised;
    HalfInput in{.x = x.view(), .delta = adds ? delta.view() : TensorView()};
    if (form == Input::normalised || form == Input::added_and_normalised) {
      in.norm = norm;
      in.normed = normed.view();
    }
    return in;
  }
  /// The same by operations of their own.
  TensorView prepared(Backend& backend, Input form) const {
    const HalfInput in = input(form);
    if (in.delta.data != nullptr) backend.add(in.x, in.delta);
    if (!in.norm) return in.x;
    backend.norm(in.normed, in.x, norm);
    return in.normed;
  }

  RandomTensor x, delta, normed, weight, bias;
  Norm norm;
};

struct Cache {
  Cache(Backend& backend, std::int64_t n_tokens, Dtype dtype) {
    const auto n_blocks = static_cast<int>((n_tokens + kBlock - 1) / kBlock);
    layer.shape = {
        .n_layers = 1, .n_kv_heads = kKvHeads, .head_dim = kDim, .block_size = kBlock, .n_blocks = n_blocks, .dtype = dtype};
    memory = backend.allocate(backend.kv_layer_bytes(layer.shape));
    layer.data = memory.data();
  }
  bool operator==(const Cache& other) const {
    return memory.n_bytes() == other.memory.n_bytes() &&
           std::memcmp(memory.data(), other.memory.data(), memory.n_bytes()) == 0;
  }
  Buffer memory;
  KvLayer layer;
};

struct Angles {
  explicit Angles(std::int64_t n) : cos({n, kDim / 2}), sin({n, kDim / 2}) {
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t i = 0; i < kDim / 2; ++i) {
        const double angle = static_cast<double>(p) * std::pow(100.0, -static_cast<double>(i) / 16);
        cos.view().row<float>(p)[i] = static_cast<float>(std::cos(angle));
        sin.view().row<float>(p)[i] = static_cast<float>(std::sin(angle));
      }
    }
  }
  RandomTensor cos, sin;
};

enum class HeadNormKind { none, heads, own_heads, rows };

/// Weights and form of a projection to Q, K and V: `form` is for project_qkv(), and by_parts() calls one operation after
/// another.
struct Qkv {
  Qkv(Backend& backend, WeightFormat format, std::int64_t m, HeadNormKind kind, RandomNumbers& numbers)
      : weights(Dtype::f32, {kQ + 2 * kKv, kHidden}, numbers, 0.2F),
        bias(Dtype::f32, {kQ + 2 * kKv}, numbers),
        norm_weights(Dtype::f32, {kQ}, numbers),
        matrix(packed(backend, format, weights.view())),
        angles(m),
        form{.matrix = *matrix,
             .bias = bias.view(),
             .n_heads = kHeads,
             .clamp = 1.5F,
             .q_rope = {angles.cos.view(), angles.sin.view(), RopeStyle::half},
             .k_rope = {angles.cos.view(), angles.sin.view(), RopeStyle::half}} {
    const auto norm = [&](std::int64_t n_heads) {
      TensorView view = norm_weights.view();
      view.shape[0] = kind == HeadNormKind::heads ? kDim : n_heads * kDim;
      return Norm{.weight = view, .eps = 1e-6F};
    };
    if (kind != HeadNormKind::none) {
      form.norms = {.q = norm(kHeads), .k = norm(kKvHeads), .is_of_rows = kind == HeadNormKind::rows};
    }
    for (std::int64_t i = 0; i < m; ++i) {
      positions.push_back(static_cast<std::int32_t>((7 * i) % m));
      slots.push_back(static_cast<std::int32_t>(m - 1 - i));
    }
  }

  void by_parts(Backend& backend, const TensorView& qkv, const TensorView& x, const KvLayer& layer) const {
    const TensorView q = qkv.columns(0, kQ), k = qkv.columns(kQ, kKv), v = qkv.columns(kQ + kKv, kKv);
    backend.linear(qkv, x, *matrix, bias.view());
    backend.clamp(qkv, form.clamp);
    if (form.norms && form.norms->is_of_rows) {
      backend.norm(q, q, form.norms->q);
      backend.norm(k, k, form.norms->k);
    } else if (form.norms) {
      backend.norm_heads(q, kHeads, form.norms->q);
      backend.norm_heads(k, kKvHeads, form.norms->k);
    }
    backend.rope(q, kHeads, kDim, positions, form.q_rope);
    backend.rope(k, kKvHeads, kDim, positions, form.k_rope);
    backend.kv_write(layer, k, v, slots);
  }

  RandomTensor weights, bias, norm_weights;
  std::unique_ptr<PackedMatrix> matrix;
  Angles angles;
  QkvForm form;
  std::vector<std::int32_t> positions, slots;
};

/// Whether project_qkv() gives what its parts give: Q, K, V, the cache, and the rows that are read.
bool is_qkv_of_parts(Backend& backend, WeightFormat format, std::int64_t m, Input input, HeadNormKind kind, Dtype dtype,
                     std::span<const std::int32_t> order = {}) {
  RandomNumbers numbers(static_cast<std::uint64_t>(m)), again(static_cast<std::uint64_t>(m)), others(99);
  const NormKind norm = m % 2 == 0 ? NormKind::rms : NormKind::layer;
  const Rows rows(m, norm, numbers), rows_of_parts(m, norm, again);
  const Qkv qkv(backend, format, m, kind, others);
  if (!order.empty()) qkv.matrix->set_input_order(order);
  const Cache cache(backend, m, dtype), cache_of_parts(backend, m, dtype);
  const RandomTensor got({m, kQ + 2 * kKv}), want({m, kQ + 2 * kKv});
  backend.project_qkv(got.view(), rows.input(input), qkv.form, qkv.positions, cache.layer, qkv.slots);
  qkv.by_parts(backend, want.view(), rows_of_parts.prepared(backend, input), cache_of_parts.layer);
  return same_bits(got.view(), want.view()) && cache == cache_of_parts && same_bits(rows.x.view(), rows_of_parts.x.view()) &&
         same_bits(rows.normed.view(), rows_of_parts.normed.view());
}

struct Mlp {
  Mlp(Backend& backend, WeightFormat format, RandomNumbers& numbers)
      : gate(packed(backend, format, RandomTensor(Dtype::f32, {kInner, kHidden}, numbers, 0.1F).view())),
        up(packed(backend, format, RandomTensor(Dtype::f32, {kInner, kHidden}, numbers, 0.1F).view())),
        down(packed(backend, format, RandomTensor(Dtype::f32, {kHidden, kInner}, numbers, 0.1F).view())) {}
  MlpWeights weights() const { return {.gate = gate.get(), .up = *up, .down = *down}; }

  std::unique_ptr<PackedMatrix> gate, up, down;
};

bool is_mlp_of_parts(Backend& backend, WeightFormat format, std::int64_t m, Input input) {
  RandomNumbers numbers(static_cast<std::uint64_t>(m)), again(static_cast<std::uint64_t>(m)), others(98);
  const Rows rows(m, NormKind::rms, numbers), rows_of_parts(m, NormKind::rms, again);
  const Mlp mlp(backend, format, others);
  const RandomTensor got({m, kHidden}), want({m, kHidden});
  backend.mlp(got.view(), rows.input(input), mlp.weights());
  backend.mlp(want.view(), {.x = rows_of_parts.prepared(backend, input)}, mlp.weights());
  return same_bits(got.view(), want.view()) && same_bits(rows.x.view(), rows_of_parts.x.view());
}

bool is_attention_and_product(Backend& backend, WeightFormat format, int n_tokens, int begin) {
  const Sequence sequence(backend, {.n_heads = kHeads, .n_kv_heads = kKvHeads, .head_dim = kDim}, n_tokens, kBlock,
                          Dtype::f16);
  RandomNumbers numbers(7);
  const auto matrix = packed(backend, format, RandomTensor(Dtype::f32, {kHidden, kQ}, numbers, 0.1F).view());
  const RandomTensor bias(Dtype::f32, {kHidden}, numbers);
  const std::int64_t m = n_tokens - begin;
  const RandomTensor heads({m, kQ}), heads_of_parts({m, kQ}), got({m, kHidden}), want({m, kHidden});
  sequence.with_batch(begin, n_tokens, [&](const TensorView& q, const AttentionBatch& batch, const AttentionForm& form) {
    backend.attend(got.view(), heads.view(), q, kHeads, sequence.layer(), batch, form, *matrix, bias.view());
  });
  sequence.attend(heads_of_parts.view(), begin, n_tokens);
  backend.linear(want.view(), heads_of_parts.view(), *matrix, bias.view());
  return same_bits(got.view(), want.view()) && same_bits(heads.view(), heads_of_parts.view());
}

}  // namespace

class LayerHalvesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void qkv_equals_its_parts_data() { add_isa_rows(); }
  void qkv_equals_its_parts() {
    const auto backend = backend_of_row(3);
    for (const std::int64_t m : kRows) {
      for (const Input input : kInputs) {
        QVERIFY2(is_qkv_of_parts(*backend, WeightFormat::bf16, m, input, HeadNormKind::none, Dtype::f16),
                 qPrintable(QString::number(m)));
      }
      for (const WeightFormat format : kFormats) {
        QVERIFY2(is_qkv_of_parts(*backend, format, m, Input::added_and_normalised, HeadNormKind::heads, Dtype::i8),
                 qPrintable(QString::number(m)));
      }
    }
  }

  /// Inputs in an order of their own: x backwards.
  void ordered_qkv_equals_its_parts_data() { add_isa_rows(); }
  void ordered_qkv_equals_its_parts() {
    const auto backend = backend_of_row(3);
    std::vector<std::int32_t> backwards(kHidden);
    for (std::int64_t i = 0; i < kHidden; ++i) {
      backwards[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(kHidden - 1 - i);
    }
    for (const std::int64_t m : kRows) {
      QVERIFY(is_qkv_of_parts(*backend, WeightFormat::int4_g64, m, Input::added_and_normalised, HeadNormKind::heads,
                              Dtype::f16, backwards));
    }
  }

  void any_norm_of_heads_data() { add_isa_rows(); }
  void any_norm_of_heads() {
    const auto backend = backend_of_row();
    for (const HeadNormKind kind : {HeadNormKind::none, HeadNormKind::heads, HeadNormKind::own_heads, HeadNormKind::rows}) {
      QVERIFY(is_qkv_of_parts(*backend, WeightFormat::f32, 33, Input::normalised, kind, Dtype::f32));
    }
  }

  void mlp_equals_its_parts_data() { add_isa_rows(); }
  void mlp_equals_its_parts() {
    const auto backend = backend_of_row(3);
    for (const std::int64_t m : kRows) {
      for (const Input input : kInputs) QVERIFY(is_mlp_of_parts(*backend, WeightFormat::int8_g32, m, input));
      for (const WeightFormat format : kFormats) QVERIFY(is_mlp_of_parts(*backend, format, m, Input::added_and_normalised));
    }
  }

  void attention_and_its_product_data() { add_isa_rows(); }
  void attention_and_its_product() {
    const auto backend = backend_of_row(3);
    for (const WeightFormat format : kFormats) {
      for (const auto& [n_tokens, begin] : {std::pair{1, 0}, {70, 0}, {300, 0}, {1500, 1499}, {1500, 1490}, {620, 0}}) {
        QVERIFY2(is_attention_and_product(*backend, format, n_tokens, begin), qPrintable(QString::number(n_tokens)));
      }
    }
  }

  void equal_the_reference_data() { add_isa_rows(); }
  void equal_the_reference();

  void threads_meet_once_an_operation();
};

/// The oracle's own way through the same operations.
void LayerHalvesTest::equal_the_reference() {
  const auto reference = make_reference_backend(), backend = backend_of_row();
  constexpr std::int64_t kM = 12;
  RandomTensor results[2] = {RandomTensor({kM, kQ + 2 * kKv}), RandomTensor({kM, kQ + 2 * kKv})};
  for (int i = 0; i < 2; ++i) {
    Backend& of = i == 0 ? *reference : *backend;
    RandomNumbers numbers(3), others(4);
    const Rows rows(kM, NormKind::rms, numbers);
    const Qkv qkv(of, WeightFormat::f32, kM, HeadNormKind::heads, others);
    const Cache cache(of, kM, Dtype::f32);
    of.project_qkv(results[i].view(), rows.input(Input::added_and_normalised), qkv.form, qkv.positions, cache.layer,
                   qkv.slots);
  }
  QVERIFY(relative_error(results[1].view(), results[0].view()) <= 2e-5);
}

/// Whatever the number of rows: what an operation does first, others wait for by rows.
void LayerHalvesTest::threads_meet_once_an_operation() {
  const auto made = make_cpu_backend({.n_threads = 2});
  auto& backend = static_cast<CpuBackend&>(*made);
  for (const std::int64_t m : {std::int64_t{1}, std::int64_t{16}, std::int64_t{100}, kMaxPackedRows}) {
    RandomNumbers numbers(5), others(6);
    const Rows rows(m, NormKind::rms, numbers);
    const Qkv qkv(backend, WeightFormat::int8_g32, m, HeadNormKind::heads, others);
    const Cache cache(backend, m, Dtype::f16);
    const Mlp mlp(backend, WeightFormat::int8_g32, others);
    const RandomTensor out({m, kQ + 2 * kKv}), delta({m, kHidden});
    const HalfInput in = rows.input(Input::added_and_normalised);
    const std::int64_t before = backend.pool().n_shared();
    backend.project_qkv(out.view(), in, qkv.form, qkv.positions, cache.layer, qkv.slots);
    QCOMPARE(backend.pool().n_shared() - before, 1);
    backend.mlp(delta.view(), in, mlp.weights());
    QCOMPARE(backend.pool().n_shared() - before, 2);
  }
}

LATHE_TEST(LayerHalvesTest)

}  // namespace layer_halves_test
#include "layer_halves_test.moc"
