// SPDX-License-Identifier: Apache-2.0
#include "engine/model/name_prefix.h"

#include <string_view>

#include "engine/model/architecture.h"
#include "engine/model/weight_roles.h"

namespace lathe::engine {
namespace {

bool has(const Checkpoint& checkpoint, std::string_view prefix, std::string_view name) {
  return checkpoint.find(std::string(prefix) + std::string(name)) != nullptr;
}

/// The longest beginning of `body` under which the files have the head; empty if there is none.
std::string_view head_prefix_in(std::string_view body, const Checkpoint& checkpoint, const Architecture& architecture) {
  const std::string_view head = pattern_of(WeightRole::head, architecture);
  while (!body.empty() && !has(checkpoint, body, head)) {
    body.remove_suffix(1);
    body = body.substr(0, body.rfind('.') + 1);
  }
  return body;
}

}  // namespace

FoundPrefix find_prefix(const Checkpoint& checkpoint, const ModelConfig& config) {
  const Architecture& architecture = *config.architecture;
  const std::string_view embedding = pattern_of(WeightRole::embedding, architecture);
  for (const NamePrefix& prefix : architecture.prefixes) {
    if (has(checkpoint, prefix.body, embedding)) return {std::string(prefix.body), std::string(prefix.head)};
  }
  const std::string layer = tensor_name(pattern_of(WeightRole::attention_norm, architecture), 0, -1);
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    const std::string_view name = tensor.name;
    if (!name.ends_with(embedding) || tensor.shape != shape_of(WeightRole::embedding, config)) continue;
    const std::string_view body = name.substr(0, name.size() - embedding.size());
    if (!body.ends_with('.') || !has(checkpoint, body, layer)) continue;
    return {std::string(body), std::string(head_prefix_in(body, checkpoint, architecture))};
  }
  return {std::string(architecture.prefixes.front().body), std::string(architecture.prefixes.front().head)};
}

}  // namespace lathe::engine
