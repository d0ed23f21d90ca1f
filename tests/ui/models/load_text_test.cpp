// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/load_text.h"

#include <QTest>

#include "tests/support/test_class.h"
#include "ui/models/durations.h"

namespace load_text_test {

using namespace lathe;
using namespace lathe::ui;

class LoadTextTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_loaded_model_says_whether_it_came_from_the_cache() {
    engine::LoadedModel model;
    model.options.quantization = "int8_g32";
    model.load_ms = 800;
    const QString plain = QStringLiteral("Loaded as INT8 g32 in ") + duration_text(800);
    for (const auto use : {engine::PackedCacheUse::none, engine::PackedCacheUse::stored, engine::PackedCacheUse::missed}) {
      model.packed_cache = use;
      QCOMPARE(loaded_text(model), plain);
    }
    model.packed_cache = engine::PackedCacheUse::hit;
    QCOMPARE(loaded_text(model), plain + QStringLiteral(" from the cache"));
  }

  void weights_are_named_by_what_they_are_kept_in() {
    engine::LoadedModel model;
    model.dtype = "bfloat16";
    QCOMPARE(weights_text(model), QStringLiteral("BF16"));
    model.info.stored_quantization = "int4_g32";
    QCOMPARE(weights_text(model), QStringLiteral("INT4 g32"));
    QCOMPARE(stored_text(model.info), QStringLiteral("INT4 g32"));
    model.info.stored_quantization = "int4_g128_asym";
    QCOMPARE(weights_text(model), QStringLiteral("INT4 g128 asym"));
    model.info.stored_quantization = "int8_channel";
    QCOMPARE(weights_text(model), QStringLiteral("INT8 channel"));
    model.info.stored_quantization = "fp8_weight_only";
    QCOMPARE(weights_text(model), QStringLiteral("FP8"));
    model.info.stored_quantization = "int8_g16_min + int4_g32_min + int8_g16";
    QCOMPARE(weights_text(model), QStringLiteral("INT8 + INT4"));
    model.info.stored_quantization.clear();
    model.info.stored_expert_quantization = "mxfp4";  // most of such a model
    QCOMPARE(weights_text(model), QStringLiteral("MXFP4"));
    model.options.dtype = "bfloat16";
    QCOMPARE(weights_text(model), QStringLiteral("BF16"));
    model.options.quantization = "bitsandbytes_4bit";
    QCOMPARE(weights_text(model), QStringLiteral("NF4"));
    model.options.quantization = "dynamic_int8";
    QCOMPARE(weights_text(model), QStringLiteral("INT8"));
  }

  void a_fix_says_what_it_does() {
    const struct {
      engine::FitFix fix;
      const char* text;
    } rows[] = {
        {{"max_model_len", "2048"}, "Context 2048"},
        {{"max_num_seqs", "1"}, "1 sequence"},
        {{"max_num_seqs", "4"}, "4 sequences"},
        {{"kv_cache_memory_bytes", "0"}, "KV memory Auto"},
        {{"kv_cache_memory_bytes", "1073741824"}, "KV memory 1.0 GiB"},
        {{"num_gpu_blocks_override", "0"}, "KV memory Auto"},
        {{"num_gpu_blocks_override", "70"}, "KV memory 70 blocks"},
        {{"state_snapshot_memory_bytes", "0"}, "Snapshots Auto"},
        {{"dtype", "bfloat16"}, "Use BF16"},
        {{"quantization", "int8_g32"}, "Quantize to INT8, groups of 32"},
    };
    for (const auto& [fix, text] : rows) QCOMPARE(fix_text(fix), QString(text));
  }
};

LATHE_TEST(LoadTextTest)

}  // namespace load_text_test
#include "load_text_test.moc"
