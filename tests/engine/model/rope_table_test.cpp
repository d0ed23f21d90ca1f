// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/rope_table.h"

#include <QTest>
#include <cmath>
#include <numbers>

#include "tests/support/test_class.h"

namespace rope_table_test {

using namespace lathe;
using engine::RopeConfig;
using engine::RopeScaling;

namespace {

bool near(double a, double b) { return std::abs(a - b) <= 1e-12 * std::abs(b); }

std::vector<std::int64_t> contexts(std::vector<std::int64_t> ends) { return ends; }

std::vector<double> frequencies_of(const RopeConfig& rope) { return engine::rope_waves(rope, 64).frequencies; }

}  // namespace

class RopeTableTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void plain_frequencies_fall_geometrically();
  void linear_scaling_divides();
  void llama3_keeps_short_waves();
  void llama3_divides_long_waves();
  void llama3_blends_between();
  void table_holds_cosines_and_sines();
  void position_zero_does_not_rotate();
  void each_context_has_a_part_of_its_own();
  void bytes_are_as_estimated();
  void queries_may_grow_with_the_position();
};

void RopeTableTest::plain_frequencies_fall_geometrically() {
  const auto frequencies = frequencies_of({.theta = 10000, .rotary_dim = 8});
  QCOMPARE(frequencies.size(), std::size_t{4});
  QVERIFY(near(frequencies[0], 1.0));
  QVERIFY(near(frequencies[1], 0.1));
  QVERIFY(near(frequencies[3], 0.001));
}

void RopeTableTest::linear_scaling_divides() {
  const auto frequencies = frequencies_of({.theta = 10000, .rotary_dim = 8, .scaling = RopeScaling::linear, .factor = 4});
  QVERIFY(near(frequencies[0], 0.25));
  QVERIFY(near(frequencies[2], 0.0025));
}

namespace {

// Llama 3.1: factor 8, context 8192: waves shorter than 2048 stay, longer than 8192 turn 8 times slower.
const RopeConfig kLlama31{.theta = 500000,
                          .rotary_dim = 128,
                          .scaling = RopeScaling::llama3,
                          .factor = 8,
                          .low_freq_factor = 1,
                          .high_freq_factor = 4,
                          .original_max_position_embeddings = 8192};

double wavelength(double frequency) { return 2 * std::numbers::pi / frequency; }

}  // namespace

void RopeTableTest::llama3_keeps_short_waves() {
  const auto scaled = frequencies_of(kLlama31), plain = frequencies_of({.theta = 500000, .rotary_dim = 128});
  int n = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (wavelength(plain[i]) >= 2048) continue;
    QCOMPARE(scaled[i], plain[i]);
    ++n;
  }
  QVERIFY(n > 20);
}

void RopeTableTest::llama3_divides_long_waves() {
  const auto scaled = frequencies_of(kLlama31), plain = frequencies_of({.theta = 500000, .rotary_dim = 128});
  int n = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (wavelength(plain[i]) <= 8192) continue;
    QVERIFY(near(scaled[i], plain[i] / 8));
    ++n;
  }
  QVERIFY(n > 20);
}

void RopeTableTest::llama3_blends_between() {
  const auto scaled = frequencies_of(kLlama31), plain = frequencies_of({.theta = 500000, .rotary_dim = 128});
  int n = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (wavelength(plain[i]) < 2048 || wavelength(plain[i]) > 8192) continue;
    const double smooth = (8192 / wavelength(plain[i]) - 1) / 3;
    QVERIFY(near(scaled[i], (1 - smooth) * plain[i] / 8 + smooth * plain[i]));
    QVERIFY(scaled[i] < plain[i] && scaled[i] > plain[i] / 8);
    ++n;
  }
  QVERIFY(n > 3);
}

void RopeTableTest::table_holds_cosines_and_sines() {
  const auto backend = kernels::make_reference_backend();
  const RopeConfig config{.rotary_dim = 8};
  const auto table = engine::RopeTable::create(*backend, config, contexts({100}));
  QVERIFY(table.has_value());
  QCOMPARE(table->cos().dim(0), 100);
  QCOMPARE(table->cos().dim(1), 4);
  QCOMPARE(table->cos().row<float>(37)[1], static_cast<float>(std::cos(3.7)));
  QCOMPARE(table->sin().row<float>(99)[0], static_cast<float>(std::sin(99.0)));
}

void RopeTableTest::position_zero_does_not_rotate() {
  const auto backend = kernels::make_reference_backend();
  const RopeConfig config{.rotary_dim = 16};
  const auto table = engine::RopeTable::create(*backend, config, contexts({1}));
  for (int i = 0; i < 8; ++i) {
    QCOMPARE(table->cos().row<float>(0)[i], 1.0F);
    QCOMPARE(table->sin().row<float>(0)[i], 0.0F);
  }
}

/// A long part behind a short one: each as a table of that context alone would be.
void RopeTableTest::each_context_has_a_part_of_its_own() {
  const auto backend = kernels::make_reference_backend();
  RopeConfig rope{.rotary_dim = 8, .scaling = RopeScaling::longrope, .factor = 4, .original_max_position_embeddings = 10};
  rope.short_factor = {1, 1, 1, 1};
  rope.long_factor = {2, 3, 4, 5};
  const auto both = engine::RopeTable::create(*backend, rope, contexts({10, 40}));
  QCOMPARE(both->cos().dim(0), 50);
  std::int64_t first = 0;
  for (const std::int64_t n : {10, 40}) {
    const auto one = engine::RopeTable::create(*backend, rope, contexts({n}));
    for (std::int64_t position = 0; position < n; ++position) {
      for (int i = 0; i < 4; ++i) {
        QCOMPARE(both->cos().row<float>(first + position)[i], one->cos().row<float>(position)[i]);
        QCOMPARE(both->sin().row<float>(first + position)[i], one->sin().row<float>(position)[i]);
      }
    }
    first += n;
  }
  QVERIFY(both->sin().row<float>(5)[0] != both->sin().row<float>(15)[0]);
}

void RopeTableTest::bytes_are_as_estimated() {
  const auto backend = kernels::make_reference_backend();
  const RopeConfig config{.rotary_dim = 64};
  for (const auto& of_model : {contexts({333}), contexts({40, 333})}) {
    QCOMPARE(engine::RopeTable::create(*backend, config, of_model)->n_bytes(), engine::RopeTable::n_bytes(config, of_model));
  }
}

/// Whole contexts count: up to the first nothing is changed.
void RopeTableTest::queries_may_grow_with_the_position() {
  const RopeConfig rope{.rotary_dim = 8, .original_max_position_embeddings = 10, .query_growth = 0.5};
  QCOMPARE(engine::query_factor(rope, 0), 1.0);
  QCOMPARE(engine::query_factor(rope, 9), 1.0);
  QVERIFY(near(engine::query_factor(rope, 10), 1 + 0.5 * std::log(2)));
  QVERIFY(near(engine::query_factor(rope, 39), 1 + 0.5 * std::log(4)));
  const auto backend = kernels::make_reference_backend();
  const auto table = engine::RopeTable::create(*backend, rope, contexts({16}));
  QCOMPARE(table->n_bytes(), engine::RopeTable::n_bytes(rope, contexts({16})));
  std::vector<float> q(8), k(8);
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = k[i] = static_cast<float>(i + 1);
  const std::vector<std::int32_t> positions = {12};
  backend->rope({q.data(), kernels::Dtype::f32, {1, 8}}, 1, 8, positions, table->queries());
  backend->rope({k.data(), kernels::Dtype::f32, {1, 8}}, 1, 8, positions, table->keys());
  for (std::size_t i = 0; i < q.size(); ++i) {
    QVERIFY(std::abs(q[i] - k[i] * engine::query_factor(rope, 12)) < 1e-5);
  }
}

LATHE_TEST(RopeTableTest)

}  // namespace rope_table_test
#include "rope_table_test.moc"
