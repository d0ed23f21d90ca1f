// SPDX-License-Identifier: Apache-2.0
// RopeConfig: how a layer rotates Q and K by their position. Source: Su et al. 2021; scaling: Hugging Face transformers,
// modeling_rope_utils.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/backend.h"

namespace lathe::engine {

class ConfigReader;

enum class RopeScaling : std::uint8_t {
  none,
  linear,        ///< all frequencies divided by `factor`. Chen et al. 2023
  dynamic,       ///< a larger theta for contexts beyond the model's own ("dynamic NTK")
  llama3,        ///< low frequencies divided by `factor`, high ones unchanged
  yarn,          ///< low frequencies divided as in llama3, with other bounds; and larger scores. Peng et al. 2023
  proportional,  ///< the first pairs of a head rotate by the frequencies of the whole head, the others not at all: Gemma 4
  longrope       ///< a divisor for each frequency: one list for short contexts, one for long. Ding et al. 2024
};

struct RopeConfig {
  double theta = 10000;
  std::int64_t rotary_dim = 0;  ///< leading values of a head that are rotated; even
  bool is_odd = false;          ///< the file's size is rotary_dim - 1, which is odd: frequencies are those of that size
  kernels::RopeStyle style = kernels::RopeStyle::half;
  RopeScaling scaling = RopeScaling::none;
  double factor = 1;
  double low_freq_factor = 1, high_freq_factor = 4;   ///< llama3: rotations in the original context that bound the blend
  std::int64_t original_max_position_embeddings = 0;  ///< dynamic, llama3, yarn, longrope, and query_growth
  double beta_fast = 32, beta_slow = 1;               ///< yarn: rotations in the original context that bound the blend
  bool truncate = true;                      ///< yarn: the bounds are rounded outwards to whole indices of frequencies
  std::optional<double> attention_factor{};  ///< yarn, longrope: factor of cosines and sines, if given
  double mscale = 0, mscale_all_dim = 0;     ///< yarn of DeepSeek
  std::int64_t n_rotated_pairs = 0;          ///< proportional: pairs with a frequency
  std::vector<double> short_factor{}, long_factor{};                        ///< longrope, [rotary_dim / 2]
  std::optional<double> short_attention_factor{}, long_attention_factor{};  ///< longrope of Phi-3.5-MoE
  bool is_still = false;  ///< all angles are 0: a layer without RoPE whose queries grow (Llama 4)
  /// Growth of Q with its position: rotated values are multiplied by 1 + query_growth * ln(1 + floor((position +
  /// growth_offset) / original_max_position_embeddings)).
  double query_growth = 0;
  std::int64_t growth_offset = 0;
  std::int64_t grown_dim = 0;  ///< values of a head of Q behind the rotated ones that grow as well; even
};

std::string_view name_of(RopeScaling scaling);  ///< "none", "linear", "llama3"
/// "none", "linear x2", "llama3 x8".
std::string describe_scaling(const RopeConfig& rope);

/// RoPE of a family. theta and old_context: defaults of its class in transformers, used where the file gives no value.
/// rotary_dim and style: used as they are; the file does not override them.
struct RopeDefaults {
  double theta = 10000;
  std::int64_t rotary_dim = 0;
  kernels::RopeStyle style = kernels::RopeStyle::half;
  std::int64_t old_context = 0;  ///< original_max_position_embeddings; 0: max_position_embeddings
  bool may_be_proportional = false;
};

/// Name of the object that holds RoPE: `rope_scaling` if it is not empty, else `rope_parameters`.
std::string_view rope_object(ConfigReader& reader);
/// True if that object exists and is not empty.
bool has_rope_object(ConfigReader& reader);

/// Reads RoPE in either spelling: `rope_parameters`, or `rope_theta` with `rope_scaling`. `layer_type`: the type of
/// layer to read ("full_attention"), where the file has a RoPE for each type.
RopeConfig read_rope(ConfigReader& reader, const RopeDefaults& defaults, std::int64_t max_position_embeddings,
                     std::string_view layer_type = {});
/// Reads the growth of Q with its position: llama_4_scaling_beta of the RoPE object.
void read_query_growth(ConfigReader& reader, RopeConfig& rope);
/// Size of the rotated part of a head: head_dim times `factor`, or times the file's factor if there is one. Errors: a size
/// of 0, or an odd one unless may_be_odd.
std::int64_t partial_rotary_dim(ConfigReader& reader, std::int64_t head_dim, double factor, bool may_be_odd = false);

/// Factor of the rotated part of Q at a position, in addition to the factor of cosines and sines: Ministral 3.
double query_factor(const RopeConfig& rope, std::int64_t position);

/// Factor of the scale of scores, in addition to the factor of cosines and sines: YaRN of DeepSeek.
double yarn_score_factor(const RopeConfig& rope);

/// Frequencies of RoPE [rotary_dim / 2], and the factor of cosines and sines. Units: radians per position.
struct RopeWaves {
  std::vector<double> frequencies;
  double attention_factor = 1;
};
/// Frequencies and factor for contexts of at most n_positions. dynamic and longrope depend on n_positions, the other
/// scalings do not.
RopeWaves rope_waves(const RopeConfig& rope, std::int64_t n_positions);

/// The context lengths among which dynamic and longrope choose, in tokens, ascending; the last is n_positions. A sequence
/// takes the first that holds its prompt and max_tokens, and keeps it to its end. So all its keys are rotated by the same
/// frequencies, and its answer depends neither on the context length of the load nor on other requests. longrope has two:
/// the original context and n_positions. dynamic has the original context, that length doubled again and again while it is
/// below n_positions, and n_positions; each length has its own theta. All other scalings have one. Several ropes share the
/// union of their lengths.
/// transformers chooses by the current length instead: with longrope it drops the cache and computes it again when an answer
/// crosses the boundary, with dynamic it keeps keys that were rotated by another theta. vLLM chooses once for all requests,
/// by max_model_len.
std::vector<std::int64_t> rope_contexts(std::span<const RopeConfig> ropes, std::int64_t n_positions);
/// Index of the first context that holds n_tokens, else of the last; 0 if there are none.
int rope_choice(std::span<const std::int64_t> contexts, std::int64_t n_tokens);

}  // namespace lathe::engine
