// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/targets.h"

#include "engine/api/table.h"

namespace lathe::fuzz {

// THE TABLE of fuzz targets: one file in this folder and one line here for each.
LATHE_TABLE(Target, kTargets,
  kAnswerTarget,
  kChatTemplateTarget,
  kConfigTarget,
  kGgufTarget,
  kGrammarTarget,
  kRegexTarget,
  kSafetensorsTarget,
  kSafetensorsIndexTarget,
  kSchemaTarget,
  kSentencepieceTarget,
  kStructuralTagTarget,
  kTokenizerJsonTarget,
);

std::span<const Target* const> targets() { return kTargets; }

const Target* find_target(std::string_view name) {
  for (const Target* target : kTargets) {
    if (target->name == name) return target;
  }
  return nullptr;
}

}  // namespace lathe::fuzz
