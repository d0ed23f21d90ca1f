// SPDX-License-Identifier: Apache-2.0
#include "engine/model/weight_storage.h"

#include <QTest>
#include <cmath>
#include <string>
#include <vector>

#include "engine/api/options.h"
#include "kernels/formats/format.h"
#include "tests/support/runner_driver.h"
#include "tests/support/tiny_model.h"

using namespace lathe;
using kernels::Dtype;

namespace {

/// Logits of the last token of a short prompt.
std::vector<float> logits_of(const std::string& isa, const std::string& quantization) {
  tests::RunnerDriver driver(tests::tiny_model_path(), {.isa = isa, .quantization = quantization});
  const std::vector<std::int32_t> prompt = {1, 5, 9, 20, 33, 7, 100, 41};
  return driver.step({{.sequence = 0, .tokens = prompt, .n_new = static_cast<int>(prompt.size())}}).back();
}

/// Of the difference, relative to what differs from the mean of `want`.
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

  void a_quantization_is_named_as_its_format() {
    for (const engine::Quantization& row : engine::quantizations()) {
      QCOMPARE(row.name, kernels::descriptor_of(row.matrices).name);
    }
  }

  void none_is_no_quantization() {
    QVERIFY(engine::find_quantization("none") == nullptr);
    QVERIFY(engine::find_quantization("int3_g7") == nullptr);
    QCOMPARE(engine::WeightStorage(Dtype::bf16).matrices, kernels::WeightFormat::bf16);
  }

  /// The checkpoint's weights are random: nothing in it averages the rounding out, 8 bits cost 3 % and 4 bits 20 to 40 %.
  void answers_stay_near_those_of_the_checkpoint_data() {
    QTest::addColumn<QString>("isa");
    QTest::addColumn<QString>("quantization");
    for (const std::string& isa : kernels::cpu_isas()) {
      for (const engine::Quantization& row : engine::quantizations()) {
        const std::string name(row.name);
        QTest::addRow("%s on %s", name.c_str(), isa.c_str()) << QString::fromStdString(isa) << QString::fromStdString(name);
      }
    }
  }
  void answers_stay_near_those_of_the_checkpoint() {
    QFETCH(QString, isa);
    QFETCH(QString, quantization);
    const double error = distance(logits_of(isa.toStdString(), quantization.toStdString()), logits_of("", "none"));
    QVERIFY2(error > 0 && error < (quantization.startsWith(QLatin1String("int8")) ? 0.05 : 0.5),
             qPrintable(QString::number(error)));
  }
};

QTEST_GUILESS_MAIN(WeightStorageTest)
#include "weight_storage_test.moc"
