// SPDX-License-Identifier: Apache-2.0
// lathe models, and names where commands take a model.
#include <QTest>

#include "engine/api/json.h"
#include "tests/support/cli_run.h"
#include "tests/support/model_stores.h"
#include "tests/support/test_class.h"

namespace models_command_test {

namespace {

using namespace lathe;
using tests::CliRun;
using tests::ModelStores;
using tests::run_cli;

/// The stores as this process's environment names them.
struct NamedStores : ModelStores {
  NamedStores() {
    qputenv("HF_HUB_CACHE", QByteArray::fromStdString(hub().string()));
    qputenv("OLLAMA_MODELS", QByteArray::fromStdString(ollama().string()));
    qputenv("HOME", QByteArray::fromStdString(root().string()));
    add_to_hub("acme", "tiny-llama", "0a1b");
    add_to_ollama("registry.ollama.ai/library/small/latest", "llama", 1);
  }
};

}  // namespace

class ModelsCommandTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void lists_what_is_found() {
    const NamedStores stores;
    const CliRun run = run_cli({"models"});
    QCOMPARE(run.code, std::optional<int>(0));
    for (const char* words : {"acme/tiny-llama", "small:latest", "LlamaForCausalLM", "demo"})
      QVERIFY2(run.out.find(words) != std::string::npos, run.out.c_str());
  }

  void json_has_a_row_a_model() {
    const NamedStores stores;
    const engine::Json models = json_of(run_cli({"models", "--json", "ACME"}));
    QCOMPARE(models.size(), std::size_t{1});
    QCOMPARE(models[0]["name"].get<std::string>(), std::string("acme/tiny-llama"));
    QVERIFY(models[0]["n_parameters"].get<std::int64_t>() > 0);
    QVERIFY(models[0]["file_bytes"].get<std::int64_t>() > 0);
    QCOMPARE(models[0]["max_position_embeddings"].get<int>(), 256);
    QVERIFY(models[0].contains("fit") && !models[0].contains("error"));
  }

  void what_is_broken_is_a_row_with_its_error() {
    const NamedStores stores;
    std::filesystem::resize_file(stores.ollama() / "blobs" / ModelStores::blob_name(1), 100);
    const engine::Json models = json_of(run_cli({"models", "--json", "small"}));
    QCOMPARE(models.size(), std::size_t{1});
    QVERIFY(!models[0]["error"].get<std::string>().empty());
    QVERIFY(run_cli({"models", "small"}).out.find("cannot be opened: ") != std::string::npos);
  }

  void nothing_found_says_where_was_looked() {
    const NamedStores stores;
    const CliRun run = run_cli({"models", "no such name"});
    QCOMPARE(run.code, std::optional<int>(0));
    QVERIFY(run.out.empty());
    QVERIFY2(run.err.find(stores.hub().string()) != std::string::npos, run.err.c_str());
    QVERIFY(json_of(run_cli({"models", "no such name", "--json"})) == engine::Json::array());
  }

  void commands_take_names() {
    const NamedStores stores;
    for (const char* name : {"acme/tiny-llama", "Tiny-Llama", "small", "small:latest"}) {
      const CliRun run = run_cli({"inspect", name, "--json"});
      QVERIFY2(run.code == 0, run.err.c_str());
      QVERIFY(json_of(run)["architecture"] == "LlamaForCausalLM");
      QCOMPARE(run_cli({"inspect", "--model", name}).code, std::optional<int>(0));
    }
  }

  /// The model is looked at before the instruction set, which there is not.
  void roofline_takes_names_too() {
    const NamedStores stores;
    for (const std::vector<std::string>& named :
         {std::vector<std::string>{"acme/tiny-llama"}, {"--model", "Tiny-Llama"}, {"small", "--model", "small"}}) {
      std::vector<std::string> all = {"roofline", "--isa", "mmx"};
      all.insert(all.end(), named.begin(), named.end());
      const CliRun run = run_cli(all);
      QVERIFY2(run.code == 2 && run.err.find("mmx") != std::string::npos, run.err.c_str());
    }
    const CliRun unknown = run_cli({"roofline", "tiny-lama"});
    QVERIFY2(unknown.code == 3 && unknown.err.find("did you mean acme/tiny-llama?") != std::string::npos,
             unknown.err.c_str());
    const CliRun two = run_cli({"roofline", "small", "--model", "acme/tiny-llama"});
    QVERIFY2(two.code == 2 && two.err.find("two models") != std::string::npos, two.err.c_str());
  }

  void an_unknown_name_is_refused_with_what_is_near() {
    const NamedStores stores;
    const CliRun run = run_cli({"inspect", "tiny-lama"});
    QCOMPARE(run.code, std::optional<int>(3));
    QVERIFY2(run.err.find("did you mean acme/tiny-llama?") != std::string::npos, run.err.c_str());
  }

  void an_ambiguous_name_lists_what_fits() {
    const NamedStores stores;
    stores.add_to_hub("other", "tiny-llama", "0a1b");
    const CliRun run = run_cli({"inspect", "tiny-llama"});
    QCOMPARE(run.code, std::optional<int>(2));
    for (const char* name : {"acme/tiny-llama", "other/tiny-llama"})
      QVERIFY2(run.err.find(name) != std::string::npos, run.err.c_str());
  }
};

LATHE_TEST(ModelsCommandTest)

}  // namespace models_command_test
#include "models_command_test.moc"
