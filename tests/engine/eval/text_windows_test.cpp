// SPDX-License-Identifier: Apache-2.0
#include "engine/eval/text_windows.h"

#include <QTest>

#include "tests/support/test_class.h"

namespace text_windows_test {

using namespace lathe::engine;

namespace {

std::int64_t n_predicted(const std::vector<TextWindow>& windows) {
  std::int64_t n = 0;
  for (const TextWindow& window : windows) n += window.n_predicted();
  return n;
}

}  // namespace

class TextWindowsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_sliding_window_predicts_every_token_but_the_first_once() {
    for (std::int64_t n = 0; n < 60; ++n) {
      const auto windows = windows_of(EvalProtocol::sliding, n, 16, 5);
      QCOMPARE(n_predicted(windows), std::max<std::int64_t>(0, n - 1));
      std::int64_t next = 1;
      for (const TextWindow& window : windows) {
        QCOMPARE(window.predicted, next);
        next = window.end;
        QVERIFY(window.end - window.begin <= 16 && window.predicted > window.begin);
        // From 16 - 5 tokens before it where there are so many.
        QVERIFY(window.begin == 0 || window.predicted - window.begin >= 16 - 5);
      }
    }
  }

  void a_cut_text_is_one_window() {
    const auto windows = windows_of(EvalProtocol::cut, 100, 16, 8);
    QCOMPARE(windows.size(), std::size_t{1});
    QCOMPARE(windows[0].end, std::int64_t{16});
    QCOMPARE(windows[0].n_predicted(), std::int64_t{15});
    QCOMPARE(windows_of(EvalProtocol::cut, 7, 16, 8)[0].n_predicted(), std::int64_t{6});
    QVERIFY(windows_of(EvalProtocol::cut, 1, 16, 8).empty());
  }

  /// A chunk of 512 predicts 255 tokens, those behind its middle.
  void halves_are_those_of_llama_cpp() {
    const auto windows = windows_of(EvalProtocol::halves, 1100, 512, 256);
    QCOMPARE(windows.size(), std::size_t{2});
    QCOMPARE(windows[1].begin, std::int64_t{512});
    QCOMPARE(windows[1].predicted, std::int64_t{512 + 257});
    QCOMPARE(windows[1].n_predicted(), std::int64_t{255});
    QVERIFY(windows[0].begins_with_bos && windows[1].begins_with_bos);
    QVERIFY(windows_of(EvalProtocol::halves, 511, 512, 256).empty());
  }
};

LATHE_TEST(TextWindowsTest)

}  // namespace text_windows_test
#include "text_windows_test.moc"
