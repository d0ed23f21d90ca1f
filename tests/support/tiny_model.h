// SPDX-License-Identifier: Apache-2.0
// The small random checkpoints of tests/fixtures/models, and copies of them that a test may spoil.
#pragma once

#include <QTemporaryDir>
#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "engine/api/json.h"

namespace lathe::tests {

/// tiny-llama: f32, biases, grouped heads, untied, chat template. The others: see make_models.py.
inline constexpr std::array<std::string_view, 4> kTinyModels = {"tiny-llama", "tiny-llama3-rope", "tiny-linear-rope",
                                                                "tiny-sharded"};

/// Folder of a checkpoint with weights, tokenizer.model (384 pieces, context 256) and reference.json.
std::string tiny_model_path(std::string_view name = "tiny-llama");

std::string read_file(const std::string& path);
void write_file(const std::string& path, std::string_view content);
engine::Json read_json_file(const std::string& path);

/// A copy in a temporary folder, gone with the object.
class TinyModelCopy {
 public:
  explicit TinyModelCopy(std::string_view name = "tiny-llama");
  std::string path() const { return folder_.path().toStdString(); }
  std::string file(std::string_view name) const { return path() + "/" + std::string(name); }
  /// Changes a JSON file of the copy.
  void edit(std::string_view file, const std::function<void(engine::Json&)>& change) const;
  /// Sets one key of config.json.
  void set_config(std::string_view key, engine::Json value) const;

 private:
  QTemporaryDir folder_;
};

}  // namespace lathe::tests
