// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/targets.h"

#include <array>

namespace lathe::fuzz {

void feed_answer(std::span<const std::byte> bytes);
void feed_chat_template(std::span<const std::byte> bytes);
void feed_config(std::span<const std::byte> bytes);
void feed_gguf(std::span<const std::byte> bytes);
void feed_safetensors(std::span<const std::byte> bytes);
void feed_safetensors_index(std::span<const std::byte> bytes);
void feed_sentencepiece(std::span<const std::byte> bytes);
void feed_tokenizer_json(std::span<const std::byte> bytes);

std::string change_gguf(std::string_view file, std::uint32_t seed);
std::string change_safetensors(std::string_view input, std::uint32_t seed);

namespace {

// THE TABLE of what is fed.
constexpr std::array kTargets = {
    Target{"answer", feed_answer},
    Target{"chat_template", feed_chat_template},
    Target{"config", feed_config},
    Target{"gguf", feed_gguf, change_gguf},
    Target{"safetensors", feed_safetensors, change_safetensors},
    Target{"safetensors_index", feed_safetensors_index},
    Target{"sentencepiece", feed_sentencepiece},
    Target{"tokenizer_json", feed_tokenizer_json},
};

}  // namespace

std::span<const Target> targets() { return kTargets; }

const Target* find_target(std::string_view name) {
  for (const Target& target : kTargets) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

}  // namespace lathe::fuzz
