// SPDX-License-Identifier: Apache-2.0
// Checkpoint: the named tensors of a model's files, whatever their format, with every size checked against the bytes there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"
#include "engine/base/mapped_file.h"
#include "engine/load/coded_tensor.h"
#include "kernels/api/backend.h"
#include "kernels/api/tensor.h"

namespace lathe::engine {

/// Writes the numbers of n_blocks blocks that begin at `from`.
using BlockDecoder = void (*)(const std::byte* from, std::int64_t n_blocks, float* to);

struct BlockCodes;

/// An element type as files name it. Units: bits of one block, which is one number where numbers lie by themselves.
struct StoredType {
  std::string_view name;  ///< "BF16"
  int bits;
  std::optional<kernels::Dtype> dtype{};          ///< none: no kernel reads it as it is
  std::int64_t block = 1;                         ///< numbers that lie together; a row holds whole blocks
  BlockDecoder decode = nullptr;                  ///< of types without a dtype: makes f32 of them
  std::optional<kernels::WeightFormat> packed{};  ///< that has these very codes and scales
  const BlockCodes* codes = nullptr;              ///< how codes and scales lie, where matrices of the type are coded tensors
};

/// What a file format does to the numbers of a tensor, beside what the family's own files do.
enum class StoredForm : std::uint8_t {
  usual,
  rotary_pairs,   ///< of Q and K: numbers of a head that turn together lie side by side
  plus_one,       ///< of norms: 1 is added already; f32
  outputs_first,  ///< of matrices that the family's own files turn: [outputs, inputs]
  plain           ///< the same, and rows of Q go before those of K and of V wherever the family's own files mix them
};

/// Owns: nothing; the bytes belong to the checkpoint's mapping.
struct StoredTensor {
  std::string name;
  const StoredType* type = nullptr;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  ///< exactly as many as shape and type need; not aligned
  std::uint32_t file = 0;            ///< index into Checkpoint's files
  StoredForm form = StoredForm::usual;
  /// Of a matrix whose codes and scales are tensors of their own in the files. `bytes` are its codes, `parts` the others.
  std::shared_ptr<const CodedTensor> coded{};
  std::vector<StoredTensor> parts{};
  bool is_of_stack = false;  ///< of an expert: files hold all of them in one tensor, under the name without its number
};

/// Units: bytes in the files, parts included.
std::int64_t n_bytes_of(const StoredTensor& tensor);

/// Weight formats that keep the tensor's codes and scales without loss, the best first.
std::span<const kernels::WeightFormat> formats_of(const StoredTensor& tensor);

/// A view of a tensor of one or two dimensions and a type that kernels read, or that is made f32. Headers may put tensors at
/// odd addresses; such a one is copied to `aligned` first, as is what has been decoded. `aligned` must outlive the view.
kernels::TensorView view_of(const StoredTensor& tensor, std::vector<std::byte>& aligned,
                            const kernels::ParallelFor& parallel_for = {});

/// Whether its blocks hold the numbers of a row in an order of their own: input_order() of its codes.
bool has_input_order(const StoredTensor& tensor);

/// Its codes and scales as they are: u8 [rows, bytes of a row], which Backend::pack_rows takes. `memory` must outlive the
/// view. Requires: two dimensions, one of formats_of().
kernels::TensorView blocks_of(const StoredTensor& tensor, kernels::WeightFormat format, std::vector<std::byte>& memory,
                              const kernels::ParallelFor& parallel_for = {});

/// "[512, 64]".
std::string to_string(std::span<const std::int64_t> shape);

/// Owns: the mapped files. Thread: any; nothing changes after opening.
class Checkpoint {
 public:
  explicit Checkpoint(std::string_view file_format) : file_format_(file_format) {}

  /// Adds a file and its tensors. Errors: model_refused when a name is there already.
  Result<void> add(std::shared_ptr<const MappedFile> file, std::vector<StoredTensor> tensors);
  /// Puts others of the same files in the place of all tensors. Errors: model_refused when two have one name.
  Result<void> replace(std::vector<StoredTensor> tensors);
  /// How the files are quantized, for people: set_scheme("gptq: 7 int4, groups of 128").
  void set_scheme(std::string scheme) { scheme_ = std::move(scheme); }
  void warn(std::string warning) { warnings_.push_back(std::move(warning)); }
  /// Notes a tensor that an index lists and no file that could be read has: a reader that needs it fails with `why`.
  void note_absent(const std::string& tensor, std::shared_ptr<const Error> why) { absent_.emplace(tensor, std::move(why)); }

  std::string_view file_format() const { return file_format_; }
  /// Sorted by name.
  std::span<const StoredTensor> tensors() const { return tensors_; }
  /// Null when there is none.
  const StoredTensor* find(std::string_view name) const;
  const std::string& file_of(const StoredTensor& tensor) const { return files_[tensor.file]->name(); }
  /// Units: bytes of all files.
  std::int64_t n_bytes() const;
  const std::vector<std::string>& warnings() const { return warnings_; }
  const std::string& scheme() const { return scheme_; }  ///< empty: by none of the table
  /// By name, with why each is not there; `where` of that is a file.
  const std::map<std::string, std::shared_ptr<const Error>, std::less<>>& absent() const { return absent_; }
  /// The error of a reader that needs an absent tensor; of any absent one when `tensor` is none of them. Requires: there are
  /// some.
  Error absence(std::string_view tensor = {}) const;

  /// Errors: model_refused when the tensor's file has been truncated since it was opened. Call it before touching the bytes.
  Result<void> check_whole(const StoredTensor& tensor) const;

  /// Differs from an earlier one if a file was written to since.
  std::string stamp() const;

  void will_need(const StoredTensor& tensor) const;
  void drop(const StoredTensor& tensor) const;

 private:
  Result<void> settle_names();

  std::string_view file_format_;
  std::vector<std::shared_ptr<const MappedFile>> files_;
  std::vector<StoredTensor> tensors_;
  std::vector<std::string> warnings_;
  std::map<std::string, std::shared_ptr<const Error>, std::less<>> absent_;
  std::string scheme_;
};

}  // namespace lathe::engine
