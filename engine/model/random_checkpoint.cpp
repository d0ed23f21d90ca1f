// SPDX-License-Identifier: Apache-2.0
#include "engine/model/random_checkpoint.h"

#include <algorithm>
#include <span>

#include "engine/load/random_weights.h"
#include "engine/model/architecture.h"
#include "engine/model/tensor_layout.h"
#include "engine/model/weight_roles.h"

namespace lathe::engine {
namespace {

constexpr double kDeviation = 0.02;  // initializer_range of Llama and Qwen
constexpr double kNormDeviation = 0.1;

/// Whether files of the family have the role under this name: its first name, and of two spellings the one that the family's
/// own files use.
bool is_usual(const TensorName& name, const Architecture& architecture) {
  const auto first = std::find_if(architecture.tensors.begin(), architecture.tensors.end(),
                                  [&](const TensorName& other) { return other.role == name.role; });
  if (&*first != &name) return false;
  return std::none_of(spellings().begin(), spellings().end(), [&](const Spellings& both) {
    return std::find(both.first.begin(), both.first.end(), name.role) != both.first.end() &&
           !pattern_of(both.second.front(), architecture).empty();
  });
}

bool is_norm(std::string_view tensor, std::span<const std::int64_t> shape) {
  return shape.size() == 1 && tensor.ends_with("norm.weight");
}

}  // namespace

Result<Checkpoint> random_checkpoint(const ModelConfig& config, const std::string& name, std::uint64_t seed) {
  const Architecture& architecture = *config.architecture;
  std::vector<RandomTensor> tensors;
  const auto add = [&](const TensorName& rule, std::int64_t layer, std::int64_t part) {
    RandomTensor& tensor = tensors.emplace_back();
    tensor.name = with_prefix(rule.role, tensor_name(rule.pattern, layer, part), architecture.prefixes.front());
    tensor.shape = stored_shape(rule.layout, shape_of(rule.role, config, layer));
    const bool of_norm = is_norm(tensor.name, tensor.shape);
    tensor.mean = of_norm && !config.norm.plus_one ? 1 : 0;
    tensor.deviation = of_norm ? kNormDeviation : kDeviation;
  };
  // Layer by layer, as in files.
  for (std::int64_t layer = -1; layer < config.n_layers; ++layer) {
    for (const TensorName& rule : architecture.tensors) {
      if (is_of_layer(rule.role) != (layer >= 0) || !is_usual(rule, architecture)) continue;
      if (!is_wanted(rule.role, config, layer, config.tied_embeddings)) continue;
      const std::int64_t n_parts = n_parts_of(rule.role, config);
      for (std::int64_t part = n_parts > 0 ? 0 : -1; part < n_parts; ++part) add(rule, layer, part);
    }
  }
  LATHE_TRY(const auto weights, RandomWeights::create(name, seed, std::move(tensors)));
  Checkpoint checkpoint("memory");
  LATHE_TRY_VOID(checkpoint.add(weights, weights->tensors()));
  return checkpoint;
}

}  // namespace lathe::engine
