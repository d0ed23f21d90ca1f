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

#include "engine/base/checked_math.h"
#include "engine/load/expert_stacks.h"
#include "engine/load/files/safetensors_header.h"
#include "engine/load/files/stand_in.h"
#include "engine/load/files/weight_files.h"
#include "engine/load/quantization_scheme.h"

namespace lathe::engine {

static_assert(std::endian::native == std::endian::little, "safetensors holds little-endian numbers, read here as they lie");

extern const Loader kSafetensorsLoader;

namespace {

using kernels::Dtype;

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit

constexpr std::array kSafetensorsTypes = {
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

/// The header's text; its length is checked before it is read.
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

/// Bytes that shape and type need. Errors: size overflow, also of a dimension next to a dimension of 0: it would become
/// negative.
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
  if (bits % 8 != 0) return refuse(fmt::format("{} bits are not a whole number of bytes", bits), file, entry.name);
  return static_cast<std::uint64_t>(bits) / 8;
}

/// Checks one entry without the others. Moves the name out of the entry.
Result<StoredTensor> check_entry(SafetensorsEntry& entry, std::span<const std::byte> data, const std::string& file) {
  const auto [begin, end] = entry.data_offsets;
  const StoredType* type = find_safetensors_type(entry.dtype);
  if (type == nullptr) return refuse(fmt::format("unknown dtype '{:.32}'", entry.dtype), file, entry.name);
  if (begin > end)
    return refuse(fmt::format("data_offsets: the begin {} is after the end {}", begin, end), file, entry.name);
  if (end > data.size()) {
    return refuse(
        fmt::format("truncated at the tensor data: it should end at byte {}, but the file has {} bytes", end, data.size()),
        file, entry.name);
  }
  LATHE_TRY(const std::uint64_t n_bytes, bytes_needed(entry, *type, file));
  if (end - begin != n_bytes) {
    return refuse(fmt::format("data_offsets span {} bytes, but {} of that shape needs {}", end - begin, type->name, n_bytes),
                  file, entry.name);
  }
  StoredTensor tensor;
  tensor.name = std::move(entry.name);
  tensor.type = type;
  tensor.shape.assign(entry.shape.begin(), entry.shape.end());
  tensor.bytes = data.subspan(begin, n_bytes);
  return tensor;
}

/// The tensors must tile the data from its first byte to its last: then no byte has two meanings and none is hidden.
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
    return refuse(fmt::format("{} trailing bytes after the last tensor", n_behind), file, "tensor data");
  }
  return {};
}

/// A file and its tensors, sorted by name.
struct ReadFile {
  std::shared_ptr<const MappedFile> mapped;
  std::vector<StoredTensor> tensors;

  bool has(std::string_view name) const {
    const auto found = std::lower_bound(tensors.begin(), tensors.end(), name,
                                        [](const StoredTensor& tensor, std::string_view key) { return tensor.name < key; });
    return found != tensors.end() && found->name == name;
  }
};
using ReadFiles = std::map<std::string, ReadFile, std::less<>>;

Result<ReadFile> read_file(const ModelFolder& folder, const std::string& name) {
  LATHE_TRY(auto mapped, folder.map(name));
  auto tensors = parse_safetensors(mapped->bytes(), name);
  if (!tensors) return tl::unexpected(explained_safetensors(std::move(tensors.error()), mapped->bytes(), name));
  return ReadFile{std::move(mapped), std::move(*tensors)};
}

/// Reads the chosen files. If an index names a file that cannot be read, the file counts as missing: the model may not need
/// its tensors.
Result<ReadFiles> read_files(const ModelFolder& folder, WeightFiles& chosen) {
  ReadFiles files;
  for (const std::string& name : chosen.names) {
    auto file = read_file(folder, name);
    if (file) files.emplace(name, std::move(*file));
    else if (chosen.weight_map.empty()) return tl::unexpected(std::move(file.error()));
    else chosen.missing.emplace(name, std::move(file.error()));
  }
  if (files.empty()) return tl::unexpected(chosen.missing.begin()->second);
  return files;
}

/// Compares an index with the files. The index decides wherever the files agree with it.
class IndexCheck {
 public:
  IndexCheck(const WeightFiles& index, ReadFiles& files, Checkpoint& checkpoint)
      : index_(index), files_(files), checkpoint_(checkpoint) {}

  void run() {
    settle_other_files();
    for (auto& [name, file] : files_) drop_doubled(name, file);
    warn_of_unlisted();
    check_total_size();
  }

 private:
  static std::string tensors_and_more(std::string_view first, std::size_t n) {
    return n > 1 ? fmt::format("{:.200} and {} more", first, n - 1) : fmt::format("{:.200}", first);
  }

  /// The file that the index names for a tensor; null: it names none, or the file lacks the tensor.
  const std::string* file_in_index(const std::string& tensor) const {
    const auto listed = index_.weight_map.find(tensor);
    if (listed == index_.weight_map.end()) return nullptr;
    const auto file = files_.find(listed->second);
    return file != files_.end() && file->second.has(tensor) ? &listed->second : nullptr;
  }

  bool is_anywhere(const std::string& tensor) const {
    return std::any_of(files_.begin(), files_.end(), [&](const auto& file) { return file.second.has(tensor); });
  }

  void settle_other_files() {
    std::string first;
    std::size_t n_moved = 0;
    for (const auto& [tensor, file] : index_.weight_map) {
      if (file_in_index(tensor) != nullptr) continue;
      if (!is_anywhere(tensor)) checkpoint_.note_absent(tensor, why_absent(file));
      else if (++n_moved == 1) first = tensor;
    }
    if (n_moved == 0) return;
    checkpoint_.warn(fmt::format("{} is wrong about {}: it is read from another file, which has it", kIndexFile,
                                 tensors_and_more(first, n_moved)));
  }

  /// One error per file, shared by all tensors that it lacks.
  std::shared_ptr<const Error> why_absent(const std::string& file) {
    auto& why = absences_[file];
    if (why != nullptr) return why;
    const auto missing = index_.missing.find(file);
    Error error{ErrorCode::model_refused,
                fmt::format("missing tensor: {} says that this file has it; download the model again", kIndexFile), file};
    why = std::make_shared<const Error>(missing != index_.missing.end() ? missing->second : std::move(error));
    return why;
  }

  /// Drops tensors that the index names another file for.
  void drop_doubled(const std::string& name, ReadFile& file) {
    std::string first, other;
    std::size_t n = 0;
    std::erase_if(file.tensors, [&](const StoredTensor& tensor) {
      const std::string* const listed = file_in_index(tensor.name);
      if (listed == nullptr || *listed == name) return false;
      if (++n == 1) first = tensor.name, other = *listed;
      return true;
    });
    if (n == 0) return;
    checkpoint_.warn(
        fmt::format("{}: {} is not read, because {} names {} for it", name, tensors_and_more(first, n), kIndexFile, other));
  }

  /// A tensor that the index does not list may be a leftover of another model, and is used all the same.
  void warn_of_unlisted() {
    for (const auto& [name, file] : files_) {
      for (const StoredTensor& tensor : file.tensors) {
        if (index_.weight_map.contains(tensor.name)) continue;
        checkpoint_.warn(fmt::format("{}: {:.200} is not listed in {}", name, tensor.name, kIndexFile));
        return;  // one warning shows that the files do not belong together
      }
    }
  }

  /// A wrong total does no harm, but shows that files were mixed up.
  void check_total_size() {
    const Json& total = index_.total_size;
    if (total.is_null() || !index_.missing.empty()) return;
    // Some tools write 1.0e9; a text or a fraction is no size.
    if (!total.is_number() || total.get<double>() != std::floor(total.get<double>())) {
      return checkpoint_.warn(
          fmt::format("{}: metadata.total_size is {:.64}, not a whole number of bytes", kIndexFile, dump_json(total)));
    }
    std::int64_t n_bytes = 0;
    for (const auto& [name, file] : files_) {
      for (const StoredTensor& tensor : file.tensors) n_bytes += static_cast<std::int64_t>(tensor.bytes.size());
    }
    if (total == n_bytes) return;
    checkpoint_.warn(fmt::format("{}: metadata.total_size is {:.64}, but the shards have {} bytes", kIndexFile,
                                 dump_json(total), n_bytes));
  }

  const WeightFiles& index_;
  ReadFiles& files_;
  Checkpoint& checkpoint_;
  std::map<std::string, std::shared_ptr<const Error>> absences_;
};

/// Splits expert stacks and joins quantized matrices, as the families expect.
Result<void> settle_tensors(const ModelFolder& folder, Checkpoint& checkpoint) {
  LATHE_TRY_VOID(cut_expert_stacks(checkpoint));
  return join_quantized(folder, checkpoint);
}

Result<Checkpoint> open_safetensors(const ModelFolder& folder) {
  LATHE_TRY(WeightFiles chosen, find_weight_files(folder));
  Checkpoint checkpoint(kSafetensorsLoader.name);
  for (const std::string& warning : chosen.warnings) checkpoint.warn(warning);
  LATHE_TRY(ReadFiles files, read_files(folder, chosen));
  if (!chosen.weight_map.empty()) IndexCheck(chosen, files, checkpoint).run();
  for (auto& [name, file] : files) {
    LATHE_TRY_VOID(checkpoint.add(std::move(file.mapped), std::move(file.tensors)));
  }
  const auto settled = settle_tensors(folder, checkpoint);
  if (!settled && !checkpoint.absent().empty()) {
    Error error = checkpoint.absence();  // a missing file may be the cause
    error.message += fmt::format("; and {}: {:.300}", settled.error().where, settled.error().message);
    return tl::unexpected(std::move(error));
  }
  if (!settled) return tl::unexpected(settled.error());
  return checkpoint;
}

}  // namespace

extern constexpr Loader kSafetensorsLoader{.name = "safetensors", .recognises = has_weight_files, .open = open_safetensors};

const StoredType* find_safetensors_type(std::string_view name) {
  const auto found = std::find_if(kSafetensorsTypes.begin(), kSafetensorsTypes.end(),
                                  [&](const StoredType& type) { return type.name == name; });
  return found != kSafetensorsTypes.end() ? &*found : nullptr;
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
