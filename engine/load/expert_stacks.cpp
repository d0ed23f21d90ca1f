// SPDX-License-Identifier: Apache-2.0
#include "engine/load/expert_stacks.h"

#include <algorithm>

namespace lathe::engine {
namespace {

constexpr std::string_view kExperts = ".experts.";
// Far above the expert counts of released models: a shape in a faulty file must not become millions of tensors.
constexpr std::int64_t kMaxParts = 4096;

/// Where the expert index is inserted into the name; npos: the tensor holds no stack.
std::size_t place_of_number(const StoredTensor& tensor) {
  const std::size_t found = tensor.name.find(kExperts);
  if (found == std::string::npos || tensor.shape.size() < 2) return std::string::npos;
  if (tensor.shape[0] < 1 || tensor.shape[0] > kMaxParts) return std::string::npos;
  const std::size_t place = found + kExperts.size();
  const bool has_number = place < tensor.name.size() && tensor.name[place] >= '0' && tensor.name[place] <= '9';
  const bool is_cut_in_bytes = tensor.bytes.size() % static_cast<std::size_t>(tensor.shape[0]) == 0;
  return has_number || !is_cut_in_bytes ? std::string::npos : place;
}

}  // namespace

Result<void> cut_expert_stacks(Checkpoint& checkpoint) {
  const auto is_stack = [](const StoredTensor& tensor) { return place_of_number(tensor) != std::string::npos; };
  if (std::none_of(checkpoint.tensors().begin(), checkpoint.tensors().end(), is_stack)) return {};
  std::vector<StoredTensor> tensors;
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    const std::size_t place = place_of_number(tensor);
    if (place == std::string::npos) {
      tensors.push_back(tensor);
      continue;
    }
    const std::size_t n_bytes = tensor.bytes.size() / static_cast<std::size_t>(tensor.shape[0]);
    for (std::int64_t expert = 0; expert < tensor.shape[0]; ++expert) {
      StoredTensor one = tensor;
      one.name.insert(place, std::to_string(expert) + ".");
      one.shape.erase(one.shape.begin());
      one.bytes = tensor.bytes.subspan(static_cast<std::size_t>(expert) * n_bytes, n_bytes);
      one.is_of_stack = true;
      tensors.push_back(std::move(one));
    }
  }
  return checkpoint.replace(std::move(tensors));
}

}  // namespace lathe::engine
