// SPDX-License-Identifier: Apache-2.0
#include "engine/api/convert.h"

#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "engine/serve/opened_model.h"
#include "kernels/api/rounded_tensor.h"
#include "tests/support/runner_driver.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace convert_checkpoint_test {

using namespace lathe;
using engine::EngineOptions;
using engine::ErrorCode;

namespace {

EngineOptions options_of(const std::string& quantization, const std::string& dtype = "float32") {
  EngineOptions options;
  options.model = tests::tiny_model_path();
  options.quantization = quantization;
  options.dtype = dtype;
  return options;
}

std::vector<float> numbers_of(const engine::OpenedModel& model, const std::string& name) {
  std::vector<std::byte> aligned;
  const kernels::TensorView view = view_of(*model.checkpoint.find(name), aligned);
  return {view.as<float>(), view.as<float>() + view.n_elements()};
}

}  // namespace

class ConvertCheckpointTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::string path(const char* name) const { return folder_.filePath(QLatin1String(name)).toStdString(); }

 private Q_SLOTS:
  void numbers_are_those_that_the_codes_stand_for() {
    const auto report = engine::convert_checkpoint(options_of("bitsandbytes_4bit"), {.output = path("nf4")}, {});
    QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
    const auto source = engine::open_model(tests::tiny_model_path()), made = engine::open_model(path("nf4"));
    QVERIFY(made.has_value());
    QCOMPARE(made->checkpoint.tensors().size(), source->checkpoint.tensors().size());
    const std::string name = "model.layers.1.mlp.up_proj.weight";
    std::vector<std::byte> aligned;
    const kernels::TensorView view = view_of(*source->checkpoint.find(name), aligned);
    const kernels::RoundedTensor rounded(kernels::WeightFormat::nf4, view,
                                         [](std::int64_t n, const auto& body) { body(0, n); });
    const std::vector<float> got = numbers_of(*made, name);
    std::vector<float> row(static_cast<std::size_t>(view.dim(1)));
    for (std::int64_t r = 0; r < view.dim(0); ++r) {
      rounded.row(r, row);
      QVERIFY(std::equal(row.begin(), row.end(), got.begin() + r * view.dim(1)));
    }
    // bitsandbytes leaves the head; norms are never rounded.
    for (const char* same : {"lm_head.weight", "model.norm.weight", "model.embed_tokens.weight"}) {
      QCOMPARE(numbers_of(*made, same), numbers_of(*source, same));
    }
  }

  /// A format may make 0 of them: what is written does not tell that they were there.
  void L9_numbers_that_are_none_are_noted() {
    const tests::TinyModelCopy model;
    std::string bytes = tests::read_file(model.file("model.safetensors"));
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(bytes.data() + bytes.size() - sizeof nan, &nan, sizeof nan);  // the head's last number
    tests::write_file(model.file("model.safetensors"), bytes);
    for (const char* quantization : {"none", "int8_g32", "bitsandbytes_4bit"}) {
      EngineOptions options = options_of(quantization);
      options.model = model.path();
      for (const std::string& output : {path("noted"), path("noted.gguf")}) {
        const bool writes_codes = output.ends_with(".gguf") && options.quantization == "int8_g32";
        const auto report =
            engine::convert_checkpoint(options, {.output = output, .overwrite = true, .write_codes = writes_codes}, {});
        QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
        QCOMPARE(std::count(report->notes.begin(), report->notes.end(),
                            "weights hold NaN or infinity: lm_head.weight (1 of 24576 numbers)"),
                 1);
      }
    }
  }

  /// Matrices that lie transposed or by groups are rounded as the engine packs them, and written as they lay.
  void other_layouts_come_back_as_they_were_data() {
    QTest::addColumn<QString>("family");
    for (const char* family : {"gpt2", "gpt-neox", "falcon-40b", "internlm2", "phi3", "mixtral", "gemma2", "gpt-oss",
                               "mixtral-fused", "stablelm-12b"}) {
      QTest::newRow(family) << family;
    }
  }
  void other_layouts_come_back_as_they_were() {
    QFETCH(QString, family);
    EngineOptions options = options_of("int8_g32");
    options.model = tests::source_path("tests/fixtures/families/" + family.toStdString());
    options.keep_head = true;
    const std::string output = path(qPrintable("layout-" + family));
    const auto report = engine::convert_checkpoint(options, {.output = output}, {});
    QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
    const auto source = engine::open_model(options.model), made = engine::open_model(output);
    QVERIFY2(made.has_value(), made ? "" : made.error().message.c_str());
    QCOMPARE(made->checkpoint.tensors().size(), source->checkpoint.tensors().size());
    for (const engine::StoredTensor& tensor : source->checkpoint.tensors()) {
      const engine::StoredTensor* const written = made->checkpoint.find(tensor.name);
      QVERIFY2(written != nullptr && written->shape == tensor.shape, tensor.name.c_str());
    }
    const std::vector<std::int32_t> prompt = {1, 5, 9, 20, 33, 7};
    tests::RunnerDriver coded(options.model, {.quantization = options}), rewritten(output, {});
    QCOMPARE(coded.greedy(prompt, 20), rewritten.greedy(prompt, 20));
  }

  /// Codes of experts become numbers that lie as the family's own files have them, all of a layer in one tensor.
  void experts_in_codes_become_a_stack_of_numbers() {
    EngineOptions options = options_of("none", "bfloat16");
    options.model = tests::source_path("tests/fixtures/quantized/mxfp4");
    const std::string output = path("mxfp4");
    const auto report = engine::convert_checkpoint(options, {.output = output}, {});
    QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
    const std::string header = tests::read_file(output + "/model.safetensors").substr(8, 4000);
    QVERIFY(header.find(R"("model.layers.0.mlp.experts.gate_up_proj")") != std::string::npos);
    QVERIFY(header.find("[4,64,64]") != std::string::npos);  // experts, inputs, gate and up
    QVERIFY(header.find("[4,32,64]") != std::string::npos);  // of down_proj
    const std::vector<std::int32_t> prompt = {1, 5, 9, 20, 33, 7};
    tests::RunnerDriver coded(options.model, {}), rewritten(output, {});
    QCOMPARE(coded.greedy(prompt, 20), rewritten.greedy(prompt, 20));
  }

  /// Weights that share a matrix, where the head alone is rounded, come apart under names of their own.
  void a_head_without_a_tensor_gets_its_usual_name() {
    EngineOptions options = options_of("int8_g32");
    options.model = tests::source_path("tests/fixtures/families/gpt2");
    QVERIFY(engine::convert_checkpoint(options, {.output = path("gpt2-head")}, {}).has_value());
    const auto made = engine::open_model(path("gpt2-head"));
    QVERIFY2(made.has_value(), made ? "" : made.error().message.c_str());
    QVERIFY(made->checkpoint.find("lm_head.weight") != nullptr &&
            made->checkpoint.find("transformer.wte.weight") != nullptr);
    QVERIFY(!made->config.tied_embeddings);
  }

  /// The two differ only by the rounding of activations, and the scalar reference rounds none.
  void the_new_checkpoint_computes_what_the_codes_do() {
    const EngineOptions options = options_of("int8_g64");
    QVERIFY(engine::convert_checkpoint(options, {.output = path("int8")}, {}).has_value());
    const std::vector<std::int32_t> prompt = {1, 5, 9, 20, 33, 7};
    tests::RunnerDriver coded(tests::tiny_model_path(), {.quantization = options}), written(path("int8"), {});
    QCOMPARE(coded.greedy(prompt, 20), written.greedy(prompt, 20));
  }

  /// Weights that were scaled before they were rounded are scaled back: norms stay, and weights are near what they were.
  void smoothed_weights_lie_in_the_scale_that_they_came_in() {
    const EngineOptions options = options_of("smoothquant");
    std::vector<std::int64_t> seen;
    const auto observe = [&](const engine::LoadProgress& progress) {
      seen.push_back(progress.bytes_done);
      return progress.bytes_done <= progress.bytes_total;
    };
    const auto report = engine::convert_checkpoint(options, {.output = path("smooth")}, observe);
    QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
    QVERIFY(std::is_sorted(seen.begin(), seen.end()));
    const auto source = engine::open_model(tests::tiny_model_path()), made = engine::open_model(path("smooth"));
    for (const char* same : {"lm_head.weight", "model.layers.1.input_layernorm.weight", "model.embed_tokens.weight"}) {
      QCOMPARE(numbers_of(*made, same), numbers_of(*source, same));
    }
    const std::string name = "model.layers.1.self_attn.q_proj.weight";
    const std::vector<float> want = numbers_of(*source, name), got = numbers_of(*made, name);
    double wrong = 0, all = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      wrong += std::pow(got[i] - want[i], 2);
      all += std::pow(want[i], 2);
    }
    QVERIFY(wrong > 0 && wrong < 1e-3 * all);
    const std::vector<std::int32_t> prompt = {1, 5, 9, 20, 33, 7};
    tests::RunnerDriver coded(tests::tiny_model_path(), {.quantization = options}), written(path("smooth"), {});
    QCOMPARE(coded.greedy(prompt, 20), written.greedy(prompt, 20));
  }

  void what_smoothing_cannot_do_is_refused_before_anything_is_read() {
    EngineOptions options = options_of("smoothquant");
    options.smoothquant_per_channel = false;
    const auto refused = engine::convert_checkpoint(options, {.output = path("refused")}, {});
    QCOMPARE(refused.error().code, ErrorCode::invalid_argument);
    QCOMPARE(refused.error().where, std::string("smoothquant_per_channel"));
  }

  void a_quantized_head_beside_shared_embeddings_gets_its_own_tensor() {
    tests::TinyModelCopy tied;
    tied.set_config("tie_word_embeddings", true);
    EngineOptions options = options_of("int4_g32");
    options.model = tied.path();
    QVERIFY(engine::convert_checkpoint(options, {.output = path("tied")}, {}).has_value());
    const auto made = engine::open_model(path("tied"));
    QVERIFY(made.has_value() && !made->plan.tied_embeddings);
    QVERIFY(numbers_of(*made, "lm_head.weight") != numbers_of(*made, "model.embed_tokens.weight"));
  }

  /// A tied matrix may lie under the head's name alone.
  void shared_embeddings_under_the_name_of_the_head_get_both() {
    tests::TinyModelCopy plain;
    plain.set_config("tie_word_embeddings", true);
    EngineOptions options = options_of("none");
    options.model = plain.path();
    QVERIFY(engine::convert_checkpoint(options, {.output = path("shared")}, {}).has_value());
    std::string bytes = tests::read_file(path("shared") + "/model.safetensors");
    const std::string from = "model.embed_tokens.weight", to = "lm_head.weight";
    const std::size_t at = bytes.find(from);
    bytes.replace(at, from.size(), to);
    const std::size_t blanks = bytes.find("}}", at) + 2;
    bytes.insert(blanks, std::string(from.size() - to.size(), ' '));
    tests::write_file(path("shared") + "/model.safetensors", bytes);
    options = options_of("int4_g32");
    options.model = path("shared");
    QVERIFY(engine::convert_checkpoint(options, {.output = path("both/")}, {}).has_value());
    const auto made = engine::open_model(path("both"));
    QVERIFY2(made.has_value(), made ? "" : made.error().message.c_str());
    QVERIFY(made->checkpoint.find("lm_head.weight") != nullptr &&
            made->checkpoint.find("model.embed_tokens.weight") != nullptr);
  }

  void a_narrower_type_takes_half() {
    const auto wide = engine::convert_checkpoint(options_of("none"), {.output = path("f32")}, {});
    const auto narrow = engine::convert_checkpoint(options_of("none", "bfloat16"), {.output = path("bf16")}, {});
    QVERIFY(narrow->n_bytes < wide->n_bytes * 6 / 10);
    QVERIFY(tests::read_json_file(path("bf16") + "/config.json")["torch_dtype"] == "bfloat16");
    QVERIFY(engine::open_model(path("bf16"))->plan.stored.dtype == kernels::Dtype::bf16);
  }

  void what_lies_there_is_replaced_when_asked_for_alone() {
    const auto convert = [&](bool overwrite) {
      return engine::convert_checkpoint(options_of("int4_g32"), {.output = path("twice"), .overwrite = overwrite}, {});
    };
    QVERIFY(convert(false).has_value());
    tests::write_file(path("twice") + "/model-00001-of-00002.safetensors", "old");
    tests::write_file(path("twice") + "/notes.txt", "mine");
    tests::write_file(path("twice") + "/tokenizer.json", "of another model");
    QCOMPARE(convert(false).error().code, ErrorCode::invalid_argument);
    QVERIFY(convert(true).has_value());
    QVERIFY(!std::filesystem::exists(path("twice") + "/model-00001-of-00002.safetensors"));
    QVERIFY(!std::filesystem::exists(path("twice") + "/tokenizer.json"));
    QCOMPARE(tests::read_file(path("twice") + "/notes.txt"), std::string("mine"));
    for (const auto& entry : std::filesystem::directory_iterator(path("twice"))) {
      QVERIFY(entry.path().filename().string().find("partial") == std::string::npos);
    }
    QVERIFY(engine::open_model(path("twice")).has_value());
  }

  /// The numbers of codes have more digits than bf16: the report says where they are rounded to bfloat16, whether an option
  /// or the checkpoint chose that type.
  void numbers_of_codes_that_are_rounded_again_are_counted() {
    const auto noted = [&](const char* output, const EngineOptions& options) {
      const auto report = engine::convert_checkpoint(options, {.output = path(output)}, {});
      if (!report) qFatal("%s", report.error().message.c_str());
      const auto is_it = [](const std::string& note) { return note.find("--dtype float32") != note.npos; };
      const auto found = std::find_if(report->notes.begin(), report->notes.end(), is_it);
      return found == report->notes.end() ? std::string() : *found;
    };
    EngineOptions stored = options_of("bitsandbytes_4bit", "auto");
    QCOMPARE(noted("rounded-as-stored", stored), std::string());  // in float32
    stored.model = tests::tiny_model_path("tiny-sharded");        // in bfloat16
    QVERIFY(noted("rounded-as-stored-16", stored).find("tensors were rounded to bfloat16") != std::string::npos);
    const std::string said = noted("rounded-bf16", options_of("bitsandbytes_4bit", "bfloat16"));
    QVERIFY2(said.find("14 quantized tensors were rounded to bfloat16") != said.npos, said.c_str());
    QCOMPARE(noted("rounded-f32", options_of("bitsandbytes_4bit", "float32")), std::string());
    QCOMPARE(noted("rounded-none", options_of("none", "bfloat16")), std::string());
  }

  void other_folders_are_never_replaced() {
    std::filesystem::create_directory(path("home"));
    tests::write_file(path("home") + "/letter.txt", "dear");
    const auto refused = engine::convert_checkpoint(options_of("none"), {.output = path("home"), .overwrite = true}, {});
    QCOMPARE(refused.error().code, ErrorCode::invalid_argument);
    const auto itself =
        engine::convert_checkpoint(options_of("none"), {.output = tests::tiny_model_path(), .overwrite = true}, {});
    QCOMPARE(itself.error().code, ErrorCode::invalid_argument);
    QVERIFY(engine::convert_checkpoint(options_of("none"), {.output = path("no/such")}, {})
                .error()
                .message.find("not a folder") != std::string::npos);
  }

  void cancelling_leaves_nothing() {
    const auto cancelled = engine::convert_checkpoint(options_of("int8_g32"), {.output = path("cancelled")},
                                                      [](const engine::LoadProgress&) { return false; });
    QCOMPARE(cancelled.error().code, ErrorCode::cancelled);
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path().toStdString())) {
      QVERIFY(entry.path().filename().string().find("cancelled") == std::string::npos);
    }
  }
};

LATHE_TEST(ConvertCheckpointTest)

}  // namespace convert_checkpoint_test
#include "convert_checkpoint_test.moc"
