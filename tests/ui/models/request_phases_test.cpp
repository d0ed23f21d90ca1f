// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "tests/support/test_class.h"
#include "ui/models/request_phases.h"

namespace request_phases_test {

using lathe::engine::SchedulerEvent;
using lathe::engine::SchedulerEventKind;
using lathe::ui::life_of;
using lathe::ui::Phase;
using lathe::ui::RequestLife;

namespace {

constexpr std::int64_t kSubmitted = 1'000'000'000;

SchedulerEvent decision(double seconds, SchedulerEventKind kind, std::array<std::int64_t, 4> n = {}) {
  SchedulerEvent event;
  event.time_ns = kSubmitted + static_cast<std::int64_t>(seconds * 1e9);
  event.kind = kind;
  event.n = n;
  return event;
}

}  // namespace

class RequestPhasesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_plain_request_has_three_phases() {
    const RequestLife life =
        life_of({decision(0, SchedulerEventKind::queued), decision(1, SchedulerEventKind::admitted, {100, 36, 64, 0}),
                 decision(2, SchedulerEventKind::prefilled), decision(5, SchedulerEventKind::finished, {30, 1, 0, 0})},
                kSubmitted, 0);
    QCOMPARE(life.spans.size(), std::size_t{3});
    QVERIFY(life.spans[0].phase == Phase::queued && life.spans[1].phase == Phase::prefill &&
            life.spans[2].phase == Phase::decode);
    QCOMPARE(life.spans[2].begin_s, 2.0);
    QCOMPARE(life.end_s, 5.0);
    QCOMPARE(life.n_lost_tokens, std::int64_t{0});
    QCOMPARE(life.n_computed_tokens, std::int64_t{94});
  }

  void a_preemption_shows_and_is_taxed() {
    const RequestLife life =
        life_of({decision(0, SchedulerEventKind::admitted, {100, 0, 100, 0}), decision(1, SchedulerEventKind::prefilled),
                 decision(2, SchedulerEventKind::preempted, {120, 8, 0, 1}),
                 decision(4, SchedulerEventKind::resumed, {96, 24, 0, 0}), decision(5, SchedulerEventKind::prefilled),
                 decision(6, SchedulerEventKind::finished, {76, 1, 0, 0})},
                kSubmitted, 0);
    QCOMPARE(life.spans.size(), std::size_t{5});
    QVERIFY(life.spans[2].phase == Phase::preempted);
    QCOMPARE(life.spans[2].end_s - life.spans[2].begin_s, 2.0);
    QCOMPARE(life.n_lost_tokens, std::int64_t{24});
    QCOMPARE(life.recompute_tax(), 24.0 / 200.0);
  }

  void a_running_request_ends_now() {
    const RequestLife life = life_of({decision(0, SchedulerEventKind::queued), decision(1, SchedulerEventKind::admitted)},
                                     kSubmitted, kSubmitted + 3'000'000'000);
    QCOMPARE(life.end_s, 3.0);
    QVERIFY(life.spans.back().phase == Phase::prefill);
    QCOMPARE(life.spans.back().end_s, 3.0);
  }

  void chunks_do_not_cut_a_phase() {
    const RequestLife life = life_of({decision(0.5, SchedulerEventKind::admitted), decision(1, SchedulerEventKind::chunked),
                                      decision(2, SchedulerEventKind::chunked), decision(3, SchedulerEventKind::prefilled)},
                                     kSubmitted, kSubmitted + 4'000'000'000);
    QCOMPARE(life.spans.size(), std::size_t{3});
  }

  void no_events_is_all_queue() {
    const RequestLife life = life_of({}, kSubmitted, kSubmitted + 1'000'000'000);
    QCOMPARE(life.spans.size(), std::size_t{1});
    QVERIFY(life.spans[0].phase == Phase::queued);
  }
};

LATHE_TEST(RequestPhasesTest)

}  // namespace request_phases_test
#include "request_phases_test.moc"
