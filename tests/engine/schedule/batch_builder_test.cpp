// SPDX-License-Identifier: Apache-2.0
// Rows, slots and block tables of a step, its invariants, and that the engine fills a BatchPlan nowhere else.
#include "engine/schedule/batch_builder.h"

#include <QTest>
#include <algorithm>
#include <numeric>
#include <regex>
#include <set>
#include <string>

#include "tests/support/source_tree.h"
#include "tests/support/test_class.h"

namespace batch_builder_test {

using namespace lathe::engine;

namespace {

using Numbers = std::vector<std::int32_t>;

BlockTable table_of(Numbers blocks) {
  BlockTable table;
  table.blocks = std::move(blocks);
  return table;
}

Numbers numbers_from(std::int32_t first, int n) {
  Numbers numbers(static_cast<std::size_t>(n));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

/// Two sequences in blocks of 4: tokens 4 to 8 of one, the first three of another, with logits of their last rows.
BatchPlan plan_of_two() {
  static const BlockTable first = table_of({9, 2, 5}), second = table_of({7});
  static const Numbers ids = {10, 11, 12, 13, 14, 20, 21, 22};
  BatchBuilder builder({.block_size = 4});
  builder.clear();
  builder.add({.table = first, .token_ids = std::span(ids).first(5), .begin = 4, .first_logit = 4, .n_logits = 1});
  builder.add({.table = second, .token_ids = std::span(ids).last(3), .first_logit = 1, .n_logits = 2, .rope_choice = 1});
  return builder.finish();
}

const void* data_of(const BatchPlan& plan, int member) {
  const std::vector<std::int32_t>* members[] = {&plan.token_ids,
                                                &plan.positions,
                                                &plan.slots,
                                                &plan.query_start,
                                                &plan.context_len,
                                                &plan.rope_choices,
                                                &plan.logit_rows,
                                                &plan.block_tables,
                                                &plan.windows.front().slots,
                                                &plan.windows.front().block_tables};
  return members[member]->data();
}
constexpr int kMembers = 10;

}  // namespace

class BatchBuilderTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void one_sequence();
  void several_sequences_share_the_width_of_the_longest();
  void rows_say_whose_state_is_the_answer();
  void a_text_in_parts_has_the_rows_of_the_whole();
  void padding_follows_the_tokens();
  void slots_of_states_go_with_the_tables();
  void snapshots_are_after_rows_of_their_sequence();
  void the_best_token_may_suffice_for_the_last_row();
  void rows_of_padding_alone_may_have_logits();
  void window_groups_have_slots_and_tables_of_their_own();
  void blocks_that_were_given_back_are_redirected();
  void a_step_without_sequences_is_empty();
  void memory_is_reused();
  void a_broken_plan_is_inconsistent();
  void no_other_code_of_the_engine_fills_a_plan();
};

void BatchBuilderTest::one_sequence() {
  const BlockTable blocks = consecutive_blocks(0, 2);
  const Numbers ids = {5, 6, 7, 8, 9};
  BatchBuilder builder({.block_size = 4});
  builder.clear();
  QCOMPARE(builder.add({.table = blocks, .token_ids = ids, .n_logits = 5, .rope_choice = 2}), 0);
  const BatchPlan& plan = builder.finish();
  QCOMPARE(plan.token_ids, ids);
  QCOMPARE(plan.positions, numbers_from(0, 5));
  QCOMPARE(plan.slots, numbers_from(0, 5));
  QCOMPARE(plan.query_start, (Numbers{0, 5}));
  QCOMPARE(plan.context_len, (Numbers{5}));
  QCOMPARE(plan.rope_choices, (Numbers{2}));
  QCOMPARE(plan.block_tables, (Numbers{0, 1}));
  QCOMPARE(plan.max_blocks, 2);
  QCOMPARE(plan.logit_rows, numbers_from(0, 5));
  QVERIFY(plan.windows.empty());
  QVERIFY(&plan == &builder.plan() && is_consistent(plan, 4));
}

void BatchBuilderTest::several_sequences_share_the_width_of_the_longest() {
  const BatchPlan plan = plan_of_two();
  QCOMPARE(plan.token_ids, (Numbers{10, 11, 12, 13, 14, 20, 21, 22}));
  QCOMPARE(plan.positions, (Numbers{4, 5, 6, 7, 8, 0, 1, 2}));
  QCOMPARE(plan.slots, (Numbers{8, 9, 10, 11, 20, 28, 29, 30}));
  QCOMPARE(plan.query_start, (Numbers{0, 5, 8}));
  QCOMPARE(plan.context_len, (Numbers{9, 3}));
  QCOMPARE(plan.rope_choices, (Numbers{0, 1}));
  QCOMPARE(plan.block_tables, (Numbers{9, 2, 5, 7, -1, -1}));
  QCOMPARE(plan.max_blocks, 3);
  QCOMPARE(plan.logit_rows, (Numbers{4, 6, 7}));
  QVERIFY(is_consistent(plan, 4));
}

void BatchBuilderTest::slots_of_states_go_with_the_tables() {
  const BlockTable first = consecutive_blocks(0, 2, 0, 7), second = consecutive_blocks(2, 2, 0, 3), third = second;
  const Numbers ids = {5, 6, 7};
  BatchBuilder builder({.block_size = 4});
  builder.clear();
  builder.add({.table = first, .token_ids = ids, .n_padding = 2});
  builder.add({.table = second, .begin = 4, .n_padding = 3});
  builder.add({.table = third, .token_ids = ids});
  const BatchPlan& plan = builder.finish();
  QCOMPARE(plan.state_slots, (Numbers{7, 3, 3}));
  QCOMPARE(plan.n_padding, (Numbers{2, 3, 0}));
  BatchPlan broken = plan;
  broken.n_padding[2] = 4;
  QVERIFY(is_consistent(plan, 4) && !is_consistent(broken, 4));
  broken = plan;
  broken.state_slots.pop_back();
  QVERIFY(!is_consistent(broken, 4));
  builder.clear();
  QVERIFY(builder.plan().state_slots.empty() && builder.plan().n_padding.empty());
}

void BatchBuilderTest::snapshots_are_after_rows_of_their_sequence() {
  BlockTable first = consecutive_blocks(0, 3, 0, 1), second = consecutive_blocks(3, 3, 0, 0);
  second.state_source = 9;
  second.pending.add({.n_tokens = 4, .own = {.slot = 7}});
  second.pending.add({.n_tokens = 8, .own = {.slot = 5}});
  const Numbers ids = numbers_from(10, 7);
  BatchBuilder builder({.block_size = 4});
  builder.clear();
  builder.add({.table = first, .token_ids = ids});
  builder.add({.table = second, .token_ids = ids, .begin = 2});
  const BatchPlan& plan = builder.finish();
  QCOMPARE(plan.state_sources, (Numbers{1, 9}));
  QCOMPARE(plan.snapshots.size(), std::size_t{2});
  QVERIFY((plan.snapshots[0] == lathe::kernels::StateSnapshot{.sequence = 1, .n_rows = 2, .slot = 7}));
  QVERIFY((plan.snapshots[1] == lathe::kernels::StateSnapshot{.sequence = 1, .n_rows = 6, .slot = 5}));
  for (const lathe::kernels::StateSnapshot& wrong :
       std::initializer_list<lathe::kernels::StateSnapshot>{{.sequence = 1, .n_rows = 8},
                                                            {.sequence = 2, .n_rows = 7},
                                                            {.sequence = 0, .n_rows = 7},
                                                            {.sequence = 1, .n_rows = 2}}) {
    BatchPlan broken = plan;
    broken.snapshots[1] = wrong;
    QVERIFY(!is_consistent(broken, 4));
  }
  BatchPlan broken = plan;
  broken.state_sources.pop_back();
  QVERIFY(is_consistent(plan, 4) && !is_consistent(broken, 4));
}

void BatchBuilderTest::rows_say_whose_state_is_the_answer() {
  const BlockTable first = consecutive_blocks(0, 2), second = consecutive_blocks(2, 2), third = consecutive_blocks(4, 2);
  const Numbers ids = {5, 6, 7};
  BatchBuilder builder({.block_size = 4});
  builder.clear();
  builder.add({.table = first, .token_ids = ids, .first_logit = 1, .n_logits = 2, .takes_state = true, .second_begin = 1});
  builder.add({.table = second, .token_ids = ids, .first_logit = 2, .n_logits = 1});
  builder.add({.table = third, .token_ids = ids, .begin = 2, .second_begin = 3});
  const BatchPlan& plan = builder.finish();
  QCOMPARE(plan.takes_state, (std::vector<std::uint8_t>{0, 1, 0}));
  QCOMPARE(plan.token_types, (Numbers{0, 1, 1, 0, 0, 0, 0, 1, 1}));
  BatchPlan broken = plan;
  broken.takes_state.pop_back();
  QVERIFY(is_consistent(plan, 4) && !is_consistent(broken, 4));
  broken = plan;
  broken.token_types.pop_back();
  QVERIFY(!is_consistent(broken, 4));
}

/// As the scorer and the embedder read a text: it has the whole cache.
void BatchBuilderTest::a_text_in_parts_has_the_rows_of_the_whole() {
  const BlockTable blocks = consecutive_blocks(0, 5);
  const Numbers ids = numbers_from(100, 18);
  BatchBuilder builder({.block_size = 4});
  for (const int step : {1, 3, 4, 7, 18}) {
    for (int begin = 0; begin < 18; begin += step) {
      const int n = std::min(step, 18 - begin), end = begin + n;
      builder.clear();
      builder.add({.table = blocks,
                   .token_ids = std::span(ids).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(n)),
                   .begin = begin,
                   .n_logits = n});
      const BatchPlan& plan = builder.finish();
      QCOMPARE(plan.token_ids, numbers_from(100 + begin, n));
      QCOMPARE(plan.positions, numbers_from(begin, n));
      QCOMPARE(plan.slots, numbers_from(begin, n));
      QCOMPARE(plan.query_start, (Numbers{0, n}));
      QCOMPARE(plan.context_len, (Numbers{end}));
      QCOMPARE(plan.block_tables, numbers_from(0, (end + 3) / 4));
      QCOMPARE(plan.logit_rows, numbers_from(0, n));
    }
  }
}

void BatchBuilderTest::padding_follows_the_tokens() {
  const BlockTable blocks = table_of({3, 1});
  const Numbers ids = {5, 6};
  BatchBuilder builder({.block_size = 4});
  builder.clear();
  builder.add({.table = blocks, .token_ids = ids, .begin = 2, .n_padding = 3, .first_logit = 1, .n_logits = 1});
  const BatchPlan& plan = builder.finish();
  QCOMPARE(plan.token_ids, (Numbers{5, 6, 0, 0, 0}));
  QCOMPARE(plan.positions, numbers_from(2, 5));
  QCOMPARE(plan.slots, (Numbers{14, 15, 4, 5, 6}));
  QCOMPARE(plan.context_len, (Numbers{7}));
  QCOMPARE(plan.block_tables, (Numbers{3, 1}));
  QCOMPARE(plan.logit_rows, (Numbers{1}));
}

void BatchBuilderTest::rows_of_padding_alone_may_have_logits() {
  const BlockTable first = table_of({0}), second = table_of({4, 2});
  const Numbers ids = {5};
  BatchBuilder builder({.block_size = 4});
  builder.clear();
  QCOMPARE(builder.add({.table = first, .token_ids = ids, .n_logits = 1}), 0);
  QCOMPARE(builder.add({.table = second, .begin = 3, .n_padding = 2}), 1);
  QCOMPARE(builder.add({.table = first, .begin = 1, .n_padding = 1, .n_logits = 1}), 1);
  const BatchPlan& plan = builder.finish();
  QCOMPARE(plan.token_ids, (Numbers{5, 0, 0, 0}));
  QCOMPARE(plan.positions, (Numbers{0, 3, 4, 1}));
  QCOMPARE(plan.logit_rows, (Numbers{0, 3}));
  QVERIFY(is_consistent(plan, 4));
}

void BatchBuilderTest::window_groups_have_slots_and_tables_of_their_own() {
  BlockTable first = table_of({9, 2, 5}), second = table_of({7});
  first.windows = {table_of({-1, 0, 3}), table_of({8, 6, 4})};
  first.windows.front().n_dropped = 1;
  second.windows = {table_of({1}), table_of({2})};
  const Numbers ids = {10, 11, 12};
  BatchBuilder builder({.block_size = 4, .n_windows = 2});
  builder.clear();
  builder.add({.table = first, .token_ids = std::span(ids).first(2), .begin = 7});
  builder.add({.table = second, .token_ids = std::span(ids).last(1)});
  const BatchPlan& plan = builder.finish();
  QCOMPARE(plan.slots, (Numbers{11, 20, 28}));
  QCOMPARE(plan.block_tables, (Numbers{9, 2, 5, 7, -1, -1}));
  QCOMPARE(plan.windows.size(), 2U);
  QCOMPARE(plan.windows[0].slots, (Numbers{3, 12, 4}));
  QCOMPARE(plan.windows[0].block_tables, (Numbers{0, 0, 3, 1, -1, -1}));  // the block given back is redirected
  QCOMPARE(plan.windows[1].slots, (Numbers{27, 16, 8}));
  QCOMPARE(plan.windows[1].block_tables, (Numbers{8, 6, 4, 2, -1, -1}));
  QVERIFY(is_consistent(plan, 4));
}

void BatchBuilderTest::blocks_that_were_given_back_are_redirected() {
  BlockTable table = table_of({-1, -1, 6, 3});
  table.n_dropped = 2;
  const Numbers ids = {1};
  BatchBuilder builder({.block_size = 2});
  builder.clear();
  builder.add({.table = table, .token_ids = ids, .begin = 7});
  const BatchPlan& plan = builder.finish();
  QCOMPARE(plan.block_tables, (Numbers{6, 6, 6, 3}));
  QCOMPARE(plan.slots, (Numbers{7}));
}

void BatchBuilderTest::the_best_token_may_suffice_for_the_last_row() {
  const BlockTable first = consecutive_blocks(0, 2), second = consecutive_blocks(2, 2), third = consecutive_blocks(4, 2);
  const Numbers ids = {5, 6, 7, 8, 9};
  BatchBuilder builder({.block_size = 4});
  builder.clear();
  builder.add({.table = first, .token_ids = ids, .n_logits = 3, .takes_best = true});
  builder.add({.table = second, .token_ids = ids, .n_logits = 1});
  builder.add({.table = third, .token_ids = ids, .takes_best = true});
  QCOMPARE(builder.finish().takes_best, (std::vector<std::uint8_t>{0, 0, 1, 0}));
  builder.clear();
  QVERIFY(builder.plan().takes_best.empty());
}

void BatchBuilderTest::a_step_without_sequences_is_empty() {
  BatchBuilder builder({.block_size = 4, .n_windows = 1});
  builder.clear();
  const BatchPlan& plan = builder.finish();
  QCOMPARE(plan.n_rows(), 0);
  QCOMPARE(plan.n_seqs(), 0);
  QCOMPARE(plan.query_start, (Numbers{0}));
  QCOMPARE(plan.max_blocks, 0);
  QVERIFY(plan.logit_rows.empty() && plan.block_tables.empty() && plan.windows.front().slots.empty());
  QVERIFY(is_consistent(plan, 4));
  QCOMPARE(BatchBuilder().plan().n_rows(), 0);
}

/// A step of the largest shape, a smaller one, and the largest again: no vector moves, and nothing of a step stays.
void BatchBuilderTest::memory_is_reused() {
  const BlockTable blocks = consecutive_blocks(0, 3, 1), other = consecutive_blocks(3, 3, 1);
  const Numbers ids = numbers_from(1, 12);
  BatchBuilder builder(
      {.block_size = 4, .n_windows = 1, .max_rows = 24, .max_seqs = 2, .max_logit_rows = 24, .max_blocks = 3});
  const void* data[kMembers] = {};
  for (int i = 0; i < kMembers; ++i) data[i] = data_of(builder.plan(), i);
  for (const int n_seqs : {2, 1, 2}) {
    builder.clear();
    builder.add({.table = blocks, .token_ids = ids, .n_logits = 12});
    if (n_seqs == 2) builder.add({.table = other, .token_ids = ids, .n_logits = 12});
    const BatchPlan& plan = builder.finish();
    QCOMPARE(plan.n_rows(), 12 * n_seqs);
    QCOMPARE(plan.block_tables.size(), static_cast<std::size_t>(3 * n_seqs));
    for (int i = 0; i < kMembers; ++i) QVERIFY2(data_of(plan, i) == data[i], qPrintable(QString::number(i)));
  }
}

void BatchBuilderTest::a_broken_plan_is_inconsistent() {
  const BatchPlan good = plan_of_two();
  QVERIFY(is_consistent(good, 4));
  const auto broken = [&](const auto& change) {
    BatchPlan plan = good;
    change(plan);
    return !is_consistent(plan, 4);
  };
  QVERIFY(broken([](BatchPlan& plan) { plan.token_ids.pop_back(); }));
  QVERIFY(broken([](BatchPlan& plan) { plan.positions.pop_back(); }));
  QVERIFY(broken([](BatchPlan& plan) { plan.positions[1] = 6; }));
  QVERIFY(broken([](BatchPlan& plan) { plan.slots[3] = 7; }));
  QVERIFY(broken([](BatchPlan& plan) { plan.slots.pop_back(); }));
  QVERIFY(broken([](BatchPlan& plan) { plan.query_start[1] = 0; }));
  QVERIFY(broken([](BatchPlan& plan) { plan.query_start.back() = 7; }));
  QVERIFY(broken([](BatchPlan& plan) { plan.query_start.clear(); }));
  QVERIFY(broken([](BatchPlan& plan) { plan.context_len[1] = 4; }));
  QVERIFY(broken([](BatchPlan& plan) { plan.rope_choices.clear(); }));
  QVERIFY(broken([](BatchPlan& plan) { plan.block_tables[1] = -1; }));
  QVERIFY(broken([](BatchPlan& plan) { plan.block_tables.back() = 0; }));
  QVERIFY(broken([](BatchPlan& plan) { plan.max_blocks = 2; }));
  QVERIFY(broken([](BatchPlan& plan) { plan.windows.emplace_back(); }));
  QVERIFY(broken([](BatchPlan& plan) { plan.logit_rows = {4, 4}; }));
  QVERIFY(broken([](BatchPlan& plan) { plan.logit_rows = {8}; }));
  QVERIFY(broken([](BatchPlan& plan) { plan.logit_rows = {-1}; }));
  QVERIFY(broken([](BatchPlan& plan) { plan.takes_best.pop_back(); }));
}

/// The scheduler, the warm-up, the scorer, the embedder and calibration have the builder's plans, because nobody else has an
/// object of that type.
void BatchBuilderTest::no_other_code_of_the_engine_fills_a_plan() {
  const std::regex object(R"(\bBatchPlan\s*(\w+\s*)?[;{(=])"), definition(R"(\bstruct BatchPlan\s*[{;])");
  const std::regex builder(R"(\bBatchBuilder\b)");
  std::set<std::string> owners, users;
  for (const lathe::tests::SourceFile& file : lathe::tests::read_sources({"engine"})) {
    if (file.text.find("Batch") == std::string::npos) continue;
    const std::string text = std::regex_replace(lathe::tests::without_comments(file.text), definition, "");
    if (std::regex_search(text, object)) owners.insert(file.path);
    if (std::regex_search(text, builder)) users.insert(file.path);
  }
  QCOMPARE(owners, std::set<std::string>{"engine/schedule/batch_builder.h"});
  for (const char* path : {"engine/schedule/scheduler.cpp", "engine/serve/load_engine.cpp", "engine/eval/scorer.cpp",
                           "engine/embed/embedder.cpp", "engine/run/calibration.cpp"}) {
    QVERIFY2(users.contains(path), path);
  }
}

LATHE_TEST(BatchBuilderTest)

}  // namespace batch_builder_test
#include "batch_builder_test.moc"
