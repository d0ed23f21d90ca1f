// SPDX-License-Identifier: Apache-2.0
// Tests of the loss of quality by quantization, measured against one reference that stays loaded.
#include "app/bench/sweep/load/quality.h"

#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace quality_test {

using namespace lathe;
using namespace lathe::app;

namespace {

engine::EngineOptions options_of(const std::string& quantization) {
  engine::EngineOptions options;
  options.model = tests::tiny_model_path();
  options.quantization = quantization;
  options.threads = 1;
  return options;
}

}  // namespace

class QualityTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::string path(const char* name) const { return folder_.filePath(QLatin1String(name)).toStdString(); }
  std::string text() const {
    tests::write_file(path("text.json"), R"(["Once upon a time there was a dog.", "The cat sat on the mat."])");
    return path("text.json");
  }

 private Q_SLOTS:
  /// The reference is loaded once: what is reported while loading is that of one model from then on.
  void the_reference_stays_and_changes_nothing() {
    QualityMeter meter(text(), {});
    QVERIFY(!meter.holds_reference());
    const auto always = [] { return true; };
    const auto none = meter.measure(options_of("none"), always);
    QVERIFY2(none.has_value(), none ? "" : none.error().message.c_str());
    QVERIFY(none->kl_mean == 0 && none->same_best == 1 && none->seconds > 0);
    QVERIFY(meter.holds_reference());
    const auto four = meter.measure(options_of("int4_g32"), always);
    const auto alone = QualityMeter(text(), {}).measure(options_of("int4_g32"), always);
    QCOMPARE(four->kl_mean, alone->kl_mean);
    QCOMPARE(four->perplexity, alone->perplexity);
    QVERIFY(four->kl_mean > 0);
  }

  void an_engine_that_needs_its_room_gets_it() {
    QualityMeter meter(text(), {});
    QVERIFY(meter.measure(options_of("none"), [] { return true; }).has_value());
    engine::EngineOptions small = options_of("int8_g32");
    small.num_gpu_blocks_override = 16;
    meter.make_room_for(small);
    QVERIFY(meter.holds_reference());
    engine::EngineOptions large = small;
    large.num_gpu_blocks_override = 1 << 30;  // more than there is
    meter.make_room_for(large);
    QVERIFY(!meter.holds_reference());
    QVERIFY(meter.measure(small, [] { return true; }).has_value());  // and it is loaded again
  }

  void quantized_weights_come_from_the_cache() {
    const engine::PackedCacheFolder folder{.path = path("packed")};
    QualityMeter meter(text(), folder);
    const auto first = meter.measure(options_of("int8_g32"), [] { return true; });
    QVERIFY(first.has_value());
    const auto n_entries = std::distance(std::filesystem::directory_iterator(folder.path), {});
    QVERIFY(n_entries > 0);
    const auto second = meter.measure(options_of("int8_g32"), [] { return true; });
    QCOMPARE(second->kl_mean, first->kl_mean);
    QCOMPARE(std::distance(std::filesystem::directory_iterator(folder.path), {}), n_entries);
  }

  void what_is_asked_to_stop_stops() {
    QualityMeter meter(text(), {});
    QCOMPARE(meter.measure(options_of("none"), [] { return false; }).error().code, engine::ErrorCode::cancelled);
    QVERIFY(!QualityMeter("/nowhere/at.json", {}).measure(options_of("none"), [] { return true; }).has_value());
  }
};

LATHE_TEST(QualityTest)

}  // namespace quality_test
#include "quality_test.moc"
