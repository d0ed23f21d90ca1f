// SPDX-License-Identifier: Apache-2.0
// A safetensors file: any bytes, or a header of entries with types, shapes and places out of the input.
#include <cstdlib>

#include "engine/api/json.h"
#include "engine/api/utf8.h"
#include "engine/load/safetensors.h"
#include "tests/fuzz/targets.h"

namespace lathe::fuzz {

/// Defined in safetensors_changes.cpp.
std::string change_safetensors(std::string_view input, std::uint32_t seed);

namespace {

constexpr std::string_view kDtypes[] = {"F32", "F16", "BF16", "I8", "F4", "F6_E2M3", "F64", "X"};

void read_safetensors(std::span<const std::byte> file) {
  const auto tensors = engine::parse_safetensors(file, "fuzz.safetensors");
  if (!tensors) return;
  // Accepted tensors can be read from the first byte to the last.
  unsigned sum = 0;
  for (const engine::StoredTensor& tensor : *tensors) {
    if (!tensor.bytes.empty()) sum += std::to_integer<unsigned>(tensor.bytes.front() ^ tensor.bytes.back());
  }
  if (sum > 512 * tensors->size()) std::abort();
}

void feed_safetensors(std::span<const std::byte> bytes) {
  ByteSource source(bytes);
  if (source.number<std::uint8_t>() % 4 == 0) return read_safetensors(source.rest());
  engine::OrderedJson header;
  std::int64_t end = 0;
  for (std::size_t n = source.below(5); n > 0; --n) {
    const std::string name = source.text();
    engine::OrderedJson shape = engine::OrderedJson::array();
    for (std::size_t rank = source.below(4); rank > 0; --rank) shape.push_back(source.size());
    const std::int64_t begin = source.number<std::uint8_t>() % 8 == 0 ? source.size() : end;
    end = begin + source.size() % 1024;
    header[engine::repaired_utf8(name)] = {
        {"dtype", source.one_of(kDtypes)}, {"shape", shape}, {"data_offsets", {begin, end}}};
  }
  const std::string text = header.dump();
  const std::uint64_t n_header = source.number<std::uint8_t>() % 16 == 0 ? source.number<std::uint64_t>() : text.size();
  std::string file(reinterpret_cast<const char*>(&n_header), sizeof n_header);
  file += text;
  file.resize(file.size() + static_cast<std::size_t>(std::clamp<std::int64_t>(end, 0, 4096)), 'x');
  read_safetensors(std::as_bytes(std::span(file)));
}

}  // namespace

extern constexpr Target kSafetensorsTarget{.name = "safetensors", .feed = feed_safetensors, .change = change_safetensors};

}  // namespace lathe::fuzz
