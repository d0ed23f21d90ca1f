// SPDX-License-Identifier: Apache-2.0
// Small cases worked by hand, on the reference and on every instruction set: what the reference itself is checked against.
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/kernels/backends.h"
#include "tests/support/test_class.h"

namespace worked_examples_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

using Row = std::vector<float>;

/// A matrix of these rows.
class Rows {
 public:
  Rows(std::initializer_list<Row> rows) : n_columns_(static_cast<std::int64_t>(rows.begin()->size())) {
    for (const Row& row : rows) values_.insert(values_.end(), row.begin(), row.end());
  }
  Rows(std::int64_t n_rows, std::int64_t n_columns)
      : values_(static_cast<std::size_t>(n_rows * n_columns)), n_columns_(n_columns) {}
  TensorView view() {
    return {values_.data(), Dtype::f32, {static_cast<std::int64_t>(values_.size()) / n_columns_, n_columns_}};
  }
  float at(std::int64_t row, std::int64_t column) const {
    return values_[static_cast<std::size_t>(row * n_columns_ + column)];
  }

 private:
  std::vector<float> values_;
  std::int64_t n_columns_;
};

void add_backend_rows() {
  add_isa_rows();
  QTest::newRow("reference") << QString();
}

std::unique_ptr<Backend> backend_here() {
  return QString::fromUtf8(QTest::currentDataTag()) == "reference" ? make_reference_backend() : backend_of_row();
}

bool near(float got, double want) { return std::abs(got - want) <= 2e-6 * std::max(1.0, std::abs(want)); }

/// A cache of `n_tokens` tokens in blocks of 2, block i in place i, whose K and V are the rows given.
class Cache {
 public:
  Cache(Backend& backend, int n_kv_heads, int head_dim, Rows& k, Rows& v) {
    const auto n_tokens = static_cast<std::int32_t>(k.view().dim(0));
    const int n_blocks = (n_tokens + 1) / 2;
    layer_.shape = {.n_layers = 1,
                    .n_kv_heads = n_kv_heads,
                    .head_dim = head_dim,
                    .block_size = 2,
                    .n_blocks = n_blocks,
                    .dtype = Dtype::f32};
    memory_ = backend.allocate(backend.kv_layer_bytes(layer_.shape));
    layer_.data = memory_.data();
    std::vector<std::int32_t> places(static_cast<std::size_t>(n_tokens));
    std::iota(places.begin(), places.end(), 0);
    backend.kv_write(layer_, k.view(), v.view(), places);
    tables_.resize(static_cast<std::size_t>(n_blocks));
    std::iota(tables_.begin(), tables_.end(), 0);
  }
  const KvLayer& layer() const { return layer_; }
  /// The last n_rows tokens of a context of n_tokens.
  AttentionBatch batch(std::int32_t n_rows, std::int32_t n_tokens) {
    query_start_ = {0, n_rows};
    context_len_ = {n_tokens};
    return {.n_seqs = 1,
            .query_start = query_start_,
            .context_len = context_len_,
            .block_tables = tables_,
            .max_blocks = static_cast<int>(tables_.size())};
  }

 private:
  Buffer memory_;
  KvLayer layer_;
  std::vector<std::int32_t> tables_, query_start_, context_len_;
};

}  // namespace

class WorkedExamplesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void rms_norm_of_3_and_4_data() { add_backend_rows(); }
  void rms_norm_of_3_and_4() {
    Rows x{{3, 4}}, weight{{1, 2}}, out(1, 2);  // mean of squares 12.5
    backend_here()->norm(out.view(), x.view(), {.weight = weight.view().rows(0, 1), .eps = 0});
    QVERIFY(near(out.at(0, 0), 3 / std::sqrt(12.5)));
    QVERIFY(near(out.at(0, 1), 8 / std::sqrt(12.5)));
  }

  void eps_keeps_a_row_of_zeros_finite_data() { add_backend_rows(); }
  void eps_keeps_a_row_of_zeros_finite() {
    Rows x{{0, 0, 0}}, weight{{1, 1, 1}}, out(1, 3);
    backend_here()->norm(out.view(), x.view(), {.weight = weight.view(), .eps = 1e-5F});
    for (int i = 0; i < 3; ++i) QCOMPARE(out.at(0, i), 0.0F);
  }

  void add_rms_norm_changes_the_stream_data() { add_backend_rows(); }
  void add_rms_norm_changes_the_stream() {
    Rows x{{1, 1}}, delta{{2, 3}}, weight{{1, 1}}, out(1, 2);
    backend_here()->add_norm(out.view(), x.view(), delta.view(), {.weight = weight.view(), .eps = 0});
    QCOMPARE(x.at(0, 0), 3.0F);
    QCOMPARE(x.at(0, 1), 4.0F);
    QVERIFY(near(out.at(0, 1), 4 / std::sqrt(12.5)));
  }

  void linear_is_x_times_the_transposed_weights_data() { add_backend_rows(); }
  void linear_is_x_times_the_transposed_weights() {
    const auto backend = backend_here();
    Rows x{{1, 2, 3}, {-1, 0, 1}}, weights{{1, 0, 0}, {0, 10, 100}}, bias{{0.5F, -0.5F}}, out(2, 2);
    backend->linear(out.view(), x.view(), *packed(*backend, WeightFormat::f32, weights.view()), bias.view());
    QCOMPARE(out.at(0, 0), 1.5F);
    QCOMPARE(out.at(0, 1), 319.5F);
    QCOMPARE(out.at(1, 0), -0.5F);
    QCOMPARE(out.at(1, 1), 99.5F);
  }

  void rope_by_a_quarter_turn_data() { add_backend_rows(); }
  void rope_by_a_quarter_turn() {
    // Position 0 stands still; position 1 turns (a, b) into (-b, a).
    Rows cos{{1, 1}, {0, 0}}, sin{{0, 0}, {1, 1}};
    Rows halves{{1, 2, 3, 4}, {1, 2, 3, 4}}, pairs{{1, 2, 3, 4}, {1, 2, 3, 4}};
    const std::vector<std::int32_t> positions{0, 1};
    const auto backend = backend_here();
    backend->rope(halves.view(), 1, 4, positions, {cos.view(), sin.view(), RopeStyle::half});
    backend->rope(pairs.view(), 1, 4, positions, {cos.view(), sin.view(), RopeStyle::interleaved});
    const float turned_halves[] = {-3, -4, 1, 2}, turned_pairs[] = {-2, 1, -4, 3};
    for (int i = 0; i < 4; ++i) {
      QCOMPARE(halves.at(0, i), static_cast<float>(i + 1));
      QCOMPARE(halves.at(1, i), turned_halves[i]);
      QCOMPARE(pairs.at(1, i), turned_pairs[i]);
    }
  }

  void rope_leaves_what_is_beyond_rotary_dim_data() { add_backend_rows(); }
  void rope_leaves_what_is_beyond_rotary_dim() {
    Rows cos{{0}}, sin{{1}}, x{{1, 2, 3, 4, 5, 6, 7, 8}};  // two heads of 4, of which 2 turn
    const std::vector<std::int32_t> positions{0};
    backend_here()->rope(x.view(), 2, 4, positions, {cos.view(), sin.view(), RopeStyle::half});
    const float want[] = {-2, 1, 3, 4, -6, 5, 7, 8};
    for (int i = 0; i < 8; ++i) QCOMPARE(x.at(0, i), want[i]);
  }

  void silu_over_its_whole_range_data() { add_backend_rows(); }
  void silu_over_its_whole_range() {
    const auto backend = backend_here();
    Rows one{{1}}, three{{3}}, out(1, 1);
    const auto identity = packed(*backend, WeightFormat::f32, one.view());
    const auto thrice = packed(*backend, WeightFormat::f32, three.view());
    for (double gate = -120; gate <= 120; gate += 0.37) {
      Rows x{{static_cast<float>(gate)}};
      backend->mlp(out.view(), {.x = x.view()}, {.gate = identity.get(), .up = *thrice, .down = *identity});
      const double exact = static_cast<float>(gate);
      QVERIFY2(near(out.at(0, 0), 3 * exact * exact / (1 + std::exp(-exact))), qPrintable(QString::number(gate)));
    }
  }

  void rows_are_gathered_in_the_order_asked_data() { add_backend_rows(); }
  void rows_are_gathered_in_the_order_asked() {
    Rows x{{1, 1}, {2, 2}, {3, 3}}, out(3, 2);
    const std::vector<std::int32_t> rows{2, 0, 2};
    backend_here()->gather_rows(out.view(), x.view(), rows);
    QCOMPARE(out.at(0, 0), 3.0F);
    QCOMPARE(out.at(1, 1), 1.0F);
    QCOMPARE(out.at(2, 1), 3.0F);
  }

  void ids_choose_rows_of_the_embedding_data() { add_backend_rows(); }
  void ids_choose_rows_of_the_embedding() {
    std::vector<std::uint16_t> table{0x3f80, 0x4000, 0x4040, 0x4080};  // bf16 1 2 | 3 4
    Rows out(2, 2);
    const std::vector<std::int32_t> ids{1, 0};
    backend_here()->embed(out.view(), TensorView(table.data(), Dtype::bf16, {2, 2}), ids);
    QCOMPARE(out.at(0, 0), 3.0F);
    QCOMPARE(out.at(1, 1), 2.0F);
  }

  void attention_to_one_token_is_its_value_data() { add_backend_rows(); }
  void attention_to_one_token_is_its_value() {
    const auto backend = backend_here();
    Rows k{{5, -5}}, v{{7, 9}}, q{{100, 3}}, out(1, 2);
    Cache cache(*backend, 1, 2, k, v);
    backend->attention(out.view(), q.view(), 1, cache.layer(), cache.batch(1, 1), {.scale = 1});
    QVERIFY(near(out.at(0, 0), 7));
    QVERIFY(near(out.at(0, 1), 9));
  }

  void equal_scores_average_the_values_data() { add_backend_rows(); }
  void equal_scores_average_the_values() {
    const auto backend = backend_here();
    Rows k{{1, 0}, {1, 0}, {1, 0}}, v{{3, 0}, {6, 3}, {9, 6}}, q{{2, 5}}, out(1, 2);
    Cache cache(*backend, 1, 2, k, v);
    backend->attention(out.view(), q.view(), 1, cache.layer(), cache.batch(1, 3), {.scale = 1});
    QVERIFY(near(out.at(0, 0), 6));
    QVERIFY(near(out.at(0, 1), 3));
  }

  void a_row_sees_nothing_after_itself_data() { add_backend_rows(); }
  void a_row_sees_nothing_after_itself() {
    const auto backend = backend_here();
    Rows k{{0, 0}, {0, 0}, {0, 0}}, v{{2, 0}, {4, 0}, {1000, 0}}, q{{1, 1}, {1, 1}, {1, 1}}, out(3, 2);
    Cache cache(*backend, 1, 2, k, v);
    backend->attention(out.view(), q.view(), 1, cache.layer(), cache.batch(3, 3), {.scale = 1});
    QVERIFY(near(out.at(0, 0), 2));
    QVERIFY(near(out.at(1, 0), 3));
    QVERIFY(near(out.at(2, 0), 1006.0 / 3));
  }

  void softmax_weighs_by_the_scores_data() { add_backend_rows(); }
  void softmax_weighs_by_the_scores() {
    const auto backend = backend_here();
    Rows k{{0, 0}, {1, 0}}, v{{0, 0}, {1, 0}}, q{{2, 0}}, out(1, 2);
    Cache cache(*backend, 1, 2, k, v);
    backend->attention(out.view(), q.view(), 1, cache.layer(), cache.batch(1, 2), {.scale = 0.5F});
    QVERIFY(near(out.at(0, 0), 1 / (1 + std::exp(-1.0))));
  }

  void huge_scores_do_not_overflow_data() { add_backend_rows(); }
  void huge_scores_do_not_overflow() {
    const auto backend = backend_here();
    Rows k{{1000, 0}, {-1000, 0}}, v{{1, 2}, {3, 4}}, q{{1000, 0}}, out(1, 2);
    Cache cache(*backend, 1, 2, k, v);
    backend->attention(out.view(), q.view(), 1, cache.layer(), cache.batch(1, 2), {.scale = 1});
    QVERIFY(near(out.at(0, 0), 1));
    QVERIFY(near(out.at(0, 1), 2));
  }

  void heads_of_a_group_share_their_keys_data() { add_backend_rows(); }
  void heads_of_a_group_share_their_keys() {
    const auto backend = backend_here();
    Rows k{{0, 0, 0, 0}}, v{{1, 2, 3, 4}}, q(1, 8), out(1, 8);  // 4 heads over 2 KV heads
    Cache cache(*backend, 2, 2, k, v);
    backend->attention(out.view(), q.view(), 4, cache.layer(), cache.batch(1, 1), {.scale = 1});
    const float want[] = {1, 2, 1, 2, 3, 4, 3, 4};
    for (int i = 0; i < 8; ++i) QVERIFY(near(out.at(0, i), want[i]));
  }
};

LATHE_TEST(WorkedExamplesTest)

}  // namespace worked_examples_test
#include "worked_examples_test.moc"
