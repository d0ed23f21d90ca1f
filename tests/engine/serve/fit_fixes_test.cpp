// SPDX-License-Identifier: Apache-2.0
// Changes of one option with which a model fits that does not fit, and the error that names them.
#include "engine/serve/fit_fixes.h"

#include <QTest>
#include <algorithm>

#include "engine/serve/opened_model.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace fit_fixes_test {

using namespace lathe;
using namespace lathe::engine;
using kernels::Dtype;

namespace {

/// tiny-llama in f32: 2 layers x 2 KV heads x 16 x K and V x 4 bytes = 512 bytes a token, 16 tokens a block.
class Case {
 public:
  EngineOptions options = [] {
    EngineOptions named;
    named.model = tests::tiny_model_path();
    return named;
  }();
  ModelConfig config = open_model(tests::tiny_model_path())->config;

  Result<MemoryPlan> plan(const EngineOptions& with, std::optional<std::int64_t> free) const {
    return plan_memory(*backend_, config, Dtype::f32, with, free);
  }
  /// Memory that all but the KV cache takes.
  std::int64_t fixed() const {
    const FitEstimate estimate = plan(options, std::nullopt)->estimate;
    return estimate.total() - estimate.kv;
  }
  std::int64_t block_bytes() const { return plan(options, std::nullopt)->block_bytes; }
  std::vector<FitFix> fixes(std::int64_t free) const {
    return find_fixes(*backend_, config, Dtype::f32, options, *plan(options, free));
  }
  Result<void> check(std::optional<std::int64_t> free) const {
    return check_fit(*backend_, config, Dtype::f32, options, *plan(options, free));
  }

 private:
  // The reference backend keeps every format as numbers: a quantization saves nothing there.
  std::shared_ptr<kernels::Backend> backend_ = kernels::make_cpu_backend({.n_threads = 1, .isa = "scalar"});
};

QStringList texts_of(const std::vector<FitFix>& fixes) {
  QStringList texts;
  for (const FitFix& fix : fixes) texts << QString::fromStdString(fix.option + " " + fix.value);
  return texts;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

class FitFixesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void each_change_is_found_data();
  void each_change_is_found();
  void every_fix_fits_and_changes_one_option();
  void a_pool_of_several_groups_is_counted();
  void what_fits_has_no_fixes();
  void the_error_says_the_parts_and_the_fixes();
  void the_error_says_that_no_change_is_enough();
  void a_description_has_the_same_fixes();
};

void FitFixesTest::each_change_is_found_data() {
  QTest::addColumn<QString>("option");  // of the options of the load
  QTest::addColumn<QString>("value");
  QTest::addColumn<int>("n_blocks");  // blocks that are free next to the fixed parts
  QTest::addColumn<QString>("fix");
  QTest::newRow("the longest context") << "max_model_len"
                                       << "0" << 5 << "max_model_len 80";
  QTest::newRow("a round context") << "max_model_len"
                                   << "4096" << 70 << "max_model_len 1024";
  QTest::newRow("the longest of a long one") << "max_model_len"
                                             << "4096" << 70 << "max_model_len 1120";
  QTest::newRow("a cache of bytes") << "kv_cache_memory_bytes"
                                    << "8192000" << 20 << "kv_cache_memory_bytes 163840";
  QTest::newRow("an automatic cache") << "kv_cache_memory_bytes"
                                      << "8192000" << 300 << "kv_cache_memory_bytes 0";
  QTest::newRow("fewer blocks") << "num_gpu_blocks_override"
                                << "1000" << 20 << "num_gpu_blocks_override 20";
  QTest::newRow("automatic blocks") << "num_gpu_blocks_override"
                                    << "1000" << 300 << "num_gpu_blocks_override 0";
  QTest::newRow("a narrower type") << "max_model_len"
                                   << "0" << 15 << "dtype bfloat16";
  QTest::newRow("a quantization") << "max_model_len"
                                  << "0" << 15 << "quantization int8_g32";
}

void FitFixesTest::each_change_is_found() {
  QFETCH(QString, option);
  QFETCH(QString, value);
  QFETCH(int, n_blocks);
  QFETCH(QString, fix);
  Case test;
  if (option == "max_model_len") test.config.max_position_embeddings = std::max<std::int64_t>(256, value.toLongLong());
  QVERIFY(set_option(test.options, option.toStdString(), value.toStdString()).has_value());
  const QStringList fixes = texts_of(test.fixes(test.fixed() + n_blocks * test.block_bytes()));
  QVERIFY2(fixes.contains(fix), qPrintable(fixes.join(", ")));
  QCOMPARE(fixes.count(fix), 1);
}

/// From no free memory for the KV cache to nearly enough.
void FitFixesTest::every_fix_fits_and_changes_one_option() {
  Case test;
  test.config.max_position_embeddings = 4096;
  test.options.max_num_seqs = 16;
  const std::int64_t fixed = test.fixed(), block_bytes = test.block_bytes();
  std::size_t n_fixes = 0;
  for (std::int64_t n_blocks = 0; n_blocks < 256; n_blocks += 12) {
    const std::int64_t free = fixed + n_blocks * block_bytes;
    for (const FitFix& fix : test.fixes(free)) {
      EngineOptions changed = test.options;
      QVERIFY(set_option(changed, fix.option, fix.value).has_value() && changed != test.options);
      const FitEstimate estimate = test.plan(changed, free)->estimate;
      QVERIFY(estimate.verdict != FitVerdict::wont_fit);
      QCOMPARE(fix.total, estimate.total());
      ++n_fixes;
    }
  }
  QVERIFY(n_fixes > 20);
}

/// One of two layers sees 50 tokens: 4 x 9 blocks of it next to steps of 64 rows.
void FitFixesTest::a_pool_of_several_groups_is_counted() {
  Case test;
  test.options.max_num_batched_tokens = 64;
  test.options.max_num_seqs = 4;
  test.options.num_gpu_blocks_override = 1000;
  test.config.layers.front().window = 50;
  const std::int64_t layer_block = test.block_bytes() / 2;
  const QStringList fixes = texts_of(test.fixes(test.fixed() + (70 + 36) * layer_block));
  QVERIFY2(fixes.contains("num_gpu_blocks_override 70"), qPrintable(fixes.join(", ")));
}

void FitFixesTest::what_fits_has_no_fixes() {
  Case test;
  QVERIFY(test.fixes(1LL << 30).empty());
  QVERIFY(test.check(1LL << 30).has_value());
  QVERIFY(test.check(std::nullopt).has_value());  // unknown
}

void FitFixesTest::the_error_says_the_parts_and_the_fixes() {
  Case test;
  const std::int64_t free = test.fixed() + 15 * test.block_bytes();
  const auto fit = test.check(free);
  QVERIFY(!fit.has_value());
  QVERIFY(fit.error().code == ErrorCode::resource_exhausted);
  for (const char* part : {"weights", "KV cache", "activations", "is free", "it would fit with max_model_len 240 ("})
    QVERIFY2(contains(fit.error().message, part), fit.error().message.c_str());
  for (const FitFix& fix : test.fixes(free))
    QVERIFY2(contains(fit.error().message, fix.option + " " + fix.value), fit.error().message.c_str());
}

void FitFixesTest::the_error_says_that_no_change_is_enough() {
  Case test;
  const auto fit = test.check(1000);
  QVERIFY(test.fixes(1000).empty());
  QVERIFY2(contains(fit.error().message, "the weights alone are too large") &&
               contains(fit.error().message, "free memory, or use a smaller model"),
           fit.error().message.c_str());
}

/// The window and `lathe inspect` have a description of the files in place of the opened model.
void FitFixesTest::a_description_has_the_same_fixes() {
  const auto info = inspect_checkpoint(tests::tiny_model_path());
  EngineOptions options;
  QVERIFY(find_fixes(*info, options)->empty());
  options.block_size = 256;
  options.kv_cache_memory_bytes = 1LL << 43;
  const auto fixes = find_fixes(*info, options);
  QVERIFY(fixes.has_value());
  QVERIFY2(texts_of(*fixes).contains("kv_cache_memory_bytes 0"), qPrintable(texts_of(*fixes).join(", ")));
  options.isa = "z80";
  QVERIFY(find_fixes(*info, options).error().code == ErrorCode::invalid_argument);
}

LATHE_TEST(FitFixesTest)

}  // namespace fit_fixes_test
#include "fit_fixes_test.moc"
