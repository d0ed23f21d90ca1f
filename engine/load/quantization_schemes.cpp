// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

#include "engine/api/table.h"
#include "engine/load/quantization_scheme.h"
#include "engine/load/wrapped_text.h"

namespace lathe::engine {

// THE TABLE of quantized checkpoints: one file in quantized/ and one line here for each scheme.
LATHE_TABLE(QuantizationScheme, kSchemes,
  kGptqScheme,
  kAwqScheme,
  kCompressedTensorsScheme,
  kFp8Scheme,
  kFbgemmFp8Scheme,
  kBitsandbytesScheme,
  kMxfp4Scheme,
);

namespace {

constexpr std::string_view kConfigJson = "config.json";
constexpr std::string_view kMethod = "quant_method";

struct QuantizationConfig {
  Json json;
  std::string where;
  const QuantizationScheme* scheme = nullptr;
};

std::string known_methods() {
  std::vector<std::string_view> names;
  for (const QuantizationScheme* scheme : kSchemes) names.push_back(scheme->method);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Finds the scheme that `quant_method` names. Errors: model_refused.
Result<QuantizationConfig> with_scheme(Json json, std::string where) {
  const auto method = json.find(kMethod);
  if (method == json.end() || !method->is_string()) {
    return fail(ErrorCode::model_refused, fmt::format("missing: quant_method (known: {})", known_methods()), where);
  }
  const auto& name = method->get_ref<const std::string&>();
  for (const QuantizationScheme* scheme : kSchemes) {
    if (scheme->method == name) return QuantizationConfig{std::move(json), std::move(where), scheme};
  }
  return fail(ErrorCode::model_refused,
              fmt::format("asks for features that are not supported: weights quantized by \"{:.64}\" (known: {})", name,
                          known_methods()),
              where);
}

/// Finds the quantization config: in config.json, in the config of its text model, or in a scheme's own file.
Result<QuantizationConfig> find_config(const ModelFolder& folder) {
  LATHE_TRY(const Json config, folder.read_json_if_present(kConfigJson));
  const Json* const places[] = {&config, wrapped_text(config)};
  for (const Json* place : places) {
    for (const char* key : {"quantization_config", "compression_config"}) {
      if (place == nullptr || !place->contains(key) || (*place)[key].empty()) continue;
      const std::string where = fmt::format("{}: {}", kConfigJson, key);
      if (!(*place)[key].is_object()) return fail(ErrorCode::model_refused, "must be an object", where);
      return with_scheme((*place)[key], where);
    }
  }
  for (const QuantizationScheme* scheme : kSchemes) {
    if (scheme->file.empty() || !folder.has(scheme->file)) continue;
    LATHE_TRY(Json json, folder.read_json(scheme->file));
    return QuantizationConfig{std::move(json), std::string(scheme->file), scheme};
  }
  return QuantizationConfig{};
}

/// "int4, groups of 128, zero points".
std::string words_of(const StoredTensor& tensor) {
  const CodedTensor& coded = *tensor.coded;
  std::string words(tensor.type->name);
  if (coded.block > 0) {
    words += fmt::format(", blocks of {}", coded.block);
  } else if (!coded.group_of.empty()) {
    words += fmt::format(", groups of {} in activation order (desc_act)", coded.group);
  } else {
    words += coded.n_groups > 1 ? fmt::format(", groups of {}", coded.group) : std::string(", no groups");
  }
  return words + (coded.has_zeros ? ", zero points" : "");
}

std::string describe(const QuantizationScheme& scheme, const Checkpoint& checkpoint) {
  std::map<std::string, std::int64_t> n_by_words;
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    if (tensor.coded != nullptr) ++n_by_words[words_of(tensor)];
  }
  std::string text(scheme.method);
  const char* before = ": ";
  for (const auto& [words, n] : n_by_words) text += fmt::format("{}{} {}", std::exchange(before, "; "), n, words);
  return text;
}

}  // namespace

std::span<const QuantizationScheme* const> quantization_schemes() { return kSchemes; }

Result<void> join_quantized(const ModelFolder& folder, Checkpoint& checkpoint) {
  LATHE_TRY(const QuantizationConfig config, find_config(folder));
  if (config.scheme == nullptr) return {};
  JsonFieldReader reader(config.json, config.where);
  reader.text_or(kMethod, "");
  TensorParts parts(checkpoint);
  LATHE_TRY_VOID(config.scheme->join(reader, parts));
  if (parts.n_joined() == 0) {
    return fail(ErrorCode::model_refused, fmt::format("says {}, but no tensor is quantized that way", config.scheme->method),
                config.where);
  }
  LATHE_TRY_VOID(parts.put_back(checkpoint));
  checkpoint.set_scheme(describe(*config.scheme, checkpoint));
  return {};
}

}  // namespace lathe::engine
