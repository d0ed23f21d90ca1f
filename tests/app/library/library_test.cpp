// SPDX-License-Identifier: Apache-2.0
#include "app/api/library.h"

#include <sys/stat.h>

#include <QTemporaryDir>
#include <QTest>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/support/test_class.h"

namespace library_test {

namespace {

namespace fs = std::filesystem;
using lathe::app::Library;
using lathe::app::LibraryEntry;
using lathe::engine::Json;

/// Folders that look like checkpoints, and a library over them.
struct Shelf {
  QTemporaryDir temporary;
  fs::path root = temporary.path().toStdString();
  std::unique_ptr<lathe::app::Settings> settings = lathe::app::open_settings((root / "config").string());
  std::unique_ptr<Library> library = lathe::app::make_library(*settings, (root / "resources").string());

  std::string add_model(const fs::path& folder, const char* weights = "model.safetensors") const {
    fs::create_directories(root / folder);
    std::ofstream(root / folder / "config.json") << "{}";
    std::ofstream(root / folder / weights) << "x";
    return (root / folder).string();
  }
  void watch(const fs::path& folder) const { settings->set("library/folders", Json::array({(root / folder).string()})); }
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const LibraryEntry& entry : library->entries()) list.push_back(entry.name);
    return list;
  }
};

using Names = std::vector<std::string>;

}  // namespace

class LibraryTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void an_empty_library_has_no_entries();
  void the_demo_model_comes_first();
  void watched_folders_are_searched_deeply();
  void sharded_checkpoints_are_found();
  void folders_without_weights_are_not_models();
  void models_in_forms_that_are_not_read_are_listed();
  void odd_files_among_models_harm_nobody();
  void a_recent_repository_is_its_snapshot();
  void resolve_takes_a_link_that_leads_nowhere();
  void the_hugging_face_cache_shows_repository_names();
  void gguf_files_are_models_a_set_is_one();
  void a_recent_gguf_file_is_listed();
  void a_loop_of_links_ends();
  void a_missing_folder_is_no_error();
  void opened_models_are_recent_newest_first();
  void twenty_recent_models_are_kept();
  void a_model_is_listed_once();
  void a_deleted_recent_model_is_not_listed();
  void resolve_takes_a_folder();
  void resolve_takes_a_name();
  void resolve_takes_the_word_demo();
  void resolve_says_what_it_knows();
};

void LibraryTest::an_empty_library_has_no_entries() {
  const Shelf shelf;
  QVERIFY(shelf.library->entries().empty());
  QVERIFY(shelf.library->demo_model().empty());
}

void LibraryTest::the_demo_model_comes_first() {
  const Shelf shelf;
  shelf.add_model("watched/aaa");
  const std::string demo = shelf.add_model("resources/demo_model");
  shelf.watch("watched");
  const auto entries = shelf.library->entries();
  QCOMPARE(entries.size(), std::size_t{2});
  QVERIFY(entries[0].is_demo);
  QCOMPARE(entries[0].path, demo);
  QCOMPARE(shelf.library->demo_model(), demo);
}

void LibraryTest::watched_folders_are_searched_deeply() {
  const Shelf shelf;
  shelf.add_model("watched/b");
  shelf.add_model("watched/x/y/a");
  shelf.watch("watched");
  QCOMPARE(shelf.names(), (Names{"b", "a"}));
}

void LibraryTest::sharded_checkpoints_are_found() {
  const Shelf shelf;
  shelf.add_model("watched/index", "model.safetensors.index.json");
  shelf.add_model("watched/shard", "model-00001-of-00002.safetensors");
  shelf.watch("watched");
  QCOMPARE(shelf.names(), (Names{"index", "shard"}));
}

void LibraryTest::folders_without_weights_are_not_models() {
  const Shelf shelf;
  shelf.add_model("watched/text", "notes.txt");
  shelf.add_model("watched/training", "optimizer.bin");
  fs::create_directories(shelf.root / "watched/no_config");
  std::ofstream(shelf.root / "watched/no_config/model.safetensors") << "x";
  shelf.watch("watched");
  QVERIFY(shelf.library->entries().empty());
}

void LibraryTest::models_in_forms_that_are_not_read_are_listed() {
  const Shelf shelf;
  shelf.add_model("watched/a-lone-shard", "model-00001-of-00003.safetensors");
  shelf.add_model("watched/b-pickle", "pytorch_model.bin");
  shelf.add_model("watched/c-adapter", "adapter_model.safetensors");
  fs::rename(shelf.root / "watched/c-adapter/config.json", shelf.root / "watched/c-adapter/adapter_config.json");
  shelf.add_model("watched/d-mistral", "consolidated.safetensors");
  shelf.add_model("watched/models--org--coming/snapshots/r1", "README.md");
  shelf.watch("watched");
  QCOMPARE(shelf.names(), (Names{"a-lone-shard", "b-pickle", "c-adapter", "d-mistral", "org/coming"}));
  const std::map<std::string, std::string> words = {{"b-pickle", "architectures"}, {"c-adapter", "adapter"}};
  for (const LibraryEntry& entry : shelf.library->entries()) {
    const auto facts = lathe::app::look_at_model(entry.path);
    QVERIFY2(facts.error.has_value() && !facts.error->message.empty(), entry.name.c_str());
    const auto wanted = words.find(entry.name);
    if (wanted != words.end())
      QVERIFY2(facts.error->message.find(wanted->second) != std::string::npos, facts.error->message.c_str());
  }
}

void LibraryTest::odd_files_among_models_harm_nobody() {
  const Shelf shelf;
  shelf.add_model("watched/a");
  const fs::path watched = shelf.root / "watched";
  fs::create_directories(watched / "folder.gguf/model.safetensors");
  fs::create_directories(watched / "b/config.json");
  std::ofstream(watched / "b/model.safetensors") << "x";
  QCOMPARE(::mkfifo((watched / "pipe.gguf").c_str(), 0600), 0);
  fs::create_directories(watched / "models--org--odd/refs");
  fs::create_directories(watched / "models--org--odd/snapshots");
  QCOMPARE(::mkfifo((watched / "models--org--odd/refs/main").c_str(), 0600), 0);
  fs::create_symlink("circle", watched / "circle");
  shelf.add_model(fs::path("watched") / "c d\n\u00fc");
  shelf.watch("watched");
  QCOMPARE(shelf.names(), (Names{"pipe", "a", "b", "c d\n\u00fc"}));
  for (const LibraryEntry& entry : shelf.library->entries())
    QVERIFY(lathe::app::look_at_model(entry.path).error.has_value());
}

void LibraryTest::a_recent_repository_is_its_snapshot() {
  const Shelf shelf;
  const std::string snapshot = shelf.add_model("hub/models--org--m/snapshots/r1");
  fs::create_directories(shelf.root / "hub/models--org--m/refs");
  std::ofstream(shelf.root / "hub/models--org--m/refs/main") << "r1";
  shelf.library->opened((shelf.root / "hub/models--org--m").string());
  shelf.watch("hub");
  const auto entries = shelf.library->entries();
  QCOMPARE(entries.size(), std::size_t{1});
  QVERIFY(entries.front().recent && entries.front().name == "org/m" && entries.front().stamp.n_files == 2);
  std::ofstream(fs::path(snapshot) / "more.safetensors") << "x";
  QVERIFY(!shelf.library->check_unchanged(entries.front()).has_value());
}

void LibraryTest::resolve_takes_a_link_that_leads_nowhere() {
  const Shelf shelf;
  const std::string link = (shelf.root / "m.gguf").string();
  fs::create_symlink("gone.gguf", link);
  QCOMPARE(*shelf.library->resolve(link), link);
  QVERIFY(lathe::app::look_at_model(link).error->message.find("it is a link to gone.gguf") != std::string::npos);
}

void LibraryTest::the_hugging_face_cache_shows_repository_names() {
  const Shelf shelf;
  shelf.add_model("hub/models--meta-llama--Llama-3.2-1B/snapshots/0123abcd");
  shelf.watch("hub");
  QCOMPARE(shelf.names(), (Names{"meta-llama/Llama-3.2-1B"}));
}

void LibraryTest::gguf_files_are_models_a_set_is_one() {
  const Shelf shelf;
  shelf.add_model("watched/both");
  for (const char* file : {"both/b-Q8_0.gguf", "publisher/repository/a-Q4_K_M.gguf",
                           "publisher/repository/mmproj-a-F16.gguf", "publisher/repository/imatrix_a.gguf",
                           "publisher/repository/c-00001-of-00002.gguf", "publisher/repository/c-00002-of-00002.gguf"}) {
    fs::create_directories((shelf.root / "watched" / file).parent_path());
    std::ofstream(shelf.root / "watched" / file) << "GGUF";
  }
  shelf.watch("watched");
  QCOMPARE(shelf.names(), (Names{"b-Q8_0", "both", "a-Q4_K_M", "c"}));
  QCOMPARE(*shelf.library->resolve("c"), (shelf.root / "watched/publisher/repository/c-00001-of-00002.gguf").string());
}

void LibraryTest::a_recent_gguf_file_is_listed() {
  const Shelf shelf;
  const std::string path = (shelf.root / "a.gguf").string();
  std::ofstream(path) << "GGUF";
  shelf.library->opened(path);
  shelf.library->opened((shelf.root / "gone.gguf").string());
  QCOMPARE(shelf.names(), (Names{"a"}));
}

void LibraryTest::a_loop_of_links_ends() {
  const Shelf shelf;
  shelf.add_model("watched/a");
  fs::create_directory_symlink(shelf.root / "watched", shelf.root / "watched/loop");
  shelf.watch("watched");
  QCOMPARE(shelf.names(), (Names{"a"}));
}

void LibraryTest::a_missing_folder_is_no_error() {
  const Shelf shelf;
  shelf.watch("not there");
  QVERIFY(shelf.library->entries().empty());
}

void LibraryTest::opened_models_are_recent_newest_first() {
  const Shelf shelf;
  const std::string a = shelf.add_model("a"), b = shelf.add_model("b");
  shelf.library->opened(a);
  shelf.library->opened(b);
  shelf.library->opened(a);
  const auto entries = shelf.library->entries();
  QCOMPARE(entries.size(), std::size_t{2});
  QCOMPARE(entries[0].path, a);
  QVERIFY(entries[0].recent && entries[1].recent);
  QCOMPARE(shelf.settings->get("library/last_model").get<std::string>(), a);
}

void LibraryTest::twenty_recent_models_are_kept() {
  const Shelf shelf;
  for (int i = 0; i < 25; ++i) shelf.library->opened("/m" + std::to_string(i));
  const Json recent = shelf.settings->get("library/recent");
  QCOMPARE(recent.size(), std::size_t{20});
  QCOMPARE(recent[0].get<std::string>(), std::string("/m24"));
}

void LibraryTest::a_model_is_listed_once() {
  const Shelf shelf;
  const std::string a = shelf.add_model("watched/a");
  shelf.watch("watched");
  shelf.library->opened(a);
  const auto entries = shelf.library->entries();
  QCOMPARE(entries.size(), std::size_t{1});
  QVERIFY(entries[0].recent);
}

void LibraryTest::a_deleted_recent_model_is_not_listed() {
  const Shelf shelf;
  shelf.library->opened("/not/there");
  QVERIFY(shelf.library->entries().empty());
}

void LibraryTest::resolve_takes_a_folder() {
  const Shelf shelf;
  const std::string a = shelf.add_model("a");
  QCOMPARE(*shelf.library->resolve(a + "/"), a);
  fs::create_directories(shelf.root / "x");
  QCOMPARE(*shelf.library->resolve((shelf.root / "x/../a").string()), a);
}

void LibraryTest::resolve_takes_a_name() {
  const Shelf shelf;
  const std::string a = shelf.add_model("watched/some-model-of-mine");
  shelf.watch("watched");
  QCOMPARE(*shelf.library->resolve("some-model-of-mine"), a);
}

void LibraryTest::resolve_takes_the_word_demo() {
  const Shelf shelf;
  QVERIFY(!shelf.library->resolve("demo").has_value());
  const std::string demo = shelf.add_model("resources/demo_model");
  QCOMPARE(*shelf.library->resolve("demo"), demo);
}

void LibraryTest::resolve_says_what_it_knows() {
  const Shelf shelf;
  shelf.add_model("watched/known-model");
  shelf.watch("watched");
  const auto resolved = shelf.library->resolve("unknown-model");
  QVERIFY(!resolved.has_value());
  QCOMPARE(resolved.error().code, lathe::engine::ErrorCode::not_found);
  QVERIFY(resolved.error().message.find("known-model") != std::string::npos);
  QCOMPARE(resolved.error().where, std::string("unknown-model"));
}

LATHE_TEST(LibraryTest)

}  // namespace library_test
#include "library_test.moc"
