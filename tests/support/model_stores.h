// SPDX-License-Identifier: Apache-2.0
// ModelStores: folders as the Hugging Face hub, LM Studio and ollama lay them out, with the fixtures' models in them.
#pragma once

#include <QTemporaryDir>
#include <filesystem>
#include <string>

namespace lathe::tests {

/// A GGUF file of tests/fixtures/gguf.
std::string gguf_fixture(const std::string& name);

/// In a temporary folder, gone with the object; it begins empty.
class ModelStores {
 public:
  std::filesystem::path root() const { return root_; }
  std::filesystem::path hub() const { return root_ / "hub"; }
  std::filesystem::path lm_studio() const { return root_ / "lmstudio/models"; }
  std::filesystem::path ollama() const { return root_ / "ollama/models"; }

  /// Makes tiny-llama a snapshot whose files link to blobs/, as huggingface_hub does. Returns the snapshot.
  std::string add_to_hub(const std::string& organisation, const std::string& model, const std::string& revision,
                         bool is_main = true) const;
  /// publisher/repository/file.gguf. Returns the file.
  std::string add_to_lm_studio(const std::string& file, const std::string& fixture) const;
  /// A manifest and its blob; `number` makes the digest. Returns the blob.
  std::string add_to_ollama(const std::string& manifest, const std::string& fixture, int number) const;
  /// "sha256-000...07"
  static std::string blob_name(int number);

 private:
  QTemporaryDir folder_;
  std::filesystem::path root_ = folder_.path().toStdString();
};

}  // namespace lathe::tests
