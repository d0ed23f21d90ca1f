// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/pooling_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "engine/api/python_json.h"
#include "engine/base/json_text.h"
#include "engine/load/gguf/gguf_files.h"

namespace lathe::engine {
namespace {

constexpr std::string_view kModulesFile = "modules.json";
constexpr std::string_view kLimitsFile = "sentence_bert_config.json";
constexpr std::string_view kVectorConfigFile = "config.json";
constexpr std::string_view kMatryoshkaDimensions = "matryoshka_dimensions";
constexpr std::string_view kUsualPoolingFolder = "1_Pooling";
constexpr std::int64_t kMaxModulesBytes = 1 << 20;
constexpr std::uint64_t kMostDimensions = 1 << 20;

struct PoolingKey {
  std::string_view key;
  std::optional<Pooling> pooling;  ///< none: known, but not supported
};

// THE TABLE of poolings, by the keys of Pooling's config.json.
constexpr std::array kPoolingKeys = {
    PoolingKey{"pooling_mode_cls_token", Pooling::cls},
    PoolingKey{"pooling_mode_mean_tokens", Pooling::mean},
    PoolingKey{"pooling_mode_lasttoken", Pooling::last},
    PoolingKey{"pooling_mode_max_tokens", std::nullopt},
    PoolingKey{"pooling_mode_mean_sqrt_len_tokens", std::nullopt},
    PoolingKey{"pooling_mode_weightedmean_tokens", std::nullopt},
};

// The supported poolings by value of pooling_type in GGUF files, from 1; 0 leaves the choice to the reader.
constexpr std::array kPoolingNumbers = {Pooling::mean, Pooling::cls, Pooling::last};

/// GGUF files set only the kind of pooling; vectors are normalized to length 1, as in llama.cpp.
Result<PoolingConfig> pooling_of_gguf(const ModelFolder& folder, Pooling usual) {
  LATHE_TRY(const GgufFile file, open_gguf(folder));
  LATHE_TRY(const auto family, file.header.text("general.architecture"));
  const std::string key = fmt::format("{}.{}", family.value_or(""), kGgufPoolingKey);
  LATHE_TRY(const auto number, file.header.integer(key));
  if (number.value_or(0) == 0) return PoolingConfig{.pooling = usual};
  if (*number < 0 || *number > std::ssize(kPoolingNumbers)) {
    return fail(ErrorCode::model_refused, fmt::format("got {}; supported are mean (1), cls (2) and last token (3)", *number),
                fmt::format("{}: {}", file.header.file(), key));
  }
  return PoolingConfig{.pooling = kPoolingNumbers[static_cast<std::size_t>(*number - 1)]};
}

bool is_true(const Json& json, std::string_view key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_boolean() && found->get<bool>();
}

/// Several kinds at once (concatenated vectors) are not supported.
Result<Pooling> read_pooling(const Json& json, const std::string& file) {
  std::optional<Pooling> chosen;
  for (const PoolingKey& known : kPoolingKeys) {
    if (!is_true(json, known.key)) continue;
    if (!known.pooling || chosen) {
      return fail(ErrorCode::model_refused, "exactly one of mean, cls and last token must be chosen for pooling",
                  fmt::format("{}: {}", file, known.key));
    }
    chosen = known.pooling;
  }
  if (!chosen) return fail(ErrorCode::model_refused, "no kind of pooling is chosen", file);
  return *chosen;
}

/// The modules after the Transformer.
struct Modules {
  std::string pooling_folder{kUsualPoolingFolder};
  bool normalises = false;
};

Result<Modules> read_modules(const ModelFolder& folder) {
  LATHE_TRY(const std::string text, folder.read_text(kModulesFile, kMaxModulesBytes));
  auto list = parse_python_json(text, kModulesFile);
  if (!list) return fail(ErrorCode::model_refused, list.error().message, std::string(kModulesFile));
  if (!list->is_array()) return fail(ErrorCode::model_refused, "must hold a list of modules", std::string(kModulesFile));
  Modules modules;
  for (const Json& module : *list) {
    const std::string type = text_in(module, "type");
    if (type.ends_with(".Pooling")) {
      modules.pooling_folder = text_in(module, "path");
    } else if (type.ends_with(".Normalize")) {
      modules.normalises = true;
    } else if (!type.ends_with(".Transformer")) {
      return fail(ErrorCode::model_refused,
                  fmt::format("the module '{:.64}' is not supported (Transformer, Pooling and Normalize are)", type),
                  std::string(kModulesFile));
    }
  }
  return modules;
}

Result<std::vector<std::int64_t>> read_matryoshka_dimensions(const Json& config) {
  std::vector<std::int64_t> dimensions;
  const auto found = config.find(kMatryoshkaDimensions);
  if (found == config.end() || found->is_null()) return dimensions;
  const bool is_list =
      found->is_array() && std::ranges::all_of(*found, [](const Json& n) {
        return n.is_number_unsigned() && n.get<std::uint64_t>() > 0 && n.get<std::uint64_t>() <= kMostDimensions;
      });
  if (!is_list) {
    return fail(ErrorCode::model_refused, fmt::format("must be a list of numbers from 1 to {}", kMostDimensions),
                fmt::format("{}: {}", kVectorConfigFile, kMatryoshkaDimensions));
  }
  return found->get<std::vector<std::int64_t>>();
}

}  // namespace

std::uint32_t gguf_pooling_number(Pooling pooling) {
  const auto* const found = std::find(kPoolingNumbers.begin(), kPoolingNumbers.end(), pooling);
  return static_cast<std::uint32_t>(found - kPoolingNumbers.begin() + 1);
}

Result<PoolingConfig> read_pooling_config(const ModelFolder& folder, Pooling usual) {
  if (!folder.gguf().empty()) return pooling_of_gguf(folder, usual);
  PoolingConfig config{.pooling = usual};
  std::string pooling_folder(kUsualPoolingFolder);
  if (folder.has(kModulesFile)) {
    LATHE_TRY(Modules modules, read_modules(folder));
    config.normalises = modules.normalises;
    pooling_folder = std::move(modules.pooling_folder);
  }
  const std::string file = pooling_folder + "/config.json";
  if (folder.has(file)) {
    LATHE_TRY(const Json json, folder.read_json(file));
    LATHE_TRY(config.pooling, read_pooling(json, file));
  }
  LATHE_TRY(const Json model, folder.read_json_if_present(kVectorConfigFile));
  config.is_matryoshka = is_true(model, "is_matryoshka") || model.contains(kMatryoshkaDimensions);
  LATHE_TRY(config.matryoshka_dimensions, read_matryoshka_dimensions(model));
  LATHE_TRY(const Json limits, folder.read_json_if_present(kLimitsFile));
  if (const auto found = limits.find("max_seq_length"); found != limits.end() && found->is_number_integer()) {
    config.max_tokens = std::max<std::int64_t>(found->get<std::int64_t>(), 0);
  }
  return config;
}

}  // namespace lathe::engine
