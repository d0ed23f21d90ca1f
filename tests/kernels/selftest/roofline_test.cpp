// SPDX-License-Identifier: Apache-2.0
#include "kernels/api/roofline.h"

#include <QTest>
#include <cmath>

#include "kernels/selftest/roof.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/test_class.h"

namespace roofline_test {

using namespace lathe::kernels;

namespace {

constexpr Ceilings kCeilings{.read_gb_s = 10, .fma_gflop_s = 100, .bf16_gflop_s = 0, .int8_gop_s = 400, .int4_gop_s = 800};

const RooflineMatrix kSmall{.name = "small", .n = 48, .k = 64};

}  // namespace

class RooflineTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void few_rows_are_bound_by_reads() {
    const Roof roof = roof_of(kCeilings, WeightFormat::bf16, 2e9, 2e9);  // one operation a byte
    QCOMPARE(roof.bound, std::string_view("read"));
    QCOMPARE(roof.seconds, 0.2);
  }

  void many_rows_are_bound_by_the_instruction_of_the_format() {
    const auto bound_of = [](WeightFormat format, const Ceilings& ceilings) { return roof_of(ceilings, format, 1e12, 1e9); };
    QCOMPARE(bound_of(WeightFormat::bf16, kCeilings).bound, std::string_view("fma"));
    QCOMPARE(bound_of(WeightFormat::bf16, kCeilings).seconds, 10.0);
    QCOMPARE(bound_of(WeightFormat::int8_g32, kCeilings).seconds, 2.5);
    QCOMPARE(bound_of(WeightFormat::nf4, kCeilings).bound, std::string_view("int8"));
    QCOMPARE(bound_of(WeightFormat::fp8_channel, kCeilings).bound, std::string_view("fma"));
    QCOMPARE(bound_of(WeightFormat::int4_g128, kCeilings).seconds, 1.25);
    Ceilings with_bf16 = kCeilings;
    with_bf16.bf16_gflop_s = 200;
    QCOMPARE(bound_of(WeightFormat::bf16, with_bf16).bound, std::string_view("bf16"));
    QCOMPARE(bound_of(WeightFormat::f16, with_bf16).bound, std::string_view("fma"));
  }

  void codes_that_become_bf16_have_its_ceiling() {
    Ceilings device = kCeilings;
    device.bf16_gflop_s = 200;
    device.multiplies_codes_in_bf16 = true;
    for (const WeightFormat format : {WeightFormat::int8_g32, WeightFormat::int4_g128, WeightFormat::nf4}) {
      QCOMPARE(roof_of(device, format, 1e12, 1e9).bound, std::string_view("bf16"));
      QCOMPARE(roof_of(device, format, 1e12, 1e9).seconds, 5.0);
    }
    QCOMPARE(roof_of(device, WeightFormat::f32, 1e12, 1e9).bound, std::string_view("fma"));
  }

  void without_ceilings_nothing_bounds() { QCOMPARE(roof_of({}, WeightFormat::f32, 1e9, 1e9).seconds, 0.0); }

  void a_point_says_what_its_numbers_mean() {
    const RooflineFigures figures{.bytes = 1e9, .operations = 8e9, .seconds = 0.5, .roof_gflop_s = 80, .bound = "read"};
    QCOMPARE(figures.intensity(), 8.0);
    QCOMPARE(figures.gflop_s(), 16.0);
    QCOMPARE(figures.gb_s(), 2.0);
    QCOMPARE(figures.share(), 0.2);
  }

  void points_of_operations_that_fail_are_left_out() {
    const OperationError error{OperationFailure::out_of_memory, "no memory"};
    const RooflinePlan plan{.matrices = {{"one", 16, 32}}, .formats = {WeightFormat::f32}, .rows = {128, 130}};
    for (const std::int64_t failing : {1, 2}) {  // packing the matrix, the first product
      lathe::tests::DeferredBackend backend(make_reference_backend());
      backend.fail_at(failing, error);
      const auto points = measure_roofline(backend, kCeilings, plan, [](const RooflinePoint&) { return true; });
      QCOMPARE(points.size(), failing == 1 ? std::size_t{0} : std::size_t{1});
      if (!points.empty()) QCOMPARE(points.front().n_rows, std::int64_t{130});
    }
  }

  void every_product_is_measured_in_order() {
    const auto backend = make_cpu_backend({.n_threads = 1});
    const RooflinePlan plan{.matrices = {kSmall, {.name = "wide", .n = 96, .k = 32}},
                            .formats = {WeightFormat::f32, WeightFormat::int4_g32},
                            .rows = {128, 130}};
    std::size_t n_reported = 0;
    const auto points = measure_roofline(*backend, kCeilings, plan, [&](const RooflinePoint&) { return ++n_reported > 0; });
    QCOMPARE(points.size(), std::size_t{8});
    QCOMPARE(n_reported, points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      const RooflinePoint& point = points[i];
      QVERIFY(point.format == plan.formats[i / 4]);
      QCOMPARE(point.matrix.name, plan.matrices[i / 2 % 2].name);
      QCOMPARE(point.n_rows, plan.rows[i % 2]);
      const std::size_t n_bytes = backend->packed_bytes(point.format, point.matrix.n, point.matrix.k);
      QCOMPARE(point.figures.bytes, static_cast<double>(n_bytes));
      QCOMPARE(point.figures.operations, 2.0 * static_cast<double>(point.n_rows * point.matrix.n * point.matrix.k));
      QVERIFY(point.figures.seconds > 0 && std::isfinite(point.figures.share()) && !point.figures.bound.empty());
    }
  }

  void with_few_rows_weights_come_from_many_copies() {
    const auto backend = make_cpu_backend({.n_threads = 1});
    const RooflineMatrix square{.name = "square", .n = 1024, .k = 1024};
    const RooflinePlan plan{.matrices = {square}, .formats = {WeightFormat::f32}, .rows = {1}};
    const auto points = measure_roofline(*backend, kCeilings, plan, [](const RooflinePoint&) { return true; });
    QCOMPARE(points.size(), std::size_t{1});
    QCOMPARE(points[0].figures.bytes, 4.0 * 1024 * 1024);  // of one of them
    QCOMPARE(points[0].figures.roof_gflop_s, 5.0);         // half an operation a byte, 10 GB/s
  }

  void attention_is_measured_for_each_type_and_step() {
    const auto backend = make_cpu_backend({.n_threads = 2});
    const AttentionMeasurement plan{.n_heads = 4,
                                    .n_kv_heads = 2,
                                    .head_dim = 16,
                                    .kv_types = {Dtype::f32, Dtype::i8},
                                    .steps = {{.n_seqs = 3, .n_rows = 70, .context = 70}, {.n_rows = 64, .context = 100}}};
    const auto points = measure_attention(*backend, kCeilings, plan, [](const AttentionPoint&) { return true; });
    QCOMPARE(points.size(), std::size_t{4});
    // K and V of two heads; 8 bits have a scale behind 16 numbers.
    QCOMPARE(points[0].figures.bytes, 3.0 * 70 * 2 * 2 * 16 * 4);
    QCOMPARE(points[2].figures.bytes, 3.0 * 70 * 2 * 2 * (16 + 4));
    // Rows of a prompt see 1 to 70 tokens; the last 64 of 100 see 37 to 100.
    QCOMPARE(points[0].figures.operations, 3.0 * 4 * 4 * 16 * (70 * 71 / 2));
    QCOMPARE(points[3].figures.operations, 4.0 * 4 * 16 * (64 * (37 + 100) / 2));
    for (const AttentionPoint& point : points) {
      QVERIFY(point.figures.seconds > 0 && std::isfinite(point.figures.share()));
    }
    const auto first = measure_attention(*backend, kCeilings, plan, [](const AttentionPoint&) { return false; });
    QCOMPARE(first.size(), std::size_t{1});
  }

  void decoding_reads_caches_from_memory() {
    const auto backend = make_cpu_backend({.n_threads = 1});
    const AttentionMeasurement plan{.n_heads = 8,
                                    .n_kv_heads = 8,
                                    .head_dim = 128,
                                    .kv_types = {Dtype::bf16},
                                    .steps = {{.n_rows = 1, .context = 2048}}};
    const auto points = measure_attention(*backend, kCeilings, plan, [](const AttentionPoint&) { return true; });
    QCOMPARE(points.size(), std::size_t{1});
    QCOMPARE(points[0].figures.bound, std::string_view("read"));
    QCOMPARE(points[0].figures.roof_gflop_s, 10.0);  // an operation a byte, 10 GB/s
  }

  void it_ends_when_nobody_listens_any_more() {
    const auto backend = make_cpu_backend({.n_threads = 1});
    const RooflinePlan plan{.matrices = {kSmall}, .formats = {WeightFormat::f32, WeightFormat::bf16}, .rows = {128, 256}};
    QCOMPARE(measure_roofline(*backend, kCeilings, plan, [](const RooflinePoint&) { return false; }).size(), std::size_t{1});
  }

  void every_format_has_a_name_that_finds_it() {
    for (const std::string_view name : weight_format_names()) {
      const auto format = weight_format_named(name);
      QVERIFY(format.has_value());
      QCOMPARE(name_of(*format), name);
    }
    QVERIFY(!weight_format_named("int3").has_value());
  }

  void ceilings_of_codes_are_measured_data() {
    QTest::addColumn<QString>("isa");
    for (const std::string& isa : cpu_isas()) QTest::newRow(isa.c_str()) << QString::fromStdString(isa);
  }
  void ceilings_of_codes_are_measured() {
    QFETCH(QString, isa);
    const std::string name = isa.toStdString();
    const auto backend = make_cpu_backend({.n_threads = 1, .isa = name});
    const Ceilings ceilings = measure_ceilings(*backend);
    QVERIFY(ceilings.int8_gop_s > 0 && ceilings.int4_gop_s > 0);
  }
};

LATHE_TEST(RooflineTest)

}  // namespace roofline_test
#include "roofline_test.moc"
