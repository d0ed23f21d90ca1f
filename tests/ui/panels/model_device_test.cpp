// SPDX-License-Identifier: GPL-3.0-or-later
// The device in the Model dock: processors and cards of a machine that the test makes up, in the real window.
#include <QComboBox>
#include <QLocale>
#include <QSpinBox>

#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/ui/window_fixture.h"

namespace model_device_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

const std::vector<engine::DeviceInfo> kDevices = {
    {.option = "cpu", .name = "EPYC", .total_bytes = 16ll << 30, .free_bytes = 4ll << 30},
    {.option = "cuda:0",
     .name = "NVIDIA H200",
     .compute_capability = "9.0",
     .total_bytes = 140ll << 30,
     .free_bytes = 120ll << 30},
    {.option = "cuda:1",
     .name = "NVIDIA T4",
     .compute_capability = "7.5",
     .total_bytes = 16ll << 30,
     .why_not = "NVIDIA T4 has compute capability 7.5, but the kernels need 9.0"}};

}  // namespace

class ModelDeviceTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void devices_are_listed_with_their_memory() {
    WindowFixture fixture({}, {}, kDevices);
    fixture.window->context().load.choose(tiny_model_path());
    auto* const list = fixture.find<QComboBox>("model.device");
    QTRY_COMPARE(list->count(), 3);
    QCOMPARE(list->itemText(0), QStringLiteral("Processor, 4.0 of 16.0 GiB free"));
    QCOMPARE(list->itemText(1), QStringLiteral("cuda:0 NVIDIA H200, 120 of 140 GiB free"));
    QCOMPARE(list->itemText(2), QStringLiteral("cuda:1 NVIDIA T4, not available"));
    QCOMPARE(list->currentIndex(), 0);
    const auto is_enabled = [&](int row) { return (list->model()->index(row, 0).flags() & Qt::ItemIsEnabled) != 0; };
    QVERIFY(is_enabled(0) && is_enabled(1) && !is_enabled(2));
    QVERIFY(list->itemData(2, Qt::ToolTipRole).toString().contains("7.5, but the kernels need 9.0"));
    // "cuda" is the first card, and a card that is not there is shown by its name.
    auto& load = fixture.window->context().load;
    load.set_option("device", "cuda");
    QTRY_COMPARE(list->currentIndex(), 1);
    load.set_option("device", "cuda:5");
    QTRY_COMPARE(list->currentText(), QStringLiteral("cuda:5"));
    WindowFixture without({}, {}, {kDevices[0], {.option = "cuda", .why_not = "there is no NVIDIA driver"}});
    without.window->context().load.choose(tiny_model_path());
    auto* const other = without.find<QComboBox>("model.device");
    QTRY_COMPARE(other->count(), 2);
    QCOMPARE(other->itemText(1), QStringLiteral("CUDA, not available"));
    QCOMPARE(other->itemData(1, Qt::ToolTipRole).toString(), QStringLiteral("there is no NVIDIA driver"));
  }

  void a_device_reaches_the_loader() {
    WindowFixture fixture({}, {}, kDevices);
    auto& load = fixture.window->context().load;
    load.choose(tiny_model_path());
    load.set_option("isa", "scalar");
    auto* const list = fixture.find<QComboBox>("model.device");
    QTRY_COMPARE(list->count(), 3);
    const auto* const form = fixture.find<QWidget>("model.form");
    auto* const isa = fixture.find<QComboBox>("model.isa");
    auto* const share = fixture.find<QWidget>("model.gpu_memory_utilization");
    QVERIFY(isa->isVisibleTo(form) && !share->isVisibleTo(form));
    list->setCurrentIndex(1);
    Q_EMIT list->activated(1);
    QCOMPARE(QString::fromStdString(load.options().device), QStringLiteral("cuda:0"));
    QVERIFY(load.options().isa.empty());
    QTRY_VERIFY(!isa->isVisibleTo(form) && share->isVisibleTo(form));
    QCOMPARE(fixture.find<QSpinBox>("model.max_num_batched_tokens")->text(),
             QStringLiteral("Auto (%1)").arg(QLocale().toString(2048)));
    load.set_option("kv_cache_memory_bytes", "1048576");
    QTRY_VERIFY(!share->isVisibleTo(form));
    fixture.trigger("model.load");
    QVERIFY(fixture.wait_ready());
    QCOMPARE(fixture.window->bridge().loaded()->options.device, std::string("cuda:0"));
    // The memory of the loaded model comes back where it is.
    QVERIFY(load.returned_bytes() > 0);
    load.set_option("device", "cpu");
    QCOMPARE(load.returned_bytes(), std::int64_t{0});
  }
};

LATHE_WINDOW_TEST(ModelDeviceTest)

}  // namespace model_device_test
#include "model_device_test.moc"
