// SPDX-License-Identifier: Apache-2.0
// GGUF files of tiny checkpoints, made by llama.cpp's converter: logits are those of the checkpoint's folder. Those that we
// write are in fidelity/families_test, what is special about them here.
#include <QTemporaryDir>
#include <QTest>
#include <string>

#include "engine/api/checkpoint.h"
#include "engine/load/gguf/gguf_types.h"
#include "engine/serve/opened_model.h"
#include "tests/support/gguf_copy.h"
#include "tests/support/random_folder.h"
#include "tests/support/runner_driver.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/written_families.h"

namespace gguf_families_test {

using namespace lathe;
using namespace lathe::tests;

class GgufFamiliesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void logits_are_those_of_the_folder_data();
  void logits_are_those_of_the_folder();
  void nothing_in_the_file_is_left_over();
  void norms_of_single_heads_are_written_in_one();
  void experts_in_mxfp4_keep_their_codes();
  void a_stack_of_experts_is_written_as_other_experts_are();
  void a_matrix_of_one_row_may_be_a_list();
  void per_layer_embeddings_may_be_in_blocks_data();
  void per_layer_embeddings_may_be_in_blocks();
  void heads_of_latent_attention_in_one_tensor_are_read();
  void layers_that_predict_further_tokens_are_left_out();
  void q_k_and_v_of_glm_in_one_tensor_are_read();
  void glm_4_may_have_no_biases();
  void routers_that_are_not_known_are_refused();
  void a_router_with_a_correction_bias_is_one_of_sigmoids();
};

void GgufFamiliesTest::logits_are_those_of_the_folder_data() {
  QTest::addColumn<int>("row");
  const auto families = written_families();
  for (std::size_t i = 0; i < families.size(); ++i) {
    if (families[i].has_file) QTest::newRow(std::string(families[i].name).c_str()) << static_cast<int>(i);
  }
}

void GgufFamiliesTest::logits_are_those_of_the_folder() {
  QFETCH(int, row);
  const WrittenFamily& family = written_families()[static_cast<std::size_t>(row)];
  const QTemporaryDir made;
  const std::string folder = made.path().toStdString();
  copy_family(family.name, family.left_out.empty() ? family.unsaid : family.left_out, folder);
  const RunnerChoice choice{.max_model_len = 40};
  const double largest = largest_difference(logits_of(gguf_path(family.name), choice), logits_of(folder, choice));
  QVERIFY2(largest <= family.allowed, std::to_string(largest).c_str());
}

void GgufFamiliesTest::nothing_in_the_file_is_left_over() {
  for (const WrittenFamily& family : written_families()) {
    if (!family.has_file) continue;
    const auto info = engine::inspect_checkpoint(gguf_path(family.name));
    QVERIFY2(info.has_value(), refusal_in(info).c_str());
    QVERIFY2(info->warnings.empty(), info->warnings.empty() ? "" : info->warnings.front().c_str());
  }
}

/// llama.cpp's own converter does not write this one any more.
void GgufFamiliesTest::norms_of_single_heads_are_written_in_one() {
  const QTemporaryDir made;
  const std::string folder = family_path("stablelm-12b");
  const std::string file = made.filePath("stablelm-12b.gguf").toStdString();
  const auto report = convert_as_it_is(folder, file);
  QVERIFY2(report.has_value(), refusal_in(report).c_str());
  QVERIFY(read_file(file).find("blk.1.attn_q_norm.weight") != std::string::npos);
}

/// The same codes in other places: halves of a block of a GGUF file lie 16 apart, and gate and up by themselves.
void GgufFamiliesTest::experts_in_mxfp4_keep_their_codes() {
  const std::string folder = source_path("tests/fixtures/quantized/mxfp4"), file = gguf_path("mxfp4");
  const auto info = engine::inspect_checkpoint(file);
  QVERIFY2(info.has_value(), refusal_in(info).c_str());
  QCOMPARE(info->stored_expert_quantization, std::string("mxfp4"));
  QVERIFY(info->stored_quantization.empty() && info->warnings.empty());
  for (const bool as_stored : {false, true}) {
    const RunnerChoice choice{.as_stored = as_stored, .max_model_len = 40};
    QVERIFY(logits_of(file, choice) == logits_of(folder, choice));
  }
}

void GgufFamiliesTest::a_stack_of_experts_is_written_as_other_experts_are() {
  const QTemporaryDir made;
  const std::string folder = family_path("mixtral-fused");
  const std::string file = made.filePath("fused.gguf").toStdString();
  const auto report = convert_as_it_is(folder, file);
  QVERIFY2(report.has_value(), refusal_in(report).c_str());
  const std::string bytes = read_file(file);
  for (const char* name : {"blk.0.ffn_gate_exps.weight", "blk.1.ffn_up_exps.weight", "blk.1.ffn_down_exps.weight"}) {
    QVERIFY2(bytes.find(name) != std::string::npos, name);
  }
}

namespace {

constexpr std::uint32_t kF32 = 0, kBf16 = 30;

bool same_logits(const std::string& a, const std::string& b) {
  const RunnerChoice choice{.max_model_len = 40};
  return logits_of(a, choice) == logits_of(b, choice);
}

}  // namespace

void GgufFamiliesTest::a_matrix_of_one_row_may_be_a_list() {
  const QTemporaryDir made;
  const std::string file = made.filePath("list.gguf").toStdString(), usual = gguf_path("qwen2-moe-sparse");
  const engine::GgufFile source = opened_gguf(usual);
  GgufCopy other(usual);
  other.leave_out(".ffn_gate_inp_shexp.weight");
  for (const std::string layer : {"0", "1"}) {
    const std::string name = "blk." + layer + ".ffn_gate_inp_shexp.weight";
    other.add(name, {48}, kF32, bytes_of(source, name));
  }
  other.write(file);
  QVERIFY(same_logits(file, usual));
}

void GgufFamiliesTest::per_layer_embeddings_may_be_in_blocks_data() {
  QTest::addColumn<unsigned>("type");
  QTest::newRow("Q4_0") << 2U;
  QTest::newRow("Q5_1") << 7U;
  QTest::newRow("Q8_0") << 8U;
  QTest::newRow("Q6_K") << 14U;
}

/// The numbers of the blocks, of a table that stays in them.
void GgufFamiliesTest::per_layer_embeddings_may_be_in_blocks() {
  QFETCH(unsigned, type);
  constexpr const char* kTable = "per_layer_token_embd.weight";
  constexpr std::int64_t kWidth = 256, kColumns = 5 * kWidth;  // of all layers
  const QTemporaryDir made;
  const std::string folder = made.filePath("folder").toStdString(), file = made.filePath("plain.gguf").toStdString(),
                    in_blocks = made.filePath("blocks.gguf").toStdString(), in_f32 = made.filePath("f32.gguf").toStdString();
  engine::Json config = read_json_file(family_path("gemma4-per-layer") + "/config.json");
  config["hidden_size_per_layer_input"] = kWidth;
  write_random_folder(folder, config);
  const auto report = convert_as_it_is(folder, file);
  QVERIFY2(report.has_value(), refusal_in(report).c_str());
  const engine::StoredType& stored = *engine::find_gguf_type(type);
  const auto n_rows = config["vocab_size"].get<std::int64_t>(), n_blocks = n_rows * kColumns / stored.block;
  const auto block = static_cast<std::size_t>(stored.bits / 8);
  std::string blocks(static_cast<std::size_t>(n_blocks) * block, '\x11');  // halves of 0x1111: near 0.0007
  for (std::size_t i = 0; i < blocks.size(); i += 7) {
    if (i % block > 4 && i % block + 4 < block) blocks[i] = static_cast<char>(i);
  }
  std::vector<float> numbers(static_cast<std::size_t>(n_rows * kColumns));
  stored.decode(reinterpret_cast<const std::byte*>(blocks.data()), n_blocks, numbers.data());
  const std::string bytes(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
  GgufCopy(file).leave_out(kTable).add(kTable, {n_rows, kColumns}, type, blocks).write(in_blocks);
  GgufCopy(file).leave_out(kTable).add(kTable, {n_rows, kColumns}, kF32, bytes).write(in_f32);
  const auto info = engine::inspect_checkpoint(in_blocks);
  QVERIFY2(info.has_value() && info->warnings.empty(), refusal_in(info).c_str());
  QVERIFY(same_logits(in_blocks, in_f32));
}

/// As converters wrote them before 2025: sizes of a head under the usual keys, and as many KV heads as heads.
void GgufFamiliesTest::heads_of_latent_attention_in_one_tensor_are_read() {
  const QTemporaryDir made;
  const std::string file = made.filePath("old.gguf").toStdString(), newer = gguf_path("deepseek-v3");
  GgufCopy other(newer);
  other.leave_out(".attn_k_b.weight").leave_out(".attn_v_b.weight");
  other.set("deepseek2.attention.key_length_mla", {}).set("deepseek2.attention.value_length_mla", {});
  other.set("deepseek2.attention.key_length", 20).set("deepseek2.attention.value_length", 10);
  other.set("deepseek2.attention.head_count_kv", 4);
  const auto family = engine::open_model(family_path("deepseek-v3"));
  for (const std::string layer : {"0", "1"}) {
    const auto* const tensor = family->checkpoint.find("model.layers." + layer + ".self_attn.kv_b_proj.weight");
    const std::string bytes(reinterpret_cast<const char*>(tensor->bytes.data()), tensor->bytes.size());
    other.add("blk." + layer + ".attn_kv_b.weight", tensor->shape, kBf16, bytes);
  }
  other.write(file);
  QVERIFY(same_logits(file, newer));
  const auto info = engine::inspect_checkpoint(file);
  QVERIFY(info.has_value() && info->warnings.empty());
  // Written again, they stay so; out of a folder they lie apart.
  const std::string again = made.filePath("again.gguf").toStdString(), folder = made.filePath("folder").toStdString();
  for (const std::string& output : {again, folder}) {
    const auto report = convert_as_it_is(file, output);
    QVERIFY2(report.has_value(), refusal_in(report).c_str());
    QVERIFY(same_logits(output, newer));
  }
  QVERIFY(read_file(again).find(".attn_kv_b.") != std::string::npos);
  const std::string apart = made.filePath("apart.gguf").toStdString();
  QVERIFY(convert_as_it_is(folder, apart).has_value());
  QVERIFY(read_file(apart).find(".attn_kv_b.") == std::string::npos);
  QVERIFY(same_logits(apart, newer));
}

void GgufFamiliesTest::layers_that_predict_further_tokens_are_left_out() {
  const QTemporaryDir made;
  const std::string file = made.filePath("nextn.gguf").toStdString(), plain = gguf_path("deepseek-v3");
  GgufCopy other(plain);
  other.set("deepseek2.block_count", 3).set("deepseek2.nextn_predict_layers", 1);
  other.add("blk.2.nextn.enorm.weight", {2}, kF32, std::string(8, '\0')).write(file);
  const auto info = engine::inspect_checkpoint(file);
  QVERIFY2(info.has_value(), refusal_in(info).c_str());
  QCOMPARE(info->n_layers, 2);
  QVERIFY(info->warnings.size() == 1 && info->warnings.front().find("nextn") != std::string::npos);
  QVERIFY(same_logits(file, plain));
}

/// ChatGLM's own checkpoints have them so.
void GgufFamiliesTest::q_k_and_v_of_glm_in_one_tensor_are_read() {
  const QTemporaryDir made;
  const std::string file = made.filePath("fused.gguf").toStdString(), apart = gguf_path("glm");
  const engine::GgufFile source = opened_gguf(apart);
  GgufCopy other(apart);
  for (const char* part : {"q", "k", "v"}) {
    for (const char* end : {".weight", ".bias"}) other.leave_out(std::string(".attn_") + part + end);
  }
  for (const std::string layer : {"0", "1"}) {
    const auto all = [&](const std::string& end) {
      std::string bytes;
      for (const char* part : {"q", "k", "v"}) bytes += bytes_of(source, "blk." + layer + ".attn_" + part + end);
      return bytes;
    };
    other.add("blk." + layer + ".attn_qkv.weight", {128, 48}, kBf16, all(".weight"));
    other.add("blk." + layer + ".attn_qkv.bias", {128}, kF32, all(".bias"));
  }
  other.write(file);
  QVERIFY(same_logits(file, apart));
}

void GgufFamiliesTest::glm_4_may_have_no_biases() {
  const QTemporaryDir made;
  const std::string folder = made.path().toStdString(), file = folder + "/plain.gguf";
  copy_family("glm4", R"({"attention_bias": false})", folder);
  const auto report = convert_as_it_is(folder, file);
  QVERIFY2(report.has_value(), refusal_in(report).c_str());
  QVERIFY(read_file(file).find("attn_q.bias") == std::string::npos);
  QVERIFY(same_logits(file, folder));
  QVERIFY(!same_logits(file, family_path("glm4")));
}

/// As early files of GLM-4.7-Flash are.
void GgufFamiliesTest::a_router_with_a_correction_bias_is_one_of_sigmoids() {
  const QTemporaryDir made;
  const std::string file = made.filePath("unsaid.gguf").toStdString();
  GgufCopy(gguf_path("deepseek-v3")).set("deepseek2.expert_gating_func", {}).write(file);
  const auto info = engine::inspect_checkpoint(file);
  QVERIFY2(info.has_value(), refusal_in(info).c_str());
  QCOMPARE(info->architecture, std::string("DeepseekV3ForCausalLM"));
  QVERIFY(same_logits(file, gguf_path("deepseek-v3")));
}

void GgufFamiliesTest::routers_that_are_not_known_are_refused() {
  const QTemporaryDir made;
  const std::string file = made.filePath("router.gguf").toStdString();
  GgufCopy(gguf_path("deepseek-v2")).set("deepseek2.expert_gating_func", 3).write(file);
  const auto info = engine::inspect_checkpoint(file);
  QVERIFY(!info.has_value());
  QVERIFY2(refusal_in(info).find("deepseek2.expert_gating_func: got 3") != std::string::npos, refusal_in(info).c_str());
}

LATHE_TEST(GgufFamiliesTest)

}  // namespace gguf_families_test
#include "gguf_families_test.moc"
