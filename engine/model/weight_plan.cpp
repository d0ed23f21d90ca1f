// SPDX-License-Identifier: Apache-2.0
#include "engine/model/weight_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace lathe::engine {

namespace {

constexpr std::string_view kConfigFile = "config.json";
constexpr std::size_t kMaxNamesInWarning = 8;

bool is_of_layer(WeightRole role) {
  return role != WeightRole::embedding && role != WeightRole::head && role != WeightRole::final_norm;
}

bool is_wanted(WeightRole role, const ModelConfig& config, bool tied) {
  switch (role) {
    case WeightRole::head: return !tied;
    case WeightRole::q_bias:
    case WeightRole::k_bias:
    case WeightRole::v_bias:
    case WeightRole::o_bias: return config.attention_bias;
    case WeightRole::gate_bias:
    case WeightRole::up_bias:
    case WeightRole::down_bias: return config.mlp_bias;
    default: return true;
  }
}

std::string name_in_layer(std::string_view pattern, std::int64_t layer) {
  std::string name(pattern);
  if (const auto hole = name.find("{}"); hole != std::string::npos) name.replace(hole, 2, std::to_string(layer));
  return name;
}

tl::unexpected<Error> refuse(std::string message, const std::string& file, std::string_view tensor) {
  return fail(ErrorCode::model_refused, std::move(message), fmt::format("{}: {}", file, tensor));
}

/// Collects the plan of one checkpoint.
class WeightPlanner {
 public:
  WeightPlanner(const Checkpoint& checkpoint, const ModelConfig& config)
      : checkpoint_(checkpoint), config_(config), architecture_(*config.architecture) {}

  Result<WeightPlan> plan() {
    settle_tie();
    for (const TensorName& name : architecture_.tensors) {
      if (!is_wanted(name.role, config_, plan_.tied_embeddings)) continue;
      const std::int64_t n = is_of_layer(name.role) ? config_.n_layers : 1;
      for (std::int64_t layer = 0; layer < n; ++layer) LATHE_TRY_VOID(take(name, is_of_layer(name.role) ? layer : -1));
    }
    note_dtypes();
    warn_of_extra_tensors();
    std::sort(plan_.weights.begin(), plan_.weights.end(), [](const PlannedWeight& a, const PlannedWeight& b) {
      return std::pair(a.tensor->file, a.tensor->bytes.data()) < std::pair(b.tensor->file, b.tensor->bytes.data());
    });
    return std::move(plan_);
  }

 private:
  bool has(WeightRole role) const { return checkpoint_.find(pattern_of(role, architecture_)) != nullptr; }

  /// Files and config may disagree about a tied head: the config's word holds unless there is nothing to hold it with.
  void settle_tie() {
    plan_.tied_embeddings = config_.tied_embeddings;
    const bool has_head = has(WeightRole::head), has_embedding = has(WeightRole::embedding);
    const std::string_view head = pattern_of(WeightRole::head, architecture_);
    if (config_.tied_embeddings && has_head && has_embedding) {
      plan_.warnings.push_back(fmt::format("{}: left out, because {} says tie_word_embeddings", head, kConfigFile));
      seen_.insert(std::string(head));
    }
    if (!config_.tied_embeddings && !has_head && has_embedding) {
      plan_.tied_embeddings = true;
      plan_.warnings.push_back(
          fmt::format("{} is missing although {} does not say tie_word_embeddings: the embeddings are used in its place",
                      head, kConfigFile));
    }
  }

  /// A tied matrix may lie under the head's name.
  const StoredTensor* find(WeightRole role, const std::string& name) const {
    const StoredTensor* tensor = checkpoint_.find(name);
    if (tensor == nullptr && role == WeightRole::embedding && plan_.tied_embeddings) {
      tensor = checkpoint_.find(pattern_of(WeightRole::head, architecture_));
    }
    return tensor;
  }

  Result<void> take(const TensorName& rule, std::int64_t layer) {
    const std::string name = name_in_layer(rule.pattern, layer);
    const std::vector<std::int64_t> expected = shape_of(rule.role, config_);
    const StoredTensor* tensor = find(rule.role, name);
    if (tensor == nullptr) {
      return refuse(fmt::format("missing tensor, expected {} by {}", to_string(expected), kConfigFile),
                    std::string(checkpoint_.file_format()), name);
    }
    const std::string& file = checkpoint_.file_of(*tensor);
    if (tensor->shape != expected) {
      return refuse(
          fmt::format("shape: got {}, expected {} by {}", to_string(tensor->shape), to_string(expected), kConfigFile), file,
          tensor->name);
    }
    const auto& allowed = architecture_.weight_dtypes;
    if (!tensor->type->dtype || std::find(allowed.begin(), allowed.end(), *tensor->type->dtype) == allowed.end()) {
      return refuse(fmt::format("dtype: got {}, expected one of {}", tensor->type->name, allowed_names()), file,
                    tensor->name);
    }
    seen_.insert(tensor->name);
    plan_.weights.push_back({tensor, rule.role, layer});
    plan_.n_bytes += static_cast<std::int64_t>(tensor->bytes.size());
    return {};
  }

  std::string allowed_names() const {
    std::vector<std::string_view> names;
    for (const kernels::Dtype dtype : architecture_.weight_dtypes) names.push_back(name_of(dtype));
    return fmt::format("{}", fmt::join(names, ", "));
  }

  void note_dtypes() {
    std::map<kernels::Dtype, std::int64_t> parameters;
    for (const PlannedWeight& weight : plan_.weights) {
      const kernels::Dtype dtype = *weight.tensor->type->dtype;
      const auto n = static_cast<std::int64_t>(weight.tensor->bytes.size() / size_of(dtype));
      parameters[dtype] += n;
      plan_.n_parameters += n;
    }
    const auto most = std::max_element(parameters.begin(), parameters.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != parameters.end()) plan_.stored_dtype = most->first;
    for (const StoredTensor& tensor : checkpoint_.tensors()) {
      const StoredType& type = *tensor.type;
      ++plan_.tensors_by_dtype[std::string(type.dtype ? name_of(*type.dtype) : type.name)];
    }
  }

  bool is_ignored(const std::string& name) const {
    return std::any_of(architecture_.ignored_suffixes.begin(), architecture_.ignored_suffixes.end(),
                       [&](std::string_view suffix) { return name.ends_with(suffix); });
  }

  void warn_of_extra_tensors() {
    std::vector<std::string_view> extra;
    for (const StoredTensor& tensor : checkpoint_.tensors()) {
      if (!seen_.contains(tensor.name) && !is_ignored(tensor.name)) extra.push_back(tensor.name);
    }
    if (extra.empty()) return;
    const std::size_t n_shown = std::min(extra.size(), kMaxNamesInWarning);
    std::string names;
    for (std::size_t i = 0; i < n_shown; ++i) names += fmt::format("{}{:.100}", i == 0 ? "" : ", ", extra[i]);
    plan_.warnings.push_back(fmt::format("{} tensors that {} does not need: {}{}", extra.size(), architecture_.name, names,
                                         n_shown < extra.size() ? ", ..." : ""));
  }

  const Checkpoint& checkpoint_;
  const ModelConfig& config_;
  const Architecture& architecture_;
  WeightPlan plan_;
  std::set<std::string, std::less<>> seen_;
};

}  // namespace

std::vector<std::int64_t> shape_of(WeightRole role, const ModelConfig& config) {
  switch (role) {
    case WeightRole::embedding:
    case WeightRole::head: return {config.vocab_size, config.hidden_size};
    case WeightRole::final_norm:
    case WeightRole::attention_norm:
    case WeightRole::mlp_norm:
    case WeightRole::o_bias:
    case WeightRole::down_bias: return {config.hidden_size};
    case WeightRole::q: return {config.q_size(), config.hidden_size};
    case WeightRole::k:
    case WeightRole::v: return {config.kv_size(), config.hidden_size};
    case WeightRole::o: return {config.hidden_size, config.q_size()};
    case WeightRole::q_bias: return {config.q_size()};
    case WeightRole::k_bias:
    case WeightRole::v_bias: return {config.kv_size()};
    case WeightRole::gate:
    case WeightRole::up: return {config.intermediate_size, config.hidden_size};
    case WeightRole::down: return {config.hidden_size, config.intermediate_size};
    case WeightRole::gate_bias:
    case WeightRole::up_bias: return {config.intermediate_size};
  }
  return {};
}

std::string_view pattern_of(WeightRole role, const Architecture& architecture) {
  const auto found = std::find_if(architecture.tensors.begin(), architecture.tensors.end(),
                                  [&](const TensorName& name) { return name.role == role; });
  return found != architecture.tensors.end() ? found->pattern : std::string_view();
}

bool is_layer_matrix(WeightRole role) {
  switch (role) {
    case WeightRole::q:
    case WeightRole::k:
    case WeightRole::v:
    case WeightRole::o:
    case WeightRole::gate:
    case WeightRole::up:
    case WeightRole::down: return true;
    default: return false;
  }
}

std::int64_t row_begin_of(WeightRole role, const ModelConfig& config) {
  switch (role) {
    case WeightRole::k:
    case WeightRole::k_bias: return config.q_size();
    case WeightRole::v:
    case WeightRole::v_bias: return config.q_size() + config.kv_size();
    default: return 0;
  }
}

Result<WeightPlan> plan_weights(const Checkpoint& checkpoint, const ModelConfig& config) {
  return WeightPlanner(checkpoint, config).plan();
}

}  // namespace lathe::engine
