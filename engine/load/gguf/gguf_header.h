// SPDX-License-Identifier: Apache-2.0
// GgufHeader: the metadata and the tensor list of one GGUF file; every size is checked against the file before use. Layout:
// "GGUF", u32 version, u64 tensor count, u64 value count, the values, the tensors, their bytes. Source: ggml, docs/gguf.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"

namespace lathe::engine {

/// A metadata value. Owns: nothing; the bytes belong to the file's mapping.
struct GgufValue {
  std::uint32_t type = 0;  ///< type of the value, or of a list's items
  bool is_list = false;
  std::uint64_t n = 1;               ///< number of items
  std::span<const std::byte> bytes;  ///< all items, as encoded in the file
};

struct GgufTensor {
  std::string name;
  std::vector<std::int64_t> shape;  ///< rows first; files store dimensions in reverse order
  std::uint32_t type = 0;           ///< type number, see gguf_types
  std::uint64_t offset = 0;         ///< from the first byte of the tensor data
};

/// Thread: any; nothing changes after parsing.
class GgufHeader {
 public:
  /// Reads versions 2 and 3. `file` must outlive the header. Errors: model_refused with file and field.
  static Result<GgufHeader> parse(std::span<const std::byte> file, const std::string& name);

  const std::string& file() const { return file_; }
  std::span<const GgufTensor> tensors() const { return tensors_; }
  /// The bytes of all tensors, up to the end of the file.
  std::span<const std::byte> data() const { return data_; }
  std::uint64_t alignment() const { return alignment_; }

  /// Values by their keys; nothing when a key is absent. Errors: model_refused when it has another type.
  Result<std::optional<std::string>> text(std::string_view key) const;
  Result<std::optional<std::int64_t>> integer(std::string_view key) const;
  Result<std::optional<double>> number(std::string_view key) const;
  Result<std::optional<bool>> flag(std::string_view key) const;
  Result<std::vector<std::string>> texts(std::string_view key) const;
  /// As texts(), without a copy: the bytes belong to the file's mapping.
  Result<std::vector<std::string_view>> text_views(std::string_view key) const;
  Result<std::vector<std::int64_t>> integers(std::string_view key) const;
  Result<std::vector<float>> numbers(std::string_view key) const;
  Result<std::vector<bool>> flags(std::string_view key) const;
  bool has(std::string_view key) const { return values_.contains(key); }
  const std::map<std::string, GgufValue, std::less<>>& values() const { return values_; }

 private:
  friend class GgufParser;
  const GgufValue* find(std::string_view key) const;
  tl::unexpected<Error> wrong_type(std::string_view key, std::string_view expected) const;

  std::string file_;
  std::map<std::string, GgufValue, std::less<>> values_;
  std::vector<GgufTensor> tensors_;
  std::span<const std::byte> data_;
  std::uint64_t alignment_ = 32;
};

}  // namespace lathe::engine
