// SPDX-License-Identifier: Apache-2.0
// THE TABLE of model families: a new one is a file in architectures/ and two lines here.
#include "engine/model/architectures.h"

#include <algorithm>
#include <array>

namespace lathe::engine {

extern const Architecture kLlama;
extern const Architecture kMistral;
extern const Architecture kQwen2;
extern const Architecture kQwen3;
extern const Architecture kMixtral;
extern const Architecture kQwen2Moe;
extern const Architecture kQwen3Moe;
extern const Architecture kGemma;
extern const Architecture kGemma2;
extern const Architecture kGemma3;
extern const Architecture kPhi3;
extern const Architecture kFalcon;
extern const Architecture kGpt2;
extern const Architecture kOpt;
extern const Architecture kStableLm;
extern const Architecture kMpt;
extern const Architecture kBaichuan;
extern const Architecture kInternLm2;
extern const Architecture kSmolLm3;
extern const Architecture kPhi;
extern const Architecture kGptNeoX;
extern const Architecture kGptJ;
extern const Architecture kBloom;
extern const Architecture kOlmo2;
extern const Architecture kCohere;
extern const Architecture kCohere2;
extern const Architecture kGranite;
extern const Architecture kGlm;
extern const Architecture kGlm4;
extern const Architecture kStarCoder2;
extern const Architecture kExaone4;
extern const Architecture kMinistral3;
extern const Architecture kPhiMoe;
extern const Architecture kDeepseekV2;
extern const Architecture kDeepseekV3;
extern const Architecture kGptOss;
extern const Architecture kBert;
extern const Architecture kRoberta;
extern const Architecture kXlmRoberta;

namespace {

constexpr std::array kArchitectures = {
    &kLlama,    &kMistral,    &kQwen2,      &kQwen3,  &kMixtral, &kQwen2Moe,   &kQwen3Moe,   &kGemma,
    &kGemma2,   &kGemma3,     &kPhi3,       &kFalcon, &kGpt2,    &kOpt,        &kStableLm,   &kMpt,
    &kBaichuan, &kInternLm2,  &kSmolLm3,    &kPhi,    &kGptNeoX, &kGptJ,       &kBloom,      &kOlmo2,
    &kCohere,   &kCohere2,    &kGranite,    &kGlm,    &kGlm4,    &kStarCoder2, &kExaone4,    &kMinistral3,
    &kPhiMoe,   &kDeepseekV2, &kDeepseekV3, &kGptOss, &kBert,    &kRoberta,    &kXlmRoberta,
};

}  // namespace

std::span<const Architecture* const> architectures() { return kArchitectures; }

const Architecture* find_architecture(std::string_view name) {
  const auto found = std::find_if(kArchitectures.begin(), kArchitectures.end(), [&](const Architecture* architecture) {
    return architecture->name == name || architecture->model_type == name;
  });
  return found != kArchitectures.end() ? *found : nullptr;
}

}  // namespace lathe::engine
