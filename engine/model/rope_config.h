// SPDX-License-Identifier: Apache-2.0
// RopeConfig: how a layer turns Q and K by their position. Source: Su et al. 2021; scaling: Hugging Face transformers,
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
  linear,   ///< all waves `factor` times longer. Chen et al. 2023
  dynamic,  ///< a larger theta where contexts are longer than the model was made for ("dynamic NTK")
  llama3,   ///< long waves `factor` times longer, short ones as they are
  yarn,     ///< the same by the number of turns, and a larger scale of the scores. Peng et al. 2023
  longrope  ///< a factor for each wave: one list for short contexts, one for long. Ding et al. 2024
};

struct RopeConfig {
  double theta = 10000;
  std::int64_t rotary_dim = 0;  ///< numbers of a head that turn, from the first on; even
  bool is_odd = false;          ///< the file asks for one less: waves are those of rotary_dim - 1 numbers
  kernels::RopeStyle style = kernels::RopeStyle::half;
  RopeScaling scaling = RopeScaling::none;
  double factor = 1;
  double low_freq_factor = 1, high_freq_factor = 4;   ///< llama3
  std::int64_t original_max_position_embeddings = 0;  ///< of all but linear
  double beta_fast = 32, beta_slow = 1;               ///< yarn: turns that bound the blend
  bool truncate = true;                               ///< yarn: the bounds are whole dimensions
  std::optional<double> attention_factor{};  ///< yarn, longrope: what cosines and sines are multiplied with, if given
  double mscale = 0, mscale_all_dim = 0;     ///< yarn of DeepSeek
  std::vector<double> short_factor{}, long_factor{};                        ///< longrope, [rotary_dim / 2]
  std::optional<double> short_attention_factor{}, long_attention_factor{};  ///< longrope of Phi-3.5-MoE
  double query_growth = 0;  ///< what turns of Q is multiplied with 1 + query_growth * ln(1 + position / original, whole)
};

std::string_view name_of(RopeScaling scaling);  ///< "none", "linear", "llama3"
/// "none", "linear x2", "llama3 x8".
std::string describe_scaling(const RopeConfig& rope);

/// What a family's class says where the file says nothing.
struct RopeDefaults {
  double theta = 10000;
  std::int64_t rotary_dim = 0;
  kernels::RopeStyle style = kernels::RopeStyle::half;
  std::int64_t old_context = 0;  ///< original_max_position_embeddings; 0: max_position_embeddings
};

/// The object that holds RoPE: `rope_scaling` where it says anything, else `rope_parameters`.
std::string_view rope_object(ConfigReader& reader);
/// True where one of the two says anything.
bool has_rope_object(ConfigReader& reader);

/// RoPE of either spelling: `rope_parameters`, or `rope_theta` with `rope_scaling`. `layer_type`: where the file has one for
/// each type of layer, the one to read ("full_attention").
RopeConfig read_rope(ConfigReader& reader, const RopeDefaults& defaults, std::int64_t max_position_embeddings,
                     std::string_view layer_type = {});
/// `factor` of the head that turns, unless the file says another. Errors: none, or an odd number that may not be.
std::int64_t partial_rotary_dim(ConfigReader& reader, std::int64_t head_dim, double factor, bool may_be_odd = false);

/// What Q is multiplied with at a position beside the factor of cosines and sines: Ministral 3.
double query_factor(const RopeConfig& rope, std::int64_t position);

/// What the scale of scores is multiplied with beside the factor of cosines and sines: YaRN of DeepSeek.
double yarn_score_factor(const RopeConfig& rope);

/// What each position turns by: frequencies [rotary_dim / 2], and the factor of cosines and sines.
struct RopeWaves {
  std::vector<double> frequencies;
  double attention_factor = 1;
};
/// For contexts of at most n_positions: dynamic and longrope choose by it.
RopeWaves rope_waves(const RopeConfig& rope, std::int64_t n_positions);

/// The contexts that dynamic and longrope choose among, in tokens, rising; the last is the longest, n_positions. A sequence
/// takes the first that holds all that it may come to have, prompt and max_tokens, and keeps it to its end: so it never
/// crosses a boundary with half its keys turned another way, and its answer does not depend on what the model was loaded for
/// or who else is there. longrope has two, with the boundary at the original context; dynamic doubles from there, and the
/// theta of each is that of its end; all others have one.
/// transformers chooses by the current length instead: of longrope it throws the cache away and reads all again when an
/// answer crosses the boundary, of dynamic it keeps keys that were turned by another theta. vLLM chooses once for all
/// requests, by max_model_len.
std::vector<std::int64_t> rope_contexts(std::span<const RopeConfig> ropes, std::int64_t n_positions);
/// Number of the context that a sequence takes which may come to have n_tokens; 0 where there are none.
int rope_choice(std::span<const std::int64_t> contexts, std::int64_t n_tokens);

}  // namespace lathe::engine
