// SPDX-License-Identifier: Apache-2.0
#include "engine/load/wrapped_text.h"

#include <array>

namespace lathe::engine {
namespace {

// THE TABLE of keys that hold a text model's config. Source: Hugging Face transformers (text_config; thinker_config of Qwen
// Omni, around a text_config), and code that comes with files: language_config of DeepSeek-VL2, llm_config of InternVL.
constexpr std::array kTextKeys = {"text_config", "language_config", "llm_config", "thinker_config"};
constexpr int kMaxDepth = 3;

template <class AnyJson>
AnyJson* object_in(AnyJson& config) {
  for (const char* key : kTextKeys) {
    const auto found = config.find(key);
    if (found != config.end() && found->is_object()) return &*found;
  }
  return nullptr;
}

template <class AnyJson>
AnyJson* innermost(AnyJson& config) {
  AnyJson* text = nullptr;
  AnyJson* next = &config;
  for (int depth = 0; depth < kMaxDepth && next != nullptr && next->is_object(); ++depth) {
    next = object_in(*next);
    if (next != nullptr) text = next;
  }
  return text;
}

}  // namespace

const Json* wrapped_text(const Json& config) { return innermost(config); }
Json* wrapped_text(Json& config) { return innermost(config); }

}  // namespace lathe::engine
