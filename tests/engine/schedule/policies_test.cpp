// SPDX-License-Identifier: Apache-2.0
// Every policy of the table: named once, and able to bring a crowd of requests to its end.
#include "engine/schedule/policies.h"

#include <QObject>
#include <QtTest>

#include <deque>
#include <set>

#include "engine/api/options.h"
#include "engine/schedule/scheduler.h"
#include "engine/schedule/scheduler_invariant.h"
#include "tests/support/test_class.h"

namespace policies_test {

using namespace lathe::engine;

class PoliciesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void names_are_unique_and_found();
  void an_unknown_name_is_not_found();
  void the_default_is_paged();
  void the_option_knows_each_of_them();
  void every_policy_finishes_a_crowd_data();
  void every_policy_finishes_a_crowd();
};

void PoliciesTest::names_are_unique_and_found() {
  std::set<std::string_view> names;
  for (const PolicyDescriptor* policy : policy_table()) {
    QVERIFY(names.insert(policy->name).second);
    QCOMPARE(find_policy(policy->name), policy);
    QVERIFY(policy->help.ends_with('.'));
  }
}

void PoliciesTest::an_unknown_name_is_not_found() { QVERIFY(find_policy("best") == nullptr); }

void PoliciesTest::the_default_is_paged() { QCOMPARE(policy_table().front()->name, std::string_view("paged")); }

void PoliciesTest::the_option_knows_each_of_them() {
  std::vector<std::string_view> names;
  for (const PolicyDescriptor* policy : policy_table()) names.push_back(policy->name);
  QCOMPARE(choices_of(engine_option("policy")), names);
  QCOMPARE(EngineOptions().policy, std::string(names.front()));
}

void PoliciesTest::every_policy_finishes_a_crowd_data() {
  QTest::addColumn<QString>("name");
  for (const PolicyDescriptor* policy : policy_table()) {
    const QString name = QString::fromUtf8(policy->name.data(), static_cast<qsizetype>(policy->name.size()));
    QTest::newRow(qPrintable(name)) << name;
  }
}

void PoliciesTest::every_policy_finishes_a_crowd() {
  QFETCH(QString, name);
  Scheduler scheduler({.max_num_seqs = 4, .max_num_batched_tokens = 16, .max_logit_rows = 4, .max_seq_tokens = 40},
                      *find_policy(name.toStdString()), PagedCache(32, 4, true));
  std::deque<Sequence> sequences(20);
  for (Sequence& sequence : sequences) {
    sequence.tokens.assign(10, 1);
    sequence.n_prompt = 10;
    scheduler.add(sequence, 0);
  }
  for (int step = 0; scheduler.has_work(); ++step) {
    QVERIFY2(step < 10'000, "it does not come to an end");
    for (const PlannedSequence& entry : scheduler.plan(0).entries) {
      scheduler.commit(entry);
      if (entry.samples) entry.sequence->tokens.push_back(2);
      if (entry.sequence->n_output() == 30) scheduler.remove(*entry.sequence);
    }
    QVERIFY(is_consistent(scheduler));
  }
  for (const Sequence& sequence : sequences) QCOMPARE(sequence.n_output(), 30);
  QCOMPARE(scheduler.cache().pool().n_used(), 0);
}

LATHE_TEST(PoliciesTest)

}  // namespace policies_test
#include "policies_test.moc"
