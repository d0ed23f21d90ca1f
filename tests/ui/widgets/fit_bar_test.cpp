// SPDX-License-Identifier: GPL-3.0-or-later
// The fit bar as it is painted: an estimate, and what a load took beside it, with nothing cut and nothing upon another.
#include "ui/widgets/fit_bar.h"

#include <QLabel>
#include <QTest>

#include "tests/support/test_class.h"

namespace fit_bar_test {

using namespace lathe;
using namespace lathe::ui;

namespace {

constexpr std::int64_t kMiB = 1 << 20;

engine::FitEstimate estimate_of(std::int64_t unit) {
  engine::FitEstimate fit;
  fit.weights = 120 * unit;
  fit.kv = 64 * unit;
  fit.activations = 20 * unit;
  fit.other = 4 * unit;
  fit.free = 1000 * unit;
  fit.n_blocks = 1024;
  fit.max_model_len = 4096;
  fit.verdict = engine::FitVerdict::fits;
  return fit;
}

struct Bar {
  Theme theme;
  QWidget window;
  FitBar bar{theme, &window};
  Bar() {
    window.resize(theme.px(276), 400);
    bar.setFixedWidth(theme.px(276));
  }
  QImage image() { return bar.grab().toImage(); }
  /// Rows of pixels from `top` to `bottom` (at 1x) that have a pixel of that colour.
  bool has_color(const QColor& color, int top, int bottom) {
    const QImage shown = image();
    for (int y = theme.px(top); y < theme.px(bottom); ++y)
      for (int x = 0; x < shown.width(); ++x)
        if (shown.pixelColor(x, y) == color) return true;
    return false;
  }
  /// The longest run of pixels of that colour in a row of pixels.
  int run_of(const QColor& color, int y) {
    const QImage shown = image();
    int longest = 0, run = 0;
    for (int x = 0; x < shown.width(); ++x) {
      run = shown.pixelColor(x, theme.px(y)) == color ? run + 1 : 0;
      longest = std::max(longest, run);
    }
    return longest;
  }
};

}  // namespace

class FitBarTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void both_bars_have_one_scale() {
    Bar shown;
    shown.bar.set_fit(estimate_of(kMiB), 16, 4096, engine::MemoryUse{120 * kMiB, 16 * kMiB, 20 * kMiB, 10 * kMiB});
    const QColor weights = shown.theme.tokens().series[0], kv = shown.theme.tokens().series[2];
    constexpr int kEstimated = 32, kMeasured = 42;
    QVERIFY(shown.run_of(weights, kEstimated) > 20);
    QVERIFY(std::abs(shown.run_of(weights, kEstimated) - shown.run_of(weights, kMeasured)) <= 1);
    // A quarter of the cache is filled.
    QVERIFY2(shown.run_of(kv, kEstimated) > 3 * shown.run_of(kv, kMeasured),
             qPrintable(QString::number(shown.run_of(kv, kMeasured))));
    QVERIFY(shown.run_of(kv, kMeasured) > 0);
  }

  void a_row_for_each_part_and_their_sum() {
    Bar shown;
    shown.bar.set_fit(estimate_of(kMiB), 16, 4096);
    const int plain = shown.bar.height();
    QVERIFY(!shown.has_color(shown.theme.tokens().series[0], 40, 46));  // no second bar
    shown.bar.set_fit(estimate_of(kMiB), 16, 4096, engine::MemoryUse{120 * kMiB, 16 * kMiB, 20 * kMiB, 10 * kMiB});
    QVERIFY(shown.bar.height() > plain);
    QCOMPARE(shown.bar.sizeHint().height(), shown.bar.height());
    for (const char* words : {"Measured 166 MiB, estimated 208", "Weights 120, estimated 120", "KV 16.0, estimated 64.0",
                              "Activations 20.0, estimated 20.0", "Other 10.0, estimated 4.0"})
      QVERIFY2(shown.bar.words().contains(QLatin1String(words)), qPrintable(shown.bar.words()));
    shown.bar.set_free(1e9, 2e9, {});
    QVERIFY(!shown.bar.words().contains("Measured") && shown.bar.height() < plain);
  }

  void a_load_on_a_device_takes_memory_of_the_host_too() {
    Bar shown;
    engine::FitEstimate fit = estimate_of(kMiB);
    shown.bar.set_fit(fit, 16, 4096);
    const int plain = shown.bar.height();
    QVERIFY(!shown.bar.words().contains("Host"));
    fit.host = 96 * kMiB;
    fit.host_free = 2048 * kMiB;
    shown.bar.set_fit(fit, 16, 4096);
    QVERIFY2(shown.bar.words().endsWith("Host: 0.09 of 2.0 GiB free"), qPrintable(shown.bar.words()));
    QVERIFY(shown.bar.height() > plain);
    QVERIFY(shown.has_color(shown.theme.tokens().text3, plain - 4, plain + 12));
    shown.bar.set_free(1e9, 2e9, {});
    QVERIFY(!shown.bar.words().contains("Host") && shown.bar.height() < plain);
  }

  void states_of_recurrent_layers_have_a_line() {
    Bar shown;
    engine::FitEstimate fit = estimate_of(kMiB);
    shown.bar.set_fit(fit, 16, 4096);
    const int plain = shown.bar.height();
    fit.states = 10 * kMiB;
    shown.bar.set_fit(fit, 16, 4096);
    QVERIFY2(shown.bar.words().endsWith("KV has states: 10.0 MiB"), qPrintable(shown.bar.words()));
    fit.snapshots = 20 * kMiB;
    fit.n_snapshots = 32;
    shown.bar.set_fit(fit, 16, 4096);
    QVERIFY2(shown.bar.words().endsWith("KV has states: 10.0, 32 snapshots: 20.0 MiB"), qPrintable(shown.bar.words()));
    QVERIFY(shown.bar.height() > plain);
    QVERIFY(shown.has_color(shown.theme.tokens().text3, plain - 4, plain + 12));
    shown.bar.set_free(1e9, 2e9, {});
    QVERIFY(!shown.bar.words().contains("states"));
  }

  void sums_are_in_one_unit() {
    Bar shown;
    shown.bar.set_fit(estimate_of(64 * kMiB), 16, 4096, engine::MemoryUse{120 * 64 * kMiB, 0, 0, 0});
    QVERIFY2(shown.bar.words().contains("Measured 7.5 GiB, estimated 13.0"), qPrintable(shown.bar.words()));
  }
};

LATHE_WINDOW_TEST(FitBarTest)

}  // namespace fit_bar_test
#include "fit_bar_test.moc"
