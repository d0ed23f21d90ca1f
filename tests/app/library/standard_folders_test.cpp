// SPDX-License-Identifier: Apache-2.0
#include "app/library/standard_folders.h"

#include <QTest>
#include <map>

#include "tests/support/test_class.h"

namespace standard_folders_test {

namespace {

using lathe::app::WatchedFolder;
using Variables = std::map<std::string, std::string>;

std::vector<std::string> of_kind(const std::string& kind, const Variables& variables, const std::string& home = "/h") {
  std::vector<std::string> paths;
  const auto environment = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
  for (const WatchedFolder& folder : lathe::app::standard_model_folders(environment, home)) {
    if (folder.kind == kind) paths.push_back(folder.path);
  }
  return paths;
}

using Paths = std::vector<std::string>;

}  // namespace

class StandardFoldersTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void the_hub_cache_is_where_huggingface_hub_keeps_it() {
    const std::string kind = "Hugging Face cache";
    QCOMPARE(of_kind(kind, {}), Paths{"/h/.cache/huggingface/hub"});
    QCOMPARE(of_kind(kind, {{"XDG_CACHE_HOME", "/c"}}), Paths{"/c/huggingface/hub"});
    QCOMPARE(of_kind(kind, {{"XDG_CACHE_HOME", "/c"}, {"HF_HOME", "/hf"}}), Paths{"/hf/hub"});
    QCOMPARE(of_kind(kind, {{"HF_HOME", "/hf"}, {"HF_HUB_CACHE", "/cache"}}), Paths{"/cache"});
    QCOMPARE(of_kind(kind, {{"HUGGINGFACE_HUB_CACHE", "/old"}}), Paths{"/old"});
  }

  void ollama_obeys_its_variable() {
    QCOMPARE(of_kind("ollama", {{"OLLAMA_MODELS", "/o"}}), Paths{"/o"});
    QVERIFY(of_kind("ollama", {}).front() == "/h/.ollama/models");
  }

  void a_tilde_is_the_home_folder() {
    const std::string hub = "Hugging Face cache";
    QCOMPARE(of_kind(hub, {{"HF_HOME", "~/hf"}}), Paths{"/h/hf/hub"});
    QCOMPARE(of_kind(hub, {{"HF_HUB_CACHE", "~"}}), Paths{"/h"});
    QCOMPARE(of_kind(hub, {{"XDG_CACHE_HOME", "~/c"}}), Paths{"/h/c/huggingface/hub"});
    QCOMPARE(of_kind("ollama", {{"OLLAMA_MODELS", "~/o"}}), Paths{"/h/o"});
    QCOMPARE(of_kind(hub, {{"HF_HUB_CACHE", "~other/c"}}), Paths{"~other/c"});  // another user's
    QCOMPARE(of_kind(hub, {{"HF_HUB_CACHE", "/a/~/c"}}), Paths{"/a/~/c"});
    QCOMPARE(of_kind(hub, {{"HF_HUB_CACHE", "~/c"}}, ""), Paths{"~/c"});
  }

  void lm_studio_had_two_places() {
    QCOMPARE(of_kind("LM Studio", {}), (Paths{"/h/.lmstudio/models", "/h/.cache/lm-studio/models"}));
  }

  void without_a_home_there_is_what_the_environment_names() {
    QVERIFY(of_kind("LM Studio", {}, "").empty());
    QVERIFY(of_kind("Hugging Face cache", {}, "").empty());
    QCOMPARE(of_kind("Hugging Face cache", {{"HF_HOME", "/hf"}}, ""), Paths{"/hf/hub"});
  }
};

LATHE_TEST(StandardFoldersTest)

}  // namespace standard_folders_test
#include "standard_folders_test.moc"
