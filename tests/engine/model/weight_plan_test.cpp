// SPDX-License-Identifier: Apache-2.0
// Rows L7 and L8: tensors against the config, before a weight is read.
#include "engine/model/weight_plan.h"

#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cstring>
#include <functional>

#include "engine/load/loaders.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace weight_plan_test {

using namespace lathe::engine;
using lathe::tests::TinyModelCopy;

namespace {

struct Planned {
  Checkpoint checkpoint;
  ModelConfig config;
  Result<WeightPlan> plan;
};

Planned plan_of(const std::string& path) {
  const auto folder = ModelFolder::open(path);
  Checkpoint checkpoint = std::move(*open_checkpoint(*folder));
  ModelConfig config = std::move(*read_model_config(*folder->read_json("config.json")));
  auto plan = plan_weights(checkpoint, config);
  return {std::move(checkpoint), std::move(config), std::move(plan)};
}

/// "where: message" of a refused plan.
std::string refusal(const TinyModelCopy& model) {
  const auto planned = plan_of(model.path());
  return planned.plan ? std::string("was accepted") : planned.plan.error().where + ": " + planned.plan.error().message;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Replaces text in the header of the copy's weights by text of the same length.
void patch_header(const TinyModelCopy& model, const std::string& from, const std::string& to) {
  QCOMPARE(from.size(), to.size());
  std::string bytes = lathe::tests::read_file(model.file("model.safetensors"));
  const auto found = bytes.find(from);
  QVERIFY(found != std::string::npos);
  lathe::tests::write_file(model.file("model.safetensors"), bytes.replace(found, from.size(), to));
}

/// Writes a file of weights anew after a change to its header and its data.
void edit_weights(const TinyModelCopy& model, std::string_view file,
                  const std::function<void(Json& header, std::string& data)>& change) {
  const std::string bytes = lathe::tests::read_file(model.file(file));
  std::uint64_t n_header = 0;
  std::memcpy(&n_header, bytes.data(), sizeof n_header);
  Json header = Json::parse(bytes.substr(sizeof n_header, n_header));
  std::string data = bytes.substr(sizeof n_header + n_header);
  change(header, data);
  lathe::tests::write_file(model.file(file), lathe::tests::length_prefix(header.dump().size()) + header.dump() + data);
}

/// Gives the last tensor of the file another type, and as many bytes as that needs.
void retype_last(const TinyModelCopy& model, const std::string& dtype, std::size_t bits) {
  edit_weights(model, "model.safetensors", [&](Json& header, std::string& data) {
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__" || entry["data_offsets"][1] != data.size()) continue;
      const auto begin = entry["data_offsets"][0].get<std::size_t>();
      const std::size_t end = begin + (data.size() - begin) / 4 * bits / 8;  // it was F32
      entry["dtype"] = dtype;
      entry["data_offsets"] = {begin, end};
      data.resize(end);
      return;
    }
  });
}

}  // namespace

class WeightPlanTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_tensor_of_a_checkpoint_gets_a_place_data();
  void every_tensor_of_a_checkpoint_gets_a_place();
  void weights_come_in_the_order_of_the_files();
  void parameters_and_types_are_counted();
  void a_fused_matrix_has_no_hole();
  void saved_angles_are_left_out_silently();
  void the_same_numbers_may_lie_under_other_roles_data();
  void the_same_numbers_may_lie_under_other_roles();
  void a_stack_with_too_few_experts_names_the_missing_one();
  void names_may_stand_behind_other_prefixes_data();
  void names_may_stand_behind_other_prefixes();
  void L7_flipped_dtype_is_refused();
  void L7_types_that_no_kernel_reads_are_refused();
  void L8_rank_must_match_the_config();
  void L14_shards_of_another_model_name_the_tensor();
  void L8_shapes_must_match_the_config_data();
  void L8_shapes_must_match_the_config();
  void L8_more_layers_than_the_file_has();
  void L8_fewer_layers_are_extra_tensors();
  void L8_missing_tensor_is_named();
  void L8_missing_bias_is_named();
  void L8_extra_tensors_are_a_warning();
  void L8_many_extra_tensors_are_cut_short();
  void L8_tied_config_leaves_a_stray_head();
  void L8_untied_config_without_head_uses_the_embeddings();
  void L8_tied_matrix_may_lie_under_the_name_of_the_head();
};

void WeightPlanTest::every_tensor_of_a_checkpoint_gets_a_place_data() {
  QTest::addColumn<QString>("model");
  for (const std::string_view model : lathe::tests::kTinyModels) QTest::newRow(model.data()) << model.data();
}

void WeightPlanTest::every_tensor_of_a_checkpoint_gets_a_place() {
  QFETCH(QString, model);
  const auto planned = plan_of(lathe::tests::tiny_model_path(model.toStdString()));
  QVERIFY(planned.plan.has_value());
  QCOMPARE(planned.plan->weights.size(), planned.checkpoint.tensors().size());
  QVERIFY(planned.plan->warnings.empty());
  for (const PlannedWeight& weight : planned.plan->weights)
    QCOMPARE(weight.tensor->shape, shape_of(weight.role, planned.config, weight.layer));
}

/// Gate and up of experts in one tensor or in two, norms of heads likewise: one spelling is planned, the other not missed.
void WeightPlanTest::the_same_numbers_may_lie_under_other_roles_data() {
  QTest::addColumn<QString>("present");
  QTest::addColumn<QString>("absent");
  const auto row = [](const char* family, WeightRole present, WeightRole absent) {
    QTest::newRow(family) << QString::number(static_cast<int>(present)) << QString::number(static_cast<int>(absent));
  };
  row("mixtral", WeightRole::expert_gate, WeightRole::expert_gate_up);
  row("mixtral-fused", WeightRole::expert_gate_up, WeightRole::expert_up);
  row("gpt-oss", WeightRole::expert_gate_up_bias, WeightRole::expert_up_bias);
  row("stablelm-12b", WeightRole::k_head_norm, WeightRole::k_norm);
  row("qwen3", WeightRole::k_norm, WeightRole::k_head_norm);
}

void WeightPlanTest::the_same_numbers_may_lie_under_other_roles() {
  QFETCH(QString, present);
  QFETCH(QString, absent);
  const auto planned = plan_of(lathe::tests::source_path("tests/fixtures/families/" + std::string(QTest::currentDataTag())));
  QVERIFY2(planned.plan.has_value(), planned.plan ? "" : planned.plan.error().message.c_str());
  QVERIFY(planned.plan->warnings.empty());
  QCOMPARE(planned.plan->weights.size(), planned.checkpoint.tensors().size());
  const auto n_with = [&](const QString& role) {
    return std::count_if(planned.plan->weights.begin(), planned.plan->weights.end(),
                         [&](const PlannedWeight& weight) { return static_cast<int>(weight.role) == role.toInt(); });
  };
  QVERIFY(n_with(present) > 0);
  QCOMPARE(n_with(absent), 0);
}

void WeightPlanTest::a_stack_with_too_few_experts_names_the_missing_one() {
  const std::string family = lathe::tests::source_path("tests/fixtures/families/mixtral-fused");
  const QTemporaryDir made;
  const std::string folder = made.path().toStdString();
  Json config = lathe::tests::read_json_file(family + "/config.json");
  config["num_local_experts"] = 5;
  lathe::tests::write_file(folder + "/config.json", config.dump());
  lathe::tests::write_file(folder + "/model.safetensors", lathe::tests::read_file(family + "/model.safetensors"));
  const auto planned = plan_of(folder);
  QVERIFY(!planned.plan.has_value());
  const std::string text = planned.plan.error().where + ": " + planned.plan.error().message;
  QVERIFY2(contains(text, "mlp.gate.weight") || contains(text, "experts.4."), text.c_str());
}

void WeightPlanTest::weights_come_in_the_order_of_the_files() {
  const auto planned = plan_of(lathe::tests::tiny_model_path("tiny-sharded"));
  const auto& weights = planned.plan->weights;
  for (std::size_t i = 1; i < weights.size(); ++i) {
    const StoredTensor &before = *weights[i - 1].tensor, &after = *weights[i].tensor;
    QVERIFY(before.file < after.file || (before.file == after.file && before.bytes.data() < after.bytes.data()));
  }
}

void WeightPlanTest::parameters_and_types_are_counted() {
  const auto planned = plan_of(lathe::tests::tiny_model_path("tiny-sharded"));
  QCOMPARE(planned.plan->n_parameters, planned.plan->n_bytes / 2);
  QVERIFY(planned.plan->stored.dtype == lathe::kernels::Dtype::bf16);
  QCOMPARE(planned.plan->tensors_by_dtype, (std::map<std::string, std::int64_t>{{"bfloat16", 21}}));
}

void WeightPlanTest::a_fused_matrix_has_no_hole() {
  const auto config = plan_of(lathe::tests::tiny_model_path()).config;
  QCOMPARE(row_begin_of(WeightRole::q, config), 0);
  QCOMPARE(row_begin_of(WeightRole::k, config), shape_of(WeightRole::q, config)[0]);
  QCOMPARE(row_begin_of(WeightRole::v, config), row_begin_of(WeightRole::k, config) + shape_of(WeightRole::k, config)[0]);
  QCOMPARE(row_begin_of(WeightRole::up, config), 0);
  QCOMPARE(row_begin_of(WeightRole::v_bias, config), row_begin_of(WeightRole::v, config));
  QCOMPARE(row_begin_of(WeightRole::down, config), 0);
}

void WeightPlanTest::saved_angles_are_left_out_silently() {
  const TinyModelCopy model;
  patch_header(model, "model.layers.1.self_attn.q_proj.bias", "model.layers.1.x.rotary_emb.inv_freq");
  model.set_config("attention_bias", false);
  const auto planned = plan_of(model.path());
  QVERIFY(planned.plan.has_value());
  QVERIFY(!contains(planned.plan->warnings.front(), "inv_freq"));
}

void WeightPlanTest::names_may_stand_behind_other_prefixes_data() {
  QTest::addColumn<QString>("body");
  QTest::addColumn<QString>("head");
  QTest::newRow("a base model alone") << ""
                                      << "";
  QTest::newRow("inside of one that sees") << "model.language_model."
                                           << "";
  QTest::newRow("the same before") << "language_model.model."
                                   << "language_model.";
}
void WeightPlanTest::names_may_stand_behind_other_prefixes() {
  QFETCH(QString, body);
  QFETCH(QString, head);
  const TinyModelCopy model;
  edit_weights(model, "model.safetensors", [&](Json& header, std::string&) {
    Json renamed;
    for (const auto& [name, entry] : header.items()) {
      const bool is_body = name.starts_with("model.");
      const std::string prefix = name == "__metadata__" ? "" : (is_body ? body : head).toStdString();
      renamed[prefix + (is_body ? name.substr(6) : name)] = entry;
    }
    header = renamed;
  });
  const auto planned = plan_of(model.path());
  QVERIFY2(planned.plan.has_value(), planned.plan ? "" : planned.plan.error().message.c_str());
  QCOMPARE(planned.plan->n_parameters, plan_of(lathe::tests::tiny_model_path()).plan->n_parameters);
}

void WeightPlanTest::L7_flipped_dtype_is_refused() {
  const TinyModelCopy model;
  patch_header(model, R"("model.norm.weight":{"dtype":"F32")", R"("model.norm.weight":{"dtype":"I32")");
  QCOMPARE(refusal(model),
           std::string("model.safetensors: model.norm.weight: dtype: got I32, expected one of float32, float16, bfloat16"));
}

void WeightPlanTest::L7_types_that_no_kernel_reads_are_refused() {
  for (const auto& [dtype, bits] : {std::pair{"F4", 4u}, std::pair{"F8_E4M3", 8u}, std::pair{"F8_E5M2", 8u}}) {
    const TinyModelCopy model;
    retype_last(model, dtype, bits);
    const std::string reason = refusal(model);
    QVERIFY2(contains(reason, std::string("dtype: got ") + dtype + ", expected one of float32, float16, bfloat16"),
             reason.c_str());
  }
}

void WeightPlanTest::L8_rank_must_match_the_config() {
  const TinyModelCopy model;
  edit_weights(model, "model.safetensors", [](Json& header, std::string&) {
    header["model.norm.weight"]["shape"] = {64, 1};
  });
  QCOMPARE(refusal(model),
           std::string("model.safetensors: model.norm.weight: shape: got [64, 1], expected [64] by config.json"));
}

void WeightPlanTest::L14_shards_of_another_model_name_the_tensor() {
  const TinyModelCopy model("tiny-sharded");
  constexpr std::string_view kShard = "model-00002-of-00002.safetensors";
  edit_weights(model, kShard, [](Json& header, std::string&) { header["lm_head.weight"]["shape"] = {64, 384}; });
  QCOMPARE(refusal(model),
           std::string(kShard) + ": lm_head.weight: shape: got [64, 384], expected [384, 64] by config.json");
}

void WeightPlanTest::L8_shapes_must_match_the_config_data() {
  QTest::addColumn<QString>("key");
  QTest::addColumn<int>("value");
  QTest::addColumn<QString>("tensor");
  QTest::newRow("hidden") << "hidden_size" << 128 << "model.embed_tokens.weight: shape: got [384, 64], expected [384, 128]";
  QTest::newRow("vocab") << "vocab_size" << 400 << "model.embed_tokens.weight: shape: got [384, 64], expected [400, 64]";
  QTest::newRow("heads") << "head_dim" << 32 << "self_attn.q_proj.weight: shape: got [64, 64], expected [128, 64]";
  QTest::newRow("number of heads") << "num_attention_heads" << 8
                                   << "self_attn.k_proj.weight: shape: got [32, 64], expected [16, 64]";
  QTest::newRow("kv heads") << "num_key_value_heads" << 4
                            << "self_attn.k_proj.weight: shape: got [32, 64], expected [64, 64]";
  QTest::newRow("ffn") << "intermediate_size" << 97 << "mlp.gate_proj.weight: shape: got [96, 64], expected [97, 64]";
}

void WeightPlanTest::L8_shapes_must_match_the_config() {
  QFETCH(QString, key);
  QFETCH(int, value);
  QFETCH(QString, tensor);
  const TinyModelCopy model;
  model.set_config(key.toStdString(), value);
  QVERIFY2(contains(refusal(model), tensor.toStdString()), refusal(model).c_str());
}

void WeightPlanTest::L8_more_layers_than_the_file_has() {
  const TinyModelCopy model;
  model.set_config("num_hidden_layers", 3);
  QCOMPARE(refusal(model),
           std::string(
               "safetensors: model.layers.2.input_layernorm.weight: missing tensor: shape [64] is expected by config.json"));
}

void WeightPlanTest::L8_fewer_layers_are_extra_tensors() {
  const TinyModelCopy model;
  model.set_config("num_hidden_layers", 1);
  const auto planned = plan_of(model.path());
  QVERIFY(planned.plan.has_value());
  QVERIFY(contains(planned.plan->warnings.front(),
                   "16 tensors are ignored because LlamaForCausalLM does not need them: model.layers.1 (16 tensors, "));
}

void WeightPlanTest::L8_missing_tensor_is_named() {
  const TinyModelCopy model;
  patch_header(model, "model.norm.weight", "model.xxxx.weight");
  QVERIFY2(contains(refusal(model), "model.norm.weight: missing tensor: shape [64] is expected"), refusal(model).c_str());
}

void WeightPlanTest::L8_missing_bias_is_named() {
  const TinyModelCopy model("tiny-sharded");
  model.set_config("attention_bias", true);
  QVERIFY2(contains(refusal(model), "q_proj.bias: missing tensor"), refusal(model).c_str());
}

void WeightPlanTest::L8_extra_tensors_are_a_warning() {
  const TinyModelCopy model;
  model.set_config("mlp_bias", false);
  const auto planned = plan_of(model.path());
  QVERIFY(planned.plan.has_value());
  QCOMPARE(planned.plan->warnings.size(), std::size_t{1});
  QVERIFY(contains(planned.plan->warnings.front(), "6 tensors are ignored because LlamaForCausalLM does not need them"));
  QVERIFY(contains(planned.plan->warnings.front(), "model.layers.0.mlp.down_proj.bias"));
}

void WeightPlanTest::L8_many_extra_tensors_are_cut_short() {
  const TinyModelCopy model;
  model.set_config("mlp_bias", false);
  model.set_config("attention_bias", false);
  const auto planned = plan_of(model.path());
  QVERIFY(planned.plan->warnings.front().starts_with("14 tensors"));
  QVERIFY(planned.plan->warnings.front().ends_with("..."));
}

void WeightPlanTest::L8_tied_config_leaves_a_stray_head() {
  const TinyModelCopy model;
  model.set_config("tie_word_embeddings", true);
  const auto planned = plan_of(model.path());
  QVERIFY(planned.plan.has_value());
  QVERIFY(planned.plan->tied_embeddings);
  QCOMPARE(planned.plan->warnings.size(), std::size_t{1});
  QVERIFY(contains(planned.plan->warnings.front(), "lm_head.weight is ignored"));
}

void WeightPlanTest::L8_untied_config_without_head_uses_the_embeddings() {
  const TinyModelCopy model("tiny-linear-rope");
  model.set_config("tie_word_embeddings", false);
  const auto planned = plan_of(model.path());
  QVERIFY(planned.plan.has_value());
  QVERIFY(planned.plan->tied_embeddings);
  QVERIFY(contains(planned.plan->warnings.front(), "lm_head.weight is missing"));
}

void WeightPlanTest::L8_tied_matrix_may_lie_under_the_name_of_the_head() {
  const TinyModelCopy model("tiny-linear-rope");
  patch_header(model, R"("model.embed_tokens.weight":)", R"("lm_head.weight"           :)");
  const auto planned = plan_of(model.path());
  QVERIFY(planned.plan.has_value());
  QVERIFY(planned.plan->warnings.empty());
  QCOMPARE(planned.plan->weights.front().tensor->name, std::string("lm_head.weight"));
}

LATHE_TEST(WeightPlanTest)

}  // namespace weight_plan_test
#include "weight_plan_test.moc"
