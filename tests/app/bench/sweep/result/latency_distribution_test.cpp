// SPDX-License-Identifier: Apache-2.0
// Distributions of latencies: against brute force, merged, and as journals and reports keep them.
#include "app/api/latency_distribution.h"

#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <random>

#include "app/api/sweep_export.h"
#include "app/bench/sweep/result/run_record.h"
#include "app/bench/sweep/result/sweep_journal.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace latency_distribution_test {

using namespace lathe;
using namespace lathe::app;

namespace {

std::vector<double> drawn(std::size_t n, double scale, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> values(0, 1);
  std::vector<double> samples(n);
  for (double& sample : samples) sample = scale * values(random);
  return samples;
}

/// The smallest that so many thousandths do not exceed. Requires: they ascend.
double by_brute_force(const std::vector<double>& samples, std::size_t thousandths) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (1000 * (i + 1) >= thousandths * samples.size()) return samples[i];
  }
  return samples.back();
}

bool is_near(double a, double b) { return std::abs(a - b) <= 1e-4 * std::abs(b); }

LatencyDistribution together(const std::vector<LatencyDistribution>& parts) {
  std::vector<const LatencyDistribution*> all;
  for (const LatencyDistribution& part : parts) all.push_back(&part);
  return merged(all);
}

SweepPlan small_plan() {
  SweepPlan plan;
  plan.options.model = "/models/small";
  plan.variables = {{"concurrency", {"1", "2"}}};
  return plan;
}

std::vector<double> any_sample() { return std::vector<double>(sweep_metrics().size(), 1.0); }

/// TTFT alone, of which `n` were seen.
std::vector<LatencyDistribution> ttft_of(std::size_t n, double scale = 1) {
  std::vector<LatencyDistribution> all(latencies().size());
  all[latency_index("ttft_ms")] = distribution_of(drawn(n, scale, n));
  return all;
}

}  // namespace

class LatencyDistributionTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::string path(const char* name) const { return folder_.filePath(name).toStdString(); }

 private Q_SLOTS:
  void few_are_kept_each() {
    const LatencyDistribution few = distribution_of({30, 10, 20, 10});
    QCOMPARE(few.n, std::size_t{4});
    QCOMPARE(few.values, (std::vector<double>{10, 10, 20, 30}));
    QCOMPARE(few.quantiles()[2].share, 0.75);
    QCOMPARE(few.at(0.5), 10.0);
    QCOMPARE(few.at(0.51), 20.0);
    QCOMPARE(few.share_within(10), 0.5);
    QCOMPARE(few.share_within(9.9), 0.0);
    QCOMPARE(few.share_within(99), 1.0);
    QCOMPARE(distribution_of({}).n, std::size_t{0});
    QVERIFY(distribution_of({}).quantiles().empty());
  }

  void of_many_there_are_quantiles() {
    for (const std::size_t n : {103, 500, 20'000}) {
      std::vector<double> samples = drawn(n, 40, n);
      const LatencyDistribution many = distribution_of(samples);
      std::sort(samples.begin(), samples.end());
      QCOMPARE(many.n, n);
      QCOMPARE(many.values.size(), LatencyDistribution::most_values);
      for (const Quantile& quantile : many.quantiles()) {
        const auto thousandths = static_cast<std::size_t>(std::lround(1000 * quantile.share));
        QVERIFY(is_near(quantile.value, by_brute_force(samples, thousandths)));
      }
      QVERIFY(is_near(many.at(0.07), by_brute_force(samples, 70)));  // 0.07 * 100 is more than 7
      QVERIFY(is_near(many.at(0.999), by_brute_force(samples, 999)));
      QCOMPARE(many.quantiles().front().share, 0.0);
      QCOMPARE(many.quantiles().back().share, 1.0);
    }
  }

  /// A run of many gaps counts more than one of few.
  void merged_ones_are_those_of_all_samples() {
    const std::vector<std::size_t> sizes[] = {{3, 8, 40}, {60, 60}, {150, 7}, {2'000, 300, 90}, {104, 0, 5'000}};
    for (const std::vector<std::size_t>& parts : sizes) {
      std::vector<double> all;
      std::vector<LatencyDistribution> kept;
      for (const std::size_t n : parts) {
        const std::vector<double> samples = drawn(n, 10 * static_cast<double>(kept.size() + 1), n);
        kept.push_back(distribution_of(samples));
        all.insert(all.end(), samples.begin(), samples.end());
      }
      std::sort(all.begin(), all.end());
      const LatencyDistribution got = together(kept);
      const bool is_exact = all.size() <= LatencyDistribution::most_values;
      QCOMPARE(got.n, all.size());
      QCOMPARE(got.values.size(), std::min(all.size(), LatencyDistribution::most_values));
      QVERIFY(std::is_sorted(got.values.begin(), got.values.end()));
      for (const Quantile& quantile : got.quantiles()) {
        const auto thousandths = static_cast<std::size_t>(std::floor(1000 * quantile.share + 1e-9));
        const double low = by_brute_force(all, thousandths),
                     high = by_brute_force(all, std::min<std::size_t>(1000, thousandths + 10));
        QVERIFY(quantile.value >= low * (1 - 1e-4) && (is_exact || quantile.value <= high * (1 + 1e-4)));
      }
      QVERIFY(is_near(got.at(1), by_brute_force(all, 1000)) && is_near(got.at(0), by_brute_force(all, 0)));
    }
    QCOMPARE(together({}).n, std::size_t{0});
    const LatencyDistribution one = distribution_of(drawn(700, 3, 1));
    QCOMPARE(together({one}).values, one.values);
  }

  /// TTFT counts from the scheduled time; an answer of one token has no TPOT, and none has no TTFT.
  void latencies_are_those_of_the_metrics() {
    RunRecord run;
    run.requests.resize(3);
    run.requests[0] = {.scheduled = 0.5, .token_times = {1.0, 1.25, 1.5}, .end = 1.6, .usage = {}, .timings = {}};
    run.requests[0].usage.n_completion_tokens = 3;
    run.requests[1] = {.scheduled = 0, .token_times = {2.0}, .end = 2.0, .usage = {}, .timings = {}};
    run.requests[1].usage.n_completion_tokens = 1;
    run.requests[2] = {.scheduled = 0, .token_times = {}, .end = 3.0, .usage = {}, .timings = {}};
    const std::vector<LatencyDistribution> got = measure_latencies(run);
    QCOMPARE(got[latency_index("ttft_ms")].values, (std::vector<double>{500, 2000}));
    QCOMPARE(got[latency_index("itl_ms")].values, (std::vector<double>{250, 250}));
    QCOMPARE(got[latency_index("tpot_ms")].values, std::vector<double>{250});
    QCOMPARE(got[latency_index("e2e_ms")].values, (std::vector<double>{1100, 2000, 3000}));
  }

  void a_journal_gives_back_what_it_was_given() {
    {
      auto journal = SweepJournal::open(path("kept"), small_plan(), false);
      QVERIFY(journal->add_sample(0, any_sample(), {}, ttft_of(20)).has_value());
      QVERIFY(journal->add_sample(0, any_sample(), {}, ttft_of(900, 5)).has_value());
    }
    auto journal = SweepJournal::open(path("kept"), small_plan(), true);
    QVERIFY(journal.has_value());
    const CellResult& cell = journal->cells().at(0);
    const std::size_t ttft = latency_index("ttft_ms");
    QCOMPARE(cell.distributions.size(), std::size_t{2});
    QCOMPARE((*cell.distributions[1])[ttft].values, ttft_of(900, 5)[ttft].values);
    QCOMPARE(cell.distribution_of(ttft).n, std::size_t{920});
    QCOMPARE(cell.distribution_of(latency_index("itl_ms")).n, std::size_t{0});
    QVERIFY(journal->add_sample(0, any_sample(), {}, ttft_of(30)).has_value());
    QCOMPARE(SweepJournal::cells_in(path("kept"), small_plan())->at(0).distribution_of(ttft).n, std::size_t{950});
  }

  /// 24 cells of 3 runs, each of thousands of gaps.
  void a_journal_stays_small() {
    auto journal = SweepJournal::open(path("large"), small_plan(), false);
    for (std::size_t run = 0; run < 72; ++run) {
      std::vector<LatencyDistribution> all;
      for (std::size_t i = 0; i < latencies().size(); ++i) all.push_back(distribution_of(drawn(4'000, 123.4, run)));
      QVERIFY(journal->add_sample(run % 24, any_sample(), {}, all).has_value());
    }
    QVERIFY(tests::read_file(path("large")).size() < 300'000);
  }

  void a_journal_of_before_has_none_and_is_gone_on_with() {
    {
      auto journal = SweepJournal::open(path("old"), small_plan(), false);
      QVERIFY(journal->add_sample(0, any_sample()).has_value());
    }
    QVERIFY(tests::read_file(path("old")).find("distributions") == std::string::npos);
    auto journal = SweepJournal::open(path("old"), small_plan(), true);
    QVERIFY(journal.has_value());
    QVERIFY(journal->cells().at(0).distributions.empty());
    QCOMPARE(journal->cells().at(0).distribution_of(0).n, std::size_t{0});
    const SweepReport report{.cells = journal->cells()};
    QVERIFY(!to_json(small_plan(), report)["cells"][0].contains("distributions"));
    QVERIFY(journal->add_sample(0, any_sample(), {}, ttft_of(9)).has_value());
    QCOMPARE(journal->cells().at(0).distribution_of(latency_index("ttft_ms")).n, std::size_t{9});
  }

  void damaged_distributions_are_refused_with_their_line() {
    {
      auto journal = SweepJournal::open(path("whole"), small_plan(), false);
      QVERIFY(journal->add_sample(0, any_sample(), {}, ttft_of(3)).has_value());
    }
    const std::string whole = tests::read_file(path("whole"));
    const std::size_t at = whole.rfind("{\"ttft_ms\""), end = whole.rfind("}\n");
    const struct {
      const char *distributions, *message;
    } damages[] = {{"[1]", "distributions must be an object"},
                   {R"({"ttft_ms":7})", "distributions.ttft_ms must have n"},
                   {R"({"ttft_ms":{"n":-1,"values":[]}})", "must have n"},
                   {R"({"ttft_ms":{"n":2.5,"values":[1,2]}})", "must have n"},
                   {R"({"ttft_ms":{"n":99999999999,"values":[1]}})", "must have n"},
                   {R"({"ttft_ms":{"n":3,"values":[1,2]}})", "has 2 values, but 3 latencies must have 3"},
                   {R"({"itl_ms":{"n":900,"values":[1,2]}})", "has 2 values, but 900 latencies must have 102"},
                   {R"({"ttft_ms":{"n":2,"values":[1,null]}})", "has a value that is not a latency"},
                   {R"({"ttft_ms":{"n":1,"values":[-1]}})", "has a value that is not a latency"},
                   {R"({"ttft_ms":{"n":2,"values":[2,1]}})", "has values that are not in ascending order"}};
    for (const auto& damage : damages) {
      tests::write_file(path("whole"), whole.substr(0, at) + damage.distributions + whole.substr(end));
      const auto refused = SweepJournal::cells_in(path("whole"), small_plan());
      QVERIFY2(!refused.has_value(), damage.distributions);
      QVERIFY2(refused.error().message.find(damage.message) != std::string::npos, refused.error().message.c_str());
      QVERIFY(refused.error().where.ends_with("line 2"));
    }
    tests::write_file(path("whole"), whole.substr(0, at) + R"({"later_ms":{"n":1}})" + whole.substr(end));
    QVERIFY(SweepJournal::cells_in(path("whole"), small_plan()).has_value());
  }

  void results_have_the_distributions_of_their_cells() {
    auto journal = SweepJournal::open("", small_plan(), false);
    std::vector<LatencyDistribution> first(latencies().size()), second(latencies().size());
    first[0] = distribution_of({10, 40});
    second[0] = distribution_of({20, 30});
    QVERIFY(journal->add_sample(1, any_sample(), {}, first).has_value());
    QVERIFY(journal->add_sample(1, any_sample(), {}, second).has_value());
    const engine::OrderedJson json = to_json(small_plan(), {.cells = journal->cells()});
    const engine::OrderedJson wanted =
        engine::OrderedJson::parse(R"({"ttft_ms":{"n":4,"quantiles":[[0.25,10.0],[0.5,20.0],[0.75,30.0],[1.0,40.0]]}})");
    QVERIFY(json["cells"][0]["distributions"] == wanted);
    QVERIFY(json["distributions"]["itl_ms"]["unit"] == "ms");
  }
};

LATHE_TEST(LatencyDistributionTest)

}  // namespace latency_distribution_test
#include "latency_distribution_test.moc"
