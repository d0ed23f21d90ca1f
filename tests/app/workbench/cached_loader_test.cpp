// SPDX-License-Identifier: Apache-2.0
// Quantized weights are kept in the user's cache, or in the profile that takes its place, and nowhere else.
#include "app/workbench/cached_loader.h"

#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

#include "app/api/workbench.h"
#include "engine/api/json.h"
#include "tests/support/cli_run.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace cached_loader_test {

using namespace lathe;
using namespace lathe::app;
namespace fs = std::filesystem;

namespace {

std::size_t n_files(const fs::path& folder) {
  if (!fs::exists(folder)) return 0;
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

class CachedLoaderTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { dir_ = std::make_unique<QTemporaryDir>(); }

  void entries_lie_below_the_cache_of_the_profile() {
    const Paths paths = make_paths(dir_->path().toStdString());
    const EngineLoader loader = cached_loader(paths);
    engine::EngineOptions options;
    options.model = tests::tiny_model_path();
    options.quantization = "int8_g32";
    for (const auto use : {engine::PackedCacheUse::stored, engine::PackedCacheUse::hit}) {
      const auto loaded = loader(options, {});
      QVERIFY2(loaded.has_value(), loaded ? "" : loaded.error().message.c_str());
      QVERIFY((*loaded)->model().packed_cache == use);
    }
    QCOMPARE(n_files(fs::path(paths.cache) / "packed"), 1U);
    options.quantization = "none";
    QVERIFY((*loader(options, {}))->model().packed_cache == engine::PackedCacheUse::none);
  }

  void commands_say_where_the_weights_came_from() {
    QCOMPARE(use_of({}), std::string("stored"));
    QCOMPARE(use_of({}), std::string("hit"));
    QVERIFY2(err_.find("from the cache") != std::string::npos, err_.c_str());
    QCOMPARE(use_of({"--bnb-4bit-quant-type", "fp4"}), std::string("stored"));
    QCOMPARE(use_of({"--no-cache"}), std::string("none"));
    QVERIFY2(err_.find("from the cache") == std::string::npos, err_.c_str());
    QCOMPARE(n_files(dir_->path().toStdString() + "/cache/packed"), 2U);
  }

  void a_cache_that_cannot_be_is_a_line_of_the_log() {
    WorkbenchOptions how;
    how.profile_dir = dir_->path().toStdString();
    how.log.to_stderr = false;
    tests::write_file(how.profile_dir + "/cache", "a file in the place of the folder");
    const auto workbench = std::move(*Workbench::create(std::move(how)));
    engine::EngineOptions options;
    options.model = tests::tiny_model_path();
    options.quantization = "int8_g32";
    QVERIFY(workbench->models().load(options).has_value() && workbench->models().wait().has_value());
    QVERIFY(workbench->models().lease()->model().packed_cache == engine::PackedCacheUse::missed);
    std::uint64_t cursor = 0;
    std::string lines;
    for (const LogLine& line : workbench->log().lines_since(cursor)) lines += line.text + "\n";
    QVERIFY2(lines.find("the packed weights could not be kept for the next load") != std::string::npos, lines.c_str());
  }

  void uses_have_names() {
    using engine::PackedCacheUse;
    QCOMPARE(name_of(PackedCacheUse::none), std::string_view("none"));
    QCOMPARE(name_of(PackedCacheUse::hit), std::string_view("hit"));
    QCOMPARE(name_of(PackedCacheUse::stored), std::string_view("stored"));
    QCOMPARE(name_of(PackedCacheUse::missed), std::string_view("missed"));
  }

 private:
  /// The use of the packed cache by `lathe complete` with a profile of this test.
  std::string use_of(const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"complete",       "--model",           tests::tiny_model_path(),
                                       "--quantization", "bitsandbytes_4bit", "--prompt",
                                       "Hello",          "--max-tokens",      "2",
                                       "--json",         "--profile-dir",     dir_->path().toStdString()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const tests::CliRun run = tests::run_cli(arguments);
    err_ = run.err;
    const auto json = engine::parse_json(run.out, "out");
    return json ? (*json)["timings"]["packed_cache"].get<std::string>() : run.err;
  }

  std::unique_ptr<QTemporaryDir> dir_;
  std::string err_;
};

LATHE_TEST(CachedLoaderTest)

}  // namespace cached_loader_test
#include "cached_loader_test.moc"
