// SPDX-License-Identifier: Apache-2.0
// GgufMetadata: encodes the metadata values of a GGUF file to be written; create_gguf() begins such a file. GgufHeader reads
// it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/load/gguf/gguf_header.h"
#include "engine/load/weights_writer.h"

namespace lathe::engine {

/// Keeps values in the order of the calls. Requires: each key is set once.
class GgufMetadata {
 public:
  void set_text(std::string_view key, std::string_view value);
  void set_whole(std::string_view key, std::uint32_t value);
  void set_number(std::string_view key, float value);
  void set_flag(std::string_view key, bool value);
  void set_texts(std::string_view key, std::span<const std::string> values);
  void set_integers(std::string_view key, std::span<const std::int32_t> values);
  void set_numbers(std::string_view key, std::span<const float> values);
  /// Takes one byte per flag, since std::vector<bool> has no span.
  void set_flags(std::string_view key, std::span<const std::uint8_t> values);
  void set_bytes(std::string_view key, std::string_view values);

  /// Copies a value of another file unchanged.
  void copy(std::string_view key, const GgufValue& value);

  std::uint64_t n_values() const { return n_values_; }
  /// The encoded values.
  std::string_view bytes() const { return bytes_; }

 private:
  void begin(std::string_view key, std::uint32_t type);
  void begin_list(std::string_view key, std::uint32_t type, std::size_t n);

  std::uint64_t n_values_ = 0;
  std::string bytes_;
};

/// Creates a file of version 3 with the tensors in this order under these names. Errors: as WeightsWriter::create.
Result<WeightsWriter> create_gguf(const std::string& path, const GgufMetadata& metadata,
                                  std::span<const WrittenTensor> tensors);

}  // namespace lathe::engine
