// SPDX-License-Identifier: Apache-2.0
// GgufCopy: a GGUF file that is there, with other values and tensors.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/load/gguf/gguf_files.h"
#include "tests/support/gguf_builder.h"

namespace lathe::tests {

/// Aborts on a file that cannot be read.
engine::GgufFile opened_gguf(const std::string& path);
std::string bytes_of(const engine::GgufFile& file, const engine::GgufTensor& tensor);
/// Requires: the file has it.
std::string bytes_of(const engine::GgufFile& file, const std::string& tensor);
/// Tensors by "tensor " and their names, with type and bytes; values by "value " and their keys.
std::map<std::string, std::string> content_of(const std::string& path);
void add_value(GgufBuilder& builder, const std::string& key, const engine::GgufValue& value);

class GgufCopy {
 public:
  explicit GgufCopy(const std::string& path) : file_(opened_gguf(path)) {}

  /// Nothing in its place: the key is left out.
  GgufCopy& set(const std::string& key, std::optional<std::uint32_t> value);
  /// Tensors whose names end so.
  GgufCopy& leave_out(const std::string& end);
  GgufCopy& add(const std::string& name, const std::vector<std::int64_t>& shape, std::uint32_t type,
                const std::string& bytes);
  /// Requires: called once, after all of the above.
  void write(const std::string& path);

 private:
  engine::GgufFile file_;
  std::map<std::string, std::optional<std::uint32_t>> values_;
  std::vector<std::string> left_out_;
  GgufBuilder copy_;
};

}  // namespace lathe::tests
