// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/kernels/attention_sequence.h"
#include "tests/support/test_class.h"

namespace attention_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

double error_of(Backend& backend, const HeadShape& heads, int n_tokens, int block_size, Dtype dtype) {
  const auto reference = make_reference_backend();
  const RandomTensor want = Sequence(*reference, heads, n_tokens, block_size, dtype).attend_all(n_tokens);
  const RandomTensor got = Sequence(backend, heads, n_tokens, block_size, dtype).attend_all(n_tokens);
  return relative_error(got.view(), want.view());
}

constexpr double kTolerance = 1e-5;

}  // namespace

class AttentionTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void any_kv_type_equals_the_reference_data() { add_isa_rows(); }
  void any_kv_type_equals_the_reference() {
    const auto backend = backend_of_row();
    for (const Dtype dtype : kKvDtypes) {
      QVERIFY(error_of(*backend, kTiny, 100, 16, dtype) <= kTolerance);
      QVERIFY(error_of(*backend, kGrouped, 100, 16, dtype) <= kTolerance);
    }
  }

  void scales_lie_behind_blocks_of_any_size_data() { add_isa_rows(); }
  void scales_lie_behind_blocks_of_any_size() {
    const auto backend = backend_of_row();
    for (const int block_size : {1, 3, 31, 64}) {
      QVERIFY2(error_of(*backend, kTiny, 70, block_size, Dtype::i8) <= kTolerance, qPrintable(QString::number(block_size)));
    }
  }

  void fewer_bits_stay_near_f32_data() { add_isa_rows(); }
  void fewer_bits_stay_near_f32();

  void what_is_no_number_shows_data() { add_isa_rows(); }
  void what_is_no_number_shows();

  void any_block_size_equals_the_reference_data() { add_isa_rows(); }
  void any_block_size_equals_the_reference() {
    const auto backend = backend_of_row();
    for (const int block_size : {1, 2, 3, 5, 8, 13, 16, 24, 31, 32, 48, 64, 100, 256}) {
      QVERIFY2(error_of(*backend, kTiny, 150, block_size, Dtype::bf16) <= kTolerance,
               qPrintable(QString::number(block_size)));
    }
  }

  void any_head_dim_equals_the_reference_data() { add_isa_rows(); }
  void any_head_dim_equals_the_reference() {
    const auto backend = backend_of_row();
    for (const int head_dim : {8, 16, 24, 40, 48, 72, 80, 96, 112, 128, 256}) {
      const HeadShape heads{.n_heads = 4, .n_kv_heads = 2, .head_dim = head_dim};
      QVERIFY2(error_of(*backend, heads, 70, 16, Dtype::f16) <= kTolerance, qPrintable(QString::number(head_dim)));
    }
  }

  void any_group_equals_the_reference_data() { add_isa_rows(); }
  void any_group_equals_the_reference() {
    const auto backend = backend_of_row();
    for (const int group : {1, 2, 3, 5, 8, 13, 32, 100}) {
      const HeadShape heads{.n_heads = 2 * group, .n_kv_heads = 2, .head_dim = 16};
      QVERIFY2(error_of(*backend, heads, 40, 16, Dtype::f32) <= kTolerance, qPrintable(QString::number(group)));
    }
  }

  void any_length_equals_the_reference_data() { add_isa_rows(); }
  void any_length_equals_the_reference() {
    const auto backend = backend_of_row();
    for (const int n_tokens : {1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 200}) {
      QVERIFY2(error_of(*backend, kTiny, n_tokens, 16, Dtype::f32) <= kTolerance, qPrintable(QString::number(n_tokens)));
    }
  }

  void chunks_of_a_prompt_give_bitwise_the_same_rows_data() { add_isa_rows(); }
  void chunks_of_a_prompt_give_bitwise_the_same_rows() {
    const auto backend = backend_of_row();
    for (const HeadShape& heads : {kTiny, kGrouped}) {
      for (const Dtype dtype : {Dtype::bf16, Dtype::i8}) {
        const Sequence sequence(*backend, heads, 150, 16, dtype);
        const RandomTensor whole = sequence.attend_all(150);
        for (const int chunk : {1, 2, 7, 16, 61, 64, 100}) {
          QVERIFY2(same_bits(sequence.attend_all(chunk).view(), whole.view()), qPrintable(QString::number(chunk)));
        }
      }
    }
  }

  void few_rows_give_the_bits_of_many_data() { add_isa_rows(); }
  void few_rows_give_the_bits_of_many();

  void long_contexts_equal_the_reference_data() { add_isa_rows(); }
  void long_contexts_equal_the_reference();

  void parts_of_a_context_may_be_shared_by_threads_data() { add_isa_rows(); }
  void parts_of_a_context_may_be_shared_by_threads();

  void more_parts_than_there_is_memory_for_give_the_same_bits_data() { add_isa_rows(); }
  void more_parts_than_there_is_memory_for_give_the_same_bits();

  void long_contexts_do_not_notice_their_company_data() { add_isa_rows(); }
  void long_contexts_do_not_notice_their_company();

  void threads_do_not_change_a_bit_data() { add_isa_rows(); }
  void threads_do_not_change_a_bit() {
    const auto one = backend_of_row(1);
    const auto four = backend_of_row(4);
    const RandomTensor want = Sequence(*one, kGrouped, 90, 16, Dtype::f16).attend_all(90);
    const RandomTensor got = Sequence(*four, kGrouped, 90, 16, Dtype::f16).attend_all(90);
    QVERIFY(same_bits(got.view(), want.view()));
  }

  void block_size_does_not_change_a_bit_data() { add_isa_rows(); }
  void block_size_does_not_change_a_bit() {
    const auto backend = backend_of_row();
    for (const Dtype dtype : {Dtype::bf16, Dtype::i8, Dtype::f8_e4m3}) {
      const RandomTensor want = Sequence(*backend, kTiny, 140, 16, dtype).attend_all(140);
      for (const int block_size : {1, 7, 32, 256}) {
        QVERIFY(same_bits(Sequence(*backend, kTiny, 140, block_size, dtype).attend_all(140).view(), want.view()));
      }
    }
  }

  void company_in_the_batch_does_not_change_a_bit_data() { add_isa_rows(); }
  void company_in_the_batch_does_not_change_a_bit();

  void one_token_attends_to_itself_alone_data() { add_isa_rows(); }
  void one_token_attends_to_itself_alone() {
    const auto backend = backend_of_row();
    const Sequence sequence(*backend, kTiny, 1, 16, Dtype::f32);
    const RandomTensor out = sequence.attend_all(1);
    for (int head = 0; head < kTiny.n_heads; ++head) {
      for (int d = 0; d < kTiny.head_dim; ++d) {
        QCOMPARE(out.view().as<float>()[head * kTiny.head_dim + d],
                 sequence.v().view().as<float>()[head / 2 * kTiny.head_dim + d]);
      }
    }
  }

  void huge_scores_do_not_overflow_data() { add_isa_rows(); }
  void huge_scores_do_not_overflow() {
    const auto backend = backend_of_row();
    Sequence sequence(*backend, kTiny, 80, 16, Dtype::f32);
    for (std::int64_t i = 0; i < sequence.q().view().n_elements(); ++i) sequence.q().view().as<float>()[i] *= 1e6F;
    const RandomTensor out = sequence.attend_all(80);
    for (std::int64_t i = 0; i < out.view().n_elements(); ++i) {
      QVERIFY(std::isfinite(out.view().as<float>()[i]));
      QVERIFY(std::abs(out.view().as<float>()[i]) <= 1.0001F);  // a mean of values below 1
    }
  }

  void equal_scores_give_the_mean_of_the_values_data() { add_isa_rows(); }
  void equal_scores_give_the_mean_of_the_values() {
    const auto backend = backend_of_row();
    Sequence sequence(*backend, kTiny, 130, 16, Dtype::f32);
    std::memset(sequence.q().view().data, 0, sequence.q().view().n_bytes());
    const RandomTensor out = sequence.attend_all(130);
    for (const int row : {0, 64, 129}) {
      double mean = 0;
      for (int t = 0; t <= row; ++t) mean += sequence.v().view().row<float>(t)[3];
      QVERIFY(std::abs(out.view().row<float>(row)[3] - mean / (row + 1)) < 1e-6);
    }
  }

  void later_writes_to_a_slot_replace_it_data() { add_isa_rows(); }
  void later_writes_to_a_slot_replace_it();

  void layer_bytes_hold_k_and_v_data() { add_isa_rows(); }
  void layer_bytes_hold_k_and_v() {
    const auto backend = backend_of_row();
    const KvShape shape{
        .n_layers = 3, .n_kv_heads = 2, .head_dim = 64, .block_size = 16, .n_blocks = 10, .dtype = Dtype::bf16};
    QCOMPARE(backend->kv_layer_bytes(shape), std::size_t{2 * 2 * 64 * 16 * 10 * 2});
    KvShape bytes = shape;
    bytes.dtype = Dtype::f8_e4m3;
    QCOMPARE(backend->kv_layer_bytes(bytes), std::size_t{2 * 2 * 64 * 16 * 10});
    bytes.dtype = Dtype::i8;  // with a scale for each head
    QCOMPARE(backend->kv_layer_bytes(bytes), std::size_t{2 * 2 * (64 + 4) * 16 * 10});
  }
};

void AttentionTest::fewer_bits_stay_near_f32() {
  const auto backend = backend_of_row();
  const RandomTensor want = Sequence(*backend, kGrouped, 100, 16, Dtype::f32).attend_all(100);
  const auto error = [&](Dtype dtype) {
    return relative_error(Sequence(*backend, kGrouped, 100, 16, dtype).attend_all(100).view(), want.view());
  };
  // K and V lose up to half a step each: 2^-9 of the largest of a head, 2^-4 or 2^-3 of each number.
  QVERIFY2(error(Dtype::i8) < 1e-2, qPrintable(QString::number(error(Dtype::i8))));
  QVERIFY2(error(Dtype::f8_e4m3) < 6e-2, qPrintable(QString::number(error(Dtype::f8_e4m3))));
  QVERIFY2(error(Dtype::f8_e5m2) < 12e-2, qPrintable(QString::number(error(Dtype::f8_e5m2))));
  QVERIFY(error(Dtype::i8) < error(Dtype::f8_e4m3) && error(Dtype::f8_e4m3) < error(Dtype::f8_e5m2));
}

void AttentionTest::what_is_no_number_shows() {
  const auto backend = backend_of_row();
  for (const Dtype dtype : kKvDtypes) {
    for (const bool is_k : {true, false}) {
      const Sequence sequence(*backend, kTiny, 20, 16, dtype);
      RandomNumbers numbers(9);
      const RandomTensor k(Dtype::f32, {1, 32}, numbers);
      const RandomTensor v(Dtype::f32, {1, 32}, numbers);
      (is_k ? k : v).view().as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
      const std::int32_t slot[] = {sequence.table()[1] * 16 + 3};
      backend->kv_write(sequence.layer(), k.view(), v.view(), slot);
      QVERIFY(std::isnan(sequence.attend_all(1).view().row<float>(19)[0]));
    }
  }
}

/// Few rows read K and V from the blocks, many from copies: with any number of query heads, and of numbers in a head.
void AttentionTest::few_rows_give_the_bits_of_many() {
  const auto backend = backend_of_row();
  for (const Dtype dtype : kKvDtypes) {
    for (const int group : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17}) {
      const HeadShape heads{.n_heads = 2 * group, .n_kv_heads = 2, .head_dim = group % 2 == 0 ? 80 : 32};
      const int block_size = group % 3 == 0 ? 48 : 16;
      const Sequence sequence(*backend, heads, 83, block_size, dtype);
      const RandomTensor many = sequence.attend_all(83);
      for (const int end : {1, 15, 16, 17, 64, 65, 81, 83}) {
        const RandomTensor one({1, many.view().dim(1)});
        sequence.attend(one.view(), end - 1, end);
        QVERIFY2(same_bits(one.view(), many.view().rows(end - 1, 1)), qPrintable(QString("%1 of %2").arg(end).arg(group)));
      }
    }
  }
}

void AttentionTest::long_contexts_equal_the_reference() {
  const auto backend = backend_of_row(3);
  const auto reference = make_reference_backend();
  constexpr int kTokens = 1100;
  for (const Dtype dtype : kKvDtypes) {
    const Sequence known(*reference, kTiny, kTokens, 16, dtype);
    const Sequence sequence(*backend, kTiny, kTokens, 16, dtype);
    for (const int end : {511, 512, 513, 1024, 1025, 1100}) {
      for (const int n_rows : {1, 5}) {
        const RandomTensor want({n_rows, 64}), got({n_rows, 64});
        known.attend(want.view(), end - n_rows, end);
        sequence.attend(got.view(), end - n_rows, end);
        QVERIFY2(relative_error(got.view(), want.view()) <= kTolerance, qPrintable(QString::number(end)));
      }
    }
  }
}

void AttentionTest::parts_of_a_context_may_be_shared_by_threads() {
  for (const Dtype dtype : kKvDtypes) {
    const auto one = backend_of_row(1);
    const Sequence alone(*one, kSingle, 1700, 32, dtype);
    const RandomTensor want = alone.attend_all(100);
    for (const int n_threads : {2, 3, 5}) {
      const auto several = backend_of_row(n_threads);
      const Sequence shared(*several, kSingle, 1700, 32, dtype);
      QVERIFY2(same_bits(shared.attend_all(340).view(), want.view()), qPrintable(QString::number(n_threads)));
      for (const int end : {512, 513, 1024, 1025, 1536, 1537, 1700}) {
        const RandomTensor row({1, want.view().dim(1)});
        shared.attend(row.view(), end - 1, end);
        QVERIFY2(same_bits(row.view(), want.view().rows(end - 1, 1)), qPrintable(QString::number(end)));
      }
    }
  }
}

/// 48 rows at a time leave partial results of them all, many times those of the one row that memory is for.
void AttentionTest::more_parts_than_there_is_memory_for_give_the_same_bits() {
  constexpr int kTokens = 6000, kRows = 48;
  const auto one = backend_of_row(1);
  const auto two = backend_of_row(2);
  const Sequence alone(*one, kSingle, kTokens, 16, Dtype::bf16);
  const Sequence shared(*two, kSingle, kTokens, 16, Dtype::bf16);
  const RandomTensor want({kRows, 32}), got({kRows, 32});
  alone.attend(want.view(), kTokens - kRows, kTokens);
  shared.attend(got.view(), kTokens - kRows, kTokens);
  QVERIFY(same_bits(got.view(), want.view()));
}

/// One long sequence that writes a token beside a prompt: it is divided among the threads, the prompt is not.
void AttentionTest::long_contexts_do_not_notice_their_company() {
  constexpr int kTokens = 1600, kPrompt = 70;
  const auto one = backend_of_row(1);
  const RandomTensor alone = Sequence(*one, kSingle, kTokens, 16, Dtype::i8).attend_all(kTokens);
  for (const int n_threads : {1, 2, 3, 5}) {
    const auto backend = backend_of_row(n_threads);
    const Sequence sequence(*backend, kSingle, kTokens, 16, Dtype::i8);
    const std::int32_t query_start[] = {0, kPrompt, kPrompt + 1};
    const std::int32_t context_len[] = {kPrompt, kTokens};
    std::vector<std::int32_t> tables = sequence.table();
    tables.insert(tables.end(), sequence.table().begin(), sequence.table().end());
    const AttentionBatch batch{.n_seqs = 2,
                               .query_start = query_start,
                               .context_len = context_len,
                               .block_tables = tables,
                               .max_blocks = static_cast<int>(sequence.table().size())};
    const RandomTensor q({kPrompt + 1, 32}), out({kPrompt + 1, 32});
    std::memcpy(q.view().data, sequence.q().view().data, static_cast<std::size_t>(kPrompt) * 32 * sizeof(float));
    std::memcpy(q.view().row<float>(kPrompt), sequence.q().view().row<float>(kTokens - 1), 32 * sizeof(float));
    backend->attention(out.view(), q.view(), kSingle.n_heads, sequence.layer(), batch, {.scale = 0.25F});
    QVERIFY(same_bits(out.view().rows(0, kPrompt), alone.view().rows(0, kPrompt)));
    QVERIFY(same_bits(out.view().rows(kPrompt, 1), alone.view().rows(kTokens - 1, 1)));
  }
}

void AttentionTest::company_in_the_batch_does_not_change_a_bit() {
  const auto backend = backend_of_row(3);
  const Sequence sequence(*backend, kGrouped, 120, 16, Dtype::bf16);
  const RandomTensor alone = sequence.attend_all(120);
  // The same blocks as three sequences at once: a prompt's first 50 tokens, its row 119, its rows 90 to 99.
  const std::int32_t query_start[] = {0, 50, 51, 61};
  const std::int32_t context_len[] = {50, 120, 100};
  std::vector<std::int32_t> tables;
  for (int i = 0; i < 3; ++i) tables.insert(tables.end(), sequence.table().begin(), sequence.table().end());
  const AttentionBatch batch{.n_seqs = 3,
                             .query_start = query_start,
                             .context_len = context_len,
                             .block_tables = tables,
                             .max_blocks = static_cast<int>(sequence.table().size())};
  const std::int64_t columns = alone.view().dim(1);
  const RandomTensor q({61, columns});
  const auto row_of = [](std::int64_t m) { return m < 50 ? m : m == 50 ? 119 : 90 + m - 51; };
  for (std::int64_t m = 0; m < 61; ++m) {
    std::memcpy(q.view().row<float>(m), sequence.q().view().row<float>(row_of(m)), static_cast<std::size_t>(columns) * 4);
  }
  const RandomTensor out({61, columns});
  backend->attention(out.view(), q.view(), kGrouped.n_heads, sequence.layer(), batch, {.scale = 0.125F});
  for (std::int64_t m = 0; m < 61; ++m) QVERIFY(same_bits(out.view().rows(m, 1), alone.view().rows(row_of(m), 1)));
}

void AttentionTest::later_writes_to_a_slot_replace_it() {
  const auto backend = backend_of_row();
  Sequence first(*backend, kTiny, 20, 16, Dtype::f16, 1);
  const Sequence second(*backend, kTiny, 20, 16, Dtype::f16, 2);
  const RandomTensor want = second.attend_all(20);
  const std::int32_t slot[] = {first.table()[1] * 16 + 3};
  RandomNumbers numbers(9);
  const RandomTensor k(Dtype::f32, {1, 32}, numbers);
  const RandomTensor v(Dtype::f32, {1, 32}, numbers);
  const RandomTensor before = first.attend_all(20);
  backend->kv_write(first.layer(), k.view(), v.view(), slot);
  const RandomTensor after = first.attend_all(20);
  QVERIFY(same_bits(after.view().rows(0, 19), before.view().rows(0, 19)));
  QVERIFY(!same_bits(after.view().rows(19, 1), before.view().rows(19, 1)));
  QVERIFY(same_bits(second.attend_all(20).view(), want.view()));
}

LATHE_TEST(AttentionTest)

}  // namespace attention_test
#include "attention_test.moc"
