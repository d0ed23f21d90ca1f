// SPDX-License-Identifier: Apache-2.0
// Tests of the key of an entry: everything that changes the packed weights changes the key, and nothing else does.
#include "engine/packed/packed_key.h"

#include <QFile>
#include <QTest>
#include <cstring>
#include <set>

#include "engine/model/architectures.h"
#include "engine/serve/opened_model.h"
#include "tests/support/quantized_folders.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace packed_key_test {

using namespace lathe;
using namespace lathe::engine;

namespace {

EngineOptions quantized(std::string_view name = "int8_g32") {
  EngineOptions options;
  options.quantization = name;
  return options;
}

std::string recipe(const EngineOptions& options, kernels::Dtype stored = kernels::Dtype::f32, bool tied = false) {
  ModelConfig config;
  config.architecture = architectures().front();
  config.tied_embeddings = tied;
  return recipe_of(options, storage_of(options, stored), config);
}

}  // namespace

class PackedKeyTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { backend_ = kernels::make_cpu_backend({.n_threads = 2}); }

  void every_option_that_matters_changes_the_key() {
    std::set<std::string> recipes;
    const auto is_new = [&](const EngineOptions& options) { return recipes.insert(recipe(options)).second; };
    for (const Quantization& quantization : quantizations()) QVERIFY(is_new(quantized(quantization.name)));
    const auto is_new_with = [&](std::string_view quantization, std::string_view name, std::string_view value) {
      EngineOptions options = quantized(quantization);
      LATHE_CHECK(set_option(options, name, value).has_value());
      return is_new(options);
    };
    QVERIFY(is_new_with("int8_g32", "dtype", "float16"));
    QVERIFY(is_new_with("int8_g32", "keep_head", "true"));
    QVERIFY(is_new_with("int8_g32", "quantization_zero_point", "true"));
    QVERIFY(is_new_with("bitsandbytes_4bit", "bnb_4bit_quant_type", "fp4"));
    QVERIFY(is_new_with("bitsandbytes_4bit", "bnb_4bit_use_double_quant", "true"));
    QVERIFY(is_new_with("bitsandbytes_4bit", "bnb_4bit_compute_dtype", "float32"));
    QVERIFY(is_new_with("smoothquant", "smoothquant_alpha", "0.5"));
    QVERIFY(is_new_with("smoothquant", "smoothquant_per_token", "false"));
    QVERIFY(is_new_with("smoothquant", "smoothquant_per_channel", "false"));
    QVERIFY(recipe(quantized(), kernels::Dtype::bf16) != recipe(quantized()));  // dtype auto: as stored
    QVERIFY(recipe(quantized(), kernels::Dtype::f32, true) != recipe(quantized()));
  }

  /// Options of another quantization have no effect on the key.
  void options_without_effect_do_not() {
    const auto is_same_with = [](std::string_view quantization, std::string_view name, std::string_view value) {
      EngineOptions options = quantized(quantization);
      LATHE_CHECK(set_option(options, name, value).has_value());
      return recipe(options) == recipe(quantized(quantization));
    };
    QVERIFY(is_same_with("int8_g32", "smoothquant_alpha", "0.5"));
    QVERIFY(is_same_with("int8_g32", "smoothquant_per_token", "false"));
    QVERIFY(is_same_with("int8_g32", "bnb_4bit_quant_type", "fp4"));
    QVERIFY(is_same_with("dynamic_int8", "quantization_zero_point", "true"));
    QVERIFY(is_same_with("bitsandbytes_8bit", "keep_head", "true"));
    QVERIFY(is_same_with("smoothquant", "bnb_4bit_use_double_quant", "true"));
  }

  /// An entry without orders is none for a model that has them.
  void a_place_for_orders_changes_the_key() {
    StoredWeights stored = kernels::Dtype::bf16;
    stored.matrices = kernels::WeightFormat::int8_g32;
    ModelConfig config;
    config.architecture = architectures().front();
    const auto of_stored = [&] { return recipe_of(quantized(), storage_of(quantized(), stored), config); };
    const std::string before = of_stored();
    stored.matrices_are_ordered = true;
    QVERIFY(of_stored() != before);
  }

  void options_of_serving_do_not() {
    EngineOptions options = quantized();
    options.model = "elsewhere";
    options.tokenizer = "t";
    options.served_model_name = "name";
    options.max_model_len = 64;
    options.threads = 1;
    options.isa = "scalar";
    options.cache = false;
    options.block_size = 32;
    options.max_num_seqs = 3;
    options.policy = "static";
    options.chat_template = "t.jinja";
    options.enable_auto_tool_choice = false;
    options.tool_call_parser = "hermes";
    options.reasoning_parser = "none";
    QCOMPARE(recipe(options), recipe(quantized()));
  }

  void every_tensor_changes_the_content() {
    const tests::TinyModelCopy model;
    const ContentHash before = content(model.path());
    std::set<ContentHash> seen{before};
    const std::string whole = tests::read_file(model.file("model.safetensors"));
    std::uint64_t n_header = 0;
    std::memcpy(&n_header, whole.data(), sizeof n_header);
    std::vector<std::size_t> offsets;  // of each tensor in the data
    {
      const auto opened = open_model(model.path());
      const std::byte* first = nullptr;
      for (const StoredTensor& tensor : opened->checkpoint.tensors()) {
        if (first == nullptr || tensor.bytes.data() < first) first = tensor.bytes.data();
      }
      for (const StoredTensor& tensor : opened->checkpoint.tensors()) {
        offsets.push_back(static_cast<std::size_t>(tensor.bytes.data() - first));
      }
    }
    for (const std::size_t offset : offsets) {
      std::string bytes = whole;
      char& byte = bytes[8 + n_header + offset];
      byte = static_cast<char>(byte ^ 1);
      tests::write_file(model.file("model.safetensors"), bytes);
      seen.insert(content(model.path()));
    }
    QCOMPARE(seen.size(), offsets.size() + 1);
    tests::write_file(model.file("model.safetensors"), whole);
    QVERIFY(content(model.path()) == before);
  }

  /// Scales and zero points are content as codes are, and so is how they are read.
  void every_part_of_a_quantized_matrix_changes_the_content() {
    const tests::QuantizedCopy model("gptq-4bit");
    std::set<ContentHash> seen{content(model.path())};
    const std::string gate = "model.layers.0.mlp.gate_proj.";
    const std::int32_t group = 1;
    model.edit_data(gate + "g_idx", 0, std::string(reinterpret_cast<const char*>(&group), sizeof group));
    seen.insert(content(model.path()));
    for (const std::string part : {"qweight", "qzeros", "scales"}) {
      model.edit_data(gate + part, 0, "x");
      seen.insert(content(model.path()));
    }
    model.edit([](Json& config) { config["checkpoint_format"] = "gptq_v2"; });
    seen.insert(content(model.path()));
    QCOMPARE(seen.size(), std::size_t{6});
  }

  void names_and_other_files_do_not() {
    const tests::TinyModelCopy model, other;
    other.set_config("eos_token_id", 9);
    QVERIFY(content(model.path()) == content(other.path()));
  }

  void models_differ() {
    std::set<ContentHash> seen;
    for (const std::string_view name : tests::kTinyModels) seen.insert(content(tests::tiny_model_path(name)));
    QCOMPARE(seen.size(), tests::kTinyModels.size());
  }

  void hashing_can_be_cancelled() {
    const auto opened = open_model(tests::tiny_model_path());
    int n_calls = 0;
    const auto got = content_of(opened->checkpoint, opened->plan, *backend_, [&] { return ++n_calls < 3; });
    QVERIFY(!got && got.error().code == ErrorCode::cancelled);
    QCOMPARE(n_calls, 3);
  }

  void L21_a_file_that_was_written_to_has_another_stamp() {
    const tests::TinyModelCopy model;
    const auto opened = open_model(model.path());
    const std::string stamp = opened->checkpoint.stamp();
    QCOMPARE(opened->checkpoint.stamp(), stamp);
    QTest::qWait(20);  // the clock of file systems ticks every few milliseconds
    QFile file(QString::fromStdString(model.file("model.safetensors")));
    QVERIFY(file.open(QIODevice::ReadWrite) && file.seek(file.size() - 1) && file.putChar('x'));
    file.close();
    QVERIFY(opened->checkpoint.stamp() != stamp);
  }

 private:
  ContentHash content(const std::string& path) const {
    const auto opened = open_model(path);
    return *content_of(opened->checkpoint, opened->plan, *backend_, [] { return true; });
  }

  std::unique_ptr<kernels::Backend> backend_;
};

LATHE_TEST(PackedKeyTest)

}  // namespace packed_key_test
#include "packed_key_test.moc"
