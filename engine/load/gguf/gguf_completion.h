// SPDX-License-Identifier: Apache-2.0
// Derives config.json keys that the GGUF files of a family omit from the keys that they have: GgufFamily::complete.
#pragma once

#include "engine/api/json.h"

namespace lathe::engine {

void complete_gemma2(Json& config);
void complete_gemma3(Json& config);
void complete_gemma4(Json& config);
void complete_qwen2_moe(Json& config);
void complete_qwen3_moe(Json& config);
void complete_lfm2(Json& config);
void complete_qwen3_next(Json& config);
void complete_qwen3_5(Json& config);
void complete_mistral3(Json& config);
void complete_gpt2(Json& config);
void complete_gptneox(Json& config);
void complete_falcon(Json& config);
void complete_gpt_oss(Json& config);
void complete_glm4_moe(Json& config);
void complete_dots1(Json& config);
void complete_exaone_moe(Json& config);
void complete_afmoe(Json& config);
void complete_llama4(Json& config);
void complete_mpt(Json& config);
void complete_glm(Json& config);
void complete_deepseek2(Json& config);
void complete_deepseek(Json& config);
void complete_deepseek_dense(Json& config);

}  // namespace lathe::engine
