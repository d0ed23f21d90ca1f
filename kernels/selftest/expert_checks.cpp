// SPDX-License-Identifier: Apache-2.0
#include "kernels/selftest/expert_checks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "kernels/formats/format.h"
#include "kernels/selftest/stopwatch.h"

namespace lathe::kernels {
namespace {

constexpr std::int64_t kRows = 45;
// The inner rows are rounded to bf16, as in an MLP.
constexpr double kTolerance = 4e-2;
// Sums over experts are added in another order, and exp() is another function.
constexpr double kRouteTolerance = 1e-5;

/// A form of the router.
struct RouterCase {
  const char* name;
  RouterForm form;
  bool has_bias;
};
const RouterCase kRouters[] = {
    {"softmax", {.n_experts = 128, .top_k = 8, .normalises = true}, false},
    {"softmax of the chosen", {.n_experts = 33, .top_k = 4, .score = RouterScore::softmax_chosen}, true},
    {"sigmoid, groups by two",
     {.n_experts = 64,
      .top_k = 6,
      .score = RouterScore::sigmoid,
      .normalises = true,
      .scale = 2.5,
      .n_groups = 8,
      .topk_groups = 3,
      .group_score = GroupScore::best_two},
     true},
    {"softmax, groups by one", {.n_experts = 160, .top_k = 6, .scale = 16, .n_groups = 8, .topk_groups = 3}, false},
    {"sparse mixer", {.n_experts = 16, .top_k = 2, .score = RouterScore::sparse_mixer, .jitter = 0.01}, false}};

Chosen* chosen_of(const TensorView& view, std::int64_t row) { return reinterpret_cast<Chosen*>(view.row<float>(row)); }

/// Another choice counts as an error of 1.
void check_route(Backend& backend, const RouterCase& of, RandomNumbers& numbers, const std::function<void(OpCheck)>& add) {
  const auto n = static_cast<std::size_t>(of.form.n_experts), top_k = static_cast<std::size_t>(of.form.top_k);
  const RandomTensor logits(Dtype::f32, {kRows, of.form.n_experts}, numbers, 4, &backend);
  const RandomTensor bias(Dtype::f32, {of.form.n_experts}, numbers, 0.1F, &backend);
  float* const equal = logits.view().row<float>(1);
  if (of.form.score == RouterScore::softmax_chosen) std::fill_n(equal, n, 0.5F);  // of equal scores the first one wins
  const RandomTensor kept = logits.copy(), got({kRows, 2 * of.form.top_k}, &backend);
  OpCheck check{.op = std::string("route ") + of.name, .tolerance = kRouteTolerance, .bound = {}};
  check.seconds = best_seconds(0, [&] {
    backend.route(got.view(), logits.view(), of.form, of.has_bias ? bias.view() : TensorView());
    backend.finish();
  });
  std::vector<Chosen> want(top_k);
  for (std::int64_t row = 0; row < kRows; ++row) {
    const std::span<const float> added(bias.view().as<const float>(), of.has_bias ? n : 0);
    choose_experts(of.form, {kept.view().row<float>(row), n}, added, want);
    for (std::size_t i = 0; i < top_k; ++i) {
      const Chosen& one = chosen_of(got.view(), row)[i];
      const double error = std::fabs(static_cast<double>(one.weight) - want[i].weight) / std::max(1.0, of.form.scale);
      check.max_error = std::max(check.max_error, one.expert == want[i].expert && error <= 1 ? error : 1.0);
    }
  }
  add(std::move(check));
}

struct MixCase {
  std::int64_t hidden, size;
  int n_experts, top_k;
  bool has_bias;
  Activation activation;
};
constexpr MixCase kMixes[] = {{336, 208, 5, 2, true, Activation::clamped_silu}, {256, 96, 20, 6, false, Activation::silu}};

/// Experts of one format on one backend.
class SomeExperts {
 public:
  SomeExperts(Backend& backend, WeightFormat format, const MixCase& of, const std::vector<RandomTensor>& sources)
      : sources_(sources) {
    for (std::size_t i = 0; i < sources.size(); i += 2) {
      const TensorView& source = sources[i].view();
      auto matrix = backend.make_packed(format, source.dim(0), source.dim(1));
      if (!matrix) throw std::bad_alloc();
      backend.pack_rows(*matrix, 0, source);
      matrices_.push_back(std::move(matrix));
    }
    for (std::size_t e = 0; e < matrices_.size(); e += 3) {
      mlps_.push_back({.activation = of.activation,
                       .gate = matrices_[e].get(),
                       .up = *matrices_[e + 1],
                       .down = *matrices_[e + 2],
                       .gate_bias = bias(of, e),
                       .up_bias = bias(of, e + 1),
                       .down_bias = bias(of, e + 2)});
    }
    packed_ = backend.make_experts(mlps_, of.top_k);
  }
  const PackedExperts* packed() const { return packed_.get(); }
  const MlpWeights& operator[](std::size_t expert) const { return mlps_[expert]; }

 private:
  TensorView bias(const MixCase& of, std::size_t matrix) const {
    return of.has_bias ? sources_[2 * matrix + 1].view() : TensorView();
  }

  const std::vector<RandomTensor>& sources_;
  std::vector<std::unique_ptr<PackedMatrix>> matrices_;
  std::vector<MlpWeights> mlps_;
  std::unique_ptr<PackedExperts> packed_;
};

/// For each expert gate, up and down, and after each of them its bias.
std::vector<RandomTensor> random_sources(Backend& backend, Dtype element, const MixCase& of, RandomNumbers& numbers) {
  std::vector<RandomTensor> sources;
  for (int e = 0; e < of.n_experts; ++e) {
    for (const bool is_down : {false, false, true}) {
      const std::int64_t n = is_down ? of.hidden : of.size, k = is_down ? of.size : of.hidden;
      sources.emplace_back(element, std::initializer_list<std::int64_t>{n, k}, numbers, 0.2F);
      sources.emplace_back(Dtype::f32, std::initializer_list<std::int64_t>{n}, numbers, 0.5F, &backend);
    }
  }
  return sources;
}

/// Every third row has expert 1, so that one has many rows, and the last expert has none.
void choose_at_random(const TensorView& chosen, const MixCase& of, RandomNumbers& numbers) {
  for (std::int64_t row = 0; row < kRows; ++row) {
    Chosen* const own = chosen_of(chosen, row);
    const std::int32_t first = row % 3 == 0 ? 1 : numbers.below(of.n_experts - 1);
    for (int i = 0; i < of.top_k; ++i) {
      own[i] = {static_cast<std::int32_t>((first + i * 5) % (of.n_experts - 1)), 0.5F + 0.4F * numbers.next()};
    }
  }
}

/// mix_experts(), one expert after another.
void mix_by_expert(Backend& backend, const TensorView& out, const TensorView& x, const TensorView& chosen,
                   const SomeExperts& experts, const MixCase& of) {
  backend.fill(out, 0);
  for (std::int32_t e = 0; e < of.n_experts; ++e) {
    std::vector<std::int32_t> rows;
    std::vector<float> factors;
    for (std::int64_t row = 0; row < x.dim(0); ++row) {
      for (int i = 0; i < of.top_k; ++i) {
        const Chosen& one = chosen_of(chosen, row)[i];
        if (one.expert != e) continue;
        rows.push_back(static_cast<std::int32_t>(row));
        factors.push_back(one.weight);
      }
    }
    if (rows.empty()) continue;
    const RandomTensor in({std::ssize(rows), of.hidden}, &backend), part({std::ssize(rows), of.hidden}, &backend);
    backend.gather_rows(in.view(), x, rows);
    backend.mlp(part.view(), {.x = in.view()}, experts[static_cast<std::size_t>(e)]);
    backend.add_rows(out, rows, part.view(), factors);
    backend.finish();  // before the rows are freed
  }
}

/// Products with each format are compared with the reference elsewhere; a mixture is to have their bits.
void check_mix(Backend& backend, const FormatDescriptor& format, const MixCase& of, RandomNumbers& numbers,
               const std::function<void(OpCheck)>& add) {
  const std::vector<RandomTensor> sources = random_sources(backend, format.element, of, numbers);
  const SomeExperts experts(backend, format.format, of, sources);
  if (experts.packed() == nullptr) return;
  const RandomTensor x(Dtype::f32, {kRows, of.hidden}, numbers, 1, &backend);
  const RandomTensor chosen({kRows, 2 * of.top_k}, &backend);
  choose_at_random(chosen.view(), of, numbers);
  const RandomTensor got({kRows, of.hidden}, &backend), parts = got.copy(), alone = got.copy();
  const std::string name =
      std::string(format.name) + ", " + std::to_string(of.top_k) + " of " + std::to_string(of.n_experts);
  mix_by_expert(backend, parts.view(), x.view(), chosen.view(), experts, of);
  OpCheck as_parts{.op = "mix_experts as its parts, " + name, .bound = {}};
  as_parts.seconds = best_seconds(0, [&] {
    backend.mix_experts(got.view(), x.view(), chosen.view(), *experts.packed());
    backend.finish();
  });
  OpCheck invariance{.op = "batch invariance of mix_experts " + name, .bound = {}};
  for (std::int64_t row = 0; row < kRows; ++row) {
    backend.mix_experts(alone.view().rows(row, 1), x.view().rows(row, 1), chosen.view().rows(row, 1), *experts.packed());
  }
  backend.finish();
  const auto differs = [](const RandomTensor& a, const RandomTensor& b) {
    return std::memcmp(a.view().data, b.view().data, a.view().n_bytes()) == 0 ? 0.0 : 1.0;
  };
  invariance.max_error = differs(alone, got);
  as_parts.max_error = differs(parts, got);
  add(std::move(as_parts));
  add(std::move(invariance));
  if (format.format != WeightFormat::bf16) return;
  const auto reference = make_reference_backend();
  const SomeExperts plain(*reference, format.format, of, sources);
  const RandomTensor want = got.copy();
  reference->mix_experts(want.view(), x.view(), chosen.view(), *plain.packed());
  add({.op = "mix_experts " + name,
       .max_error = relative_error(got.view(), want.view()),
       .tolerance = kTolerance,
       .bound = {}});
}

void check_sigmoid(Backend& backend, std::int64_t n_gates, RandomNumbers& numbers, const std::function<void(OpCheck)>& add) {
  constexpr std::int64_t kColumns = 100;
  const RandomTensor x(Dtype::f32, {kRows, kColumns}, numbers, 1, &backend);
  const RandomTensor gate(Dtype::f32, {kRows, n_gates}, numbers, 3, &backend);
  const RandomTensor want = x.copy();
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t i = 0; i < kColumns; ++i) {
      const double of_column = gate.view().row<float>(row)[i * n_gates / kColumns];
      want.view().row<float>(row)[i] *= static_cast<float>(1 / (1 + std::exp(-of_column)));
    }
  }
  OpCheck check{.op = "scale_by_sigmoid, gates: " + std::to_string(n_gates), .tolerance = 2e-6, .bound = {}};
  check.seconds = seconds_of([&] {
    backend.scale_by_sigmoid(x.view(), gate.view());
    backend.finish();
  });
  check.max_error = relative_error(x.view(), want.view());
  add(std::move(check));
}

}  // namespace

void check_experts(Backend& backend, RandomNumbers& numbers, const std::function<void(OpCheck)>& add) {
  // Gates of a row, of heads, of columns.
  for (const std::int64_t n_gates : {1, 5, 100}) check_sigmoid(backend, n_gates, numbers, add);
  {
    const std::vector<RandomTensor> sources = random_sources(backend, Dtype::bf16, kMixes[0], numbers);
    if (SomeExperts(backend, WeightFormat::bf16, kMixes[0], sources).packed() == nullptr) return;
  }
  for (const FormatDescriptor& format : weight_formats()) {
    for (const MixCase& of : kMixes) check_mix(backend, format, of, numbers, add);
  }
  for (const RouterCase& of : kRouters) check_route(backend, of, numbers, add);
}

}  // namespace lathe::kernels
