// SPDX-License-Identifier: Apache-2.0
#include "engine/packed/packed_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/api/packed_image.h"

namespace lathe::engine {
namespace {

// Options about a model's location, its name and the device: none of them changes the packed weights.
constexpr std::array<std::string_view, 9> kLeaveWeightsAlone = {
    "model", "tokenizer", "served_model_name", "embedding_model", "cache", "max_model_len", "device", "isa", "threads"};

bool matters(const OptionDescriptor& option, const EngineOptions& options) {
  const auto* const end = kLeaveWeightsAlone.end();
  const bool may_matter =
      option.group == OptionGroup::load && std::find(kLeaveWeightsAlone.begin(), end, option.name) == end;
  return may_matter && why_idle(options, option.name).empty();
}

ContentHash hash_of_tensor(std::span<const std::byte> bytes, kernels::Backend& backend) {
  PieceHashes hashes(bytes.size());
  backend.parallel_for(static_cast<std::int64_t>(hashes.n_pieces()), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      hashes.take(i, bytes.subspan(hashes.begin_of(i), hashes.size_of(i)));
    }
  });
  return hashes.all();
}

}  // namespace

Result<ContentHash> content_of(const Checkpoint& checkpoint, const WeightPlan& plan, kernels::Backend& backend,
                               const std::function<bool()>& go_on) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < plan.weights.size(); ++i) {
    const PlannedWeight& weight = plan.weights[i];
    LATHE_TRY_VOID(checkpoint.prepare(*weight.tensor));
    if (i + 1 < plan.weights.size()) checkpoint.will_need(*plan.weights[i + 1].tensor);
    const ContentHash hash = hash_of_tensor(weight.tensor->bytes, backend);
    std::vector<std::string> parts;
    for (const StoredTensor& part : weight.tensor->parts) parts.push_back(to_string(hash_of_tensor(part.bytes, backend)));
    checkpoint.drop(*weight.tensor);
    std::string line = fmt::format("{} {} {} {} {} {} {}", static_cast<int>(weight.role), weight.layer, weight.expert,
                                   static_cast<int>(weight.layout), weight.tensor->type->name,
                                   to_string(weight.tensor->shape), to_string(hash));
    if (weight.tensor->coded != nullptr) line += " " + weight.tensor->coded->form;
    for (const std::string& part : parts) line += " " + part;
    lines.push_back(line + "\n");
    if (!go_on()) return fail(ErrorCode::cancelled, "loading was cancelled");
  }
  std::sort(lines.begin(), lines.end());  // shards may list tensors in any order
  std::string all;
  for (const std::string& line : lines) all += line;
  return hash_of(all);
}

std::string recipe_of(const EngineOptions& options, const WeightStorage& storage, const ModelConfig& config) {
  std::string recipe = fmt::format(
      "layout {}\ndtype {}\nmatrices {}\nexperts {}\nhead {}\ntied {}\nfamily {}\nheads {} {} {}\nfirst position {}\n",
      kernels::image_layout(), name_of(storage.dtype), static_cast<int>(storage.matrices), static_cast<int>(storage.experts),
      static_cast<int>(storage.head), config.tied_embeddings, config.architecture->name, config.n_heads, config.n_kv_heads,
      config.head_dim, config.position_offset);
  for (const LayerFormats& layer : storage.layers) {
    recipe += "layer";
    for (const MatrixForm& form : layer.formats)
      recipe += fmt::format(" {}{}", static_cast<int>(form.format), form.is_ordered ? "o" : "");
    recipe += "\n";
  }
  if (storage.matrices_are_ordered || storage.experts_are_ordered) {  // written only if set, so that older keys stay valid
    recipe += fmt::format("orders {} {}\n", storage.matrices_are_ordered, storage.experts_are_ordered);
  }
  for (const OptionDescriptor& option : engine_option_table()) {
    if (matters(option, options)) recipe += fmt::format("{} {}\n", option.name, get_option(options, option.name));
  }
  return recipe;
}

ContentHash packed_key(const ContentHash& content, const std::string& recipe) {
  return hash_of(to_string(content) + "\n" + recipe);
}

}  // namespace lathe::engine
