// SPDX-License-Identifier: Apache-2.0
// The library over real models, laid out as other programs lay them out.
#include <QTest>
#include <algorithm>

#include "app/api/library.h"
#include "tests/support/model_stores.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace model_stores_test {

namespace {

namespace fs = std::filesystem;
using namespace lathe;
using tests::ModelStores;

struct Stores : ModelStores {
  std::unique_ptr<app::Settings> settings = app::open_settings((root() / "config").string());
  std::unique_ptr<app::Library> library = app::make_library(*settings, "",
                                                            {{.path = hub().string(), .kind = "Hugging Face cache"},
                                                             {.path = lm_studio().string(), .kind = "LM Studio"},
                                                             {.path = ollama().string(), .kind = "ollama"}});
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const app::LibraryEntry& entry : library->entries()) list.push_back(entry.name);
    return list;
  }
  app::LibraryEntry only() const {
    const auto all = library->entries();
    return all.size() == 1 ? all.front() : app::LibraryEntry{};
  }
};

using Names = std::vector<std::string>;

}  // namespace

class ModelStoresTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void what_other_programs_keep_is_found_and_opens() {
    const Stores stores;
    stores.add_to_hub("acme", "tiny-llama", "0a1b");
    stores.add_to_lm_studio("publisher/repository/qwen2-F32.gguf", "qwen2");
    stores.add_to_ollama("registry.ollama.ai/library/llama3.2/1b", "llama", 1);
    QCOMPARE(stores.names(), (Names{"acme/tiny-llama", "qwen2-F32", "llama3.2:1b"}));
    for (const app::LibraryEntry& entry : stores.library->entries()) {
      const app::ModelFacts facts = app::look_at_model(entry.path);
      QVERIFY2(facts.info.has_value(), facts.error ? facts.error->message.c_str() : "");
      QCOMPARE(facts.info->name, entry.name);
      QVERIFY(facts.info->n_parameters > 0 && facts.info->file_bytes > 0 && facts.info->max_position_embeddings > 0);
      QVERIFY(facts.verdict != engine::FitVerdict::unknown);
      QCOMPARE(*stores.library->resolve(entry.name), entry.path);
    }
    QCOMPARE(*stores.library->resolve("TINY-llama"), *stores.library->resolve("acme/tiny-llama"));
  }

  void standard_folders_can_be_left_out() {
    const Stores stores;
    stores.add_to_hub("acme", "tiny-llama", "0a1b");
    stores.settings->set("library/standard_folders", false);
    QVERIFY(stores.names().empty());
    QVERIFY(stores.library->folders().empty());
  }

  void of_revisions_the_main_one_is_shown() {
    const Stores stores;
    const std::string main = stores.add_to_hub("acme", "tiny-llama", "0a1b");
    stores.add_to_hub("acme", "tiny-llama", "ffff", false);
    QCOMPARE(stores.only().path, main);
    fs::remove_all(stores.hub() / "models--acme--tiny-llama/refs");
    QCOMPARE(stores.names().size(), std::size_t{2});
    QVERIFY(!stores.library->resolve("acme/tiny-llama").has_value());  // which of them?
  }

  void what_is_broken_is_listed_with_its_error() {
    const Stores stores;
    const std::string file = stores.add_to_lm_studio("p/r/cut.gguf", "llama");
    fs::resize_file(file, 100);
    QCOMPARE(stores.names(), Names{"cut"});
    const app::ModelFacts facts = app::look_at_model(file);
    QVERIFY(facts.error.has_value() && !facts.info.has_value());
    QVERIFY(!facts.error->message.empty());
  }

  void a_recent_blob_keeps_the_name_of_its_store() {
    const Stores stores;
    stores.library->opened(stores.add_to_ollama("registry.ollama.ai/library/llama3.2/1b", "llama", 1));
    QCOMPARE(stores.only().name, std::string("llama3.2:1b"));
    QVERIFY(stores.only().recent);
  }

  void a_scan_tells_where_it_is_and_ends_when_asked() {
    const Stores stores;
    stores.add_to_lm_studio("a/a/a.gguf", "llama");
    stores.add_to_lm_studio("b/b/b.gguf", "llama");
    std::vector<std::string> folders;
    const auto all = stores.library->entries([&](const app::ScanProgress& at) {
      folders.push_back(at.folder);
      return true;
    });
    QCOMPARE(all.size(), std::size_t{2});
    QVERIFY(std::find(folders.begin(), folders.end(), (stores.lm_studio() / "a/a").string()) != folders.end());
    const auto some = stores.library->entries([&](const app::ScanProgress& at) { return at.n_models == 0; });
    QCOMPARE(some.size(), std::size_t{1});
  }

  void a_path_that_is_there_wins_over_a_name() {
    const Stores stores;
    stores.add_to_lm_studio("p/r/same.gguf", "llama");
    const std::string here = fs::current_path().string();
    fs::current_path(stores.root());
    fs::create_directories("same");
    const auto resolved = stores.library->resolve("same");
    fs::current_path(here);
    QCOMPARE(fs::canonical(*resolved), fs::canonical(stores.root() / "same"));
  }

  void what_is_written_as_a_path_is_no_name() {
    const Stores stores;
    stores.add_to_lm_studio("p/r/m.gguf", "llama");
    for (const char* path : {"/not/there/m", "./m", "../m", "~/m"}) {
      const auto resolved = stores.library->resolve(path);
      QVERIFY2(!resolved.has_value(), path);
      QCOMPARE(resolved.error().code, engine::ErrorCode::not_found);
    }
  }

  /// The model changed, or is gone, between the scan and the click.
  void L21_a_model_that_changed_since_the_scan_asks_for_another() {
    const Stores stores;
    const std::string file = stores.add_to_lm_studio("p/r/m.gguf", "llama");
    const app::LibraryEntry entry = stores.only();
    QVERIFY(stores.library->check_unchanged(entry).has_value());
    fs::copy_file(tests::gguf_fixture("qwen2"), file, fs::copy_options::overwrite_existing);
    const auto changed = stores.library->check_unchanged(entry);
    QVERIFY(!changed.has_value());
    QCOMPARE(changed.error().code, engine::ErrorCode::conflict);
    QVERIFY2(changed.error().message.find("scan again") != std::string::npos, changed.error().message.c_str());
    QVERIFY(stores.library->check_unchanged(stores.only()).has_value());  // after another scan
    fs::remove(file);
    const auto gone = stores.library->check_unchanged(entry);
    QVERIFY(!gone.has_value());
    QCOMPARE(gone.error().code, engine::ErrorCode::not_found);
  }

  void L21_as_many_bytes_written_later_are_a_change() {
    const Stores stores;
    const std::string file = stores.add_to_lm_studio("p/r/m.gguf", "llama");
    const app::LibraryEntry entry = stores.only();
    fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(2));
    QVERIFY(!stores.library->check_unchanged(entry).has_value());
  }

  void L21_each_file_of_a_folder_and_of_a_set_counts() {
    const Stores stores;
    stores.add_to_hub("acme", "tiny-llama", "0a1b");
    const app::LibraryEntry folder = stores.only();
    fs::remove(fs::canonical(fs::path(folder.path) / "config.json"));
    QVERIFY(!stores.library->check_unchanged(folder).has_value());

    const Stores sets;
    sets.add_to_lm_studio("p/r/m-00001-of-00002.gguf", "llama");
    const std::string second = sets.add_to_lm_studio("p/r/m-00002-of-00002.gguf", "llama");
    const app::LibraryEntry set = sets.only();
    QCOMPARE(set.name, std::string("m"));
    QCOMPARE(set.stamp.n_files, std::int64_t{2});
    fs::resize_file(second, 10);
    QVERIFY(!sets.library->check_unchanged(set).has_value());
  }
};

LATHE_TEST(ModelStoresTest)

}  // namespace model_stores_test
#include "model_stores_test.moc"
