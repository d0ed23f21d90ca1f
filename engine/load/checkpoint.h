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
#include "engine/base/byte_source.h"
#include "engine/load/coded_tensor.h"
#include "kernels/api/backend.h"
#include "kernels/api/tensor.h"

namespace lathe::engine {

/// Decodes n_blocks blocks that begin at `from` to f32.
using BlockDecoder = void (*)(const std::byte* from, std::int64_t n_blocks, float* to);

struct BlockCodes;

/// An element type as files name it. Units: bits of one block; a block is one element where elements are stored singly.
struct StoredType {
  std::string_view name;  ///< "BF16"
  int bits;
  std::optional<kernels::Dtype> dtype{};          ///< none: kernels cannot read the type directly
  std::int64_t block = 1;                         ///< elements per block; a row holds whole blocks
  BlockDecoder decode = nullptr;                  ///< set for types without a dtype
  std::optional<kernels::WeightFormat> packed{};  ///< weight format with identical codes and scales
  /// Layout of codes and scales, for types whose matrices become coded tensors.
  const BlockCodes* codes = nullptr;
};

/// How a file format stores a tensor differently from the family's own files.
enum class StoredForm : std::uint8_t {
  usual,
  rotary_pairs,   ///< Q and K: the two elements of a head that RoPE rotates together are adjacent
  plus_one,       ///< norm weights: 1 is already added; f32
  minus_exp,      ///< logarithms of rates: the rates themselves, negated; f32
  outputs_first,  ///< [outputs, inputs], for matrices that the family's own files store transposed
  plain           ///< outputs_first, and rows of Q precede those of K and V where the family's own files interleave them
};

/// Owns: nothing; the bytes belong to a source of the checkpoint.
struct StoredTensor {
  std::string name;
  const StoredType* type = nullptr;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  ///< exactly as many as shape and type need; unaligned
  std::uint32_t file = 0;            ///< index into Checkpoint's files
  StoredForm form = StoredForm::usual;
  /// Set for a matrix whose codes and scales are separate tensors in the files: `bytes` are the codes, `parts` the other
  /// tensors.
  std::shared_ptr<const CodedTensor> coded{};
  std::vector<StoredTensor> parts{};
  /// True for one expert's slice of a tensor that holds all experts, under the name without the expert index.
  bool is_of_stack = false;
};

/// Size of a tensor in the files, parts included. Units: bytes.
std::int64_t n_bytes_of(const StoredTensor& tensor);

/// Weight formats that keep the tensor's codes and scales without loss, the best first.
std::span<const kernels::WeightFormat> formats_of(const StoredTensor& tensor);

/// The tensor's shape without the dimension of 1 that weights of depthwise convolutions have: [C, 1, k] is [C, k].
std::vector<std::int64_t> plain_shape(const StoredTensor& tensor);

/// True if view_of() gives the numbers of the tensor: it is of a floating type, or has a decoder.
bool is_readable(const StoredTensor& tensor);

/// A view of a tensor whose plain_shape() has one or two dimensions: its dtype where kernels read the type, else decoded
/// f32. Headers may put tensors at odd addresses; an unaligned tensor is copied to `aligned`, and decoded values are written
/// there. `aligned` must outlive the view.
kernels::TensorView view_of(const StoredTensor& tensor, std::vector<std::byte>& aligned,
                            const kernels::ParallelFor& parallel_for = {});

/// Whether the quantization groups of a row are not consecutive, so that packed rows have the order of input_order().
bool has_input_order(const StoredTensor& tensor);

/// The tensor's codes and scales without rounding: u8 [rows, bytes of a row], the input of Backend::pack_rows. `memory` must
/// outlive the view. Requires: two dimensions, one of formats_of().
kernels::TensorView blocks_of(const StoredTensor& tensor, kernels::WeightFormat format, std::vector<std::byte>& memory,
                              const kernels::ParallelFor& parallel_for = {});

/// Formats a shape: "[512, 64]".
std::string to_string(std::span<const std::int64_t> shape);

/// Owns: the sources of the bytes. Thread: any; nothing changes after opening.
class Checkpoint {
 public:
  explicit Checkpoint(std::string_view file_format) : file_format_(file_format) {}

  /// Adds a file and its tensors. Errors: model_refused when a tensor of this name exists already.
  Result<void> add(std::shared_ptr<const ByteSource> file, std::vector<StoredTensor> tensors);
  /// Replaces all tensors by others of the same files. Errors: model_refused when two have one name.
  Result<void> replace(std::vector<StoredTensor> tensors);
  /// How the files are quantized, for people: set_scheme("gptq: 7 int4, groups of 128").
  void set_scheme(std::string scheme) { scheme_ = std::move(scheme); }
  void warn(std::string warning) { warnings_.push_back(std::move(warning)); }
  /// Records a tensor that an index lists but no readable file contains: a reader that needs it fails with `why`.
  void note_absent(const std::string& tensor, std::shared_ptr<const Error> why) { absent_.emplace(tensor, std::move(why)); }

  std::string_view file_format() const { return file_format_; }
  /// All tensors, sorted by name.
  std::span<const StoredTensor> tensors() const { return tensors_; }
  /// The tensor of this name, or null.
  const StoredTensor* find(std::string_view name) const;
  const std::string& file_of(const StoredTensor& tensor) const { return files_[tensor.file]->name(); }
  /// Size of all files. Units: bytes.
  std::int64_t n_bytes() const;
  const std::vector<std::string>& warnings() const { return warnings_; }
  const std::string& scheme() const { return scheme_; }  ///< empty: no scheme of the table
  /// Absent tensors by name, with the reason; its `where` is a file.
  const std::map<std::string, std::shared_ptr<const Error>, std::less<>>& absent() const { return absent_; }
  /// The error of a reader that needs the absent `tensor`; if `tensor` is not absent, the error of the first absent one.
  /// Requires: absent() is not empty.
  Error absence(std::string_view tensor = {}) const;

  /// Makes the tensor's bytes readable until drop(); call it before reading them. Errors: model_refused when a file has been
  /// truncated since it was opened.
  Result<void> prepare(const StoredTensor& tensor) const;

  /// Identifies the state of the files; changes if a file is written.
  std::string stamp() const;

  void will_need(const StoredTensor& tensor) const;
  void drop(const StoredTensor& tensor) const;

 private:
  Result<void> settle_names();

  std::string_view file_format_;
  std::vector<std::shared_ptr<const ByteSource>> files_;
  std::vector<StoredTensor> tensors_;
  std::vector<std::string> warnings_;
  std::map<std::string, std::shared_ptr<const Error>, std::less<>> absent_;
  std::string scheme_;
};

}  // namespace lathe::engine
