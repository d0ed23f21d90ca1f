// SPDX-License-Identifier: Apache-2.0
// The table of loaders, sharded checkpoints (row L14), and folders that hold no weights that are read (row L16).
#include "engine/load/loaders.h"

#include <sys/stat.h>

#include <QTest>
#include <filesystem>
#include <set>

#include "engine/api/checkpoint.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/two_files.h"

namespace loaders_test {

using namespace lathe::engine;
using lathe::tests::kFirst;
using lathe::tests::kIndex;
using lathe::tests::kSecond;
using lathe::tests::open_weights;
using lathe::tests::refusal_of_weights;
using lathe::tests::safetensors_bytes;
using lathe::tests::tiny_model_path;
using lathe::tests::TinyModelCopy;
using lathe::tests::write_file;

namespace {

/// The same of a whole model, whose family says what is needed.
std::string refusal_of_model(const TinyModelCopy& model) {
  const auto info = inspect_checkpoint(model.path());
  return info ? std::string("was accepted") : info.error().where + ": " + info.error().message;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

std::string warnings_of_model(const TinyModelCopy& model) {
  const auto info = inspect_checkpoint(model.path());
  return info ? joined(info->warnings) : "was refused: " + refusal_of_model(model);
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// A file with one tensor of 4 bytes.
std::string one_tensor(const std::string& name) {
  const Json header = {{name, {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {0, 4}}}}};
  return safetensors_bytes(dump_json(header), 4);
}

}  // namespace

class LoadersTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_loader_has_a_name_of_its_own();
  void a_single_file_opens();
  void shards_open_as_one_checkpoint();
  void tensors_are_sorted_and_found();
  void a_single_file_is_preferred_to_an_index();
  void pages_can_be_dropped_and_read_again();
  void L14_a_missing_file_is_an_error_where_it_is_needed();
  void L14_a_missing_file_of_what_nobody_needs_is_a_warning();
  void L14_a_broken_file_of_what_nobody_needs_is_a_warning();
  void L14_all_files_missing();
  void L14_shard_listed_under_two_names();
  void L14_of_two_files_with_a_tensor_the_one_of_the_index_counts();
  void L14_of_two_files_with_a_tensor_that_no_index_lists_neither_counts();
  void L14_tensor_in_another_shard_than_promised();
  void L14_shards_of_two_models();
  void L14_an_index_may_list_what_nobody_needs();
  void L14_wrong_total_size_is_a_warning();
  void L14_total_size_of_another_kind_is_a_warning();
  void L14_tensor_that_no_index_lists_is_a_warning();
  void L14_index_must_map_names_to_names();
  void L13_index_may_not_lead_out();
  void L13_shards_may_be_links_to_anywhere();
  void L1_cut_files();
  void L11_file_truncated_after_opening();
  void L6_index_key_twice();
  void L16_formats_that_are_not_read_data();
  void L16_formats_that_are_not_read();
  void L16_no_weights_at_all();
};

void LoadersTest::every_loader_has_a_name_of_its_own() {
  std::set<std::string_view> names;
  for (const Loader* loader : loaders()) {
    QVERIFY(!loader->name.empty() && loader->recognises != nullptr && loader->open != nullptr);
    QVERIFY(names.insert(loader->name).second);
  }
}

void LoadersTest::a_single_file_opens() {
  const auto checkpoint = open_weights(tiny_model_path());
  QVERIFY(checkpoint.has_value());
  QCOMPARE(checkpoint->file_format(), std::string_view("safetensors"));
  QCOMPARE(checkpoint->n_bytes(),
           static_cast<std::int64_t>(std::filesystem::file_size(tiny_model_path() + "/model.safetensors")));
}

void LoadersTest::shards_open_as_one_checkpoint() {
  const auto checkpoint = open_weights(tiny_model_path("tiny-sharded"));
  QVERIFY(checkpoint.has_value());
  QCOMPARE(checkpoint->tensors().size(), std::size_t{21});
  QVERIFY(checkpoint->warnings().empty());
  QCOMPARE(checkpoint->file_of(*checkpoint->find("model.embed_tokens.weight")), std::string(kFirst));
  QCOMPARE(checkpoint->file_of(*checkpoint->find("lm_head.weight")), std::string(kSecond));
}

void LoadersTest::tensors_are_sorted_and_found() {
  const auto checkpoint = open_weights(tiny_model_path());
  const auto tensors = checkpoint->tensors();
  for (std::size_t i = 1; i < tensors.size(); ++i) QVERIFY(tensors[i - 1].name < tensors[i].name);
  for (const StoredTensor& tensor : tensors) QCOMPARE(checkpoint->find(tensor.name), &tensor);
  QVERIFY(checkpoint->find("no.such.tensor") == nullptr);
}

void LoadersTest::a_single_file_is_preferred_to_an_index() {
  const TinyModelCopy model("tiny-sharded");
  write_file(model.file("model.safetensors"), one_tensor("alone"));
  QCOMPARE(open_weights(model.path())->tensors().size(), std::size_t{1});
}

void LoadersTest::pages_can_be_dropped_and_read_again() {
  const auto checkpoint = open_weights(tiny_model_path());
  const StoredTensor& tensor = *checkpoint->find("model.embed_tokens.weight");
  const std::vector<std::byte> before(tensor.bytes.begin(), tensor.bytes.end());
  checkpoint->drop(tensor);
  QVERIFY(std::equal(before.begin(), before.end(), tensor.bytes.begin()));
}

void LoadersTest::L14_a_missing_file_is_an_error_where_it_is_needed() {
  const TinyModelCopy model("tiny-sharded");
  std::filesystem::remove(model.file(kSecond));
  const std::string words = refusal_of_model(model);
  QVERIFY2(words.starts_with(std::string(kSecond) + ": "), words.c_str());
  QVERIFY2(contains(words, "file is missing; 1 of the 2 files that model.safetensors.index.json names is present"),
           words.c_str());
  write_file(model.file(std::string(kSecond) + ".part"), "x");
  QVERIFY2(contains(refusal_of_model(model), ".part is an unfinished download"), refusal_of_model(model).c_str());
}

void LoadersTest::L14_a_missing_file_of_what_nobody_needs_is_a_warning() {
  const TinyModelCopy model("tiny-sharded");
  model.edit(kIndex, [](Json& index) { index["weight_map"]["vision.proj.weight"] = "vision.safetensors"; });
  const auto warnings = warnings_of_model(model);
  QVERIFY2(contains(warnings,
                    "a tensor is missing that LlamaForCausalLM does not need: vision.safetensors: vision.proj.weight: file"),
           warnings.c_str());
}

void LoadersTest::L14_a_broken_file_of_what_nobody_needs_is_a_warning() {
  const TinyModelCopy model("tiny-sharded");
  write_file(model.file("vision.safetensors"), "Entry not found");
  model.edit(kIndex, [](Json& index) { index["weight_map"]["vision.proj.weight"] = "vision.safetensors"; });
  QVERIFY2(contains(warnings_of_model(model), "is a text of 15 bytes"), warnings_of_model(model).c_str());
  write_file(model.file(kSecond), "Entry not found");
  const std::string words = refusal_of_model(model);
  QVERIFY2(words.starts_with(kSecond) && contains(words, "is a text of 15 bytes"), words.c_str());
}

void LoadersTest::L14_all_files_missing() {
  const TinyModelCopy model("tiny-sharded");
  for (const std::string_view file : {kFirst, kSecond}) std::filesystem::remove(model.file(file));
  QVERIFY2(refusal_of_weights(model).starts_with(std::string(kFirst) + ": file is missing; 0 of the 2 files that "),
           refusal_of_weights(model).c_str());
}

void LoadersTest::L14_shard_listed_under_two_names() {
  const TinyModelCopy model("tiny-sharded");
  model.edit(kIndex, [](Json& index) { index["weight_map"]["model.embed_tokens.weight"] = "./" + std::string(kFirst); });
  const auto checkpoint = open_weights(model.path());
  QVERIFY2(checkpoint.has_value(), checkpoint ? "" : checkpoint.error().message.c_str());
  QCOMPARE(checkpoint->tensors().size(), std::size_t{21});
  QVERIFY(checkpoint->warnings().empty());
}

void LoadersTest::L14_of_two_files_with_a_tensor_the_one_of_the_index_counts() {
  const TinyModelCopy model("tiny-sharded");
  write_file(model.file("extra.safetensors"), one_tensor("model.norm.weight"));
  QCOMPARE(open_weights(model.path())->file_of(*open_weights(model.path())->find("model.norm.weight")),
           std::string(kSecond));
  model.edit(kIndex, [](Json& index) { index["weight_map"]["model.norm.weight"] = "extra.safetensors"; });
  const auto checkpoint = open_weights(model.path());
  QVERIFY(checkpoint.has_value());
  QCOMPARE(checkpoint->file_of(*checkpoint->find("model.norm.weight")), std::string("extra.safetensors"));
  const std::string expected = std::string(kSecond) + ": model.norm.weight is not read, because " + std::string(kIndex) +
                               " names extra.safetensors for it";
  const std::string all = joined(checkpoint->warnings());
  QVERIFY2(contains(all, expected), all.c_str());
}

void LoadersTest::L14_of_two_files_with_a_tensor_that_no_index_lists_neither_counts() {
  const TinyModelCopy model("tiny-sharded");
  write_file(model.file("extra.safetensors"), one_tensor("model.norm.weight"));
  model.edit(kIndex, [](Json& index) {
    index["weight_map"].erase("model.norm.weight");
    index["weight_map"]["other"] = "extra.safetensors";
  });
  QVERIFY2(contains(refusal_of_weights(model), "model.norm.weight: ambiguous tensor"), refusal_of_weights(model).c_str());
}

void LoadersTest::L14_tensor_in_another_shard_than_promised() {
  const TinyModelCopy model("tiny-sharded");
  model.edit(kIndex, [](Json& index) { index["weight_map"]["lm_head.weight"] = kFirst; });
  const auto checkpoint = open_weights(model.path());
  QVERIFY(checkpoint.has_value());
  QCOMPARE(checkpoint->file_of(*checkpoint->find("lm_head.weight")), std::string(kSecond));
  const std::string all = joined(checkpoint->warnings());
  QVERIFY2(contains(all, "is wrong about lm_head.weight"), all.c_str());
}

void LoadersTest::L14_shards_of_two_models() {
  const TinyModelCopy model("tiny-sharded");
  write_file(model.file(kSecond), one_tensor("transformer.wte.weight"));
  const std::string words = refusal_of_model(model);
  QVERIFY2(words.starts_with(kSecond) &&
               contains(words, "missing tensor: model.safetensors.index.json says that this file has it"),
           words.c_str());
}

void LoadersTest::L14_an_index_may_list_what_nobody_needs() {
  const TinyModelCopy model("tiny-sharded");
  model.edit(kIndex, [](Json& index) {
    index["weight_map"]["model.layers.0.self_attn.rotary_emb.inv_freq"] = kFirst;
    index["weight_map"]["mtp.norm.weight"] = kFirst;
  });
  const std::string warnings = warnings_of_model(model);
  QVERIFY2(contains(warnings, ": mtp.norm.weight: missing tensor") && !contains(warnings, "inv_freq"), warnings.c_str());
  // Parts of what is read are needed, whatever they are.
  model.edit(kIndex, [](Json& index) { index["weight_map"]["model.layers.0.self_attn.q_proj.g_idx"] = kFirst; });
  QVERIFY2(contains(refusal_of_model(model), "q_proj.g_idx: missing tensor"), refusal_of_model(model).c_str());
}

void LoadersTest::L14_wrong_total_size_is_a_warning() {
  const TinyModelCopy model("tiny-sharded");
  model.edit(kIndex, [](Json& index) { index["metadata"]["total_size"] = 12; });
  const auto checkpoint = open_weights(model.path());
  QVERIFY(checkpoint.has_value());
  QCOMPARE(checkpoint->warnings().size(), std::size_t{1});
  QVERIFY(contains(checkpoint->warnings().front(), "total_size is 12"));
}

void LoadersTest::L14_total_size_of_another_kind_is_a_warning() {
  for (const Json& total : {Json("12"), Json(12.5), Json::array(), Json(-1), Json(~std::uint64_t{0})}) {
    const TinyModelCopy model("tiny-sharded");
    model.edit(kIndex, [&](Json& index) { index["metadata"]["total_size"] = total; });
    const auto checkpoint = open_weights(model.path());
    QVERIFY(checkpoint.has_value());
    QCOMPARE(checkpoint->warnings().size(), std::size_t{1});
    QVERIFY2(contains(checkpoint->warnings().front(), "total_size is " + dump_json(total)),
             checkpoint->warnings().front().c_str());
  }
}

void LoadersTest::L14_tensor_that_no_index_lists_is_a_warning() {
  const TinyModelCopy model("tiny-sharded");
  model.edit(kIndex, [](Json& index) { index["weight_map"].erase("lm_head.weight"); });
  const auto checkpoint = open_weights(model.path());
  QVERIFY(checkpoint.has_value());
  QCOMPARE(checkpoint->warnings(),
           (std::vector<std::string>{std::string(kSecond) + ": lm_head.weight is not listed in " + std::string(kIndex)}));
}

void LoadersTest::L14_index_must_map_names_to_names() {
  for (const char* content :
       {R"({})", R"({"weight_map": []})", R"({"weight_map": {}})", R"({"weight_map": {"a": 1}})", "[]", ""}) {
    const TinyModelCopy model("tiny-sharded");
    write_file(model.file(kIndex), content);
    std::filesystem::remove(model.file(kFirst));  // what is left is no whole set that would do without
    QVERIFY2(refusal_of_weights(model).starts_with(kIndex), refusal_of_weights(model).c_str());
  }
}

void LoadersTest::L13_index_may_not_lead_out() {
  using namespace std::string_literals;
  for (const std::string& name :
       {"../../etc/passwd"s, "/etc/passwd"s, "C:\\x"s, "a/../../b"s, ""s, "model.safetensors\0x"s, std::string(256, 'a')}) {
    const TinyModelCopy model("tiny-sharded");
    model.edit(kIndex, [&](Json& index) { index["weight_map"]["lm_head.weight"] = name; });
    QVERIFY2(refusal_of_weights(model).starts_with(std::string(kIndex) + ": weight_map.lm_head.weight"),
             refusal_of_weights(model).c_str());
  }
}

void LoadersTest::L13_shards_may_be_links_to_anywhere() {
  namespace fs = std::filesystem;
  const TinyModelCopy outside("tiny-sharded"), model("tiny-sharded");
  fs::remove(model.file(kSecond));
  fs::create_symlink(outside.file(kSecond), model.file(kSecond));
  QCOMPARE(refusal_of_weights(model), std::string("was accepted"));
  // But to files alone, and nothing is waited for.
  fs::remove(model.file(kFirst));
  fs::remove(model.file(kSecond));
  QCOMPARE(::mkfifo(model.file(kSecond).c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", model.file(kFirst));
  QCOMPARE(refusal_of_weights(model), std::string(kFirst) + ": not a regular file but a device");
  fs::remove(model.file(kFirst));
  fs::create_symlink(kSecond, model.file(kFirst));
  QCOMPARE(refusal_of_weights(model), std::string(kFirst) + ": not a regular file but a pipe");
}

void LoadersTest::L1_cut_files() {
  const TinyModelCopy model;
  const auto size = std::filesystem::file_size(model.file("model.safetensors"));
  for (const auto& [n, section] : {std::pair{std::uintmax_t{7}, "header length"}, std::pair{std::uintmax_t{8}, "the header"},
                                   std::pair{size - 1, "the tensor data"}}) {
    const TinyModelCopy cut;
    std::filesystem::resize_file(cut.file("model.safetensors"), n);
    QVERIFY2(refusal_of_weights(cut).starts_with("model.safetensors: ") &&
                 contains(refusal_of_weights(cut), "truncated at ") && contains(refusal_of_weights(cut), section),
             refusal_of_weights(cut).c_str());
  }
}

void LoadersTest::L11_file_truncated_after_opening() {
  const TinyModelCopy model;
  const auto checkpoint = open_weights(model.path());
  const StoredTensor& tensor = *checkpoint->find("lm_head.weight");
  QVERIFY(checkpoint->prepare(tensor).has_value());
  std::filesystem::resize_file(model.file("model.safetensors"), 100);
  const auto whole = checkpoint->prepare(tensor);
  QVERIFY(!whole && whole.error().code == ErrorCode::model_refused);
  QCOMPARE(whole.error().where, std::string("model.safetensors: lm_head.weight"));
  QVERIFY(contains(whole.error().message, "truncated while it was read: it had 450736 bytes"));
}

void LoadersTest::L6_index_key_twice() {
  const TinyModelCopy model("tiny-sharded");
  write_file(model.file(kIndex), R"({"weight_map": {"a": "x", "a": "y"}})");
  std::filesystem::remove(model.file(kFirst));
  QVERIFY(refusal_of_weights(model).starts_with(kIndex));
}

void LoadersTest::L16_formats_that_are_not_read_data() {
  QTest::addColumn<QString>("file");
  QTest::addColumn<QString>("words");
  const auto row = [](const char* file, const char* words) { QTest::newRow(file) << QString(file) << QString(words); };
  row("pytorch_model.bin", "pickle files can run code and are never opened; save the model as safetensors");
  row("pytorch_model-00001-of-00002.bin", "pickle files can run code");
  row("pytorch_model.bin.index.json", "pickle files can run code");
  row("consolidated.safetensors", "weights under Mistral's own names");
  row("consolidated-00001-of-00002.safetensors", "weights under Mistral's own names");
  row("consolidated.00.pth", "pickle files can run code");
  row("adapter_model.safetensors", "this is an adapter (LoRA), not a model; merge it");
  row("tf_model.h5", "TensorFlow weights");
  row("flax_model.msgpack", "Flax weights");
  row("model.onnx", "ONNX");
  row("ggml-model-q4_0.bin", "from before GGUF");
  row("model.safetensors.xz", "unpack it first");
}

void LoadersTest::L16_formats_that_are_not_read() {
  QFETCH(QString, file);
  QFETCH(QString, words);
  const TinyModelCopy model;
  std::filesystem::remove(model.file("model.safetensors"));
  write_file(model.file(file.toStdString()), "cos\nsystem\n");
  write_file(model.file("training_args.bin"), "cos\nsystem\n");
  write_file(model.file("optimizer.pt"), "cos\nsystem\n");
  QVERIFY2(refusal_of_weights(model).starts_with(file.toStdString() + ": unsupported format: "),
           refusal_of_weights(model).c_str());
  QVERIFY2(contains(refusal_of_weights(model), words.toStdString()), refusal_of_weights(model).c_str());
}

void LoadersTest::L16_no_weights_at_all() {
  const TinyModelCopy model;
  std::filesystem::remove(model.file("model.safetensors"));
  QVERIFY(contains(refusal_of_weights(model), "no weights"));
  std::filesystem::create_directory(model.file("model.safetensors"));
  QCOMPARE(refusal_of_weights(model), std::string("model.safetensors: not a regular file but a folder"));
  std::filesystem::remove(model.file("model.safetensors"));
  write_file(model.file("model.safetensors.crdownload"), "x");
  QVERIFY2(contains(refusal_of_weights(model), "model.safetensors.crdownload is an unfinished download"),
           refusal_of_weights(model).c_str());
}

LATHE_TEST(LoadersTest)

}  // namespace loaders_test
#include "loaders_test.moc"
