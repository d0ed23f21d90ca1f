// SPDX-License-Identifier: Apache-2.0
// GGUF files that become folders or other GGUF files, and codes in files that we write.
#include <QDir>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "engine/api/convert.h"
#include "engine/api/tokenizer.h"
#include "engine/load/gguf/gguf_types.h"
#include "engine/serve/gguf_differences.h"
#include "engine/serve/opened_model.h"
#include "tests/support/gguf_copy.h"
#include "tests/support/runner_driver.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/written_families.h"

namespace convert_gguf_test {

using namespace lathe;
using namespace lathe::tests;
using engine::EngineOptions;
using engine::ErrorCode;

namespace {

engine::Result<engine::ConvertReport> convert(const std::string& from, const std::string& to,
                                              const std::string& quantization = "none", const std::string& dtype = "auto",
                                              bool write_codes = true) {
  EngineOptions options;
  options.model = from;
  options.quantization = quantization;
  options.dtype = dtype;
  return engine::convert_checkpoint(options, {.output = to, .write_codes = write_codes}, {});
}

std::vector<float> numbers_of(const engine::StoredTensor& tensor) {
  std::vector<std::byte> aligned;
  const kernels::TensorView view = view_of(tensor, aligned);
  std::vector<float> numbers(static_cast<std::size_t>(view.n_elements()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto* halves = view.as<const std::uint16_t>();
    numbers[i] = view.dtype == kernels::Dtype::f32    ? view.as<const float>()[i]
                 : view.dtype == kernels::Dtype::bf16 ? kernels::bf16_to_f32(halves[i])
                                                      : kernels::f16_to_f32(halves[i]);
  }
  return numbers;
}

/// The same numbers, of which rates in GGUF files are not the logarithms that folders have.
bool have_numbers_of(const engine::StoredTensor& written, const engine::StoredTensor& meant) {
  const std::vector<float> got = numbers_of(written), want = numbers_of(meant);
  if (!meant.name.ends_with(".A_log")) return got == want;
  return std::equal(got.begin(), got.end(), want.begin(), want.end(),
                    [](float a, float b) { return std::abs(a - b) <= 1e-6F; });
}

/// GGUF files say what llama3 does to RoPE as factors in f32; config.json lets f64 be computed with.
constexpr double kRopeFactorsInF32 = 1e-4;

/// The tiny model with blocks of a type in place of the matrices of its layers. Halves at the beginning of a block are
/// small.
void write_with_blocks(const std::string& to, std::uint32_t number, std::size_t n_halves) {
  const std::string from = to + ".numbers.gguf";
  QVERIFY(convert(tiny_model_path(), from).has_value());
  const engine::GgufFile file = opened_gguf(from);
  const engine::StoredType& type = *engine::find_gguf_type(number);
  GgufBuilder builder;
  for (const auto& [key, value] : file.header.values()) add_value(builder, std::string(key), value);
  std::uint32_t random = 1;
  for (const engine::GgufTensor& tensor : file.header.tensors()) {
    if (tensor.shape.size() != 2 || !tensor.name.starts_with("blk.")) {
      builder.tensor(tensor.name, tensor.shape, tensor.type, bytes_of(file, tensor));
      continue;
    }
    std::string bytes(static_cast<std::size_t>(tensor.shape[0] * tensor.shape[1] / type.block * type.bits / 8), '\0');
    for (char& byte : bytes) byte = static_cast<char>((random = random * 1664525 + 1013904223) >> 24);
    const auto block = static_cast<std::size_t>(type.bits / 8);
    for (std::size_t at = 0; at < bytes.size(); at += block) {
      for (std::size_t half = 0; half < n_halves; ++half) bytes[at + 2 * half + 1] = 0x1c;  // 0.0039 to 0.0078
    }
    builder.tensor(tensor.name, tensor.shape, number, bytes);
  }
  write_file(to, builder.bytes());
}

}  // namespace

class ConvertGgufTest : public QObject {
  Q_OBJECT

  QTemporaryDir made_;
  std::string path(const std::string& name) const { return made_.filePath(QString::fromStdString(name)).toStdString(); }

 private Q_SLOTS:
  void a_file_becomes_the_folder_that_it_was_made_of_data();
  void a_file_becomes_the_folder_that_it_was_made_of();
  void what_turns_is_told_as_transformers_reads_it();
  void experts_by_themselves_are_told_of();
  void a_file_becomes_itself_data() { a_file_becomes_the_folder_that_it_was_made_of_data(); }
  void a_file_becomes_itself();
  void blocks_of_any_type_stay_data();
  void blocks_of_any_type_stay();
  void blocks_become_numbers_in_a_folder();
  void rounded_codes_are_those_of_a_load_data();
  void rounded_codes_are_those_of_a_load();
  void codes_of_folders_stay_data();
  void codes_of_folders_stay();
  void experts_in_mxfp4_are_the_blocks_of_the_usual_converter();
  void what_has_no_blocks_is_refused_data();
  void what_has_no_blocks_is_refused();
  void tokenizer_and_template_come_back_data();
  void tokenizer_and_template_come_back();
  void named_templates_come_back();
  void every_end_of_an_answer_comes_back();
  void what_becomes_of_legacy_is_told();
  void a_file_without_a_tokenizer_says_so();
  void the_file_that_is_read_is_not_replaced();
};

void ConvertGgufTest::a_file_becomes_the_folder_that_it_was_made_of_data() {
  QTest::addColumn<bool>("is_all_said");  // of the config
  for (const char* name : {"llama-yarn",
                           "mixtral",
                           "qwen3",
                           "qwen3-moe",
                           "gemma",
                           "phi",
                           "phi3",
                           "stablelm",
                           "olmo2",
                           "exaone4",
                           "granite",
                           "cohere",
                           "glm",
                           "glm4",
                           "seed-oss",
                           "deepseek-v2",
                           "deepseek-v2-groups",
                           "deepseek-v3",
                           "qwen3-5",
                           "qwen3-5-moe",
                           "qwen3-next",
                           "lfm2",
                           "lfm2-moe"}) {
    QTest::newRow(name) << true;
  }
  for (const char* name : {"llama", "mistral", "qwen2", "gemma2", "gemma3", "phi3-longrope", "starcoder2", "smollm3"}) {
    QTest::newRow(name) << false;
  }
}

void ConvertGgufTest::a_file_becomes_the_folder_that_it_was_made_of() {
  QFETCH(bool, is_all_said);
  const std::string name = QTest::currentDataTag(), folder = path(name);
  const auto report = convert(gguf_path(name), folder);
  QVERIFY2(report.has_value(), refusal_in(report).c_str());
  const auto got = engine::open_model(folder), want = engine::open_model(family_path(name));
  QVERIFY2(got.has_value(), refusal_in(got).c_str());
  QVERIFY2(got->info.warnings.size() == want->info.warnings.size(), "other warnings");
  QCOMPARE(got->checkpoint.tensors().size(), want->checkpoint.tensors().size());
  for (const engine::StoredTensor& tensor : want->checkpoint.tensors()) {
    const engine::StoredTensor* const written = got->checkpoint.find(tensor.name);
    QVERIFY2(written != nullptr && written->shape == tensor.shape, tensor.name.c_str());
    QVERIFY2(have_numbers_of(*written, tensor), tensor.name.c_str());
  }
  const auto other = differences(got->config, want->config);
  if (is_all_said) QVERIFY2(other.empty(), other.empty() ? "" : other.front().c_str());
  const RunnerChoice choice{.max_model_len = 40};
  QVERIFY(logits_of(folder, choice) == logits_of(gguf_path(name), choice));
}

/// It reads what of a head turns in GPT-NeoX by that family's names alone, and MPT's slopes from a whole number alone.
void ConvertGgufTest::what_turns_is_told_as_transformers_reads_it() {
  QVERIFY(convert(gguf_path("gpt-neox"), path("neox")).has_value() && convert(gguf_path("mpt"), path("mpt")).has_value());
  const engine::Json neox = read_json_file(path("neox") + "/config.json"),
                     mpt = read_json_file(path("mpt") + "/config.json");
  QVERIFY(neox.at("rotary_pct") == 0.5);
  QVERIFY(mpt.at("attn_config").at("alibi_bias_max").is_number_integer() && mpt["attn_config"]["alibi_bias_max"] == 8);
}

/// The family's own files have them in stacks; ours are read by Lathe.
void ConvertGgufTest::experts_by_themselves_are_told_of() {
  const auto report = convert(gguf_path("gpt-oss"), path("gpt-oss"));
  QVERIFY2(report.has_value(), refusal_in(report).c_str());
  const auto& notes = report->notes;
  QVERIFY(std::any_of(notes.begin(), notes.end(), [](const std::string& note) { return note.find("expert") != note.npos; }));
  const RunnerChoice choice{.max_model_len = 40};
  QVERIFY(logits_of(path("gpt-oss"), choice) == logits_of(gguf_path("gpt-oss"), choice));
}

void ConvertGgufTest::a_file_becomes_itself() {
  const std::string name = QTest::currentDataTag(), file = path(name + ".gguf");
  const auto report = convert(gguf_path(name), file);
  QVERIFY2(report.has_value(), refusal_in(report).c_str());
  QVERIFY(content_of(file) == content_of(gguf_path(name)));
}

void ConvertGgufTest::blocks_of_any_type_stay_data() {
  QTest::addColumn<int>("number");
  QTest::addColumn<int>("n_halves");
  QTest::newRow("Q4_0") << 2 << 1;
  QTest::newRow("Q4_1") << 3 << 2;
  QTest::newRow("Q5_0") << 6 << 1;
  QTest::newRow("Q5_1") << 7 << 2;
  QTest::newRow("Q8_0") << 8 << 1;
  QTest::newRow("IQ4_NL") << 20 << 1;
}

void ConvertGgufTest::blocks_of_any_type_stay() {
  QFETCH(int, number);
  QFETCH(int, n_halves);
  const std::string name = QTest::currentDataTag(), from = path(name + "-from.gguf"), to = path(name + "-to.gguf");
  write_with_blocks(from, static_cast<std::uint32_t>(number), static_cast<std::size_t>(n_halves));
  const auto report = convert(from, to);
  QVERIFY2(report.has_value(), refusal_in(report).c_str());
  QVERIFY(report->notes.empty());
  QVERIFY(content_of(to) == content_of(from));
}

void ConvertGgufTest::blocks_become_numbers_in_a_folder() {
  const std::string from = path("q4_1.gguf");
  write_with_blocks(from, 3, 2);
  const auto exact = convert(from, path("exact"), "none", "float32"),
             rounded = convert(from, path("rounded"), "none", "bfloat16");
  QVERIFY2(exact.has_value(), refusal_in(exact).c_str());
  QVERIFY(rounded.has_value());
  const RunnerChoice choice{.max_model_len = 40};
  QVERIFY(logits_of(path("exact"), choice) == logits_of(from, choice));
  const auto tells = [](const engine::ConvertReport& report) {
    return std::any_of(report.notes.begin(), report.notes.end(),
                       [](const std::string& note) { return note.find("--dtype float32") != note.npos; });
  };
  QVERIFY(!tells(*exact) && tells(*rounded));
}

void ConvertGgufTest::rounded_codes_are_those_of_a_load_data() {
  QTest::addColumn<QString>("quantization");
  QTest::addColumn<QString>("type");
  for (const char* model : {"models/tiny-llama", "models/tiny-llama3-rope", "quantized/mxfp4", "gguf/mxfp4.gguf"}) {
    QTest::addRow("%s in int8_g32", model) << "int8_g32"
                                           << "Q8_0";
    QTest::addRow("%s in int4_g32", model) << "int4_g32"
                                           << "Q4_0";
  }
}

void ConvertGgufTest::rounded_codes_are_those_of_a_load() {
  QFETCH(QString, quantization);
  QFETCH(QString, type);
  const QString tag = QString::fromUtf8(QTest::currentDataTag());
  const std::string source = source_path("tests/fixtures/" + tag.section(QLatin1Char(' '), 0, 0).toStdString());
  const std::string made = path(QString(tag).replace(QLatin1Char('/'), QLatin1Char('-')).toStdString());
  const std::string file = made + ".gguf", method = quantization.toStdString();
  const auto report = convert(source, file, method);
  QVERIFY2(report.has_value(), refusal_in(report).c_str());
  const auto got = engine::open_model(file);
  QVERIFY2(got.has_value(), refusal_in(got).c_str());
  QCOMPARE(got->info.stored_quantization, method);
  QCOMPARE(got->info.stored_head_quantization, method);
  QVERIFY(got->info.tensors_by_dtype.contains(type.toStdString()));
  EngineOptions options;
  options.quantization = method;
  const RunnerChoice loaded{.quantization = options, .max_model_len = 40}, as_stored{.as_stored = true, .max_model_len = 40};
  const double apart = largest_difference(logits_of(file, as_stored), logits_of(source, loaded));
  QVERIFY2(apart <= (tag.contains(QLatin1String("llama3-rope")) ? kRopeFactorsInF32 : 0),
           qPrintable(QString::number(apart)));
  const auto numbers = convert(source, made, method, "float32", false);
  QVERIFY2(numbers.has_value(), refusal_in(numbers).c_str());
  const auto dequantized = engine::open_model(made);
  const engine::StoredTensor* const down = got->checkpoint.find("model.layers.0.mlp.down_proj.weight");
  if (down != nullptr) QVERIFY(numbers_of(*down) == numbers_of(*dequantized->checkpoint.find(down->name)));
}

void ConvertGgufTest::codes_of_folders_stay_data() {
  QTest::addColumn<QString>("type");
  QTest::newRow("gptq-4bit") << "Q4_0";
  QTest::newRow("compressed-w4a16") << "Q4_0";
  QTest::newRow("gptq-8bit") << "Q8_0";
}

void ConvertGgufTest::codes_of_folders_stay() {
  QFETCH(QString, type);
  const std::string name = QTest::currentDataTag(), file = path(name + ".gguf");
  const std::string folder = source_path("tests/fixtures/quantized/" + name);
  const auto report = convert(folder, file);
  QVERIFY2(report.has_value(), refusal_in(report).c_str());
  const auto got = engine::open_model(file), want = engine::open_model(folder);
  QVERIFY2(got.has_value(), refusal_in(got).c_str());
  int n_coded = 0;
  for (const engine::StoredTensor& tensor : want->checkpoint.tensors()) {
    if (tensor.coded == nullptr || tensor.name.find("q_proj") != std::string::npos ||
        tensor.name.find("k_proj") != std::string::npos) {
      continue;  // those two lie in pairs in the file; logits show that they are right
    }
    const engine::StoredTensor* const written = got->checkpoint.find(tensor.name);
    QVERIFY2(written != nullptr, tensor.name.c_str());
    QCOMPARE(QString::fromStdString(std::string(written->type->name)), type);
    QVERIFY2(numbers_of(*written) == numbers_of(tensor), tensor.name.c_str());
    ++n_coded;
  }
  QVERIFY(n_coded > 0);
  const RunnerChoice numbers{.max_model_len = 40};
  QVERIFY(largest_difference(logits_of(file, numbers), logits_of(folder, numbers)) <= kRopeFactorsInF32);
}

void ConvertGgufTest::experts_in_mxfp4_are_the_blocks_of_the_usual_converter() {
  const std::string file = path("mxfp4.gguf");
  const auto report = convert(source_path("tests/fixtures/quantized/mxfp4"), file);
  QVERIFY2(report.has_value(), refusal_in(report).c_str());
  const auto got = content_of(file), want = content_of(gguf_path("mxfp4"));
  int n = 0;
  for (const auto& [name, bytes] : want) {
    if (name.find("_exps.weight") == std::string::npos) continue;
    QVERIFY2(got.contains(name) && got.at(name) == bytes, name.c_str());
    ++n;
  }
  QVERIFY(n >= 3);
}

void ConvertGgufTest::what_has_no_blocks_is_refused_data() {
  QTest::addColumn<QString>("source");
  QTest::addColumn<QString>("quantization");
  QTest::addColumn<QString>("expected");
  const QString tiny = QString::fromStdString(tiny_model_path());
  const auto folder = [](const char* name) {
    return QString::fromStdString(source_path(std::string("tests/fixtures/quantized/") + name));
  };
  QTest::newRow("groups of 64") << tiny << "int8_g64"
                                << "codes of int8_g64 have no equivalent in a GGUF file";
  QTest::newRow("nf4") << tiny << "bitsandbytes_4bit"
                       << "codes of nf4 have no equivalent";
  QTest::newRow("zero points") << folder("awq") << "none"
                               << "codes of int4_g32_asym have no equivalent";
  QTest::newRow("narrow rows") << QString::fromStdString(family_path("qwen3")) << "int8_g32"
                               << "Q8_0 has blocks of 32, and rows of 48 numbers have no equivalent";
  QTest::newRow("an order") << folder("gptq-4bit-ordered") << "none"
                            << "codes in activation order (desc_act) have no equivalent";
  QTest::newRow("an order that is kept") << folder("gptq-8bit-desc-act") << "none"
                                         << "codes in activation order (desc_act) have no equivalent";
}

void ConvertGgufTest::what_has_no_blocks_is_refused() {
  QFETCH(QString, source);
  QFETCH(QString, quantization);
  QFETCH(QString, expected);
  const QTemporaryDir empty;
  const std::string file = empty.filePath(QStringLiteral("refused.gguf")).toStdString();
  const auto report = convert(source.toStdString(), file, quantization.toStdString());
  QVERIFY(!report.has_value());
  QCOMPARE(report.error().code, ErrorCode::invalid_argument);
  const QString message = QString::fromStdString(report.error().message);
  QVERIFY2(message.contains(expected) && message.contains(QStringLiteral("--dequantize")), qPrintable(message));
  QVERIFY(QDir(empty.path()).isEmpty());
  const auto numbers = convert(source.toStdString(), file, quantization.toStdString(), "auto", false);
  QVERIFY2(numbers.has_value(), refusal_in(numbers).c_str());
}

void ConvertGgufTest::tokenizer_and_template_come_back_data() {
  QTest::addColumn<QString>("folder");
  QTest::addColumn<QString>("file");
  QTest::newRow("sentencepiece") << QString::fromStdString(tiny_model_path()) << "tokenizer.model";
  QTest::newRow("demo model") << QString::fromStdString(source_path("resources/demo_model")) << "tokenizer.model";
}

void ConvertGgufTest::tokenizer_and_template_come_back() {
  QFETCH(QString, folder);
  QFETCH(QString, file);
  const std::string tag = QTest::currentDataTag(), gguf = path(tag + ".gguf"), back = path(tag);
  QVERIFY(convert(folder.toStdString(), gguf).has_value());
  const auto report = convert(gguf, back);
  QVERIFY2(report.has_value(), refusal_in(report).c_str());
  QVERIFY2(report->notes.empty(), report->notes.empty() ? "" : report->notes.front().c_str());
  QVERIFY(QFile::exists(QString::fromStdString(back) + QLatin1Char('/') + file));
  const auto first = engine::open_model(folder.toStdString()), last = engine::open_model(back);
  QVERIFY2(last.has_value(), refusal_in(last).c_str());
  QVERIFY(last->chat_templates == first->chat_templates);
  QVERIFY(last->config.bos_id == first->config.bos_id);
  // The file's own: behind a special token a GGUF vocabulary always has a blank in front, which folders may say they have
  // not.
  const auto meant = engine::open_tokenizer(gguf), got = engine::open_tokenizer(back);
  QVERIFY2(got.has_value(), refusal_in(got).c_str());
  for (const char* text : {"Once upon a time.", "  two  blanks\n<s>a</s>", "na\xC3\xAFve \xF0\x9F\x99\x82", ""}) {
    QCOMPARE(*(*got)->encode(text, true, true), *(*meant)->encode(text, true, true));
  }
}

void ConvertGgufTest::named_templates_come_back() {
  const TinyModelCopy model;
  std::filesystem::create_directory(model.file("additional_chat_templates"));
  tests::write_file(model.file("chat_template.jinja"), "d");
  tests::write_file(model.file("additional_chat_templates/tool_use.jinja"), "t");
  tests::write_file(model.file("additional_chat_templates/my-rag.jinja"), "r");
  const std::string gguf = path("named.gguf"), back = path("named"), folder = path("named-folder");
  QVERIFY(convert(model.path(), gguf).has_value() && convert(gguf, back).has_value());
  for (int i = 0; i < 2; ++i) {  // the second one over the first
    EngineOptions options;
    options.model = model.path();
    const auto report = engine::convert_checkpoint(options, {.output = folder, .overwrite = true}, {});
    QVERIFY2(report.has_value(), refusal_in(report).c_str());
  }
  const auto first = engine::open_model(model.path());
  QCOMPARE(first->chat_templates.names(), std::string("default, my-rag, tool_use"));
  for (const std::string& made : {gguf, back, folder}) {
    const auto last = engine::open_model(made);
    QVERIFY2(last.has_value(), refusal_in(last).c_str());
    QVERIFY(last->chat_templates == first->chat_templates);
  }
}

/// The end tokens are those of config.json, of generation_config.json and of the tokenizer.
void ConvertGgufTest::every_end_of_an_answer_comes_back() {
  const TinyModelCopy folder;
  folder.set_config("eos_token_id", {2, 5});
  write_file(folder.file("generation_config.json"), R"({"eos_token_id": [7, 2, 11]})");  // <|end|>, 6, is known by its text
  const std::string file = path("ends.gguf"), back = path("ends");
  const auto report = convert(folder.path(), file);
  QVERIFY2(report.has_value(), refusal_in(report).c_str());
  const std::vector<std::int32_t> ends = {2, 5, 6, 7, 11};
  QCOMPARE(engine::open_model(file)->info.eos_ids, ends);
  QCOMPARE(engine::open_tokenizer(file).value()->eos_ids(), std::vector<std::int32_t>{2});
  QVERIFY(convert(file, back).has_value());
  QCOMPARE(engine::open_model(back)->info.eos_ids, ends);
}

/// A file has no place for it: readers put a space before text behind a special token.
void ConvertGgufTest::what_becomes_of_legacy_is_told() {
  const auto tells = [](const engine::ConvertReport& report) {
    return std::any_of(report.notes.begin(), report.notes.end(),
                       [](const std::string& note) { return note.find("legacy: false") != note.npos; });
  };
  const TinyModelCopy model;
  for (const bool legacy : {false, true}) {
    model.edit("tokenizer_config.json", [&](engine::Json& config) { config["legacy"] = legacy; });
    const std::string file = path(legacy ? "legacy.gguf" : "new.gguf");
    const auto report = convert(model.path(), file);
    QVERIFY2(report.has_value(), refusal_in(report).c_str());
    QCOMPARE(tells(*report), !legacy);
    const auto meant = engine::open_tokenizer(model.path()), got = engine::open_tokenizer(file);
    QCOMPARE(*(*got)->encode("a</s>b", true, true) == *(*meant)->encode("a</s>b", true, true), legacy);
  }
  const auto again = convert(path("new.gguf"), path("again.gguf"));
  QVERIFY(again.has_value() && !tells(*again));
}

void ConvertGgufTest::a_file_without_a_tokenizer_says_so() {
  const auto report = convert(gguf_path("qwen3"), path("silent"));
  QVERIFY2(report.has_value(), refusal_in(report).c_str());
  QVERIFY(!report->notes.empty() && report->notes.front().starts_with("no tokenizer was written"));
}

void ConvertGgufTest::the_file_that_is_read_is_not_replaced() {
  const std::string file = path("itself.gguf");
  write_file(file, read_file(gguf_path("qwen3")));
  EngineOptions options;
  options.model = file;
  const auto refused = engine::convert_checkpoint(options, {.output = file, .overwrite = true}, {});
  QCOMPARE(refused.error().code, ErrorCode::invalid_argument);
  QVERIFY(refused.error().message.find("is read") != std::string::npos);
}

LATHE_TEST(ConvertGgufTest)

}  // namespace convert_gguf_test
#include "convert_gguf_test.moc"
