// SPDX-License-Identifier: Apache-2.0
#include "engine/load/gguf/gguf_files.h"

#include <fmt/format.h>

#include "engine/base/checked_math.h"
#include "engine/load/files/stand_in.h"
#include "engine/load/gguf/block_codes.h"
#include "engine/load/gguf/gguf_families.h"
#include "engine/load/gguf/gguf_types.h"
#include "engine/load/gguf/legacy_blocks.h"
#include "engine/load/loaders.h"
#include "engine/load/matrices/mx_matrix.h"

namespace lathe::engine {
namespace {

constexpr std::int64_t kMaxFiles = 99'999;  // per set: names have five digits

tl::unexpected<Error> refuse(std::string message, const std::string& file, std::string_view field) {
  return fail(ErrorCode::model_refused, std::move(message), fmt::format("{}: {:.200}", file, field));
}

/// The tensor's bytes, after checks of shape, type and offset.
Result<std::span<const std::byte>> bytes_of(const GgufHeader& header, const GgufTensor& tensor, const StoredType& type) {
  std::int64_t n = 1;
  for (const std::int64_t size : tensor.shape) {
    const auto product = checked_product({n, size});
    if (!product) return refuse("size overflow", header.file(), tensor.name);
    n = *product;
  }
  const std::int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  if (row % type.block != 0) {
    return refuse(fmt::format("rows of {} numbers, but {} has blocks of {}", row, type.name, type.block), header.file(),
                  tensor.name);
  }
  const auto n_bytes = checked_product({n / type.block, type.bits / 8});
  if (!n_bytes) return refuse("size overflow", header.file(), tensor.name);
  if (tensor.offset % header.alignment() != 0) {
    return refuse(fmt::format("offset {} is not a multiple of {}", tensor.offset, header.alignment()), header.file(),
                  tensor.name);
  }
  const std::uint64_t there = header.data().size(), needed = static_cast<std::uint64_t>(*n_bytes);
  if (tensor.offset > there || needed > there - tensor.offset) {
    return refuse(
        fmt::format("truncated: needs {} bytes at byte {}, but the file has {} bytes for all tensors; download it again",
                    needed, tensor.offset, there),
        header.file(), tensor.name);
  }
  return header.data().subspan(tensor.offset, needed);
}

/// Sets `coded` for a matrix in blocks whose codes a weight format has.
void add_codes(StoredTensor& tensor) {
  constexpr std::int64_t kBytes = 1 + kMxBlockBytes;  // bytes of a block, the scale first
  if (tensor.shape.size() != 2 || tensor.bytes.empty()) return;
  if (tensor.type->codes != nullptr) {
    tensor.coded =
        std::make_shared<const CodedTensor>(coded_of_blocks(*tensor.type, tensor.bytes, tensor.shape[0], tensor.shape[1]));
  }
  if (tensor.type->decode != decode_mxfp4) return;
  tensor.coded = std::make_shared<const CodedTensor>(coded_of({.n = tensor.shape[0],
                                                               .k = tensor.shape[1],
                                                               .codes = tensor.bytes.subspan(1),
                                                               .scales = tensor.bytes,
                                                               .code_stride = kBytes,
                                                               .scale_stride = kBytes,
                                                               .halves_apart = true}));
}

/// Adds one tensor per expert (or head) of a tensor that stacks all of them in its first dimension.
Result<void> add_experts(std::vector<StoredTensor>& tensors, const StoredTensor& all, const GgufHeader& header) {
  constexpr std::string_view kHole = "{}";
  const std::size_t rank = all.name.ends_with(".bias") ? 2 : 3;
  if (all.shape.size() != rank || all.shape[0] < 1) {
    return refuse(
        fmt::format("shape: got {}, expected experts or heads, rows{}", to_string(all.shape), rank == 3 ? ", columns" : ""),
        header.file(), all.name);
  }
  const std::size_t n_bytes = all.bytes.size() / static_cast<std::size_t>(all.shape[0]), hole = all.name.find(kHole);
  for (std::int64_t expert = 0; expert < all.shape[0]; ++expert) {
    StoredTensor one = all;
    one.name.replace(hole, kHole.size(), std::to_string(expert));
    one.shape.erase(one.shape.begin());
    one.bytes = all.bytes.subspan(static_cast<std::size_t>(expert) * n_bytes, n_bytes);
    add_codes(one);
    tensors.push_back(std::move(one));
  }
  return {};
}

}  // namespace

Result<std::vector<StoredTensor>> gguf_tensors(const GgufHeader& header, const GgufFamily& family) {
  std::vector<StoredTensor> tensors;
  for (const GgufTensor& tensor : header.tensors()) {
    if (is_rope_factor(tensor.name)) continue;  // gguf_config() reads it
    const StoredType* type = find_gguf_type(tensor.type);
    if (type == nullptr) return refuse(fmt::format("the type {} is unknown", tensor.type), header.file(), tensor.name);
    LATHE_TRY(const auto bytes, bytes_of(header, tensor, *type));
    FamilyName name = family_name_of(family, tensor.name);
    StoredTensor stored{.name = std::move(name.name),
                        .type = type,
                        .shape = tensor.shape,
                        .bytes = bytes,
                        .form = stored_form_of(family, tensor.name)};
    if (name.is_row && stored.shape.size() == 1) stored.shape.insert(stored.shape.begin(), 1);
    const bool is_computed = stored.form == StoredForm::plus_one || stored.form == StoredForm::minus_exp;
    if (is_computed && (type->dtype != kernels::Dtype::f32 || tensor.shape.size() != 1)) {
      return refuse(fmt::format("got {} {}, expected a list of F32", type->name, to_string(tensor.shape)), header.file(),
                    tensor.name);
    }
    if (name.is_of_experts) {
      LATHE_TRY_VOID(add_experts(tensors, stored, header));
    } else {
      add_codes(stored);
      tensors.push_back(std::move(stored));
    }
  }
  return tensors;
}

namespace {

Result<GgufFile> open_file(const ModelFolder& folder, const std::string& name) {
  LATHE_TRY(auto mapped, folder.map(name));
  auto header = GgufHeader::parse(mapped->bytes(), name);
  if (!header) return tl::unexpected(explained_gguf(std::move(header.error()), mapped->bytes(), name));
  return GgufFile{std::move(mapped), std::move(*header)};
}

/// "model-00002-of-00003.gguf" for the second of a set that begins with "model-00001-of-00003.gguf".
Result<std::string> name_in_set(const std::string& first, std::int64_t number, std::int64_t n_files) {
  const std::string end = fmt::format("-00001-of-{:05}.gguf", n_files);
  if (first.ends_with(end)) {
    return fmt::format("{}-{:05}-of-{:05}.gguf", first.substr(0, first.size() - end.size()), number, n_files);
  }
  return refuse(fmt::format("is one of {} files; open the one whose name ends in \"{}\", in the same folder as the others",
                            n_files, end),
                first, "split.count");
}

Result<Checkpoint> open_gguf_checkpoint(const ModelFolder& folder) {
  LATHE_TRY(std::vector<GgufFile> files, open_gguf_set(folder));
  LATHE_TRY(const GgufFamily* family, family_of(files.front().header));
  Checkpoint checkpoint("gguf");
  for (GgufFile& file : files) {
    LATHE_TRY(auto tensors, gguf_tensors(file.header, *family));
    LATHE_TRY_VOID(checkpoint.add(std::move(file.mapped), std::move(tensors)));
  }
  return checkpoint;
}

}  // namespace

extern constexpr Loader kGgufLoader{
    .name = "gguf",
    .recognises = [](const ModelFolder& folder) { return !folder.gguf().empty(); },
    .open = open_gguf_checkpoint,
};

Result<GgufFile> open_gguf(const ModelFolder& folder) { return open_file(folder, folder.gguf()); }

Result<std::vector<GgufFile>> open_gguf_set(const ModelFolder& folder) {
  std::vector<GgufFile> files;
  LATHE_TRY(GgufFile first, open_gguf(folder));
  LATHE_TRY(const auto count, first.header.integer("split.count"));
  const std::int64_t n_files = count.value_or(1);
  if (n_files > kMaxFiles) return refuse(fmt::format("{} files", n_files), folder.gguf(), "split.count");
  files.push_back(std::move(first));
  for (std::int64_t number = 2; number <= n_files; ++number) {
    LATHE_TRY(const std::string name, name_in_set(folder.gguf(), number, n_files));
    LATHE_TRY(GgufFile file, open_file(folder, name));
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace lathe::engine
