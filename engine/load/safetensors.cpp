// SPDX-License-Identifier: Apache-2.0
#include "engine/load/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "engine/base/checked_math.h"
#include "engine/load/expert_stacks.h"
#include "engine/load/quantization_scheme.h"
#include "engine/load/safetensors_header.h"

namespace lathe::engine {

static_assert(std::endian::native == std::endian::little, "safetensors holds little-endian numbers, read here as they lie");

namespace {

using kernels::Dtype;

constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::string_view kIndexFile = "model.safetensors.index.json";
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit

constexpr std::array kTypes = {
    StoredType{"F32", 32, Dtype::f32},
    StoredType{"F16", 16, Dtype::f16},
    StoredType{"BF16", 16, Dtype::bf16},
    StoredType{"I8", 8, Dtype::i8},
    StoredType{"U8", 8, Dtype::u8},
    StoredType{"I32", 32, Dtype::i32},
    StoredType{"I64", 64, Dtype::i64},
    StoredType{"F64", 64},
    StoredType{"BOOL", 8},
    StoredType{"I16", 16},
    StoredType{"U16", 16},
    StoredType{"U32", 32},
    StoredType{"U64", 64},
    StoredType{"C64", 64},
    StoredType{"F8_E5M2", 8},
    StoredType{"F8_E4M3", 8},
    StoredType{"F8_E8M0", 8},
    StoredType{"F8_E4M3FNUZ", 8},
    StoredType{"F8_E5M2FNUZ", 8},
    StoredType{"F6_E2M3", 6},
    StoredType{"F6_E3M2", 6},
    StoredType{"F4", 4},
};

tl::unexpected<Error> refuse(std::string message, const std::string& file, std::string_view field) {
  return fail(ErrorCode::model_refused, std::move(message), fmt::format("{}: {:.200}", file, field));
}

/// The header's text, its length checked before anything is made of it.
Result<std::string_view> header_of(std::span<const std::byte> file, const std::string& name) {
  std::uint64_t n_header = 0;
  if (file.size() < sizeof n_header) {
    return refuse(fmt::format("truncated at the header length: {} bytes, needs {}", file.size(), sizeof n_header), name,
                  "header length");
  }
  std::memcpy(&n_header, file.data(), sizeof n_header);
  if (n_header > kMaxHeaderBytes) {
    return refuse(fmt::format("header of {} bytes, at most {}", n_header, kMaxHeaderBytes), name, "header length");
  }
  const std::size_t n_there = file.size() - sizeof n_header;
  if (n_header > n_there) {
    return refuse(fmt::format("truncated at the header: {} bytes, needs {}", n_there, n_header), name, "header");
  }
  return std::string_view(reinterpret_cast<const char*>(file.data()) + sizeof n_header, n_header);
}

/// Bytes that shape and type need. Errors: size overflow, also of a dimension beside one of zero: it would turn negative.
Result<std::uint64_t> bytes_needed(const SafetensorsEntry& entry, const StoredType& type, const std::string& file) {
  std::int64_t bits = type.bits;
  bool overflow = false, empty = false;
  for (const std::uint64_t dim : entry.shape) {
    if (dim > std::numeric_limits<std::int64_t>::max()) {
      return refuse(fmt::format("size overflow: a dimension of {}", dim), file, entry.name);
    }
    empty = empty || dim == 0;
    overflow = overflow || __builtin_mul_overflow(bits, static_cast<std::int64_t>(dim), &bits);
  }
  if (empty) return std::uint64_t{0};
  if (overflow) return refuse("size overflow: the product of the shape does not fit 63 bits", file, entry.name);
  if (bits % 8 != 0) return refuse(fmt::format("{} bits are no whole number of bytes", bits), file, entry.name);
  return static_cast<std::uint64_t>(bits) / 8;
}

/// Checks one entry alone. Requires: its name is not looked at again.
Result<StoredTensor> check_entry(SafetensorsEntry& entry, std::span<const std::byte> data, const std::string& file) {
  const auto [begin, end] = entry.data_offsets;
  const StoredType* type = find_safetensors_type(entry.dtype);
  if (type == nullptr) return refuse(fmt::format("unknown dtype '{:.32}'", entry.dtype), file, entry.name);
  if (begin > end) return refuse(fmt::format("data_offsets begin {} > end {}", begin, end), file, entry.name);
  if (end > data.size()) {
    return refuse(fmt::format("truncated at the tensor data: it ends at {}, the file holds {} bytes", end, data.size()),
                  file, entry.name);
  }
  LATHE_TRY(const std::uint64_t n_bytes, bytes_needed(entry, *type, file));
  if (end - begin != n_bytes) {
    return refuse(fmt::format("data_offsets span {} bytes, {} of that shape needs {}", end - begin, type->name, n_bytes),
                  file, entry.name);
  }
  StoredTensor tensor;
  tensor.name = std::move(entry.name);
  tensor.type = type;
  tensor.shape.assign(entry.shape.begin(), entry.shape.end());
  tensor.bytes = data.subspan(begin, n_bytes);
  return tensor;
}

/// The tensors must tile the data from its first byte to its last: so no byte can mean two things, or hide.
Result<void> check_tiling(const std::vector<StoredTensor>& tensors, std::span<const std::byte> data,
                          const std::string& file) {
  std::vector<const StoredTensor*> by_offset;
  by_offset.reserve(tensors.size());
  for (const StoredTensor& tensor : tensors) by_offset.push_back(&tensor);
  std::sort(by_offset.begin(), by_offset.end(), [](const StoredTensor* a, const StoredTensor* b) {
    return std::pair(a->bytes.data(), a->bytes.size()) < std::pair(b->bytes.data(), b->bytes.size());
  });
  const std::byte* expected = data.data();
  for (const StoredTensor* tensor : by_offset) {
    if (tensor->bytes.data() != expected) {
      const bool hole = tensor->bytes.data() > expected;
      return refuse(fmt::format("{}: it begins at {}, expected {}", hole ? "hole before the tensor" : "overlap",
                                tensor->bytes.data() - data.data(), expected - data.data()),
                    file, tensor->name);
    }
    expected += tensor->bytes.size();
  }
  if (const auto n_behind = data.data() + data.size() - expected; n_behind != 0) {
    return refuse(fmt::format("{} trailing bytes behind the last tensor", n_behind), file, "tensor data");
  }
  return {};
}

Result<void> add_file(Checkpoint& checkpoint, const ModelFolder& folder, const std::string& name) {
  LATHE_TRY(auto file, folder.map(name));
  LATHE_TRY(auto tensors, parse_safetensors(file->bytes(), name));
  return checkpoint.add(std::move(file), std::move(tensors));
}

/// Tensor -> shard, every name checked. Errors: model_refused.
Result<std::map<std::string, std::string>> read_weight_map(const Json& index) {
  const std::string file(kIndexFile);
  const auto found = index.find("weight_map");
  if (found == index.end() || !found->is_object()) return refuse("must be an object", file, "weight_map");
  std::map<std::string, std::string> weight_map;
  for (const auto& [tensor, shard] : found->items()) {
    const std::string field = "weight_map." + tensor;
    if (!shard.is_string()) return refuse("must be a file name", file, field);
    const auto& name = shard.get_ref<const std::string&>();
    if (const auto unsafe = unsafe_file_name(name)) return refuse(*unsafe, file, field);
    weight_map.emplace(tensor, name);
  }
  if (weight_map.empty()) return refuse("names no tensor", file, "weight_map");
  return weight_map;
}

/// Every tensor of the index must lie where the index says.
Result<void> check_weight_map(const Checkpoint& checkpoint, const std::map<std::string, std::string>& weight_map) {
  for (const auto& [name, shard] : weight_map) {
    const StoredTensor* tensor = checkpoint.find(name);
    if (tensor == nullptr) return refuse("missing tensor: the index promises it", shard, name);
    if (checkpoint.file_of(*tensor) != shard) {
      return refuse(fmt::format("tensor lies in {}, the index says {}", checkpoint.file_of(*tensor), shard),
                    std::string(kIndexFile), "weight_map." + name);
    }
  }
  return {};
}

/// A wrong total harms nobody, but tells that files were mixed up.
void check_total_size(Checkpoint& checkpoint, const Json& index) {
  const auto metadata = index.find("metadata");
  if (metadata == index.end() || !metadata->is_object()) return;
  const auto total = metadata->find("total_size");
  if (total == metadata->end()) return;
  // Some tools write 1.0e9; a text or a fraction is no size.
  if (!total->is_number() || total->get<double>() != std::floor(total->get<double>())) {
    checkpoint.warn(
        fmt::format("{}: metadata.total_size is {:.64}, not a whole number of bytes", kIndexFile, dump_json(*total)));
    return;
  }
  std::int64_t n_bytes = 0;
  for (const StoredTensor& tensor : checkpoint.tensors()) n_bytes += static_cast<std::int64_t>(tensor.bytes.size());
  if (*total != n_bytes) {
    checkpoint.warn(
        fmt::format("{}: metadata.total_size is {:.64}, the shards hold {} bytes", kIndexFile, dump_json(*total), n_bytes));
  }
}

/// What no index lists may be a leftover of another model, and is used all the same.
void warn_of_unlisted(Checkpoint& checkpoint, const std::map<std::string, std::string>& weight_map) {
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    if (weight_map.contains(tensor.name)) continue;
    checkpoint.warn(fmt::format("{}: {:.200} is not listed in {}", checkpoint.file_of(tensor), tensor.name, kIndexFile));
    return;  // one tells that the files do not belong together
  }
}

Result<Checkpoint> open_sharded(const ModelFolder& folder) {
  LATHE_TRY(const Json index, folder.read_json(kIndexFile));
  LATHE_TRY(const auto weight_map, read_weight_map(index));
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : weight_map) shards.insert(shard);
  Checkpoint checkpoint(kSafetensorsLoader.name);
  for (const std::string& shard : shards) LATHE_TRY_VOID(add_file(checkpoint, folder, shard));
  LATHE_TRY_VOID(check_weight_map(checkpoint, weight_map));
  check_total_size(checkpoint, index);
  warn_of_unlisted(checkpoint, weight_map);
  return checkpoint;
}

bool recognises(const ModelFolder& folder) { return folder.has(kSingleFile) || folder.has(kIndexFile); }

Result<Checkpoint> open_single(const ModelFolder& folder) {
  Checkpoint checkpoint(kSafetensorsLoader.name);
  LATHE_TRY_VOID(add_file(checkpoint, folder, std::string(kSingleFile)));
  return checkpoint;
}

Result<Checkpoint> open_safetensors(const ModelFolder& folder) {
  LATHE_TRY(Checkpoint checkpoint, folder.has(kSingleFile) ? open_single(folder) : open_sharded(folder));
  LATHE_TRY_VOID(cut_expert_stacks(checkpoint));
  LATHE_TRY_VOID(join_quantized(folder, checkpoint));
  return checkpoint;
}

}  // namespace

constexpr Loader kSafetensorsLoader{.name = "safetensors", .recognises = recognises, .open = open_safetensors};

const StoredType* find_safetensors_type(std::string_view name) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const StoredType& type) { return type.name == name; });
  return found != kTypes.end() ? &*found : nullptr;
}

Result<std::vector<StoredTensor>> parse_safetensors(std::span<const std::byte> file, const std::string& name) {
  LATHE_TRY(const std::string_view header, header_of(file, name));
  LATHE_TRY(auto entries, parse_safetensors_header(header, name));
  const auto data = file.subspan(sizeof(std::uint64_t) + header.size());
  std::vector<StoredTensor> tensors;
  tensors.reserve(entries.size());
  for (SafetensorsEntry& entry : entries) {
    LATHE_TRY(StoredTensor tensor, check_entry(entry, data, name));
    tensors.push_back(std::move(tensor));
  }
  LATHE_TRY_VOID(check_tiling(tensors, data, name));
  return tensors;
}

}  // namespace lathe::engine
