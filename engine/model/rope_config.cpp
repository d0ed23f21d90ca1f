// SPDX-License-Identifier: Apache-2.0
#include "engine/model/rope_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/model/architectures.h"
#include "engine/model/config_reader.h"

namespace lathe::engine {
namespace {

constexpr double kMaxFactor = 1e6;
constexpr double kMaxTheta = 1e12;

struct ScalingSpelling {
  std::string_view name;
  RopeScaling scaling;
};
constexpr std::array kScalingSpellings = {
    ScalingSpelling{"default", RopeScaling::none}, ScalingSpelling{"linear", RopeScaling::linear},
    ScalingSpelling{"dynamic", RopeScaling::dynamic}, ScalingSpelling{"llama3", RopeScaling::llama3},
    ScalingSpelling{"yarn", RopeScaling::yarn}, ScalingSpelling{"longrope", RopeScaling::longrope},
    ScalingSpelling{"su", RopeScaling::longrope}, ScalingSpelling{"proportional", RopeScaling::proportional},
    // Sections of the angles that images use; those of text are the plain ones.
    ScalingSpelling{"mrope", RopeScaling::none}};

/// Reads the fields of one RoPE from the object that holds them.
class RopeFields {
 public:
  RopeFields(ConfigReader& reader, std::string object, RopeConfig& rope, std::int64_t longest, const RopeDefaults& defaults)
      : reader_(reader),
        object_(std::move(object)),
        rope_(rope),
        longest_(longest),
        old_(defaults.old_context > 0 ? defaults.old_context : longest),
        may_be_proportional_(defaults.may_be_proportional) {}

  void read_scaling() {
    const std::string type = reader_.text_or(key("rope_type"), reader_.text_or(key("type"), "default"));
    const auto* const known = std::find_if(kScalingSpellings.begin(), kScalingSpellings.end(),
                                           [&](const ScalingSpelling& row) { return row.name == type; });
    if (known == kScalingSpellings.end() || (known->scaling == RopeScaling::proportional && !may_be_proportional_)) {
      reader_.unmet(
          fmt::format("RoPE scaling '{:.32}' ({}; known: default, linear, dynamic, llama3, yarn, longrope)", type, object_));
      return;
    }
    rope_.scaling = known->scaling;
    // An early spelling of Phi-3 calls its lists of factors yarn.
    if (rope_.scaling == RopeScaling::yarn && reader_.has(key("short_factor"))) rope_.scaling = RopeScaling::longrope;
    switch (rope_.scaling) {
      case RopeScaling::none: break;
      case RopeScaling::linear: rope_.factor = reader_.number(key("factor"), 1, kMaxFactor); break;
      case RopeScaling::dynamic: read_dynamic(); break;
      case RopeScaling::llama3: read_llama3(); break;
      case RopeScaling::yarn: read_yarn(); break;
      case RopeScaling::proportional: read_proportional(); break;
      case RopeScaling::longrope: read_longrope(); break;
    }
  }

 private:
  std::string key(std::string_view field) const { return fmt::format("{}.{}", object_, field); }

  /// A value at top level takes precedence over the object's (Phi-3).
  std::int64_t old_context() {
    const std::int64_t in_object = reader_.integer_or(key("original_max_position_embeddings"), old_, 1, kMaxPositions);
    return reader_.integer_or("original_max_position_embeddings", in_object, 1, kMaxPositions);
  }

  void read_dynamic() {
    rope_.factor = reader_.number(key("factor"), 1, kMaxFactor);
    rope_.original_max_position_embeddings = longest_;  // also if the object has another value
    if (rope_.rotary_dim <= 2) reader_.fault(key("rope_type"), "dynamic scaling needs more than 2 rotary dimensions");
  }

  void read_llama3() {
    rope_.factor = reader_.number(key("factor"), 1, kMaxFactor);
    rope_.low_freq_factor = reader_.number(key("low_freq_factor"), 1e-3, kMaxFactor);
    rope_.high_freq_factor = reader_.number(key("high_freq_factor"), 1e-3, kMaxFactor);
    rope_.original_max_position_embeddings = old_context();
    if (rope_.high_freq_factor < rope_.low_freq_factor) {
      reader_.fault(key("high_freq_factor"), fmt::format("got {:g}, expected at least low_freq_factor {:g}",
                                                         rope_.high_freq_factor, rope_.low_freq_factor));
    }
  }

  double factor_by_contexts() const {
    return static_cast<double>(longest_) / static_cast<double>(rope_.original_max_position_embeddings);
  }

  void read_attention_factor() {
    if (reader_.has(key("attention_factor"))) {
      rope_.attention_factor = reader_.number(key("attention_factor"), 1e-3, kMaxFactor);
    }
  }

  void read_yarn() {
    rope_.original_max_position_embeddings = old_context();
    rope_.factor = reader_.number_or(key("factor"), factor_by_contexts(), 1e-3, kMaxFactor);
    rope_.beta_fast = reader_.number_or(key("beta_fast"), 32, 1e-3, kMaxFactor);
    rope_.beta_slow = reader_.number_or(key("beta_slow"), 1, 1e-3, kMaxFactor);
    rope_.truncate = reader_.boolean_or(key("truncate"), true);
    rope_.mscale = reader_.number_or(key("mscale"), 0, 0, kMaxFactor);
    rope_.mscale_all_dim = reader_.number_or(key("mscale_all_dim"), 0, 0, kMaxFactor);
    read_attention_factor();
  }

  void read_proportional() {
    rope_.factor = reader_.number_or(key("factor"), 1, 1, kMaxFactor);
    const double part = reader_.number_or(key("partial_rotary_factor"), 1, 0, 1);
    rope_.n_rotated_pairs = static_cast<std::int64_t>(part * static_cast<double>(rope_.rotary_dim) / 2);
  }

  void read_longrope() {
    rope_.original_max_position_embeddings = old_context();
    rope_.factor = reader_.number_or(key("factor"), factor_by_contexts(), 1e-3, kMaxFactor);
    rope_.short_factor = factors("short_factor");
    rope_.long_factor = factors("long_factor");
    read_attention_factor();
    if (reader_.has(key("short_mscale"))) {
      rope_.short_attention_factor = reader_.number(key("short_mscale"), 1e-3, kMaxFactor);
      rope_.long_attention_factor = reader_.number(key("long_mscale"), 1e-3, kMaxFactor);
    }
  }

  std::vector<double> factors(std::string_view field) {
    const auto n = static_cast<std::size_t>(rope_.rotary_dim / 2);
    std::vector<double> numbers = reader_.numbers(key(field), n, 1e-6, kMaxFactor);
    if (numbers.size() != n) {
      reader_.fault(key(field),
                    fmt::format("got a list of {}, expected {}: one for each pair of rotary dimensions", numbers.size(), n));
      numbers.assign(n, 1);
    }
    return numbers;
  }

  ConfigReader& reader_;
  const std::string object_;
  RopeConfig& rope_;
  const std::int64_t longest_, old_;
  const bool may_be_proportional_;
};

}  // namespace

std::string_view name_of(RopeScaling scaling) {
  if (scaling == RopeScaling::none) return "none";
  return std::find_if(kScalingSpellings.begin(), kScalingSpellings.end(),
                      [&](const ScalingSpelling& row) { return row.scaling == scaling; })
      ->name;
}

std::string describe_scaling(const RopeConfig& rope) {
  const std::string name(name_of(rope.scaling));
  const bool has_factor =
      rope.scaling != RopeScaling::none && (rope.scaling != RopeScaling::proportional || rope.factor != 1);
  return !has_factor ? name : fmt::format("{} x{:g}", name, rope.factor);
}

std::string_view rope_object(ConfigReader& reader) {
  const Json* const scaling = reader.object("rope_scaling");
  return scaling != nullptr && !scaling->empty() ? "rope_scaling" : "rope_parameters";
}

bool has_rope_object(ConfigReader& reader) {
  const Json* const object = reader.object(rope_object(reader));
  return object != nullptr && !object->empty();
}

std::int64_t partial_rotary_dim(ConfigReader& reader, std::int64_t head_dim, double factor, bool may_be_odd) {
  factor = reader.number_or("partial_rotary_factor", factor, 0, 1);
  factor = reader.number_or(fmt::format("{}.partial_rotary_factor", rope_object(reader)), factor, 0, 1);
  const auto dim = static_cast<std::int64_t>(static_cast<double>(head_dim) * factor);
  if (dim >= 1 && (may_be_odd || dim % 2 == 0)) return dim;
  reader.fault("partial_rotary_factor",
               fmt::format("{:g} of head_dim {} is {}, expected an even number of 2 or more", factor, head_dim, dim));
  return 2;
}

void read_query_growth(ConfigReader& reader, RopeConfig& rope) {
  const std::string object(rope_object(reader));
  rope.query_growth = reader.number_or(object + ".llama_4_scaling_beta", 0, 0, 1e6);
  if (rope.query_growth > 0 && rope.original_max_position_embeddings == 0) {
    rope.original_max_position_embeddings = reader.integer(object + ".original_max_position_embeddings", 1, kMaxPositions);
  }
}

RopeConfig read_rope(ConfigReader& reader, const RopeDefaults& defaults, std::int64_t max_position_embeddings,
                     std::string_view layer_type) {
  // The newer spelling has everything in one object; the older one has rope_theta outside of it.
  std::string object(rope_object(reader));
  if (!layer_type.empty() && reader.has(fmt::format("{}.{}", object, layer_type))) {
    object += fmt::format(".{}", layer_type);
  } else if (reader.has(object + ".full_attention") || reader.has(object + ".sliding_attention")) {
    reader.unmet(fmt::format("RoPE per layer type ({})", object));
    return {.rotary_dim = defaults.rotary_dim};
  }
  RopeConfig rope{.rotary_dim = defaults.rotary_dim + defaults.rotary_dim % 2,
                  .is_odd = defaults.rotary_dim % 2 != 0,
                  .style = defaults.style};
  const double top_level_theta = reader.number_or("rope_theta", defaults.theta, 1, kMaxTheta);
  rope.theta = reader.number_or(object + ".rope_theta", top_level_theta, 1, kMaxTheta);
  RopeFields(reader, object, rope, max_position_embeddings, defaults).read_scaling();
  const bool has_whole_waves = rope.scaling == RopeScaling::yarn || rope.scaling == RopeScaling::longrope;
  if (rope.is_odd && has_whole_waves) {
    reader.fault(object + ".rope_type", fmt::format("{} scaling needs an even number of rotary dimensions, got {}",
                                                    name_of(rope.scaling), defaults.rotary_dim));
  }
  return rope;
}

}  // namespace lathe::engine
