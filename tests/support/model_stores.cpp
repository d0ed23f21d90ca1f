// SPDX-License-Identifier: Apache-2.0
#include "tests/support/model_stores.h"

#include <cstdio>

#include "kernels/api/check.h"
#include "tests/support/tiny_model.h"

namespace lathe::tests {
namespace {

namespace fs = std::filesystem;

void copy_to(const fs::path& from, const fs::path& to) {
  fs::create_directories(to.parent_path());
  LATHE_CHECK(fs::copy_file(from, to, fs::copy_options::overwrite_existing));
}

void write_new(const fs::path& file, const std::string& content) {
  fs::create_directories(file.parent_path());
  write_file(file.string(), content);
}

}  // namespace

std::string gguf_fixture(const std::string& name) {
  return std::string(LATHE_SOURCE_DIR) + "/tests/fixtures/gguf/" + name + ".gguf";
}

std::string ModelStores::blob_name(int number) {
  char name[72];
  std::snprintf(name, sizeof name, "sha256-%064x", static_cast<unsigned>(number));
  return name;
}

std::string ModelStores::add_to_hub(const std::string& organisation, const std::string& model, const std::string& revision,
                                    bool is_main) const {
  const fs::path repository = hub() / ("models--" + organisation + "--" + model);
  const fs::path snapshot = repository / "snapshots" / revision;
  fs::create_directories(snapshot);
  for (const auto& entry : fs::directory_iterator(tiny_model_path())) {
    if (!entry.is_regular_file()) continue;
    const std::string name = entry.path().filename().string();
    const std::string blob = blob_name(static_cast<int>(name.size() * 256) + name.front());  // as if of its content
    copy_to(entry.path(), repository / "blobs" / blob);
    fs::create_symlink("../../blobs/" + blob, snapshot / name);
  }
  if (is_main) write_new(repository / "refs/main", revision);
  return snapshot.string();
}

std::string ModelStores::add_to_lm_studio(const std::string& file, const std::string& fixture) const {
  copy_to(gguf_fixture(fixture), lm_studio() / file);
  return (lm_studio() / file).string();
}

std::string ModelStores::add_to_ollama(const std::string& manifest, const std::string& fixture, int number) const {
  std::string digest = blob_name(number);
  const fs::path blob = ollama() / "blobs" / digest;
  copy_to(gguf_fixture(fixture), blob);
  digest.replace(6, 1, ":");
  write_new(
      ollama() / "manifests" / manifest,
      R"({"schemaVersion":2,"layers":[{"mediaType":"application/vnd.ollama.image.template","digest":"sha256:00","size":1},)"
      R"({"mediaType":"application/vnd.ollama.image.model","digest":")" +
          digest + R"(","size":1}]})");
  return blob.string();
}

}  // namespace lathe::tests
