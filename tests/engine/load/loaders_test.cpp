// SPDX-License-Identifier: Apache-2.0
// The table of loaders, sharded checkpoints (row L14), and folders that hold no weights that are read (row L16).
#include "engine/load/loaders.h"

#include <sys/stat.h>

#include <QTest>
#include <filesystem>
#include <set>

#include "tests/support/safetensors_bytes.h"
#include "tests/support/tiny_model.h"

using namespace lathe::engine;
using lathe::tests::safetensors_bytes;
using lathe::tests::tiny_model_path;
using lathe::tests::TinyModelCopy;
using lathe::tests::write_file;

namespace {

constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr std::string_view kFirst = "model-00001-of-00002.safetensors";
constexpr std::string_view kSecond = "model-00002-of-00002.safetensors";

Result<Checkpoint> open(const std::string& path) { return open_checkpoint(*ModelFolder::open(path)); }

std::string refusal(const TinyModelCopy& model) {
  const auto checkpoint = open(model.path());
  return checkpoint ? std::string("was accepted") : checkpoint.error().where + ": " + checkpoint.error().message;
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
  void L14_missing_shard();
  void L14_shard_listed_under_two_names();
  void L14_tensor_in_two_shards();
  void L14_tensor_in_another_shard_than_promised();
  void L14_shards_of_two_models();
  void L14_wrong_total_size_is_a_warning();
  void L14_total_size_of_another_kind_is_a_warning();
  void L14_tensor_that_no_index_lists_is_a_warning();
  void L14_index_must_map_names_to_names();
  void L13_index_may_not_lead_out();
  void L13_shards_may_not_lead_out();
  void L1_cut_files();
  void L11_file_truncated_after_opening();
  void L6_index_key_twice();
  void L16_pickle_is_never_opened();
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
  const auto checkpoint = open(tiny_model_path());
  QVERIFY(checkpoint.has_value());
  QCOMPARE(checkpoint->file_format(), std::string_view("safetensors"));
  QCOMPARE(checkpoint->n_bytes(),
           static_cast<std::int64_t>(std::filesystem::file_size(tiny_model_path() + "/model.safetensors")));
}

void LoadersTest::shards_open_as_one_checkpoint() {
  const auto checkpoint = open(tiny_model_path("tiny-sharded"));
  QVERIFY(checkpoint.has_value());
  QCOMPARE(checkpoint->tensors().size(), std::size_t{21});
  QVERIFY(checkpoint->warnings().empty());
  QCOMPARE(checkpoint->file_of(*checkpoint->find("model.embed_tokens.weight")), std::string(kFirst));
  QCOMPARE(checkpoint->file_of(*checkpoint->find("lm_head.weight")), std::string(kSecond));
}

void LoadersTest::tensors_are_sorted_and_found() {
  const auto checkpoint = open(tiny_model_path());
  const auto tensors = checkpoint->tensors();
  for (std::size_t i = 1; i < tensors.size(); ++i) QVERIFY(tensors[i - 1].name < tensors[i].name);
  for (const StoredTensor& tensor : tensors) QCOMPARE(checkpoint->find(tensor.name), &tensor);
  QVERIFY(checkpoint->find("no.such.tensor") == nullptr);
}

void LoadersTest::a_single_file_is_preferred_to_an_index() {
  const TinyModelCopy model("tiny-sharded");
  write_file(model.file("model.safetensors"), one_tensor("alone"));
  QCOMPARE(open(model.path())->tensors().size(), std::size_t{1});
}

void LoadersTest::pages_can_be_dropped_and_read_again() {
  const auto checkpoint = open(tiny_model_path());
  const StoredTensor& tensor = *checkpoint->find("model.embed_tokens.weight");
  const std::vector<std::byte> before(tensor.bytes.begin(), tensor.bytes.end());
  checkpoint->drop(tensor);
  QVERIFY(std::equal(before.begin(), before.end(), tensor.bytes.begin()));
}

void LoadersTest::L14_missing_shard() {
  const TinyModelCopy model("tiny-sharded");
  std::filesystem::remove(model.file(kSecond));
  QCOMPARE(refusal(model), std::string(kSecond) + ": file is missing");
}

void LoadersTest::L14_shard_listed_under_two_names() {
  const TinyModelCopy model("tiny-sharded");
  model.edit(kIndex, [](Json& index) { index["weight_map"]["lm_head.weight"] = "./" + std::string(kFirst); });
  QVERIFY2(contains(refusal(model), "ambiguous tensor"), refusal(model).c_str());
}

void LoadersTest::L14_tensor_in_two_shards() {
  const TinyModelCopy model("tiny-sharded");
  write_file(model.file("extra.safetensors"), one_tensor("model.norm.weight"));
  model.edit(kIndex, [](Json& index) { index["weight_map"]["model.norm.weight"] = "extra.safetensors"; });
  QVERIFY2(contains(refusal(model), "model.norm.weight: ambiguous tensor"), refusal(model).c_str());
}

void LoadersTest::L14_tensor_in_another_shard_than_promised() {
  const TinyModelCopy model("tiny-sharded");
  model.edit(kIndex, [](Json& index) { index["weight_map"]["lm_head.weight"] = kFirst; });
  QVERIFY2(contains(refusal(model), "the index says model-00001"), refusal(model).c_str());
}

void LoadersTest::L14_shards_of_two_models() {
  const TinyModelCopy model("tiny-sharded");
  write_file(model.file(kSecond), one_tensor("transformer.wte.weight"));
  QVERIFY2(contains(refusal(model), "missing tensor: the index promises it"), refusal(model).c_str());
}

void LoadersTest::L14_wrong_total_size_is_a_warning() {
  const TinyModelCopy model("tiny-sharded");
  model.edit(kIndex, [](Json& index) { index["metadata"]["total_size"] = 12; });
  const auto checkpoint = open(model.path());
  QVERIFY(checkpoint.has_value());
  QCOMPARE(checkpoint->warnings().size(), std::size_t{1});
  QVERIFY(contains(checkpoint->warnings().front(), "total_size is 12"));
}

void LoadersTest::L14_total_size_of_another_kind_is_a_warning() {
  for (const Json& total : {Json("12"), Json(12.5), Json::array(), Json(-1), Json(~std::uint64_t{0})}) {
    const TinyModelCopy model("tiny-sharded");
    model.edit(kIndex, [&](Json& index) { index["metadata"]["total_size"] = total; });
    const auto checkpoint = open(model.path());
    QVERIFY(checkpoint.has_value());
    QCOMPARE(checkpoint->warnings().size(), std::size_t{1});
    QVERIFY2(contains(checkpoint->warnings().front(), "total_size is " + dump_json(total)),
             checkpoint->warnings().front().c_str());
  }
}

void LoadersTest::L14_tensor_that_no_index_lists_is_a_warning() {
  const TinyModelCopy model("tiny-sharded");
  model.edit(kIndex, [](Json& index) { index["weight_map"].erase("lm_head.weight"); });
  const auto checkpoint = open(model.path());
  QVERIFY(checkpoint.has_value());
  QCOMPARE(checkpoint->warnings(),
           (std::vector<std::string>{std::string(kSecond) + ": lm_head.weight is not listed in " + std::string(kIndex)}));
}

void LoadersTest::L14_index_must_map_names_to_names() {
  for (const char* content :
       {R"({})", R"({"weight_map": []})", R"({"weight_map": {}})", R"({"weight_map": {"a": 1}})", "[]", ""}) {
    const TinyModelCopy model("tiny-sharded");
    write_file(model.file(kIndex), content);
    QVERIFY2(refusal(model).starts_with(kIndex), refusal(model).c_str());
  }
}

void LoadersTest::L13_index_may_not_lead_out() {
  using namespace std::string_literals;
  for (const std::string& name :
       {"../../etc/passwd"s, "/etc/passwd"s, "C:\\x"s, "a/../../b"s, ""s, "model.safetensors\0x"s, std::string(256, 'a')}) {
    const TinyModelCopy model("tiny-sharded");
    model.edit(kIndex, [&](Json& index) { index["weight_map"]["lm_head.weight"] = name; });
    QVERIFY2(refusal(model).starts_with(std::string(kIndex) + ": weight_map.lm_head.weight"), refusal(model).c_str());
  }
}

void LoadersTest::L13_shards_may_not_lead_out() {
  namespace fs = std::filesystem;
  const TinyModelCopy outside("tiny-sharded"), model("tiny-sharded");
  fs::remove(model.file(kSecond));
  fs::create_symlink(outside.file(kSecond), model.file(kSecond));
  QCOMPARE(refusal(model), std::string(kSecond) + ": leads out of the model folder");
  fs::remove(model.file(kSecond));
  QCOMPARE(::mkfifo(model.file(kSecond).c_str(), 0600), 0);
  QCOMPARE(refusal(model), std::string(kSecond) + ": not a regular file");
  fs::remove(model.file(kSecond));
  fs::create_symlink("/dev/zero", model.file(kSecond));
  QCOMPARE(refusal(model), std::string(kSecond) + ": leads out of the model folder");
}

void LoadersTest::L1_cut_files() {
  const TinyModelCopy model;
  const auto size = std::filesystem::file_size(model.file("model.safetensors"));
  for (const auto& [n, section] :
       {std::pair{std::uintmax_t{0}, "header length"}, std::pair{std::uintmax_t{7}, "header length"},
        std::pair{std::uintmax_t{8}, "the header"}, std::pair{size - 1, "the tensor data"}}) {
    const TinyModelCopy cut;
    std::filesystem::resize_file(cut.file("model.safetensors"), n);
    QVERIFY2(refusal(cut).starts_with("model.safetensors: ") && contains(refusal(cut), "truncated at ") &&
                 contains(refusal(cut), section),
             refusal(cut).c_str());
  }
}

void LoadersTest::L11_file_truncated_after_opening() {
  const TinyModelCopy model;
  const auto checkpoint = open(model.path());
  const StoredTensor& tensor = *checkpoint->find("lm_head.weight");
  QVERIFY(checkpoint->check_whole(tensor).has_value());
  std::filesystem::resize_file(model.file("model.safetensors"), 100);
  const auto whole = checkpoint->check_whole(tensor);
  QVERIFY(!whole && whole.error().code == ErrorCode::model_refused);
  QCOMPARE(whole.error().where, std::string("model.safetensors: lm_head.weight"));
  QVERIFY(contains(whole.error().message, "truncated while it was read: it held 450736 bytes"));
}

void LoadersTest::L6_index_key_twice() {
  const TinyModelCopy model("tiny-sharded");
  write_file(model.file(kIndex), R"({"weight_map": {"a": "x", "a": "y"}})");
  QVERIFY(refusal(model).starts_with(kIndex));
}

void LoadersTest::L16_pickle_is_never_opened() {
  const TinyModelCopy model;
  std::filesystem::remove(model.file("model.safetensors"));
  write_file(model.file("pytorch_model.bin"), "cos\nsystem\n");
  QVERIFY2(contains(refusal(model), "pytorch_model.bin: unsupported format"), refusal(model).c_str());
}

void LoadersTest::L16_no_weights_at_all() {
  const TinyModelCopy model;
  std::filesystem::remove(model.file("model.safetensors"));
  QVERIFY(contains(refusal(model), "no weights"));
}

QTEST_GUILESS_MAIN(LoadersTest)
#include "loaders_test.moc"
