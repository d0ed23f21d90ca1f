// SPDX-License-Identifier: Apache-2.0
// Layers of one step share the plans of their keys; a later step, or none, makes them again.
#include "kernels/cuda/layout/step_plans.h"

#include <QTest>
#include <stdexcept>

#include "tests/support/test_class.h"

namespace step_plans_test {

using namespace lathe::kernels::cuda;

namespace {

/// Plans that hold the number of the call which made them.
class Counted {
 public:
  int of(std::uint64_t step, int key) {
    return plans_.of(step, key, [this](int& plan) { plan = ++n_made_; });
  }
  void fail(std::uint64_t step, int key) {
    plans_.of(step, key, [](int&) { throw std::runtime_error("no memory"); });
  }

 private:
  StepPlans<int, int> plans_;
  int n_made_ = 0;
};

}  // namespace

class StepPlansTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void layers_of_a_step_share_plans() {
    Counted plans;
    QCOMPARE(plans.of(1, 70), 1);
    QCOMPARE(plans.of(1, 80), 2);
    QCOMPARE(plans.of(1, 70), 1);
    QCOMPARE(plans.of(1, 80), 2);
  }

  void the_next_step_makes_them_again() {
    Counted plans;
    QCOMPARE(plans.of(1, 70), 1);
    QCOMPARE(plans.of(2, 70), 2);
    QCOMPARE(plans.of(2, 70), 2);
  }

  void without_a_step_they_are_made_each_time() {
    Counted plans;
    QCOMPARE(plans.of(0, 70), 1);
    QCOMPARE(plans.of(0, 70), 2);
    QCOMPARE(plans.of(3, 70), 3);
    QCOMPARE(plans.of(0, 70), 4);
    QCOMPARE(plans.of(3, 70), 5);  // a step that experts have ended
  }

  void a_plan_that_failed_is_made_again() {
    Counted plans;
    QCOMPARE(plans.of(1, 70), 1);
    QVERIFY_THROWS_EXCEPTION(std::runtime_error, plans.fail(1, 80));
    QCOMPARE(plans.of(1, 80), 2);
    QCOMPARE(plans.of(1, 70), 1);
  }
};

LATHE_TEST(StepPlansTest)

}  // namespace step_plans_test
#include "step_plans_test.moc"
