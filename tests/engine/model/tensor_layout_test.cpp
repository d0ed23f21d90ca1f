// SPDX-License-Identifier: Apache-2.0
#include "engine/model/tensor_layout.h"

#include <QTest>
#include <cmath>
#include <numeric>

#include "tests/support/test_class.h"

namespace tensor_layout_test {

using namespace lathe;
using namespace lathe::engine;
using kernels::Dtype;
using kernels::TensorView;

namespace {

/// 0, 1, 2... in a type of so many bytes.
template <class T>
std::vector<T> counted(std::size_t n) {
  std::vector<T> numbers(n);
  std::iota(numbers.begin(), numbers.end(), T{0});
  return numbers;
}

ModelConfig heads(std::int64_t n_heads, std::int64_t n_kv_heads, std::int64_t head_dim) {
  ModelConfig config;
  config.n_heads = n_heads;
  config.n_kv_heads = n_kv_heads;
  config.head_dim = head_dim;
  return config;
}

}  // namespace

class TensorLayoutTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { backend_ = kernels::make_cpu_backend({.n_threads = 2}); }

  void matrices_out_of_codes_are_not_turned() {
    QVERIFY(layout_of(StoredForm::outputs_first, TensorLayout::transposed) == TensorLayout::plain);
    QVERIFY(layout_of(StoredForm::outputs_first, TensorLayout::kv_groups) == TensorLayout::kv_groups);
    QVERIFY(layout_of(StoredForm::usual, TensorLayout::transposed) == TensorLayout::transposed);
    QVERIFY(layout_of(StoredForm::outputs_first, TensorLayout::transposed_pairs) == TensorLayout::row_pairs);
  }

  void plain_tensors_are_not_copied() {
    auto numbers = counted<float>(6);
    const TensorView source(numbers.data(), Dtype::f32, {2, 3});
    QCOMPARE(to_plain(*backend_, TensorLayout::plain, {}, source, memory_).data, source.data);
    QVERIFY(memory_.empty());
  }

  void transposed_ones_turn_in_any_type() {
    auto wide = counted<std::uint32_t>(70 * 45);
    const TensorView f32(wide.data(), Dtype::f32, {70, 45});
    const TensorView turned = to_plain(*backend_, TensorLayout::transposed, {}, f32, memory_);
    QCOMPARE(turned.dim(0), 45);
    QCOMPARE(turned.dim(1), 70);
    for (std::int64_t r = 0; r < 70; ++r) {
      for (std::int64_t c = 0; c < 45; ++c) {
        QCOMPARE(turned.as<std::uint32_t>()[c * 70 + r], static_cast<std::uint32_t>(r * 45 + c));
      }
    }
    auto narrow = counted<std::uint16_t>(6);
    const TensorView bf16(narrow.data(), Dtype::bf16, {2, 3});
    const TensorView small = to_plain(*backend_, TensorLayout::transposed, {}, bf16, memory_);
    QCOMPARE(std::vector<std::uint16_t>(small.as<std::uint16_t>(), small.as<std::uint16_t>() + 6),
             (std::vector<std::uint16_t>{0, 3, 1, 4, 2, 5}));
    QCOMPARE(stored_shape(TensorLayout::transposed, {3, 2}), (std::vector<std::int64_t>{2, 3}));
  }

  /// Two key heads with three heads of V each: 0 1 2 of the first, 3 4 5 of the second.
  void heads_of_v_change_their_order() {
    ModelConfig config;
    config.delta_net = {.n_key_heads = 2, .n_heads = 6, .key_dim = 1, .value_dim = 1, .conv_kernel = 2};
    const std::vector<float> tiled = {0, 3, 1, 4, 2, 5};
    auto heads_of_v = counted<float>(6);
    const auto moved = [&](TensorLayout layout, const TensorView& source, bool to_files) {
      const TensorView out = to_files ? to_stored(*backend_, layout, config, source, memory_)
                                      : to_plain(*backend_, layout, config, source, memory_);
      return std::vector<float>(out.as<float>(), out.as<float>() + out.n_elements());
    };
    const TensorView rows(heads_of_v.data(), Dtype::f32, {6}), columns(heads_of_v.data(), Dtype::f32, {1, 6});
    QCOMPARE(moved(TensorLayout::value_heads, rows, true), tiled);
    QCOMPARE(moved(TensorLayout::value_head_columns, columns, true), tiled);
    auto in_files = tiled;
    QCOMPARE(moved(TensorLayout::value_heads, {in_files.data(), Dtype::f32, {6}}, false), heads_of_v);
    QCOMPARE(moved(TensorLayout::value_head_columns, {in_files.data(), Dtype::f32, {1, 6}}, false), heads_of_v);
    auto with_keys = counted<float>(10);  // two rows of Q, two of K
    QCOMPARE(moved(TensorLayout::value_heads_last, {with_keys.data(), Dtype::f32, {10, 1}}, true),
             (std::vector<float>{0, 1, 2, 3, 4, 7, 5, 8, 6, 9}));
    // A model that computes with tiled heads has them in the other order in folders.
    config.delta_net.is_tiled = true;
    QCOMPARE(moved(TensorLayout::value_heads, {in_files.data(), Dtype::f32, {6}}, true), heads_of_v);
    config.delta_net.is_tiled = false;
    const auto rates = moved(TensorLayout::value_head_rates, rows, true);
    for (std::size_t i = 0; i < rates.size(); ++i) QCOMPARE(rates[i], static_cast<float>(-std::exp(double{tiled[i]})));
  }

  /// Two KV heads of one number each, two query heads a KV head: rows q q k v, q q k v.
  void groups_become_q_k_v() {
    auto rows = counted<float>(8);
    const ModelConfig config = heads(4, 2, 1);
    const TensorView plain =
        to_plain(*backend_, TensorLayout::kv_groups, config, {rows.data(), Dtype::f32, {8, 1}}, memory_);
    QCOMPARE(std::vector<float>(plain.as<float>(), plain.as<float>() + 8), (std::vector<float>{0, 1, 4, 5, 2, 6, 3, 7}));
    const TensorView bias = to_plain(*backend_, TensorLayout::kv_groups, config, {rows.data(), Dtype::f32, {8}}, memory_);
    QCOMPARE(bias.rank, 1);
    QCOMPARE(bias.as<float>()[2], 4.0F);
  }

  /// Rows gate, up, gate, up: of gpt-oss as codes, and as biases.
  void rows_in_turns_become_gate_then_up() {
    auto rows = counted<float>(12);
    const TensorView plain = to_plain(*backend_, TensorLayout::row_pairs, {}, {rows.data(), Dtype::f32, {6, 2}}, memory_);
    QCOMPARE(std::vector<float>(plain.as<float>(), plain.as<float>() + 12),
             (std::vector<float>{0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11}));
    const TensorView bias = to_plain(*backend_, TensorLayout::row_pairs, {}, {rows.data(), Dtype::f32, {4}}, memory_);
    QCOMPARE(std::vector<float>(bias.as<float>(), bias.as<float>() + 4), (std::vector<float>{0, 2, 1, 3}));
  }

  void columns_in_turns_become_rows_of_gate_then_up() {
    auto numbers = counted<float>(12);  // 3 inputs; gate 0, up 0, gate 1, up 1
    const TensorView plain =
        to_plain(*backend_, TensorLayout::transposed_pairs, {}, {numbers.data(), Dtype::f32, {3, 4}}, memory_);
    QCOMPARE(plain.dim(0), 4);
    QCOMPARE(std::vector<float>(plain.as<float>(), plain.as<float>() + 12),
             (std::vector<float>{0, 4, 8, 2, 6, 10, 1, 5, 9, 3, 7, 11}));
    QCOMPARE(stored_shape(TensorLayout::transposed_pairs, {4, 3}), (std::vector<std::int64_t>{3, 4}));
    QCOMPARE(stored_shape(TensorLayout::row_pairs, {4, 3}), (std::vector<std::int64_t>{4, 3}));
  }

  void there_and_back_changes_nothing() {
    auto rows = counted<std::uint16_t>(static_cast<std::size_t>((6 + 2 * 3) * 4 * 6));
    const ModelConfig config = heads(6, 3, 4);
    const TensorView source(rows.data(), Dtype::f16, {(6 + 2 * 3) * 4, 6});
    std::vector<std::byte> back;
    for (const TensorLayout layout :
         {TensorLayout::transposed, TensorLayout::kv_groups, TensorLayout::row_pairs, TensorLayout::transposed_pairs}) {
      const TensorView plain = to_plain(*backend_, layout, config, source, memory_);
      const TensorView stored = to_stored(*backend_, layout, config, plain, back);
      QCOMPARE(stored.dim(0), source.dim(0));
      QCOMPARE(std::vector<std::uint16_t>(stored.as<std::uint16_t>(), stored.as<std::uint16_t>() + rows.size()), rows);
    }
  }

 private:
  std::unique_ptr<kernels::Backend> backend_;
  std::vector<std::byte> memory_;
};

LATHE_TEST(TensorLayoutTest)

}  // namespace tensor_layout_test
#include "tensor_layout_test.moc"
