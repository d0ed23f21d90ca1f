// SPDX-License-Identifier: Apache-2.0
// Options that have no effect beside the others, and those that have one.
#include <QTest>

#include "engine/api/options.h"
#include "tests/support/test_class.h"

namespace idle_options_test {

using namespace lathe::engine;

class IdleOptionsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void an_option_is_idle_unless_another_asks_for_it_data() {
    QTest::addColumn<QString>("option");
    QTest::addColumn<QString>("other");
    QTest::addColumn<QStringList>("asks");
    QTest::addColumn<QStringList>("does_not");
    const QStringList groups = {"int8_g32", "int8_g64", "int8_g128", "int4_g32", "int4_g64", "int4_g128"};
    const QStringList whole = {"dynamic_int8", "fp8", "fp8_weight_only"};
    const QStringList own = {"none", "bitsandbytes_8bit"};
    const auto row = [](const char* option, const char* other, const QStringList& asks, const QStringList& does_not) {
      QTest::newRow(option) << option << other << asks << does_not;
    };
    for (const char* name : {"bnb_4bit_quant_type", "bnb_4bit_use_double_quant", "bnb_4bit_compute_dtype"})
      row(name, "quantization", {"bitsandbytes_4bit"}, own + groups + whole + QStringList{"smoothquant"});
    for (const char* name : {"smoothquant_alpha", "smoothquant_per_token", "smoothquant_per_channel"})
      row(name, "quantization", {"smoothquant"}, own + groups + whole + QStringList{"bitsandbytes_4bit"});
    row("quantization_zero_point", "quantization", groups, own + whole + QStringList{"bitsandbytes_4bit", "smoothquant"});
    row("keep_head", "quantization", groups + whole, own + QStringList{"bitsandbytes_4bit", "smoothquant"});
    for (const char* name : {"preferred_batch_size", "max_batch_delay_ms"})
      row(name, "policy", {"dynamic"}, {"paged", "static", "continuous"});
    row("kv_cache_memory_bytes", "num_gpu_blocks_override", {"0"}, {"12"});
    row("gpu_memory_utilization", "device", {"cuda", "cuda:1"}, {"cpu"});
    row("state_snapshot_memory_bytes", "enable_prefix_caching", {"true"}, {"false"});
    row("tool_call_parser", "enable_auto_tool_choice", {"true"}, {"false"});
  }

  void an_option_is_idle_unless_another_asks_for_it() {
    QFETCH(QString, option);
    QFETCH(QString, other);
    QFETCH(QStringList, asks);
    QFETCH(QStringList, does_not);
    for (const QString& value : asks + does_not) {
      EngineOptions options;
      QVERIFY(set_option(options, other.toStdString(), value.toStdString()).has_value());
      QVERIFY2(why_idle(options, option.toStdString()).empty() == asks.contains(value), qPrintable(value));
    }
  }

  void a_size_of_the_cache_makes_a_share_idle() {
    for (const char* size : {"kv_cache_memory_bytes", "num_gpu_blocks_override"}) {
      EngineOptions options;
      options.device = "cuda";
      QVERIFY(set_option(options, size, "4096").has_value());
      QVERIFY2(!why_idle(options, "gpu_memory_utilization").empty(), size);
    }
  }

  void other_options_always_mean_something() {
    for (const char* name : {"max_num_seqs", "dtype", "quantization", "policy", "no such option"})
      QVERIFY(why_idle(EngineOptions(), name).empty());
  }
};

LATHE_TEST(IdleOptionsTest)

}  // namespace idle_options_test
#include "idle_options_test.moc"
