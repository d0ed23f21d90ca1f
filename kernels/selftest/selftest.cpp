// SPDX-License-Identifier: Apache-2.0
#include "kernels/api/selftest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "kernels/cpu/isa/isa.h"
#include "kernels/formats/format.h"
#include "kernels/selftest/attention_case.h"
#include "kernels/selftest/attention_checks.h"
#include "kernels/selftest/expert_checks.h"
#include "kernels/selftest/random_tensor.h"
#include "kernels/selftest/recurrent_checks.h"
#include "kernels/selftest/roof.h"
#include "kernels/selftest/step_checks.h"
#include "kernels/selftest/stopwatch.h"

namespace lathe::kernels {
namespace {

// The reference adds in double, and a sum here has at most 4864 terms: errors of f32 sums stay well below this tolerance.
constexpr double kTolerance = 2e-5;
// bf16 dot products round the activations to 8 bits.
constexpr double kBf16Tolerance = 1e-2;
// Activations that are multiplied with codes are rounded to 8 bits. Measured errors: 4.0e-3 (int4_g32_asym) to 5.9e-3 (nf4),
// on every instruction set.
constexpr double kCodedTolerance = 1e-2;
// e4m3 activations have 4 significant bits.
constexpr double kE4m3Tolerance = 5e-2;
// Attention on tensor cores rounds q and the weights of V to the type of a 16-bit cache. Measured error on an H200, against
// q in full precision: at most 3.9e-3.
constexpr double kHalfAttentionTolerance = 1e-2;
constexpr double kBf16MlpTolerance = 4e-2;
constexpr double kCodedMlpTolerance = 4e-2;
constexpr double kE4m3MlpTolerance = 0.1;
// Weights smaller than this fit into a cache, so that reads from memory do not bound their product.
constexpr std::size_t kLargerThanCaches = std::size_t{50} << 20;
constexpr double kTimingSeconds = 0.03;

struct ModelShape {
  const char* name;
  int hidden;
  int n_heads;
  int n_kv_heads;
  int head_dim;
  int ffn;
  int block_size;
};
constexpr ModelShape kSmall{
    .name = "small", .hidden = 64, .n_heads = 8, .n_kv_heads = 4, .head_dim = 8, .ffn = 172, .block_size = 16};
constexpr ModelShape kMiddle{
    .name = "middle", .hidden = 896, .n_heads = 14, .n_kv_heads = 2, .head_dim = 64, .ffn = 4864, .block_size = 16};
constexpr ModelShape kWideHeads{
    .name = "heads of 128", .hidden = 64, .n_heads = 4, .n_kv_heads = 2, .head_dim = 128, .ffn = 172, .block_size = 16};

struct LinearShape {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  bool has_bias;
  bool is_ordered = false;  ///< the matrix has an input_order()
};
constexpr LinearShape kOrderedShapes[] = {{1, 172, 896, true, true}, {16, 896, 4864, false, true}};
constexpr LinearShape kLinearShapes[] = {
    {1, 172, 64, false},   {1, 32000, 896, false}, {3, 1152, 896, true},  {5, 33, 17, true},
    {8, 896, 4864, false}, {16, 4864, 896, false}, {64, 1152, 896, true},
};

/// A permutation of k inputs whose neighbours are far apart. Requires: k is no multiple of 11.
Buffer scattered_inputs(Backend& backend, std::int64_t k) {
  Buffer order = backend.allocate(static_cast<std::size_t>(k) * sizeof(std::int32_t));
  if (!order) throw std::bad_alloc();
  for (std::int64_t i = 0; i < k; ++i)
    static_cast<std::int32_t*>(order.data())[i] = static_cast<std::int32_t>((11 * i + 5) % k);
  return order;
}

std::unique_ptr<PackedMatrix> pack(Backend& backend, WeightFormat format, const TensorView& weights) {
  auto matrix = backend.make_packed(format, weights.dim(0), weights.dim(1));
  if (!matrix) throw std::bad_alloc();
  backend.pack_rows(*matrix, 0, weights);
  return matrix;
}

/// Random weights [n, k], packed for two backends.
class PackedTwice {
 public:
  PackedTwice(Backend& reference, Backend& tested, const FormatDescriptor& format, std::int64_t n, std::int64_t k,
              RandomNumbers& numbers)
      : reference_(reference),
        weights_(format.element, {n, k}, numbers),
        want_(pack(reference, format.format, weights_.view())),
        got_(pack(tested, format.format, weights_.view())) {}
  const PackedMatrix& of(const Backend& backend) const { return &backend == &reference_ ? *want_ : *got_; }

 private:
  const Backend& reference_;
  RandomTensor weights_;
  std::unique_ptr<PackedMatrix> want_, got_;
};

class SelfTest {
 public:
  SelfTest(Backend& backend, const Ceilings& ceilings, const std::function<void(const OpCheck&)>& report)
      : backend_(backend), reference_(make_reference_backend()), ceilings_(ceilings), report_(report) {
    const IsaDescriptor* isa = find_isa(backend.info().isa);
    has_bf16_dot_ = isa != nullptr && isa->ops().bf16_dot != nullptr;
    multiplies_bf16_ = backend.info().multiplies_bf16;
  }

  std::vector<OpCheck> run() {
    for (const FormatDescriptor& format : weight_formats()) {
      for (const LinearShape& shape : kLinearShapes) check_linear(format, shape);
    }
    for (const WeightFormat format : {WeightFormat::bf16, WeightFormat::int4_g128_asym}) {
      for (const LinearShape& shape : kOrderedShapes) check_linear(descriptor_of(format), shape);
    }
    for (const ModelShape& shape : {kSmall, kMiddle}) {
      check_norms(shape);
      check_add(shape);
      for (const FormatDescriptor& format : weight_formats()) check_gated_mlp(format, shape);
      check_lookups(shape);
      check_rope(shape);
      check_attentions(shape);
    }
    check_attentions(kWideHeads);
    for (const FormatDescriptor& format : weight_formats()) check_company(format);
    const auto add_check = [this](OpCheck check) { add(std::move(check)); };
    check_steps(backend_, numbers_, add_check);
    check_experts(backend_, numbers_, add_check);
    check_attention_bits(backend_, numbers_, add_check);
    check_recurrent_layers(backend_, numbers_, add_check);
    return checks_;
  }

 private:
  void add(OpCheck check) {
    if (const auto error = backend_.take_error()) {
      check.op += ": " + error->message;
      check.max_error = std::numeric_limits<double>::infinity();
    }
    report_(check);
    checks_.push_back(std::move(check));
  }
  /// Runs `op` on both backends, each writing its own copy of `out`, and compares the copies.
  template <class Op>
  void compare(const std::string& name, const RandomTensor& out, const Op& op, double tolerance = kTolerance) {
    const RandomTensor want = out.copy();
    const RandomTensor got = out.copy();
    op(*reference_, want.view());
    const auto run_on = [&](const RandomTensor& to) {
      op(backend_, to.view());
      backend_.finish();
    };
    OpCheck check{.op = name, .tolerance = tolerance, .seconds = seconds_of([&] { run_on(got); }), .bound = {}};
    check.max_error = relative_error(got.view(), want.view());
    if (is_timed()) {
      const RandomTensor again = out.copy();
      check.seconds = best_seconds(0, [&] { run_on(again); });
    }
    add(std::move(check));
  }

  /// Without ceilings, to which times are compared, an operation runs only once.
  bool is_timed() const { return ceilings_.read_gb_s > 0; }
  template <class Body>
  double timing(double budget, const Body& body) const {
    return is_timed() ? best_seconds(budget, body) : seconds_of(body);
  }

  void check_linear(const FormatDescriptor& format, const LinearShape& shape);
  void set_bound(OpCheck& check, WeightFormat format, std::size_t weight_bytes, double operations) const;
  bool uses_bf16_dot(const FormatDescriptor& format) const {
    if (multiplies_bf16_) return format.is_coded() || format.element == Dtype::bf16;
    return format.format == WeightFormat::bf16 && has_bf16_dot_;
  }
  static bool rounds_activations(const FormatDescriptor& format) {
    return format.is_coded() && format.codes.activations != ActivationScale::none;
  }
  double tolerance_of(const FormatDescriptor& format) const {
    if (rounds_activations(format)) return format.codes.kind == CodeElement::e4m3 ? kE4m3Tolerance : kCodedTolerance;
    return uses_bf16_dot(format) ? kBf16Tolerance : kTolerance;
  }
  /// Tolerance of an MLP, which rounds activations twice.
  double mlp_tolerance_of(const FormatDescriptor& format) const {
    if (rounds_activations(format)) return format.codes.kind == CodeElement::e4m3 ? kE4m3MlpTolerance : kCodedMlpTolerance;
    return uses_bf16_dot(format) ? kBf16MlpTolerance : kTolerance;
  }
  void check_norms(const ModelShape& shape);
  void check_add(const ModelShape& shape);
  void check_gated_mlp(const FormatDescriptor& format, const ModelShape& shape);
  void check_lookups(const ModelShape& shape);
  void check_rope(const ModelShape& shape);
  void check_attentions(const ModelShape& shape);
  void check_attention(const ModelShape& shape, Dtype dtype, const std::string& name, const AttentionCase& of,
                       const AttentionForm& form);
  void check_company(const FormatDescriptor& format);

  Backend& backend_;
  std::unique_ptr<Backend> reference_;
  const Ceilings& ceilings_;
  bool has_bf16_dot_ = false;
  bool multiplies_bf16_ = false;  ///< BackendInfo::multiplies_bf16
  const std::function<void(const OpCheck&)>& report_;
  RandomNumbers numbers_{1};
  std::vector<OpCheck> checks_;
};

void SelfTest::check_linear(const FormatDescriptor& format, const LinearShape& shape) {
  const RandomTensor weights(format.element, {shape.n, shape.k}, numbers_);
  const RandomTensor x(Dtype::f32, {shape.m, shape.k}, numbers_, 1, &backend_);
  const RandomTensor bias(Dtype::f32, {shape.n}, numbers_, 1, &backend_);
  const TensorView no_bias;
  const auto want_matrix = pack(*reference_, format.format, weights.view());
  const auto matrix = pack(backend_, format.format, weights.view());
  const Buffer order = scattered_inputs(backend_, shape.k);
  for (PackedMatrix* of : {want_matrix.get(), matrix.get()}) {
    if (shape.is_ordered)
      of->set_input_order({static_cast<const std::int32_t*>(order.data()), static_cast<std::size_t>(shape.k)});
  }
  const RandomTensor want({shape.m, shape.n}, &backend_);
  const RandomTensor got({shape.m, shape.n}, &backend_);
  reference_->linear(want.view(), x.view(), *want_matrix, shape.has_bias ? bias.view() : no_bias);
  const double seconds = timing(kTimingSeconds, [&] {
    backend_.linear(got.view(), x.view(), *matrix, shape.has_bias ? bias.view() : no_bias);
    backend_.finish();
  });
  OpCheck check{.op = "linear " + std::string(format.name) + " m=" + std::to_string(shape.m) +
                      " n=" + std::to_string(shape.n) + " k=" + std::to_string(shape.k) +
                      (shape.is_ordered ? " with an input order" : ""),
                .max_error = relative_error(got.view(), want.view()),
                .tolerance = tolerance_of(format),
                .seconds = seconds,
                .bound = {}};
  set_bound(check, format.format, matrix->n_bytes(), 2.0 * static_cast<double>(shape.m * shape.n * shape.k));
  add(std::move(check));
}

void SelfTest::set_bound(OpCheck& check, WeightFormat format, std::size_t weight_bytes, double operations) const {
  const std::size_t read_bytes = weight_bytes >= kLargerThanCaches ? weight_bytes : 0;
  const Roof roof = roof_of(ceilings_, format, operations, static_cast<double>(read_bytes));
  if (roof.seconds <= 0 || check.seconds <= 0) return;
  check.share = roof.seconds / check.seconds;
  check.bound = roof.bound;
}

void SelfTest::check_norms(const ModelShape& shape) {
  const RandomTensor x(Dtype::f32, {7, shape.hidden}, numbers_, 3, &backend_);
  const RandomTensor delta(Dtype::f32, {7, shape.hidden}, numbers_, 1, &backend_);
  const RandomTensor weight(Dtype::f32, {shape.hidden}, numbers_, 1, &backend_);
  const RandomTensor out({7, shape.hidden}, &backend_);
  compare(std::string("rms_norm ") + shape.name, out, [&](Backend& backend, const TensorView& to) {
    backend.norm(to, x.view(), {.weight = weight.view(), .eps = 1e-5F});
  });
  compare(std::string("add_rms_norm ") + shape.name, out, [&](Backend& backend, const TensorView& to) {
    const RandomTensor residual = x.copy();
    backend.add_norm(to, residual.view(), delta.view(), {.weight = weight.view(), .eps = 1e-5F});
  });
  compare(std::string("add_rms_norm residual ") + shape.name, x, [&](Backend& backend, const TensorView& residual) {
    const RandomTensor normed({7, shape.hidden}, &backend_);
    backend.add_norm(normed.view(), residual, delta.view(), {.weight = weight.view(), .eps = 1e-5F});
  });
}

void SelfTest::check_add(const ModelShape& shape) {
  const RandomTensor x(Dtype::f32, {7, shape.hidden}, numbers_, 1, &backend_);
  const RandomTensor delta(Dtype::f32, {7, shape.hidden}, numbers_, 1, &backend_);
  compare(std::string("add ") + shape.name, x,
          [&](Backend& backend, const TensorView& to) { backend.add(to, delta.view()); });
}

void SelfTest::check_gated_mlp(const FormatDescriptor& format, const ModelShape& shape) {
  const RandomTensor x(Dtype::f32, {7, shape.hidden}, numbers_, 1, &backend_);
  const PackedTwice gate(*reference_, backend_, format, shape.ffn, shape.hidden, numbers_);
  const PackedTwice up(*reference_, backend_, format, shape.ffn, shape.hidden, numbers_);
  const PackedTwice down(*reference_, backend_, format, shape.hidden, shape.ffn, numbers_);
  compare(
      "gated_mlp " + std::string(format.name) + " " + shape.name, RandomTensor({7, shape.hidden}, &backend_),
      [&](Backend& backend, const TensorView& to) {
        backend.mlp(to, {.x = x.view()}, {.gate = &gate.of(backend), .up = up.of(backend), .down = down.of(backend)});
      },
      mlp_tolerance_of(format));
}

void SelfTest::check_lookups(const ModelShape& shape) {
  const std::int32_t rows[] = {0, 49, 7, 7, 21};
  for (const FormatDescriptor& format : weight_formats()) {
    if (format.is_coded()) continue;  // embedding tables are never stored in codes
    const RandomTensor table(format.element, {50, shape.hidden}, numbers_, 1, &backend_);
    compare("embed " + std::string(format.name) + " " + shape.name, RandomTensor({5, shape.hidden}, &backend_),
            [&](Backend& backend, const TensorView& to) { backend.embed(to, table.view(), rows); });
  }
  const RandomTensor x(Dtype::f32, {50, shape.hidden}, numbers_, 1, &backend_);
  compare(std::string("gather_rows ") + shape.name, RandomTensor({5, shape.hidden}, &backend_),
          [&](Backend& backend, const TensorView& to) { backend.gather_rows(to, x.view(), rows); });
}

void SelfTest::check_rope(const ModelShape& shape) {
  constexpr int kPositions = 64;
  const std::int64_t half = shape.head_dim / 2;
  const RandomTensor cos({kPositions, half}, &backend_);
  const RandomTensor sin({kPositions, half}, &backend_);
  for (std::int64_t p = 0; p < kPositions; ++p) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(p) * std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half));
      cos.view().row<float>(p)[i] = static_cast<float>(std::cos(angle));
      sin.view().row<float>(p)[i] = static_cast<float>(std::sin(angle));
    }
  }
  const std::int32_t positions[] = {0, 1, 63, 30};
  const RandomTensor x(Dtype::f32, {4, std::int64_t{shape.n_heads} * shape.head_dim}, numbers_, 1, &backend_);
  for (const RopeStyle style : {RopeStyle::half, RopeStyle::interleaved}) {
    const std::string name = style == RopeStyle::half ? "rope half " : "rope interleaved ";
    compare(name + shape.name, x, [&](Backend& backend, const TensorView& to) {
      backend.rope(to, shape.n_heads, shape.head_dim, positions, {.cos = cos.view(), .sin = sin.view(), .style = style});
    });
  }
}

void SelfTest::check_attention(const ModelShape& shape, Dtype dtype, const std::string& name, const AttentionCase& of,
                               const AttentionForm& form) {
  const KvShape kv{.n_layers = 1,
                   .n_kv_heads = shape.n_kv_heads,
                   .head_dim = shape.head_dim,
                   .block_size = shape.block_size,
                   .n_blocks = static_cast<int>(of.block_tables.size()),
                   .dtype = dtype};
  const auto n_tokens = static_cast<std::int64_t>(of.slots.size());
  const std::int64_t n_rows = of.query_start.back();
  const std::int64_t kv_columns = std::int64_t{shape.n_kv_heads} * shape.head_dim;
  const std::int64_t q_columns = std::int64_t{shape.n_heads} * shape.head_dim;
  const RandomTensor k(Dtype::f32, {n_tokens, kv_columns}, numbers_, 2, &backend_);
  const RandomTensor v(Dtype::f32, {n_tokens, kv_columns}, numbers_, 1, &backend_);
  const RandomTensor q(Dtype::f32, {n_rows, q_columns}, numbers_, 2, &backend_);
  const bool rounds = multiplies_bf16_ && (dtype == Dtype::bf16 || dtype == Dtype::f16);
  compare(
      "attention " + name + " " + shape.name, RandomTensor({n_rows, q_columns}, &backend_),
      [&](Backend& backend, const TensorView& to) {
        const Buffer memory = backend.allocate(backend.kv_layer_bytes(kv));
        if (!memory) throw std::bad_alloc();
        const KvLayer layer{.data = memory.data(), .shape = kv};
        backend.kv_write(layer, k.view(), v.view(), of.slots);
        backend.attention(to, q.view(), shape.n_heads, layer, of.batch(), form);
        backend.finish();  // before `memory` is freed
      },
      rounds ? kHalfAttentionTolerance : kTolerance);
}

/// Checks two decoding sequences and one prefilled from its middle on, with each type of the cache; then each form of
/// attention, on contexts so long that a device may split them into parts.
void SelfTest::check_attentions(const ModelShape& shape) {
  const AttentionForm plain{.scale = 1.0F / std::sqrt(static_cast<float>(shape.head_dim))};
  const AttentionCase mixed({0, 1, 2, 50}, {70, 1, 130}, shape.block_size, numbers_);
  for (const Dtype dtype : kKvDtypes) check_attention(shape, dtype, std::string(name_of(dtype)), mixed, plain);

  std::vector<float> slopes, rounded_slopes, sinks;
  for (int head = 0; head < shape.n_heads; ++head) {
    slopes.push_back(0.3F / static_cast<float>(1 + head));
    rounded_slopes.push_back(bf16_to_f32(f32_to_bf16(slopes.back())));
    sinks.push_back(numbers_.next());
  }
  AttentionForm window = plain, capped = plain, sloped = plain, rounded = plain, sunk = plain, whole = plain;
  window.window = 33;
  capped.soft_cap = 2;
  sloped.slopes = slopes;
  rounded.slopes = rounded_slopes;
  rounded.rounded_slope_scale = plain.scale;
  sunk.sinks = sinks;
  whole.is_causal = false;
  const AttentionCase long_ones({0, 1, 2, 40}, {700, 257, 300}, shape.block_size, numbers_);
  const AttentionCase decode({0, 1, 2}, {1030, 512}, shape.block_size, numbers_);
  const std::pair<const char*, AttentionForm> forms[] = {
      {"window", window}, {"soft cap", capped},  {"slopes", sloped}, {"rounded slopes", rounded},
      {"sinks", sunk},    {"not causal", whole}, {"plain", plain}};
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    for (const auto& [name, form] : forms) {
      const std::string of_type = dtype == Dtype::f32 ? "" : std::string(name_of(dtype)) + " ";
      check_attention(shape, dtype, of_type + "long, " + name, long_ones, form);
      check_attention(shape, dtype, of_type + "decode, " + name, decode, form);
    }
  }
}

/// Checks batch invariance: a row's result has the same bits in any batch. The error is the share of rows that differ.
void SelfTest::check_company(const FormatDescriptor& format) {
  constexpr std::int64_t kN = 200, kK = 1216, kMost = 160;
  const RandomTensor weights(format.element, {kN, kK}, numbers_);
  const RandomTensor x(Dtype::f32, {kMost, kK}, numbers_, 1, &backend_);
  const auto matrix = pack(backend_, format.format, weights.view());
  const RandomTensor all({kMost, kN}, &backend_);
  const RandomTensor some({kMost, kN}, &backend_);
  OpCheck check{.op = "batch invariance of a row " + std::string(format.name), .bound = {}};
  check.seconds = timing(0, [&] {
    backend_.linear(all.view(), x.view(), *matrix, {});
    backend_.finish();
  });
  for (const std::int64_t m : {1, 5, 8, 9, 17, 32, 33, 64, 65, 128, 129}) {
    const TensorView out = some.view().rows(0, m), of_all = all.view().rows(kMost - m, m);
    backend_.linear(out, x.view().rows(kMost - m, m), *matrix, {});
    backend_.finish();
    for (std::int64_t row = 0; row < m; ++row) {
      const bool is_same = std::memcmp(out.row<float>(row), of_all.row<float>(row), kN * sizeof(float)) == 0;
      check.max_error += is_same ? 0 : 1.0 / static_cast<double>(m);
    }
  }
  add(std::move(check));
}

}  // namespace

std::vector<OpCheck> run_selftest(Backend& backend, const Ceilings& ceilings,
                                  const std::function<void(const OpCheck&)>& report) {
  return SelfTest(backend, ceilings, report).run();
}

}  // namespace lathe::kernels
