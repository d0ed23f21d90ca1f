// SPDX-License-Identifier: Apache-2.0
// tokenizer.json: reading it, and what was accepted has to encode and decode.
#include "engine/text/tokenizer_json.h"
#include "tests/fuzz/scratch_folder.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/use_tokenizer.h"

namespace lathe::fuzz {
namespace {

void feed_tokenizer_json(std::span<const std::byte> bytes) {
  static const ScratchFolder folder("tokenizer");
  folder.write("tokenizer.json", text_of(bytes));
  const auto opened = engine::ModelFolder::open(folder.path());
  if (!opened) return;
  const auto tokenizer = engine::open_tokenizer_json(*opened, "tokenizer.json");
  if (tokenizer) use_tokenizer(**tokenizer);
}

}  // namespace

extern constexpr Target kTokenizerJsonTarget{.name = "tokenizer_json", .feed = feed_tokenizer_json};

}  // namespace lathe::fuzz
