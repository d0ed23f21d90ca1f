// SPDX-License-Identifier: Apache-2.0
#include "engine/model/architectures.h"

#include <algorithm>

#include "engine/api/table.h"

namespace lathe::engine {

// THE TABLE of model families: one file in architectures/ and one line here for each.
LATHE_TABLE(Architecture, kArchitectures,
  kLlama,
  kMistral,
  kQwen2,
  kQwen3,
  kMixtral,
  kQwen2Moe,
  kQwen3Moe,
  kQwen3Next,
  kQwen35,
  kQwen35Moe,
  kLfm2,
  kLfm2Moe,
  kGemma,
  kGemma2,
  kGemma3,
  kGemma3n,
  kGemma4,
  kPhi3,
  kFalcon,
  kGpt2,
  kOpt,
  kStableLm,
  kMpt,
  kBaichuan,
  kInternLm2,
  kSmolLm3,
  kPhi,
  kGptNeoX,
  kGptJ,
  kBloom,
  kOlmo2,
  kOlmo3,
  kCohere,
  kCohere2,
  kGranite,
  kGranite4,
  kGlm,
  kGlm4,
  kGlm4Moe,
  kGlm4MoeLite,
  kStarCoder2,
  kExaone4,
  kMinistral3,
  kMistral4,
  kMiniMaxM2,
  kSeedOss,
  kPhiMoe,
  kDeepseekV2,
  kDeepseekV3,
  kGptOss,
  kLlama4,
  kMuseGlimmer,
  kAfmoe,
  kArcee,
  kNemotron,
  kErnie45,
  kErnie45Moe,
  kHunyuan,
  kHunyuanMoe,
  kExaoneMoe,
  kDots1,
  kOlmo,
  kOlmoe,
  kBert,
  kRoberta,
  kXlmRoberta,
);

namespace {

/// Publishers do not agree on capitals: MPTForCausalLM, BaiChuanForCausalLM, PhiMoEForCausalLM.
bool is_same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::span<const Architecture* const> architectures() { return kArchitectures; }

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture* architecture : kArchitectures) {
    const auto& also = architecture->other_names;
    const bool is_it = is_same_name(architecture->name, name) || architecture->model_type == name ||
                       std::find(also.begin(), also.end(), name) != also.end();
    if (is_it) return architecture;
  }
  return nullptr;
}

}  // namespace lathe::engine
