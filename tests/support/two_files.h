// SPDX-License-Identifier: Apache-2.0
// A checkpoint in two files, and why a folder's weights were refused.
#pragma once

#include <string>
#include <string_view>

#include "engine/load/loaders.h"
#include "tests/support/tiny_model.h"

namespace lathe::tests {

constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr std::string_view kFirst = "model-00001-of-00002.safetensors";
constexpr std::string_view kSecond = "model-00002-of-00002.safetensors";

inline engine::Result<engine::Checkpoint> open_weights(const std::string& path) {
  return engine::open_checkpoint(*engine::ModelFolder::open(path));
}

/// "where: message", or "was accepted".
inline std::string refusal_of_weights(const TinyModelCopy& model) {
  const auto checkpoint = open_weights(model.path());
  return checkpoint ? std::string("was accepted") : checkpoint.error().where + ": " + checkpoint.error().message;
}

}  // namespace lathe::tests
