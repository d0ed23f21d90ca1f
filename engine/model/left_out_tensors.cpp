// SPDX-License-Identifier: Apache-2.0
#include "engine/model/left_out_tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <map>
#include <vector>

namespace lathe::engine {
namespace {

constexpr std::size_t kMaxParts = 8;
constexpr double kMiB = 1024.0 * 1024.0;

struct LeftOutPart {
  std::string_view first;  ///< name of its first tensor
  std::int64_t n_tensors = 0, n_bytes = 0;
};

/// Beginnings of the names of the model's tensors, each up to a dot.
std::set<std::string_view> parts_of(const TensorNames& needed) {
  std::set<std::string_view> parts;
  for (const std::string_view name : needed) {
    for (std::size_t end = name.find('.'); end != name.npos; end = name.find('.', end + 1))
      parts.insert(name.substr(0, end));
  }
  return parts;
}

/// The shortest beginning of the name, up to a dot, that no tensor of the model has: a whole tower, or a layer.
std::string_view part_outside(std::string_view name, const std::set<std::string_view>& of_model) {
  std::size_t end = name.find('.');
  while (end != name.npos && of_model.contains(name.substr(0, end))) end = name.find('.', end + 1);
  return name.substr(0, end);
}

std::string describe(std::string_view name, const LeftOutPart& part) {
  if (part.n_tensors == 1) return fmt::format("{:.100}", part.first);
  return fmt::format("{:.100} ({} tensors, {:.1f} MiB)", name, part.n_tensors, static_cast<double>(part.n_bytes) / kMiB);
}

}  // namespace

std::string left_out_tensors(const Checkpoint& checkpoint, const TensorNames& needed, std::string_view family) {
  const std::set<std::string_view> of_model = parts_of(needed);
  std::map<std::string_view, LeftOutPart> parts;
  std::int64_t n = 0;
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    if (needed.contains(tensor.name)) continue;
    LeftOutPart& part = parts[part_outside(tensor.name, of_model)];
    if (part.n_tensors++ == 0) part.first = tensor.name;
    part.n_bytes += n_bytes_of(tensor);
    ++n;
  }
  if (n == 0) return {};
  std::vector<std::string> listed;
  for (const auto& [name, part] : parts) {
    if (listed.size() < kMaxParts) listed.push_back(describe(name, part));
  }
  return fmt::format("{} tensors are ignored because {} does not need them: {}{}", n, family, fmt::join(listed, ", "),
                     listed.size() < parts.size() ? ", ..." : "");
}

}  // namespace lathe::engine
