// SPDX-License-Identifier: Apache-2.0
// GGUF models from the file to logits: those of the folder that they were made of.
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>

#include "engine/api/checkpoint.h"
#include "engine/api/tokenizer.h"
#include "engine/load/loaders.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/runner_driver.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace gguf_model_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"model.embed_tokens.", "token_embd."},
                                                                    {"model.norm.", "output_norm."},
                                                                    {"lm_head.", "output."},
                                                                    {"model.layers.", "blk."},
                                                                    {"input_layernorm.", "attn_norm."},
                                                                    {"post_attention_layernorm.", "ffn_norm."},
                                                                    {"self_attn.q_proj.", "attn_q."},
                                                                    {"self_attn.k_proj.", "attn_k."},
                                                                    {"self_attn.v_proj.", "attn_v."},
                                                                    {"self_attn.o_proj.", "attn_output."},
                                                                    {"self_attn.q_norm.", "attn_q_norm."},
                                                                    {"self_attn.k_norm.", "attn_k_norm."},
                                                                    {"mlp.gate_proj.", "ffn_gate."},
                                                                    {"mlp.up_proj.", "ffn_up."},
                                                                    {"mlp.down_proj.", "ffn_down."}};

std::string gguf_name_of(std::string name) {
  for (const auto& [from, to] : kNames) {
    if (const auto at = name.find(from); at != name.npos) name.replace(at, from.size(), to);
  }
  return name;
}

/// As the converter does for Llama: of each head the rows 0, d/2, 1, d/2 + 1...
std::string in_pairs(std::string_view bytes, std::size_t n_rows, std::size_t head_dim) {
  const std::size_t row = bytes.size() / n_rows;
  std::string all;
  for (std::size_t head = 0; head < n_rows; head += head_dim) {
    for (std::size_t i = 0; i < head_dim / 2; ++i) {
      for (const std::size_t half : {std::size_t{0}, head_dim / 2}) all += bytes.substr((head + i + half) * row, row);
    }
  }
  return all;
}

std::uint32_t gguf_type_of(const engine::StoredType& type) { return type.name == "F32" ? 0 : type.name == "F16" ? 1 : 30; }

/// The checkpoint of a folder as a GGUF file, or every `step`th tensor of it from `first` on.
GgufBuilder gguf_of(const std::string& folder, const std::string& family, std::size_t first = 0, std::size_t step = 1) {
  const engine::Json config = read_json_file(folder + "/config.json");
  const auto number = [&](const char* key) { return config.at(key).get<std::uint32_t>(); };
  const auto info = engine::inspect_checkpoint(folder).value();
  GgufBuilder builder;
  builder.value("general.architecture", std::string_view(family))
      .value(family + ".context_length", number("max_position_embeddings"))
      .value(family + ".embedding_length", number("hidden_size"))
      .value(family + ".block_count", number("num_hidden_layers"))
      .value(family + ".feed_forward_length", number("intermediate_size"))
      .value(family + ".attention.head_count", number("num_attention_heads"))
      .value(family + ".attention.head_count_kv", number("num_key_value_heads"))
      .value(family + ".attention.key_length", static_cast<std::uint32_t>(info.head_dim))
      .value(family + ".attention.layer_norm_rms_epsilon", config.at("rms_norm_eps").get<float>())
      .value(family + ".rope.freq_base", static_cast<float>(info.rope_theta));
  const auto opened = engine::ModelFolder::open(folder).value();
  const auto checkpoint = engine::open_checkpoint(opened).value();
  for (std::size_t i = first; i < checkpoint.tensors().size(); i += step) {
    const engine::StoredTensor& tensor = checkpoint.tensors()[i];
    std::string bytes(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    const bool turns = tensor.name.find("q_proj") != std::string::npos || tensor.name.find("k_proj") != std::string::npos;
    if (family == "llama" && turns) {
      bytes = in_pairs(bytes, static_cast<std::size_t>(tensor.shape[0]), static_cast<std::size_t>(info.head_dim));
    }
    builder.tensor(gguf_name_of(tensor.name), tensor.shape, gguf_type_of(*tensor.type), bytes);
  }
  return builder;
}

/// A copy of a checkpoint, without what its family's GGUF files do not say: windows.
void copy_without_windows(const std::string& folder, const std::string& to) {
  for (const char* file : {"/config.json", "/model.safetensors"}) {
    write_file(to + file, read_file(folder + file));
  }
  engine::Json config = read_json_file(to + "/config.json");
  for (const char* key : {"use_sliding_window", "sliding_window", "layer_types", "max_window_layers"}) config.erase(key);
  write_file(to + "/config.json", config.dump());
}

std::string refusal_of(const std::string& path) {
  const auto info = engine::inspect_checkpoint(path);
  return info ? "was accepted" : info.error().where + ": " + info.error().message;
}

}  // namespace

class GgufModelTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void logits_are_those_of_the_folder_data();
  void logits_are_those_of_the_folder();
  void a_folder_with_one_file_is_that_file();
  void a_set_of_files_is_one_model();
  void several_models_in_a_folder_are_refused_by_name();
  void an_unknown_family_is_refused_with_those_that_are_read();
  void L5_sizes_that_wrap_are_refused();
  void L10_places_of_tensors_are_refused();
  void quantized_weights_are_told_of_before_they_are_loaded();
  void shared_model_answers_as_its_folder();
};

void GgufModelTest::logits_are_those_of_the_folder_data() {
  QTest::addColumn<QString>("family");
  for (const char* family : {"llama", "qwen2", "qwen3"}) QTest::newRow(family) << family;
}

void GgufModelTest::logits_are_those_of_the_folder() {
  QFETCH(QString, family);
  const QTemporaryDir made;
  const std::string folder = made.path().toStdString(), path = folder + "/model.gguf";
  copy_without_windows(
      family == "llama" ? tiny_model_path() : source_path("tests/fixtures/families/" + family.toStdString()), folder);
  write_file(path, gguf_of(folder, family.toStdString()).bytes());
  std::vector<std::int32_t> ids(20);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 7 % 90 + 3);
  const RunnerChoice choice{.max_model_len = 40};
  RunnerDriver of_folder(folder, choice), of_file(path, choice);
  const auto want = of_folder.step({{0, ids, 20}}), got = of_file.step({{0, ids, 20}});
  QVERIFY(got == want);
}

void GgufModelTest::a_folder_with_one_file_is_that_file() {
  const QTemporaryDir made;
  const std::string folder = made.path().toStdString();
  write_file(folder + "/tiny.gguf", gguf_of(tiny_model_path(), "llama").bytes());
  const auto info = engine::inspect_checkpoint(folder);
  QVERIFY2(info.has_value(), info ? "" : info.error().message.c_str());
  QCOMPARE(info->file_format, std::string("gguf"));
  QCOMPARE(info->architecture, std::string("LlamaForCausalLM"));
  QCOMPARE(engine::inspect_checkpoint(folder + "/tiny.gguf")->name, std::string("tiny"));
}

void GgufModelTest::a_set_of_files_is_one_model() {
  const QTemporaryDir made;
  const std::string folder = made.path().toStdString(), second = folder + "/m-00002-of-00002.gguf";
  write_file(folder + "/m-00001-of-00002.gguf", gguf_of(tiny_model_path(), "llama", 0, 2).value("split.count", 2U).bytes());
  const std::string missing = refusal_of(folder);
  QVERIFY2(missing.starts_with("m-00002-of-00002.gguf: file is missing"), missing.c_str());
  write_file(second, gguf_of(tiny_model_path(), "llama", 1, 2).bytes());
  QCOMPARE(refusal_of(folder), std::string("was accepted"));
  const std::string not_first = refusal_of(second);
  QVERIFY2(not_first.find("missing") != std::string::npos, not_first.c_str());
}

void GgufModelTest::several_models_in_a_folder_are_refused_by_name() {
  const QTemporaryDir made;
  const std::string folder = made.path().toStdString();
  for (const char* name : {"/b.gguf", "/a-00001-of-00002.gguf", "/a-00002-of-00002.gguf"}) write_file(folder + name, "");
  const std::string got = refusal_of(folder);
  QVERIFY2(got.find("the folder has 2 GGUF models: a-00001-of-00002.gguf, b.gguf;") != std::string::npos, got.c_str());
}

void GgufModelTest::an_unknown_family_is_refused_with_those_that_are_read() {
  const QTemporaryDir made;
  const std::string path = made.path().toStdString() + "/x.gguf";
  write_file(path, GgufBuilder().value("general.architecture", std::string_view("marsian")).bytes());
  const std::string got = refusal_of(path);
  QVERIFY2(got.find("\"marsian\" cannot be read from GGUF files (supported: llama, qwen2, qwen3, ") != std::string::npos,
           got.c_str());
  write_file(path, GgufBuilder().value("general.architecture", std::string_view("mamba2")).bytes());
  QVERIFY2(refusal_of(path).find("mamba2 is not read: it needs recurrent layers (Mamba 2)") != std::string::npos,
           refusal_of(path).c_str());
}

void GgufModelTest::L5_sizes_that_wrap_are_refused() {
  const QTemporaryDir made;
  const std::string path = made.path().toStdString() + "/x.gguf";
  GgufBuilder builder = gguf_of(tiny_model_path(), "llama");
  builder.tensor("wraps", {4194305, 4194305, 211106198978564}, 0, "");
  write_file(path, builder.bytes());
  const std::string got = refusal_of(path);
  QVERIFY2(got.starts_with("x.gguf: wraps: size overflow"), got.c_str());
}

void GgufModelTest::L10_places_of_tensors_are_refused() {
  const QTemporaryDir made;
  const std::string path = made.path().toStdString() + "/x.gguf";
  const GgufBuilder right = gguf_of(tiny_model_path(), "llama");
  const auto refusal_with = [&](const std::vector<std::int64_t>& shape, std::uint32_t type, std::int64_t offset) {
    write_file(path, GgufBuilder(right).tensor("t", shape, type, "", offset).bytes());
    return refusal_of(path);
  };
  const std::pair<std::string, std::string> cases[] = {
      {refusal_with({1}, 0, 1), "x.gguf: t: offset 1 is not a multiple of 32"},
      {refusal_with({1, 33}, 8, 0), "x.gguf: t: rows of 33 numbers, but Q8_0 has blocks of 32"},
      {refusal_with({1}, UINT32_MAX, 0), "x.gguf: t: the type 4294967295 is unknown"},
      {refusal_with({1}, 4, 0), "x.gguf: t: the type 4 is unknown"},
      {refusal_with({1}, 0, 1LL << 40), "x.gguf: t: truncated: needs 4 bytes at byte 1099511627776"},
  };
  for (const auto& [got, want] : cases) QVERIFY2(got.starts_with(want), got.c_str());
}

void GgufModelTest::quantized_weights_are_told_of_before_they_are_loaded() {
  SKIP_WITHOUT_SHARED("data/models/TinyStories-656K-gguf");
  const auto info = engine::inspect_checkpoint(shared_path("data/models/TinyStories-656K-gguf"));
  QVERIFY2(info.has_value(), info ? "" : info.error().message.c_str());
  const auto& warnings = info->warnings;
  QVERIFY(std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
    return warning.starts_with("quantized weights of ") && warning.find("become bfloat16 of ") != std::string::npos;
  }));
  QCOMPARE(info->stored_quantization, std::string("int8_g32"));
  engine::EngineOptions kept, widened;
  widened.dtype = "bfloat16";
  QVERIFY(engine::estimate_fit(*info, kept)->weights < engine::estimate_fit(*info, widened)->weights);
}

void GgufModelTest::shared_model_answers_as_its_folder() {
  SKIP_WITHOUT_SHARED("data/models/TinyStories-656K-gguf");
  SKIP_WITHOUT_SHARED("data/models/TinyStories-656K-hf");
  const std::string file = shared_path("data/models/TinyStories-656K-gguf") + "/TinyStories-656K-Q8_0.gguf";
  const std::string folder = shared_path("data/models/TinyStories-656K-hf");
  constexpr std::string_view kText = "Once upon a time, there was a little girl named Lily.";
  const auto of_file = engine::open_tokenizer(file), of_folder = engine::open_tokenizer(folder);
  QVERIFY2(of_file.has_value(), of_file ? "" : of_file.error().message.c_str());
  const std::vector<std::int32_t> ids = of_folder.value()->encode(kText, true, false).value();
  QCOMPARE(of_file.value()->encode(kText, true, false).value(), ids);
  // The file's numbers have been rounded to 8 bits: the best tokens may differ where two are close.
  engine::EngineOptions int8;
  int8.quantization = "int8_g32";
  RunnerDriver a(file, {.quantization = int8}), b(folder, {});
  const auto rows = static_cast<int>(ids.size());
  const auto got = a.step({{0, ids, rows}}), want = b.step({{0, ids, rows}});
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::int32_t best = best_token(want[i]);
    largest = std::max(largest, std::abs(log_probability(got[i], best) - log_probability(want[i], best)));
  }
  QVERIFY2(largest > 0 && largest < 0.1, std::to_string(largest).c_str());
}

LATHE_TEST(GgufModelTest)

}  // namespace gguf_model_test
#include "gguf_model_test.moc"
