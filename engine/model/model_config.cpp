// SPDX-License-Identifier: Apache-2.0
#include "engine/model/model_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/model/architectures.h"
#include "engine/model/config_reader.h"

namespace lathe::engine {

namespace {

constexpr std::string_view kFile = "config.json";

/// The declared architecture: the first of `architectures`, else what `model_type` stands for.
Result<std::string> declared_architecture(const Json& config) {
  const auto list = config.find("architectures");
  if (list != config.end() && list->is_array() && !list->empty() && list->front().is_string()) {
    return list->front().get<std::string>();
  }
  const auto type = config.find("model_type");
  if (type != config.end() && type->is_string()) return type->get<std::string>();
  return fail(ErrorCode::model_refused, "missing: architectures", std::string(kFile));
}

tl::unexpected<Error> unknown_architecture(const std::string& name, ConfigReader& reader) {
  std::vector<std::string_view> known;
  for (const Architecture* architecture : architectures()) known.push_back(architecture->name);
  reader.note_unread_knobs();
  std::string message = fmt::format("unknown architecture '{:.64}' (known: {})", name, fmt::join(known, ", "));
  if (const auto unmet = reader.finish(); !unmet) message += "; it " + unmet.error().message;
  return fail(ErrorCode::model_refused, std::move(message), fmt::format("{}: architectures", kFile));
}

void check_heads(const ModelConfig& config, ConfigReader& reader) {
  if (config.n_heads % config.n_kv_heads != 0) {
    reader.fault("num_key_value_heads",
                 fmt::format("got {}, expected a divisor of num_attention_heads {}", config.n_kv_heads, config.n_heads));
  }
  if (config.head_dim % 2 != 0) {
    reader.fault("head_dim", fmt::format("got {}, expected an even number: RoPE rotates pairs", config.head_dim));
  }
}

}  // namespace

std::string describe_scaling(const RopeConfig& rope) {
  switch (rope.scaling) {
    case RopeScaling::none: return "none";
    case RopeScaling::linear: return fmt::format("linear x{:g}", rope.factor);
    case RopeScaling::llama3: return fmt::format("llama3 x{:g}", rope.factor);
  }
  return "?";
}

RopeConfig read_rope(ConfigReader& reader, std::int64_t max_position_embeddings) {
  // The newer spelling has everything in one object; in the older one theta stands beside it.
  const bool newer = reader.has("rope_parameters");
  const std::string object = newer ? "rope_parameters" : "rope_scaling";
  const auto key = [&](std::string_view field) { return fmt::format("{}.{}", object, field); };
  if (reader.has(key("full_attention")) || reader.has(key("sliding_attention"))) {
    reader.unmet(fmt::format("RoPE per layer type ({})", object));
    return {};
  }
  RopeConfig rope;
  const double top_level_theta = reader.number_or("rope_theta", rope.theta, 1, 1e12);
  rope.theta = reader.number_or(key("rope_theta"), top_level_theta, 1, 1e12);
  const std::string type = reader.text_or(key("rope_type"), reader.text_or(key("type"), "default"));
  if (type == "default") return rope;
  if (type != "linear" && type != "llama3") {
    reader.unmet(fmt::format("RoPE scaling '{:.32}' ({}; known: default, linear, llama3)", type, object));
    return rope;
  }
  rope.scaling = type == "linear" ? RopeScaling::linear : RopeScaling::llama3;
  rope.factor = reader.number(key("factor"), 1, 1e6);
  if (rope.scaling == RopeScaling::llama3) {
    rope.low_freq_factor = reader.number(key("low_freq_factor"), 1e-3, 1e6);
    rope.high_freq_factor = reader.number(key("high_freq_factor"), 1e-3, 1e6);
    const std::int64_t in_object =
        reader.integer_or(key("original_max_position_embeddings"), max_position_embeddings, 1, kMaxPositions);
    rope.original_max_position_embeddings =
        reader.integer_or("original_max_position_embeddings", in_object, 1, kMaxPositions);
    if (rope.high_freq_factor <= rope.low_freq_factor) {
      reader.fault(key("high_freq_factor"), fmt::format("got {:g}, expected more than low_freq_factor {:g}",
                                                        rope.high_freq_factor, rope.low_freq_factor));
    }
  }
  return rope;
}

Result<ModelConfig> read_model_config(const Json& json) {
  LATHE_TRY(const std::string name, declared_architecture(json));
  ConfigReader reader(json, std::string(kFile));
  const Architecture* architecture = find_architecture(name);
  if (architecture == nullptr) return unknown_architecture(name, reader);

  ModelConfig config;
  config.architecture = architecture;
  architecture->read_config(reader, config);
  const auto last_id = static_cast<std::int32_t>(config.vocab_size - 1);
  const auto bos = reader.ids("bos_token_id", kMaxEosIds, last_id);
  if (!bos.empty()) config.bos_id = bos.front();
  config.eos_ids = reader.ids("eos_token_id", kMaxEosIds, last_id);
  check_heads(config, reader);
  reader.note_unread_knobs();
  LATHE_TRY_VOID(reader.finish());
  return config;
}

}  // namespace lathe::engine
