// SPDX-License-Identifier: Apache-2.0
// Operations of recurrent layers: against the reference, in any division into steps and batches, and with padding.
#include "kernels/api/recurrent.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "tests/kernels/backends.h"
#include "tests/support/test_class.h"

namespace recurrent_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

constexpr double kTolerance = 5e-6;

/// Sizes of one layer. Head counts that are no power of two, more value heads than key heads, and sizes that fill no vector.
struct DeltaSizes {
  std::int64_t n_key_heads = 3, n_heads = 6, key_dim = 20, value_dim = 37, taps = 4;
  bool is_tiled = false;

  std::int64_t k_size() const { return n_key_heads * key_dim; }
  std::int64_t v_size() const { return n_heads * value_dim; }
  std::int64_t channels() const { return 2 * k_size() + v_size(); }
  StateShape shape() const {
    return {
        .conv_channels = channels(), .conv_kernel = taps, .n_heads = n_heads, .key_dim = key_dim, .value_dim = value_dim};
  }
};

/// The rows of one sequence in a step.
struct StepPart {
  int slot = 0, begin = 0, n_rows = 0, n_padding = 0;
  int source = -1;                      ///< -1: the slot itself
  std::vector<StateSnapshot> copies{};  ///< their sequence is that of the part
};

/// Owns the arrays of a RecurrentBatch.
struct StepArrays {
  explicit StepArrays(const std::vector<StepPart>& parts) {
    for (const StepPart& part : parts) {
      query_start.push_back(query_start.back() + part.n_rows + part.n_padding);
      context_len.push_back(part.begin + part.n_rows + part.n_padding);
      slots.push_back(part.slot);
      n_padding.push_back(part.n_padding);
      sources.push_back(part.source < 0 ? part.slot : part.source);
      for (StateSnapshot copy : part.copies) {
        copy.sequence = static_cast<std::int32_t>(slots.size()) - 1;
        snapshots.push_back(copy);
      }
    }
  }
  RecurrentBatch batch() const {
    return {static_cast<int>(slots.size()), query_start, context_len, slots, n_padding, sources, snapshots};
  }
  std::vector<std::int32_t> query_start{0}, context_len, slots, n_padding, sources;
  std::vector<StateSnapshot> snapshots;
};

/// Weights and inputs of a layer for a text of n rows, and the memory of its states.
class DeltaLayer {
 public:
  static constexpr int kSlots = 8;

  DeltaLayer(const DeltaSizes& sizes, std::int64_t n_rows, std::uint64_t seed = 1) : sizes_(sizes), numbers_(seed) {
    fill(conv_, {sizes.taps, sizes.channels()});
    fill(rate_, {sizes.n_heads});
    fill(dt_bias_, {sizes.n_heads});
    for (float* rate = rate_->view().as<float>(); rate < rate_->view().as<float>() + sizes.n_heads; ++rate) {
      *rate = -std::exp(*rate);
    }
    fill(x_, {n_rows, sizes.channels()});
    fill(gates_, {n_rows, 2 * sizes.n_heads}, 3);
  }

  StateLayer states(Backend& backend) {
    const std::size_t n_bytes = recurrent_operations(backend)->state_bytes(sizes_.shape());
    memory_ = backend.allocate(kSlots * n_bytes);
    auto* const floats = static_cast<float*>(memory_.data());
    std::fill_n(floats, kSlots * n_bytes / sizeof(float), 1e30F);  // a sequence that begins must not read this
    return {.data = memory_.data(), .shape = sizes_.shape(), .n_slots = kSlots};
  }

  /// The bytes of a slot.
  std::vector<std::byte> slot(Backend& backend, int i) const {
    const std::size_t n = recurrent_operations(backend)->state_bytes(sizes_.shape());
    const auto* const begin = static_cast<const std::byte*>(memory_.data()) + static_cast<std::size_t>(i) * n;
    return {begin, begin + n};
  }

  /// Computes the rows [first, first + n) of the inputs as the step `parts`. Returns the outputs.
  RandomTensor step(Backend& backend, const StateLayer& layer, std::int64_t first, const std::vector<StepPart>& parts) {
    const StepArrays arrays(parts);
    const std::int64_t n = arrays.query_start.back();
    RecurrentOperations& ops = *recurrent_operations(backend);
    const RandomTensor x = x_->copy(), gates = gates_->copy();
    RandomTensor out({n, sizes_.v_size()});
    const TensorView rows = x.view().rows(first, n);
    ops.causal_conv1d(rows, {.weight = conv_->view()}, layer, arrays.batch());
    ops.gated_delta_rule(out.view(), rows, gates.view().rows(first, n),
                         {.n_key_heads = sizes_.n_key_heads,
                          .is_tiled = sizes_.is_tiled,
                          .decay_rate = rate_->view(),
                          .dt_bias = dt_bias_->view()},
                         layer, arrays.batch());
    return out;
  }

 private:
  void fill(std::optional<RandomTensor>& tensor, std::initializer_list<std::int64_t> dims, float scale = 1) {
    tensor.emplace(Dtype::f32, dims, numbers_, scale);
  }

  DeltaSizes sizes_;
  RandomNumbers numbers_;
  std::optional<RandomTensor> conv_, rate_, dt_bias_, x_, gates_;
  Buffer memory_;
};

std::vector<DeltaSizes> all_sizes() {
  return {{},
          {.is_tiled = true},
          {.n_key_heads = 1, .n_heads = 1, .key_dim = 128, .value_dim = 128},
          {.n_key_heads = 2, .n_heads = 10, .key_dim = 7, .value_dim = 64, .taps = 2},
          {.n_key_heads = 5, .n_heads = 5, .key_dim = 33, .value_dim = 5, .taps = 7}};
}

}  // namespace

class RecurrentTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_layer_equals_the_reference_data() { add_isa_rows(); }
  void a_layer_equals_the_reference() {
    const auto backend = backend_of_row(), reference = make_reference_backend();
    for (const DeltaSizes& sizes : all_sizes()) {
      DeltaLayer layer(sizes, 23);
      const StateLayer expected = layer.states(*reference);
      const RandomTensor want = layer.step(*reference, expected, 0, {{.slot = 2, .n_rows = 23}});
      const StateLayer states = layer.states(*backend);
      const RandomTensor got = layer.step(*backend, states, 0, {{.slot = 2, .n_rows = 23}});
      QVERIFY2(relative_error(got.view(), want.view()) <= kTolerance,
               qPrintable(QString::number(relative_error(got.view(), want.view()))));
    }
  }

  void any_division_into_steps_has_the_same_bits_data() { add_isa_rows(); }
  void any_division_into_steps_has_the_same_bits() {
    const auto backend = backend_of_row();
    for (const DeltaSizes& sizes : all_sizes()) {
      DeltaLayer layer(sizes, 23);
      StateLayer states = layer.states(*backend);
      const RandomTensor whole = layer.step(*backend, states, 0, {{.slot = 0, .n_rows = 23}});
      for (const std::vector<int>& chunks : {std::vector<int>(23, 1), {1, 2, 20}, {9, 14}, {22, 1}}) {
        states = layer.states(*backend);
        int begin = 0;
        for (const int n : chunks) {
          const RandomTensor part = layer.step(*backend, states, begin, {{.slot = 1, .begin = begin, .n_rows = n}});
          QVERIFY(same_bits(part.view(), whole.view().rows(begin, n)));
          begin += n;
        }
      }
    }
  }

  void a_sequence_has_the_same_bits_in_a_batch_data() { add_isa_rows(); }
  void a_sequence_has_the_same_bits_in_a_batch() {
    const auto backend = backend_of_row(3);
    DeltaLayer layer({}, 20);
    StateLayer states = layer.states(*backend);
    const RandomTensor alone = layer.step(*backend, states, 6, {{.slot = 0, .n_rows = 8}});
    states = layer.states(*backend);
    const RandomTensor batch =
        layer.step(*backend, states, 0, {{.slot = 2, .n_rows = 6}, {.slot = 0, .n_rows = 8}, {.slot = 1, .n_rows = 6}});
    QVERIFY(same_bits(alone.view(), batch.view().rows(6, 8)));
  }

  void padding_leaves_the_state_as_it_is_data() { add_isa_rows(); }
  void padding_leaves_the_state_as_it_is() {
    const auto backend = backend_of_row();
    DeltaLayer layer({}, 20);
    StateLayer states = layer.states(*backend);
    const RandomTensor whole = layer.step(*backend, states, 0, {{.slot = 0, .n_rows = 12}});
    states = layer.states(*backend);
    const RandomTensor first = layer.step(*backend, states, 0, {{.slot = 0, .n_rows = 7, .n_padding = 4}});
    QVERIFY(same_bits(first.view().rows(0, 7), whole.view().rows(0, 7)));
    for (int i = 0; i < 4; ++i) QCOMPARE(first.view().row<float>(7 + i)[0], 0.0F);
    // A sequence may have padding alone, at any position.
    layer.step(*backend, states, 0, {{.slot = 0, .begin = 0, .n_padding = 5}});
    layer.step(*backend, states, 0, {{.slot = 0, .begin = 11, .n_padding = 2}});
    const RandomTensor rest = layer.step(*backend, states, 7, {{.slot = 0, .begin = 7, .n_rows = 5}});
    QVERIFY(same_bits(rest.view(), whole.view().rows(7, 5)));
  }

  void snapshots_are_the_states_where_a_step_might_have_ended_data() { add_isa_rows(); }
  void snapshots_are_the_states_where_a_step_might_have_ended() {
    const auto fast = backend_of_row(3), reference = make_reference_backend();
    for (Backend* const backend : {fast.get(), reference.get()}) {
      for (const DeltaSizes& sizes : all_sizes()) {
        DeltaLayer layer(sizes, 23);
        StateLayer states = layer.states(*backend);
        const RandomTensor plain = layer.step(*backend, states, 0, {{.slot = 0, .n_rows = 23}});
        states = layer.states(*backend);
        const std::vector<StateSnapshot> copies = {
            {.n_rows = 1, .slot = 4}, {.n_rows = 9, .slot = 5}, {.n_rows = 20, .slot = 6}, {.n_rows = 23, .slot = 7}};
        const RandomTensor with = layer.step(*backend, states, 0, {{.slot = 0, .n_rows = 23, .copies = copies}});
        QVERIFY(same_bits(with.view(), plain.view()));
        for (const StateSnapshot& copy : copies) {
          layer.step(*backend, states, 0, {{.slot = 2, .n_rows = copy.n_rows}});
          QVERIFY2(layer.slot(*backend, copy.slot) == layer.slot(*backend, 2), qPrintable(QString::number(copy.n_rows)));
        }
      }
    }
  }

  void a_sequence_may_begin_with_the_state_of_another_slot_data() { add_isa_rows(); }
  void a_sequence_may_begin_with_the_state_of_another_slot() {
    const auto fast = backend_of_row(3), reference = make_reference_backend();
    for (Backend* const backend : {fast.get(), reference.get()}) {
      DeltaLayer layer({}, 23);
      StateLayer states = layer.states(*backend);
      const RandomTensor whole = layer.step(*backend, states, 0, {{.slot = 0, .n_rows = 23}});
      states = layer.states(*backend);
      layer.step(*backend, states, 0, {{.slot = 0, .n_rows = 9, .copies = {{.n_rows = 7, .slot = 5}}}});
      const std::vector<std::byte> source = layer.slot(*backend, 5);
      // Two sequences in one step, each of which goes on and leaves the source as it is; one takes a snapshot itself.
      const RandomTensor both = layer.step(
          *backend, states, 7,
          {{.slot = 1, .begin = 7, .n_rows = 8, .source = 5},
           {.slot = 2, .begin = 7, .n_rows = 3, .n_padding = 2, .source = 5, .copies = {{.n_rows = 3, .slot = 6}}}});
      QVERIFY(same_bits(both.view().rows(0, 8), whole.view().rows(7, 8)));
      QVERIFY(layer.slot(*backend, 5) == source && layer.slot(*backend, 6) == layer.slot(*backend, 2));
      const RandomTensor rest = layer.step(*backend, states, 15, {{.slot = 1, .begin = 15, .n_rows = 8}});
      QVERIFY(same_bits(rest.view(), whole.view().rows(15, 8)));
      // A sequence at position 0 begins with zeros, whatever its source.
      const RandomTensor fresh = layer.step(*backend, states, 0, {{.slot = 3, .n_rows = 4, .source = 5}});
      QVERIFY(same_bits(fresh.view(), whole.view().rows(0, 4)));
    }
  }

  void all_instruction_sets_have_the_same_bits() {
    std::optional<RandomTensor> first;
    for (const std::string& isa : cpu_isas()) {
      if (isa == "scalar" && cpu_isas().size() == 1) return;
      const auto backend = make_cpu_backend({.n_threads = 2, .isa = isa});
      DeltaLayer layer({}, 17);
      const StateLayer states = layer.states(*backend);
      const RandomTensor out = layer.step(*backend, states, 0, {{.slot = 0, .n_rows = 17}});
      if (!first) first.emplace(out);
      QVERIFY2(same_bits(out.view(), first->view()), isa.c_str());
    }
  }

  void a_state_that_fades_forgets_and_a_rate_of_one_remembers() {
    // key_dim 1, so that q and k are 1 after the norm: S = v where beta is 1, whatever was before.
    const auto backend = make_cpu_backend({.n_threads = 1});
    RecurrentOperations& ops = *recurrent_operations(*backend);
    const StateShape shape{.n_heads = 1, .key_dim = 1, .value_dim = 2};
    const Buffer memory = backend->allocate(ops.state_bytes(shape));
    const StateLayer layer{.data = memory.data(), .shape = shape, .n_slots = 1};
    std::vector<float> qkv = {2, 3, 5, 7, 2, 3, 50, 70, 2, 3, 0, 0}, gates = {100, 0, -100, 0, -100, 0}, out(6);
    float rate = -1, bias = -100;  // softplus(-100) is 0: nothing fades
    const StepArrays arrays({{.slot = 0, .n_rows = 3}});
    const auto run = [&] {
      std::vector<float> in = qkv, of_rows = gates;
      ops.gated_delta_rule({out.data(), Dtype::f32, {3, 2}}, {in.data(), Dtype::f32, {3, 4}},
                           {of_rows.data(), Dtype::f32, {3, 2}},
                           {.n_key_heads = 1, .decay_rate = {&rate, Dtype::f32, {1}}, .dt_bias = {&bias, Dtype::f32, {1}}},
                           layer, arrays.batch());
    };
    run();
    for (const int i : {0, 2, 4}) QVERIFY(std::abs(out[static_cast<std::size_t>(i)] - 5) < 1e-5);
    for (const int i : {1, 3, 5}) QVERIFY(std::abs(out[static_cast<std::size_t>(i)] - 7) < 1e-5);
    bias = 100;  // exp(-100): all is forgotten
    run();
    QVERIFY(std::abs(out[0] - 5) < 1e-5);
    for (std::size_t i = 2; i < 6; ++i) QVERIFY(std::abs(out[i]) < 1e-30);
  }

  void gated_norms_equal_the_reference_data() { add_isa_rows(); }
  void gated_norms_equal_the_reference() {
    const auto backend = backend_of_row(), reference = make_reference_backend();
    RandomNumbers numbers(7);
    for (const std::int64_t head_dim : {5, 16, 128}) {
      const RandomTensor x(Dtype::f32, {4, 3 * head_dim}, numbers), gate(Dtype::f32, {4, 3 * head_dim}, numbers, 9),
          weight(Dtype::f32, {head_dim}, numbers);
      const RandomTensor want = x.copy();
      const Norm norm{.weight = weight.view(), .eps = 1e-6F};
      recurrent_operations(*backend)->norm_heads_gated(x.view(), 3, norm, gate.view());
      recurrent_operations(*reference)->norm_heads_gated(want.view(), 3, norm, gate.view());
      QVERIFY(relative_error(x.view(), want.view()) <= 2e-6);
    }
  }

  void products_with_a_sigmoid_equal_the_reference_data() { add_isa_rows(); }
  void products_with_a_sigmoid_equal_the_reference() {
    const auto backend = backend_of_row(), reference = make_reference_backend();
    RandomNumbers numbers(5);
    const RandomTensor gate(Dtype::f32, {4, 71}, numbers, 9), x(Dtype::f32, {4, 71}, numbers);
    const RandomTensor want = x.copy();
    recurrent_operations(*backend)->multiply_by_sigmoid(x.view(), gate.view());
    recurrent_operations(*reference)->multiply_by_sigmoid(want.view(), gate.view());
    QVERIFY(relative_error(x.view(), want.view()) <= 1e-6);
  }

  void products_equal_the_reference_data() { add_isa_rows(); }
  void products_equal_the_reference() {
    const auto backend = backend_of_row(), reference = make_reference_backend();
    RandomNumbers numbers(6);
    const RandomTensor y(Dtype::f32, {4, 71}, numbers), x(Dtype::f32, {4, 71}, numbers);
    const RandomTensor want = x.copy();
    recurrent_operations(*backend)->multiply(x.view(), y.view());
    recurrent_operations(*reference)->multiply(want.view(), y.view());
    QVERIFY(same_bits(x.view(), want.view()));
  }

  void a_convolution_may_have_a_bias_and_no_activation_data() { add_isa_rows(); }
  void a_convolution_may_have_a_bias_and_no_activation() {
    const auto backend = backend_of_row();
    RecurrentOperations& ops = *recurrent_operations(*backend);
    const StateShape shape{.conv_channels = 1, .conv_kernel = 3};
    const Buffer memory = backend->allocate(ops.state_bytes(shape));
    std::vector<float> x = {1, 2, 3, 4}, weight = {100, 10, 1}, bias = {0.5F};
    const StepArrays arrays({{.slot = 0, .n_rows = 4}});
    ops.causal_conv1d(
        {x.data(), Dtype::f32, {4, 1}},
        {.weight = {weight.data(), Dtype::f32, {3, 1}}, .bias = {bias.data(), Dtype::f32, {1}}, .applies_silu = false},
        {.data = memory.data(), .shape = shape, .n_slots = 1}, arrays.batch());
    QCOMPARE(x, (std::vector<float>{1.5F, 12.5F, 123.5F, 234.5F}));
  }
};

LATHE_TEST(RecurrentTest)

}  // namespace recurrent_test

#include "recurrent_test.moc"
