// SPDX-License-Identifier: Apache-2.0
#include "engine/model/weight_storage.h"

#include <QTest>
#include <cmath>
#include <string>
#include <vector>

#include "engine/api/options.h"
#include "kernels/api/coded_rows.h"
#include "kernels/formats/format.h"
#include "tests/support/runner_driver.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace weight_storage_test {

using namespace lathe;
using kernels::Dtype;

namespace {

/// Logits of the last token of a short prompt.
std::vector<float> logits_of(const std::string& isa, const engine::EngineOptions& quantization) {
  tests::RunnerDriver driver(tests::tiny_model_path(), {.isa = isa, .quantization = quantization});
  const std::vector<std::int32_t> prompt = {1, 5, 9, 20, 33, 7, 100, 41};
  return driver.step({{.sequence = 0, .tokens = prompt, .n_new = static_cast<int>(prompt.size())}}).back();
}

engine::EngineOptions options_of(const std::string& quantization) {
  engine::EngineOptions options;
  options.quantization = quantization;
  return options;
}

/// The norm of the difference, relative to the norm of the deviations of `want` from its mean.
double distance(const std::vector<float>& got, const std::vector<float>& want) {
  double mean = 0, wrong = 0, all = 0;
  for (const float logit : want) mean += logit / static_cast<double>(want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    wrong += std::pow(got[i] - want[i], 2);
    all += std::pow(want[i] - mean, 2);
  }
  return std::sqrt(wrong / all);
}

}  // namespace

class WeightStorageTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void the_option_offers_what_the_table_has() {
    std::vector<std::string_view> names = {"none"};
    for (const engine::Quantization& row : engine::quantizations()) names.push_back(row.name);
    QCOMPARE(engine::choices_of(engine::engine_option("quantization")), names);
  }

  void a_quantization_in_groups_is_named_as_its_format() {
    for (const engine::Quantization& row : engine::quantizations()) {
      if (row.name.find("_g") != row.name.npos) QCOMPARE(row.name, kernels::descriptor_of(row.matrices).name);
    }
  }

  void bitsandbytes_leaves_the_head_as_it_is() {
    for (const char* name : {"bitsandbytes_4bit", "bitsandbytes_8bit"}) {
      QVERIFY(engine::storage_of(options_of(name), Dtype::bf16).head == kernels::WeightFormat::bf16);
    }
    QVERIFY(engine::storage_of(options_of("int8_g64"), Dtype::bf16).head == kernels::WeightFormat::int8_g64);
  }

  void the_head_may_be_kept() {
    engine::EngineOptions options = options_of("int4_g32");
    options.keep_head = true;
    const engine::WeightStorage storage = engine::storage_of(options, Dtype::f16);
    QVERIFY(storage.head == kernels::WeightFormat::f16 && storage.matrices == kernels::WeightFormat::int4_g32);
  }

  void four_bits_of_bitsandbytes_have_options_of_their_own() {
    using kernels::WeightFormat;
    engine::EngineOptions options = options_of("bitsandbytes_4bit");
    QVERIFY(engine::storage_of(options, Dtype::f32).matrices == WeightFormat::nf4);
    options.bnb_4bit_use_double_quant = true;
    QVERIFY(engine::storage_of(options, Dtype::f32).matrices == WeightFormat::nf4_nested);
    options.bnb_4bit_quant_type = "fp4";
    QVERIFY(engine::storage_of(options, Dtype::f32).matrices == WeightFormat::fp4_nested);
    options.bnb_4bit_use_double_quant = false;
    QVERIFY(engine::storage_of(options, Dtype::f32).matrices == WeightFormat::fp4);
    options.bnb_4bit_compute_dtype = "bfloat16";
    QVERIFY(engine::storage_of(options, Dtype::f32).matrices == WeightFormat::fp4_weight_only);
    options.bnb_4bit_quant_type = "nf4";
    options.bnb_4bit_use_double_quant = true;
    QVERIFY(engine::storage_of(options, Dtype::f32).matrices == WeightFormat::nf4_nested_weight_only);
  }

  void groups_may_have_zero_points() {
    for (const engine::Quantization& row : engine::quantizations()) {
      const bool in_groups = row.name.find("_g") != row.name.npos;
      QCOMPARE(row.with_zero_points.has_value(), in_groups);
      engine::EngineOptions options = options_of(std::string(row.name));
      const engine::WeightStorage without = engine::storage_of(options, Dtype::bf16);
      options.quantization_zero_point = true;
      const engine::WeightStorage with = engine::storage_of(options, Dtype::bf16);
      QCOMPARE(with.matrices != without.matrices, in_groups);
      QCOMPARE(with.head != without.head, in_groups);
      if (in_groups) QCOMPARE(kernels::descriptor_of(with.matrices).name, std::string(row.name) + "_asym");
    }
  }

  void none_is_no_quantization() {
    QVERIFY(engine::find_quantization("none") == nullptr);
    QVERIFY(engine::find_quantization("int3_g7") == nullptr);
    QCOMPARE(engine::WeightStorage(Dtype::bf16).matrices, kernels::WeightFormat::bf16);
  }

  void stored_blocks_stay_unless_something_else_is_asked_for() {
    using kernels::WeightFormat;
    engine::StoredWeights stored = Dtype::bf16;
    stored.matrices = WeightFormat::int4_g32;
    engine::EngineOptions options;
    QVERIFY(engine::storage_of(options, stored).matrices == WeightFormat::int4_g32);
    QVERIFY(engine::storage_of(options, stored).head == WeightFormat::bf16);  // something else in the files
    stored.head = WeightFormat::int8_g32;
    QVERIFY(engine::storage_of(options, stored).head == WeightFormat::int8_g32);
    QVERIFY(engine::storage_of(options_of("int8_g64"), stored).matrices == WeightFormat::int8_g64);
    QVERIFY(engine::storage_of(options, stored).experts == WeightFormat::bf16);
    stored.experts = WeightFormat::mxfp4;
    QVERIFY(engine::storage_of(options, stored).experts == WeightFormat::mxfp4);
    QVERIFY(engine::storage_of(options_of("int8_g64"), stored).experts == WeightFormat::int8_g64);
    options.dtype = "float32";
    QVERIFY(engine::storage_of(options, stored).experts == WeightFormat::f32);
    QVERIFY(engine::storage_of(options, stored).matrices == WeightFormat::f32);
    QVERIFY(engine::storage_of(options, stored).head == WeightFormat::f32);
  }

  void layers_that_differ_have_formats_of_their_own() {
    using engine::MatrixPart;
    using kernels::WeightFormat;
    engine::StoredWeights stored = Dtype::bf16;
    stored.layers.resize(2);
    stored.layers[0][0] = WeightFormat::int8_g16;
    stored.layers[1][0] = WeightFormat::int4_g32_min;
    stored.layers[1][5] = WeightFormat::iq4;
    QCOMPARE(engine::kept_formats(stored, false), std::string("int8_g16 + int4_g32_min"));
    QCOMPARE(engine::kept_formats(stored, true), std::string("iq4"));
    QCOMPARE(engine::kept_formats(Dtype::bf16, false), std::string());
    engine::EngineOptions options;
    const engine::WeightStorage storage = engine::storage_of(options, stored);
    QVERIFY(storage.of_layer(0).of(MatrixPart::attention_in) == WeightFormat::int8_g16);
    QVERIFY(storage.of_layer(1).of(MatrixPart::attention_in) == WeightFormat::int4_g32_min);
    QVERIFY(storage.of_layer(1).of(MatrixPart::mlp_out) == WeightFormat::bf16);
    QVERIFY(storage.of_layer(1).of(MatrixPart::expert_out) == WeightFormat::iq4);
    QVERIFY(engine::storage_of(options_of("int8_g64"), stored).of_layer(1).of(MatrixPart::attention_in) ==
            WeightFormat::int8_g64);
    options.dtype = "float32";
    QVERIFY(engine::storage_of(options, stored).of_layer(0).of(MatrixPart::attention_in) == WeightFormat::f32);
  }

  void formats_of_files_alone_are_no_quantizations() {
    using kernels::is_load_only;
    using kernels::WeightFormat;
    QVERIFY(is_load_only(WeightFormat::iq4) && !is_load_only(WeightFormat::int8_g32));
    for (const engine::Quantization& row : engine::quantizations()) {
      QVERIFY(!is_load_only(row.matrices));
      QVERIFY(!row.with_zero_points || !is_load_only(*row.with_zero_points));
    }
    for (const kernels::FormatDescriptor& format : kernels::weight_formats()) {
      if (!format.is_load_only) continue;
      engine::EngineOptions options;
      QVERIFY2(!engine::set_option(options, "quantization", format.name).has_value(), format.name.data());
    }
  }

  void orders_stay_with_the_codes_that_have_them() {
    using kernels::WeightFormat;
    engine::StoredWeights stored = Dtype::bf16;
    stored.matrices = WeightFormat::int4_g32;
    stored.experts = WeightFormat::int8_g32;
    stored.matrices_are_ordered = true;
    engine::EngineOptions options;
    QVERIFY(engine::storage_of(options, stored).matrices_are_ordered);
    QVERIFY(!engine::storage_of(options, stored).experts_are_ordered);
    QVERIFY(engine::storage_of(options_of("int4_g32"), stored).matrices_are_ordered);  // the same codes
    QVERIFY(!engine::storage_of(options_of("int4_g64"), stored).matrices_are_ordered);
    stored.experts_are_ordered = true;
    QVERIFY(engine::storage_of(options, stored).experts_are_ordered);
    options.dtype = "float32";
    QVERIFY(!engine::storage_of(options, stored).has_input_orders());
    QVERIFY(!engine::storage_of(options_of("smoothquant"), stored).has_input_orders());
  }

  void orders_of_layers_that_differ_stay_with_their_codes() {
    using engine::MatrixPart;
    using kernels::WeightFormat;
    engine::StoredWeights stored = Dtype::bf16;
    stored.layers.resize(1);
    stored.layers[0][0] = WeightFormat::int4_g32;
    stored.layers[0][2] = WeightFormat::int8_channel;  // rounds whole rows: has no place for an order
    stored.layers[0][4] = WeightFormat::int8_g32;
    stored.matrices_are_ordered = true;
    QVERIFY(engine::storage_of({}, stored).has_input_orders());
    const engine::LayerFormats layer = engine::storage_of({}, stored).of_layer(0);
    QVERIFY(layer.of(MatrixPart::attention_in) == engine::MatrixForm(WeightFormat::int4_g32, true));
    for (const MatrixPart part : {MatrixPart::attention_out, MatrixPart::mlp_in, MatrixPart::expert_in}) {
      QVERIFY(!layer.of(part).is_ordered);
    }
  }

  void numbers_of_8_bits_are_in_the_table() {
    using kernels::WeightFormat;
    const engine::WeightStorage both = engine::storage_of(options_of("fp8"), Dtype::bf16);
    QVERIFY(both.matrices == WeightFormat::fp8_channel && both.head == WeightFormat::fp8_channel);
    QVERIFY(engine::storage_of(options_of("fp8_weight_only"), Dtype::bf16).matrices == WeightFormat::fp8_weight_only);
  }

  void smoothing_comes_with_its_share_and_leaves_the_head() {
    engine::EngineOptions options = options_of("smoothquant");
    options.smoothquant_alpha = 0.6;
    const engine::WeightStorage storage = engine::storage_of(options, Dtype::bf16);
    QVERIFY(storage.matrices == kernels::WeightFormat::int8_channel && storage.head == kernels::WeightFormat::bf16);
    QCOMPARE(storage.smoothing_alpha.value_or(0), 0.6);
    QVERIFY(!engine::storage_of(options_of("dynamic_int8"), Dtype::bf16).smoothing_alpha);
  }

  /// The checkpoint's weights are random: nothing in it averages the rounding out, 8 bits cost 3 % (of e4m3 6 and 10) and 4
  /// bits 20 to 40 %.
  void answers_stay_near_those_of_the_checkpoint_data() {
    QTest::addColumn<QString>("isa");
    QTest::addColumn<QString>("quantization");
    QTest::addColumn<QString>("quant_type");
    QTest::addColumn<bool>("double_quant");
    QTest::addColumn<bool>("zero_point");
    for (const std::string& isa : kernels::cpu_isas()) {
      const QString set = QString::fromStdString(isa);
      for (const engine::Quantization& row : engine::quantizations()) {
        const std::string name(row.name);
        QTest::addRow("%s on %s", name.c_str(), isa.c_str())
            << set << QString::fromStdString(name) << "nf4" << false << false;
        if (!row.with_zero_points) continue;
        QTest::addRow("%s with zero points on %s", name.c_str(), isa.c_str())
            << set << QString::fromStdString(name) << "nf4" << false << true;
      }
      QTest::addRow("nf4, double, on %s", isa.c_str()) << set << "bitsandbytes_4bit"
                                                       << "nf4" << true << false;
      QTest::addRow("fp4 on %s", isa.c_str()) << set << "bitsandbytes_4bit"
                                              << "fp4" << false << false;
      QTest::addRow("fp4, double, on %s", isa.c_str()) << set << "bitsandbytes_4bit"
                                                       << "fp4" << true << false;
    }
  }
  void answers_stay_near_those_of_the_checkpoint() {
    QFETCH(QString, isa);
    QFETCH(QString, quantization);
    QFETCH(QString, quant_type);
    QFETCH(bool, double_quant);
    QFETCH(bool, zero_point);
    engine::EngineOptions options = options_of(quantization.toStdString());
    options.bnb_4bit_quant_type = quant_type.toStdString();
    options.bnb_4bit_use_double_quant = double_quant;
    options.quantization_zero_point = zero_point;
    const double error = distance(logits_of(isa.toStdString(), options), logits_of("", {}));
    const bool is_8_bits = quantization.contains(QLatin1String("int8")) || quantization.contains(QLatin1String("8bit")) ||
                           quantization == QLatin1String("smoothquant");
    const bool is_fp8 = quantization.startsWith(QLatin1String("fp8"));
    QVERIFY2(error > 0 && error < (is_8_bits ? 0.05 : is_fp8 ? 0.15 : 0.5), qPrintable(QString::number(error)));
  }
};

LATHE_TEST(WeightStorageTest)

}  // namespace weight_storage_test
#include "weight_storage_test.moc"
