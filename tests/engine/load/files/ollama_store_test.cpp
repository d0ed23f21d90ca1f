// SPDX-License-Identifier: Apache-2.0
#include "engine/load/files/ollama_store.h"

#include <QTest>
#include <filesystem>

#include "engine/api/checkpoint.h"
#include "engine/api/tokenizer.h"
#include "tests/support/model_stores.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace ollama_store_test {

namespace {

namespace fs = std::filesystem;
using namespace lathe;
using tests::ModelStores;

std::vector<std::string> names_in(const ModelStores& stores) {
  std::vector<std::string> names;
  for (const engine::OllamaModel& model : engine::ollama_models_in(stores.ollama().string())) names.push_back(model.name);
  return names;
}

/// A store of one manifest that says this.
std::string path_under_manifest(const ModelStores& stores, const std::string& manifest) {
  stores.add_to_ollama("registry.ollama.ai/library/m/latest", "llama", 1);
  tests::write_file((stores.ollama() / "manifests/registry.ollama.ai/library/m/latest").string(), manifest);
  const auto models = engine::ollama_models_in(stores.ollama().string());
  return models.size() == 1 ? models.front().path : std::string();
}

}  // namespace

class OllamaStoreTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void names_are_those_of_ollama() {
    const ModelStores stores;
    stores.add_to_ollama("registry.ollama.ai/library/llama3.2/1b", "llama", 1);
    stores.add_to_ollama("registry.ollama.ai/someone/mine/latest", "qwen2", 2);
    stores.add_to_ollama("hf.co/org/model/Q4_K_M", "gemma", 3);
    QCOMPARE(names_in(stores), (std::vector<std::string>{"hf.co/org/model:Q4_K_M", "llama3.2:1b", "someone/mine:latest"}));
  }

  void a_blob_opens_under_its_name() {
    const ModelStores stores;
    const std::string blob = stores.add_to_ollama("registry.ollama.ai/library/llama3.2/1b", "llama", 1);
    QVERIFY(engine::is_gguf_file(blob));
    const auto info = engine::inspect_checkpoint(blob);
    QVERIFY2(info.has_value(), info ? "" : info.error().message.c_str());
    QCOMPARE(info->name, std::string("llama3.2:1b"));
    QCOMPARE(info->path, fs::canonical(blob).string());
    const auto same = engine::inspect_checkpoint(tests::gguf_fixture("llama"));
    QVERIFY(same.has_value());
    QCOMPARE(info->architecture, same->architecture);
    QCOMPARE(info->n_parameters, same->n_parameters);
    const auto tokenizer = engine::open_tokenizer(blob), usual = engine::open_tokenizer(tests::gguf_fixture("llama"));
    QCOMPARE(tokenizer.has_value(), usual.has_value());
  }

  void other_files_are_no_gguf() {
    QVERIFY(!engine::is_gguf_file(tests::tiny_model_path() + "/config.json"));
    QVERIFY(!engine::is_gguf_file(tests::tiny_model_path()));
    QVERIFY(!engine::is_gguf_file("/dev/zero"));
    QVERIFY(!engine::is_gguf_file("/not/there"));
  }

  void a_missing_blob_is_named_and_refused() {
    const ModelStores stores;
    const std::string blob = stores.add_to_ollama("registry.ollama.ai/library/gone/latest", "llama", 1);
    fs::remove(blob);
    const auto models = engine::ollama_models_in(stores.ollama().string());
    QCOMPARE(models.size(), std::size_t{1});
    QCOMPARE(models.front().path, blob);
    QVERIFY(!engine::inspect_checkpoint(blob).has_value());
  }

  /// CVE-2024-37032 of ollama: a digest that is a path.
  void L13_a_digest_that_leads_elsewhere_is_not_followed() {
    for (const char* digest : {"sha256:../../../../etc/passwd", "../../x", "sha256:00", "sha256:", ""}) {
      const ModelStores stores;
      const std::string path = path_under_manifest(
          stores,
          std::string(R"({"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":")") + digest + "\"}]}");
      QCOMPARE(path, (stores.ollama() / "manifests/registry.ollama.ai/library/m/latest").string());
    }
  }

  void a_broken_manifest_is_listed_and_refused() {
    for (const char* manifest : {"", "{", "[]", "7", R"({"layers":7})", R"({"layers":[7,{}]})"}) {
      const ModelStores stores;
      const std::string path = path_under_manifest(stores, manifest);
      QVERIFY2(path.ends_with("latest"), manifest);
      QVERIFY(!engine::inspect_checkpoint(path).has_value());
    }
  }

  void a_folder_that_is_no_store_has_no_models() {
    const ModelStores stores;
    QVERIFY(engine::ollama_models_in(stores.root().string()).empty());
    QVERIFY(!engine::is_ollama_store("/not/there"));
    QVERIFY(!engine::is_blob_name("sha256-" + std::string(64, 'g')));
    QVERIFY(engine::is_blob_name(ModelStores::blob_name(255)));
  }
};

LATHE_TEST(OllamaStoreTest)

}  // namespace ollama_store_test
#include "ollama_store_test.moc"
