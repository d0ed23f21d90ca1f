// SPDX-License-Identifier: Apache-2.0
// Loads through the packed cache: the second gives bitwise the same logits, a doubtful entry is made again, nothing else
// fails.
#include "engine/packed/cached_weights.h"

#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "engine/base/free_memory.h"
#include "engine/run/open_backend.h"
#include "engine/schedule/batch_builder.h"
#include "engine/serve/load_runner.h"
#include "tests/support/quantized_folders.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace cached_weights_test {

using namespace lathe;
using namespace lathe::engine;
namespace fs = std::filesystem;

namespace {

struct Way {
  const char *quantization, *extra;
  const char* value;
};
constexpr Way kWays[] = {{"bitsandbytes_4bit", "bnb_4bit_use_double_quant", "true"},
                         {"bitsandbytes_4bit", "bnb_4bit_quant_type", "fp4"},
                         {"bitsandbytes_4bit", "bnb_4bit_compute_dtype", "float32"},
                         {"bitsandbytes_8bit", "cache", "true"},
                         {"int8_g32", "keep_head", "true"},
                         {"int4_g64", "dtype", "bfloat16"},
                         {"dynamic_int8", "cache", "true"},
                         {"int4_g32", "quantization_zero_point", "true"},
                         {"fp8", "keep_head", "true"},
                         {"smoothquant", "smoothquant_alpha", "0.5"}};

EngineOptions options_for(const Way& way, const std::string& path = tests::tiny_model_path()) {
  EngineOptions options;
  options.model = path;
  options.max_num_seqs = 1;
  options.threads = 2;
  LATHE_CHECK(set_option(options, "quantization", way.quantization) && set_option(options, way.extra, way.value));
  return options;
}

std::unique_ptr<Tokenizer> tokenizer_of(const OpenedModel& model) {
  auto tokenizer = open_tokenizer(model.folder.path());
  LATHE_CHECK(tokenizer.has_value());
  return std::move(*tokenizer);
}

std::vector<float> logits_of(ModelRunner& runner) {
  const std::vector<std::int32_t> ids = {1, 8, 15, 22, 29};
  const BlockTable blocks = consecutive_blocks(0, 1);
  BatchBuilder builder({.block_size = runner.limits().block_size});
  builder.clear();
  builder.add({.table = blocks, .token_ids = ids, .n_logits = 5});
  const auto output = runner.run(builder.finish());
  LATHE_CHECK(output.has_value());
  const auto* const first = output->logits.as<const float>();
  return {first, first + output->logits.n_elements()};
}

float largest_of(const std::vector<float>& numbers) {
  float largest = 0;
  for (const float number : numbers) largest = std::max(largest, std::fabs(number));
  return largest;
}

}  // namespace

class CachedWeightsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { dir_ = std::make_unique<QTemporaryDir>(); }

  void the_second_load_gives_the_same_logits_data() {
    QTest::addColumn<int>("way");
    for (int i = 0; i < std::ssize(kWays); ++i) QTest::addRow("%s %s", kWays[i].quantization, kWays[i].extra) << i;
  }
  void the_second_load_gives_the_same_logits() {
    QFETCH(int, way);
    const EngineOptions options = options_for(kWays[way]);
    const LoadedRunner plain = *load(options, {});
    LoadedRunner first = *load(options, folder()), second = *load(options, folder());
    QVERIFY(plain.cache.use == PackedCacheUse::none);
    QVERIFY(first.cache.use == PackedCacheUse::stored && first.cache.warnings.empty());
    QVERIFY(second.cache.use == PackedCacheUse::hit && second.cache.warnings.empty());
    const std::vector<float> want = logits_of(*plain.runner);
    QVERIFY(!want.empty() && logits_of(*first.runner) == want && logits_of(*second.runner) == want);
  }

  /// Codes that stay as they are, and the orders of their inputs.
  void orders_of_inputs_are_kept_too() {
    EngineOptions options =
        options_for({"int4_g32", "quantization_zero_point", "true"}, tests::quantized_path("gptq-4bit-desc-act"));
    const auto opened = open_model(options.model);
    const auto run = [&](const PackedCacheFolder& where) { return load_runner(*opened, nullptr, options, {}, where); };
    Result<LoadedRunner> plain = run({}), first = run(folder()), second = run(folder());
    QVERIFY(first->cache.use == PackedCacheUse::stored && second->cache.use == PackedCacheUse::hit);
    const std::vector<float> want = logits_of(*plain->runner);
    QVERIFY(logits_of(*first->runner) == want && logits_of(*second->runner) == want);
    options.dtype = "bfloat16";
    options.quantization = "none";
    const std::vector<float> numbers = logits_of(*run({})->runner);
    for (std::size_t i = 0; i < want.size(); ++i) QVERIFY(std::fabs(want[i] - numbers[i]) < 0.2F * largest_of(numbers));
  }

  /// One layout, and the same bits: what AVX-512 packed, AVX2 may read.
  void instruction_sets_share_entries() {
    for (const std::string& isa : kernels::cpu_isas()) {
      EngineOptions options = options_for(kWays[0]);
      options.isa = isa;
      const LoadedRunner loaded = *load(options, folder());
      QVERIFY(loaded.cache.use == (isa == "scalar" ? PackedCacheUse::stored : PackedCacheUse::hit));
      QVERIFY(logits_of(*loaded.runner) == logits_of(*load(options, {})->runner));
    }
    QCOMPARE(names().size(), 1U);
  }

  void it_can_be_switched_off() {
    EngineOptions options = options_for(kWays[3]);
    QVERIFY(set_option(options, "cache", "false").has_value());
    QVERIFY(load(options, folder())->cache.use == PackedCacheUse::none);
    options.cache = true;
    options.quantization = "none";
    QVERIFY(load(options, folder())->cache.use == PackedCacheUse::none);
    QVERIFY(names().empty());
  }

  void L21_another_model_at_the_same_path_is_quantized_again() {
    const tests::TinyModelCopy model;
    const EngineOptions options = options_for(kWays[3], model.path());
    QVERIFY(load(options, folder())->cache.use == PackedCacheUse::stored);
    const std::string file = model.file("model.safetensors");
    const auto date = fs::last_write_time(file);
    std::string bytes = tests::read_file(file);
    bytes[bytes.size() - 2] = static_cast<char>(bytes[bytes.size() - 2] ^ 1);
    tests::write_file(file, bytes);
    fs::last_write_time(file, date);  // the same path, size and date
    LoadedRunner loaded = *load(options, folder());
    QVERIFY(loaded.cache.use == PackedCacheUse::stored);
    QVERIFY(logits_of(*loaded.runner) == logits_of(*load(options, {})->runner));
  }

  void a_damaged_entry_is_made_again() {
    const EngineOptions options = options_for(kWays[3]);
    QVERIFY(load(options, folder())->cache.use == PackedCacheUse::stored);
    const std::string entry = folder().path + "/" + names().front();
    std::string bytes = tests::read_file(entry);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    tests::write_file(entry, bytes);
    LoadedRunner loaded = *load(options, folder());
    QVERIFY(loaded.cache.use == PackedCacheUse::stored);
    QCOMPARE(loaded.cache.warnings.size(), 1U);
    QVERIFY2(loaded.cache.warnings[0].starts_with("the packed weights on disk could not be used"),
             loaded.cache.warnings[0].c_str());
    QVERIFY(logits_of(*loaded.runner) == logits_of(*load(options, {})->runner));
    QVERIFY(load(options, folder())->cache.use == PackedCacheUse::hit);
  }

  void a_folder_that_cannot_be_is_a_warning() {
    const std::string blocked = (dir_->path() + "/file").toStdString();
    tests::write_file(blocked, "no folder");
    LoadedRunner loaded = *load(options_for(kWays[3]), {.path = blocked + "/packed"});
    QVERIFY(loaded.cache.use == PackedCacheUse::missed);
    QCOMPARE(loaded.cache.warnings.size(), 1U);
    QVERIFY(!logits_of(*loaded.runner).empty());
  }

  void cancel_leaves_no_file_data() {
    QTest::addColumn<int>("percent");
    for (const int percent : {0, 10, 50, 90, 100}) QTest::addRow("%d %%", percent) << percent;
  }
  void cancel_leaves_no_file() {
    QFETCH(int, percent);
    const auto opened = open_model(tests::tiny_model_path());
    const auto stop = [&](LoadPhase, std::int64_t done) { return done * 100 < percent * opened->plan.n_bytes; };
    const auto got = load_runner(*opened, tokenizer_of(*opened).get(), options_for(kWays[3]), stop, folder());
    QVERIFY(!got && got.error().code == ErrorCode::cancelled);
    QVERIFY(names().empty());
    // An entry that exists stays when a later load is cancelled.
    QVERIFY(load(options_for(kWays[3]), folder())->cache.use == PackedCacheUse::stored);
    QVERIFY(load_runner(*opened, tokenizer_of(*opened).get(), options_for(kWays[3]), stop, folder()).error().code ==
            ErrorCode::cancelled);
    QCOMPARE(names().size(), 1U);
  }

  void progress_rises_to_the_bytes_of_the_plan() {
    const auto opened = open_model(tests::tiny_model_path());
    for (const PackedCacheUse use : {PackedCacheUse::stored, PackedCacheUse::hit}) {
      std::vector<std::int64_t> seen;
      int n_converting = 0;
      const auto observe = [&](LoadPhase phase, std::int64_t done) {
        n_converting += phase == LoadPhase::converting ? 1 : 0;
        seen.push_back(done);
        return true;
      };
      QVERIFY(load_runner(*opened, tokenizer_of(*opened).get(), options_for(kWays[3]), observe, folder())->cache.use == use);
      QCOMPARE(n_converting > 0, use == PackedCacheUse::stored);  // a hit only reads
      QVERIFY(std::is_sorted(seen.begin(), seen.end()) && seen.front() == 0);
      QVERIFY(seen.back() <= opened->plan.n_bytes && seen.back() >= opened->plan.n_bytes * 9 / 10);
    }
  }

  void the_image_is_all_that_a_decoder_holds() {
    const auto opened = open_model(tests::tiny_model_path());
    const auto backend = kernels::make_cpu_backend({.n_threads = 1});
    for (const Way& way : kWays) {
      const WeightStorage storage = storage_of(options_for(way), kernels::Dtype::f32);
      auto decoder = Decoder::create(*backend, opened->config, storage, 64);
      std::size_t n_bytes = 0;
      for (const auto part : decoder->image()) n_bytes += part.size();
      QCOMPARE(static_cast<std::int64_t>(n_bytes), decoder->weight_bytes());
    }
    const auto reference = kernels::make_reference_backend();
    QVERIFY(Decoder::create(*reference, opened->config, kernels::Dtype::f32, 64)->image().empty());
  }

 private:
  PackedCacheFolder folder() const { return {.path = (dir_->path() + "/packed").toStdString()}; }
  Result<LoadedRunner> load(const EngineOptions& options, const PackedCacheFolder& folder) const {
    const auto opened = open_model(options.model);
    return load_runner(*opened, tokenizer_of(*opened).get(), options, {}, folder);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    if (!fs::exists(folder().path)) return names;
    for (const auto& file : fs::directory_iterator(folder().path)) names.push_back(file.path().filename().string());
    return names;
  }

  std::unique_ptr<QTemporaryDir> dir_;
};

LATHE_TEST(CachedWeightsTest)

}  // namespace cached_weights_test
#include "cached_weights_test.moc"
