// SPDX-License-Identifier: Apache-2.0
// Quantized checkpoints from the folder to logits: those of the folder that has their numbers in float32.
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>

#include "engine/api/checkpoint.h"
#include "engine/api/convert.h"
#include "kernels/api/backend.h"
#include "tests/support/dequantized_copy.h"
#include "tests/support/quantized_folders.h"
#include "tests/support/runner_driver.h"
#include "tests/support/test_class.h"

namespace quantized_model_test {

using namespace lathe;
using namespace lathe::tests;

class QuantizedModelTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void logits_are_those_of_the_numbers_data() { add_quantized_folders(); }
  void logits_are_those_of_the_numbers();
  void inspect_says_what_becomes_of_the_weights_data() { add_quantized_folders(); }
  void inspect_says_what_becomes_of_the_weights();
  void inspect_names_the_scheme_and_the_cause_data();
  void inspect_names_the_scheme_and_the_cause();
  void what_saves_nothing_is_estimated_so();
  void orders_are_kept_beside_codes_data();
  void orders_are_kept_beside_codes();
  void a_quantization_rounds_what_has_an_order();
  void parts_of_one_product_in_different_formats_become_numbers();
};

void QuantizedModelTest::logits_are_those_of_the_numbers() {
  QFETCH(QString, name);
  const std::string path = quantized_path(name.toStdString());
  const QTemporaryDir made;
  const std::string numbers = dequantized_copy(path, made);
  const Logits want = logits_of(numbers, {});
  QVERIFY(largest_magnitude(want) > 0.1);
  QVERIFY(logits_of(path, {}) == want);
  QVERIFY(logits_of(path, {.as_stored = true}) == want);
  // Kernels for codes round activations to 8 bits, which changes these small models by 1 to 6 parts in 100.
  for (const std::string& isa : kernels::cpu_isas()) {
    const double error = largest_difference(logits_of(path, {.isa = isa, .as_stored = true}), want);
    QVERIFY2(error <= 0.07 * largest_magnitude(want), (isa + " " + std::to_string(error)).c_str());
  }
}

void QuantizedModelTest::inspect_says_what_becomes_of_the_weights() {
  QFETCH(QString, name);
  QFETCH(QString, kept);
  const auto info = engine::inspect_checkpoint(quantized_path(name.toStdString()));
  QVERIFY2(info.has_value(), info ? "" : info.error().message.c_str());
  // Rows of 96 end inside a block, those of `down` do not.
  const QString stays = name == QLatin1String("bnb-nf4-over-rows") ? QStringLiteral("nf4") : kept;
  QCOMPARE(QString::fromStdString(info->kept_quantization()), stays);
  const bool has_experts = info->architecture == "GptOssForCausalLM";  // nothing but them in codes
  QVERIFY(info->stored_expert_quantization.empty() != has_experts &&
          info->stored_quantization.empty() == (has_experts || stays.isEmpty()));
  QVERIFY(info->stored_head_quantization.empty());
  const std::int64_t hidden = info->hidden_size, q = 4 * info->head_dim, kv = 2 * info->head_dim, vocab = 96;
  const std::int64_t inner = info->intermediate_size, n_experts = has_experts ? 4 : 0, heads = 4;
  const std::int64_t experts = n_experts * (3 * hidden * inner + 2 * inner + hidden + hidden + 1);  // router too
  const std::int64_t attention = hidden * (2 * q + 2 * kv) + (has_experts ? q + 2 * kv + hidden + heads : 0);
  QCOMPARE(info->n_parameters, hidden * (2 * vocab + 3) + attention + (has_experts ? experts : 3 * hidden * inner));
  const bool is_told = std::any_of(info->warnings.begin(), info->warnings.end(), [](const std::string& warning) {
    return warning.starts_with("quantized weights of ") && warning.find("become bfloat16 of ") != std::string::npos;
  });
  // In gptq-4bit-ordered every matrix has an input order of its own: only those that share no input keep their codes (o and
  // down).
  QCOMPARE(is_told, kept.isEmpty() || name == QLatin1String("gptq-4bit-ordered"));
  engine::EngineOptions as_stored, widened;
  widened.dtype = "bfloat16";
  const auto small = engine::estimate_fit(*info, as_stored), large = engine::estimate_fit(*info, widened);
  QVERIFY(stays.isEmpty() ? small->weights == large->weights : small->weights < large->weights);
}

void QuantizedModelTest::inspect_names_the_scheme_and_the_cause_data() {
  QTest::addColumn<QString>("scheme");
  QTest::addColumn<QString>("cause");  // empty: they stay codes
  const auto row = [](const char* name, const char* scheme, const char* cause) { QTest::newRow(name) << scheme << cause; };
  row("gptq-4bit", "gptq: 7 int4, groups of 32", "");
  row("gptq-4bit-ordered", "gptq: 7 int4, groups of 32 in activation order (desc_act), zero points",
      "5 tensors: matrices with the same input have their groups in different orders (desc_act)");
  row("gptq-4bit-desc-act", "gptq: 7 int4, groups of 32 in activation order (desc_act), zero points", "");
  row("gptq-8bit-desc-act", "gptq: 1 int8, groups of 64 in activation order (desc_act), zero points; 6 int8, no", "");
  row("gptq-marlin", "gptq: 1 int4, groups of 128; 6 int4, no groups", "");
  row("awq", "awq: 7 int4, groups of 32, zero points", "");
  row("awq-gemv", "awq: 7 int4, groups of 32, zero points", "");
  row("awq-gemv-fast", "awq: 1 int4, groups of 64, zero points; 6 int4, no groups, zero points", "");
  row("awq-marlin", "awq: 7 int4, groups of 64", "");
  row("compressed-w4a16-actorder", "compressed-tensors: 7 int4, groups of 32 in activation order (desc_act)", "");
  row("compressed-marlin-24", "compressed-tensors: 1 int4, groups of 128; 6 int4, no groups", "");
  row("compressed-w8a8", "compressed-tensors: 7 int8, no groups", "");
  row("compressed-fp8-block", "compressed-tensors: 7 fp8_e4m3, groups of 32",
      "their groups of 32 are not a multiple of 128");
  row("compressed-fp8-block-128", "compressed-tensors: 2 fp8_e4m3, groups of 128; 5 fp8_e4m3, no groups", "");
  row("fp8-block", "fp8: 7 fp8_e4m3, groups of ", "their groups of 32 are not a multiple of 128");
  row("fp8-block-128", "fp8: 7 fp8_e4m3, groups of 128", "");
  row("bnb-8bit", "bitsandbytes: 7 int8, no groups", "");
  row("bnb-nf4", "bitsandbytes: 7 nf4, blocks of 64", "");
  row("bnb-nf4-over-rows", "bitsandbytes: 7 nf4, blocks of 64", "blocks cross the ends of rows");
}

void QuantizedModelTest::inspect_names_the_scheme_and_the_cause() {
  QFETCH(QString, scheme);
  QFETCH(QString, cause);
  const auto info = engine::inspect_checkpoint(quantized_path(QTest::currentDataTag()));
  QVERIFY(info.has_value());
  QVERIFY2(info->quantization_scheme.starts_with(scheme.toStdString()), info->quantization_scheme.c_str());
  QString told;
  for (const std::string& warning : info->warnings) {
    if (warning.starts_with("quantized weights of ")) told = QString::fromStdString(warning);
  }
  QCOMPARE(told.isEmpty(), cause.isEmpty());
  QVERIFY2(told.contains(cause), qPrintable(told));
  QVERIFY(cause.isEmpty() || told.contains(QRegularExpression("\\([1-7] tensors?: ")));
  QVERIFY(!told.contains("smaller"));
}

/// Rows of 96 are no whole blocks of 64: such matrices stay numbers, in f32.
void QuantizedModelTest::what_saves_nothing_is_estimated_so() {
  const auto info = engine::inspect_checkpoint(quantized_path("bnb-nf4-over-rows"));
  const auto weights_with = [&](const char* quantization) {
    engine::EngineOptions options;
    options.quantization = quantization;
    return engine::estimate_fit(*info, options)->weights;
  };
  QVERIFY(weights_with("bitsandbytes_4bit") > weights_with("int8_g32"));
  QVERIFY(weights_with("int8_g32") < weights_with("none"));
}

void QuantizedModelTest::orders_are_kept_beside_codes_data() {
  QTest::addColumn<QString>("name");
  for (const char* name : {"gptq-4bit-desc-act", "gptq-8bit-desc-act"}) QTest::newRow(name) << name;
}

/// Greedy tokens are those of the numbers; where activations are rounded, but for tokens that are as good within that. The
/// estimate has room for the orders.
void QuantizedModelTest::orders_are_kept_beside_codes() {
  QFETCH(QString, name);
  const std::string path = quantized_path(name.toStdString());
  const QTemporaryDir made;
  const std::string numbers = dequantized_copy(path, made);
  std::vector<std::int32_t> context{3, 17, 42, 8, 61};
  const std::vector<std::int32_t> want = RunnerDriver(numbers, {}).greedy(context, 24);
  QCOMPARE(RunnerDriver(path, {.as_stored = true}).greedy(context, 24), want);
  const auto info = engine::inspect_checkpoint(path);
  QVERIFY(info->has_input_orders && !info->has_expert_input_orders);
  context.insert(context.end(), want.begin(), want.end());
  const DriverRows rows{0, context, static_cast<int>(context.size())};
  const Logits exact = RunnerDriver(numbers, {}).step({rows});
  for (const std::string& isa : kernels::cpu_isas()) {
    const Logits got = RunnerDriver(path, {.isa = isa, .as_stored = true}).step({rows});
    for (std::size_t row = 0; row < got.size(); ++row) {
      const float best = *std::max_element(exact[row].begin(), exact[row].end());
      QVERIFY(best - exact[row][static_cast<std::size_t>(best_token(got[row]))] <= 0.05 * largest_magnitude(exact));
    }
    engine::EngineOptions options;
    options.isa = isa;
    options.threads = 2;
    RunnerDriver in_16_bits(path, {.isa = isa, .dtype = kernels::Dtype::f16, .as_stored = true});
    QCOMPARE(in_16_bits.runner().memory().weights, engine::estimate_fit(*info, options)->weights);
  }
}

/// Asked for its own format the folder gives its codes, asked for another its numbers rounded anew.
void QuantizedModelTest::a_quantization_rounds_what_has_an_order() {
  const std::string path = quantized_path("gptq-4bit-desc-act");
  const QTemporaryDir made;
  const std::string numbers = dequantized_copy(path, made);
  RunnerChoice same{.as_stored = true}, other{.as_stored = true};
  same.quantization.quantization = "int4_g32";
  same.quantization.quantization_zero_point = true;
  same.quantization.keep_head = true;
  other.quantization.quantization = "int8_g64";
  other.quantization.keep_head = true;
  QVERIFY(logits_of(path, same) == logits_of(path, {.as_stored = true}));
  QVERIFY(logits_of(path, other) == logits_of(numbers, other));
}

/// Q, K and V share an order of groups, and no format has a scale of V: none of the three can stay, and inspect says why.
void QuantizedModelTest::parts_of_one_product_in_different_formats_become_numbers() {
  const QuantizedCopy folder("compressed-w4a16-actorder");
  const std::uint16_t tiny = kernels::f32_to_bf16(1.5e-30F);
  folder.edit_data("model.layers.0.self_attn.v_proj.weight_scale", 0,
                   std::string(reinterpret_cast<const char*>(&tiny), sizeof tiny));
  const auto info = engine::inspect_checkpoint(folder.path());
  QVERIFY(info.has_value());
  QCOMPARE(info->stored_quantization, std::string("int4_g32_asym"));  // of the others
  const auto told = std::find_if(info->warnings.begin(), info->warnings.end(),
                                 [](const std::string& warning) { return warning.starts_with("quantized weights of "); });
  QVERIFY(told != info->warnings.end());
  const QString message = QString::fromStdString(*told);
  QVERIFY2(message.contains("become bfloat16 of "), qPrintable(message));
  QVERIFY2(message.contains("2 tensors: matrices that are multiplied together have no weight format in common"),
           qPrintable(message));
  QVERIFY2(message.contains("1 tensor: no weight format supports their scales or settings"), qPrintable(message));
  const QTemporaryDir made;
  QVERIFY(logits_of(folder.path(), {.as_stored = true}) == logits_of(dequantized_copy(folder.path(), made), {}));
}

LATHE_TEST(QuantizedModelTest)

}  // namespace quantized_model_test
#include "quantized_model_test.moc"
