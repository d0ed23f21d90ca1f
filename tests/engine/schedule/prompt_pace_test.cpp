// SPDX-License-Identifier: Apache-2.0
#include "engine/schedule/prompt_pace.h"

#include <QTest>
#include <algorithm>
#include <limits>

#include "tests/support/test_class.h"

namespace prompt_pace_test {

using namespace lathe::engine;

namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr int kAny = std::numeric_limits<int>::max();

/// A machine that reads its weights in `base` and then takes `token` for each token.
struct Machine {
  std::int64_t base;
  std::int64_t token;
  std::int64_t time_of(int n_tokens) const { return base + n_tokens * token; }
};

/// Reads a long prompt beside `n_answers`; returns the longest step after the first `n_free`.
std::int64_t longest_step(PromptPace& pace, const Machine& machine, int n_answers, int n_steps, int n_free) {
  std::int64_t longest = 0;
  for (int i = 0; i < n_steps; ++i) {
    const int n_prompt = std::min(pace.max_tokens(), 512);
    const std::int64_t took = machine.time_of(n_prompt + n_answers);
    pace.note_step(n_prompt, n_answers, took);
    if (i >= n_free) longest = std::max(longest, took);
  }
  return longest;
}

}  // namespace

class PromptPaceTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void without_a_target_any_chunk_is_small_enough() {
    PromptPace pace(0);
    pace.note_step(512, 3, 10'000 * kMs);
    QCOMPARE(pace.max_tokens(), kAny);
  }

  void nothing_is_known_at_first() { QCOMPARE(PromptPace(100 * kMs).max_tokens(), kAny); }

  void a_prompt_alone_gives_the_first_guess() {
    PromptPace pace(100 * kMs);
    pace.note_step(512, 0, 1'000 * kMs);
    QCOMPARE(pace.max_tokens(), 51);
    pace.note_step(512, 0, 100 * kMs);  // and only the first
    QCOMPARE(pace.max_tokens(), 51);
  }

  void steps_settle_at_the_target_data() {
    QTest::addColumn<qint64>("base_ms");
    QTest::addColumn<qint64>("token_us");
    QTest::newRow("quick machine") << qint64{5} << qint64{100};
    QTest::newRow("slow machine") << qint64{40} << qint64{3'000};
    QTest::newRow("weights take most of it") << qint64{45} << qint64{500};
  }
  void steps_settle_at_the_target() {
    QFETCH(qint64, base_ms);
    QFETCH(qint64, token_us);
    const Machine machine{.base = base_ms * kMs, .token = token_us * 1'000};
    PromptPace pace(100 * kMs);
    for (int i = 0; i < 20; ++i) pace.note_step(0, 3, machine.time_of(3));
    pace.note_step(512, 0, machine.time_of(512));
    const std::int64_t longest = longest_step(pace, machine, 3, 40, 0);
    QVERIFY2(longest < 150 * kMs, qPrintable(QString::number(longest / kMs)));
    const std::int64_t last = machine.time_of(std::min(pace.max_tokens(), 512) + 3);
    QVERIFY2(last > 85 * kMs || pace.max_tokens() > 512, qPrintable(QString::number(last / kMs)));
    QVERIFY2(last <= 105 * kMs, qPrintable(QString::number(last / kMs)));
  }

  void where_answers_alone_take_longer_prompts_get_half_the_time() {
    const Machine machine{.base = 300 * kMs, .token = 10 * kMs};
    PromptPace pace(100 * kMs);
    for (int i = 0; i < 50; ++i) pace.note_step(0, 1, machine.time_of(1));
    QCOMPARE(pace.goal_ns() / kMs, 620);
    const std::int64_t longest = longest_step(pace, machine, 1, 40, 5);
    QVERIFY2(longest > 550 * kMs && longest < 700 * kMs, qPrintable(QString::number(longest / kMs)));
  }

  void a_wrong_guess_is_mended_at_once() {
    const Machine machine{.base = 10 * kMs, .token = 2 * kMs};
    PromptPace pace(100 * kMs);
    QVERIFY(longest_step(pace, machine, 2, 30, 1) < 130 * kMs);  // the first one read 512
  }

  void the_rest_of_a_prompt_does_not_speak_for_many_tokens() {
    PromptPace pace(100 * kMs);
    pace.note_step(400, 2, 100 * kMs);
    QCOMPARE(pace.max_tokens(), 400);
    pace.note_step(3, 2, 40 * kMs);
    QCOMPARE(pace.max_tokens(), 400);
    pace.note_step(3, 2, 400 * kMs);  // somebody else had the processor
    QCOMPARE(pace.max_tokens(), 200);
  }

  void a_prompt_always_comes_forward() {
    PromptPace pace(1 * kMs);
    for (int i = 0; i < 50; ++i) pace.note_step(pace.max_tokens() == kAny ? 512 : pace.max_tokens(), 2, 60'000 * kMs);
    QCOMPARE(pace.max_tokens(), 16);
    pace.note_step(0, 2, 0);
    pace.note_step(16, 2, 0);
    QVERIFY(pace.max_tokens() >= 16);
  }
};

LATHE_TEST(PromptPaceTest)

}  // namespace prompt_pace_test
#include "prompt_pace_test.moc"
