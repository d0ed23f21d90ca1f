// SPDX-License-Identifier: Apache-2.0
// Texts of larger models: where their config and their tensors may be, what is left out, and refusals of families not read.
#include <QTest>
#include <algorithm>
#include <string>
#include <vector>

#include "engine/load/checkpoint.h"
#include "engine/model/model_config.h"
#include "engine/serve/opened_model.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/written_families.h"

namespace wrapped_text_test {

using namespace lathe::engine;

namespace {

Json base_config() {
  Json config = lathe::tests::read_json_file(lathe::tests::tiny_model_path() + "/config.json");
  config["attention_bias"] = false;
  config["mlp_bias"] = false;
  return config;
}

/// The error of a config that must be refused; an empty one when it was accepted.
Error refusal_of(const Result<ModelConfig>& config) {
  if (config) return {};
  return config.error();
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

class WrappedTextTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void the_text_may_have_other_names();
  void a_text_of_an_unread_family_is_refused_by_its_missing_part();
  void towers_are_left_out_and_listed_data();
  void towers_are_left_out_and_listed();
  void a_prefix_that_no_list_has_is_found();
};

void WrappedTextTest::the_text_may_have_other_names() {
  Json text = base_config();
  for (const char* key : {"language_config", "llm_config"}) {
    const auto config = read_model_config({{"architectures", {"SomeForConditionalGeneration"}}, {key, text}});
    QVERIFY(config.has_value());
    QCOMPARE(config->whole, std::string("SomeForConditionalGeneration"));
  }
  const auto inner = read_model_config({{"model_type", "some_omni"}, {"thinker_config", {{"text_config", text}}}});
  QVERIFY(inner.has_value());
  QCOMPARE(inner->whole, std::string("some_omni"));
  QVERIFY(read_model_config(text)->whole.empty());
  // The keys of Qwen2.5-VL's text are those of the whole.
  text["architectures"] = {"Qwen2_5_VLForConditionalGeneration"};
  text["model_type"] = "qwen2_5_vl";
  text["rope_scaling"] = {{"type", "mrope"}, {"mrope_section", {2, 3, 3}}};
  text.erase("rope_theta");
  const auto flat = read_model_config(text);
  QVERIFY2(flat.has_value(), flat ? "" : flat.error().message.c_str());
  QCOMPARE(flat->architecture->name, std::string_view("Qwen2ForCausalLM"));
  QCOMPARE(flat->whole, std::string("Qwen2_5_VLForConditionalGeneration"));
  QCOMPARE(flat->ropes.front().theta, 1e6);
}

void WrappedTextTest::a_text_of_an_unread_family_is_refused_by_its_missing_part() {
  const std::string missing = "Zamba2ForConditionalGeneration is not read: it needs recurrent layers (Mamba 2)";
  const Json text = {{"model_type", "zamba2_text"}};
  const Error wrapped = refusal_of(read_model_config(
      {{"architectures", {"Zamba2ForConditionalGeneration"}}, {"model_type", "zamba2"}, {"text_config", text}}));
  QCOMPARE(wrapped.message, missing);
  QCOMPARE(refusal_of(read_model_config({{"architectures", {"Zamba2ForConditionalGeneration"}}})).message, missing);
  // PaliGemma's text is Gemma, which sees what is behind a token.
  const Error other = refusal_of(read_model_config({{"architectures", {"PaliGemmaForConditionalGeneration"}},
                                                    {"model_type", "paligemma"},
                                                    {"text_config", {{"model_type", "gemma"}}}}));
  QVERIFY2(contains(other.message, "attention to the whole prompt"), other.message.c_str());
}

void WrappedTextTest::towers_are_left_out_and_listed_data() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<QString>("whole");
  QTest::addColumn<QString>("tower");
  QTest::newRow("at the top level") << "qwen2-5-vl"
                                    << "Qwen2_5_VLForConditionalGeneration"
                                    << "visual (";
  QTest::newRow("with recurrent layers") << "qwen3-5-vl"
                                         << "Qwen3_5ForConditionalGeneration"
                                         << "model.visual (";
  QTest::newRow("inside of model") << "qwen3-vl"
                                   << "Qwen3VLForConditionalGeneration"
                                   << "model.visual (";
  QTest::newRow("behind language_model") << "mistral-small-4"
                                         << "Mistral3ForConditionalGeneration"
                                         << "vision_tower (";
  QTest::newRow("with embeddings by layer") << "gemma4-vl"
                                            << "Gemma4ForConditionalGeneration"
                                            << "model.vision_tower (";
  QTest::newRow("kimi") << "kimi-k2-5"
                        << "Kimi_K25ForConditionalGeneration"
                        << "mm_projector (";
}

void WrappedTextTest::towers_are_left_out_and_listed() {
  QFETCH(QString, family);
  QFETCH(QString, whole);
  QFETCH(QString, tower);
  const auto info = inspect_checkpoint(lathe::tests::family_path(family.toStdString()));
  QVERIFY2(info.has_value(), lathe::tests::refusal_in(info).c_str());
  QCOMPARE(info->whole, whole.toStdString());
  QVERIFY(std::any_of(info->warnings.begin(), info->warnings.end(), [&](const std::string& warning) {
    return contains(warning, "tensors are ignored") && contains(warning, tower.toStdString());
  }));
}

void WrappedTextTest::a_prefix_that_no_list_has_is_found() {
  const auto model = open_model(lathe::tests::family_path("qwen3-vl"));
  QVERIFY2(model.has_value(), lathe::tests::refusal_in(model).c_str());
  Checkpoint checkpoint = model->checkpoint;
  std::vector<StoredTensor> tensors;
  for (StoredTensor tensor : checkpoint.tensors()) {
    const std::string usual = "model.language_model.";
    if (tensor.name.starts_with(usual)) tensor.name.replace(0, usual.size(), "thinker.model.");
    tensors.push_back(std::move(tensor));
  }
  StoredTensor head = tensors.front();
  head.name = "thinker.lm_head.weight";
  tensors.push_back(std::move(head));
  QVERIFY(checkpoint.replace(std::move(tensors)).has_value());
  const FoundPrefix prefix = find_prefix(checkpoint, model->config);
  QCOMPARE(prefix.body, std::string("thinker.model."));
  QCOMPARE(prefix.head, std::string("thinker."));
}

LATHE_TEST(WrappedTextTest)

}  // namespace wrapped_text_test
#include "wrapped_text_test.moc"
