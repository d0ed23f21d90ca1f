// SPDX-License-Identifier: Apache-2.0
// What GGUF files call a model family, its keys and its tensors, told in the words of the family's config.json.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/api/json.h"
#include "engine/load/gguf/gguf_header.h"

namespace lathe::engine {

struct GgufFamily {
  std::string_view gguf;  ///< general.architecture
  std::string_view name;  ///< as in config.json's `architectures`
  std::string_view model_type;
  bool rotary_pairs;  ///< the converter brought numbers of Q and K that turn together side by side
};

/// Errors: model_refused with the list of those that are read.
Result<const GgufFamily*> family_of(const GgufHeader& header);

/// The config.json of the same model; `tensors`: those of all its files. Errors: model_refused for a missing key, or one
/// that asks for what is not read.
Result<Json> gguf_config(const GgufHeader& header, std::span<const GgufTensor> tensors);

/// "layers.0.mlp.up_proj.weight" behind its prefix for "blk.0.ffn_up.weight"; the name itself where no other is known.
std::string family_name_of(std::string_view tensor);

}  // namespace lathe::engine
