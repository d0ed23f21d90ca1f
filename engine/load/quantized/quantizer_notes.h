// SPDX-License-Identifier: Apache-2.0
// Lists config keys by which GPTQModel and transformers record how a checkpoint was made, or advise other programs; none of
// them changes the values of weights.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace lathe::engine {

inline constexpr std::array<std::string_view, 32> kQuantizerNotes = {"sym",
                                                                     "desc_act",
                                                                     "damp_percent",
                                                                     "damp_auto_increment",
                                                                     "true_sequential",
                                                                     "static_groups",
                                                                     "model_name_or_path",
                                                                     "tokenizer",
                                                                     "dataset",
                                                                     "meta",
                                                                     "model_seqlen",
                                                                     "block_name_to_quantize",
                                                                     "module_name_preceding_first_block",
                                                                     "batch_size",
                                                                     "pad_token_id",
                                                                     "max_input_length",
                                                                     "exllama_config",
                                                                     "cache_block_outputs",
                                                                     "modules_in_block_to_quantize",
                                                                     "lm_head",
                                                                     "mse",
                                                                     "act_group_aware",
                                                                     "hyb_act",
                                                                     "adapter",
                                                                     "offload_to_disk",
                                                                     "offload_to_disk_path",
                                                                     "gptaq",
                                                                     "mock_quantization",
                                                                     "process",
                                                                     "pack_impl",
                                                                     "auto_forward_data_parallel",
                                                                     "failsafe"};

/// kQuantizerNotes and a format's own keys.
template <std::size_t n>
constexpr std::array<std::string_view, kQuantizerNotes.size() + n> with_quantizer_notes(
    const std::array<std::string_view, n>& own) {
  std::array<std::string_view, kQuantizerNotes.size() + n> all{};
  std::copy(own.begin(), own.end(), std::copy(kQuantizerNotes.begin(), kQuantizerNotes.end(), all.begin()));
  return all;
}

}  // namespace lathe::engine
