// SPDX-License-Identifier: Apache-2.0
#include "engine/load/safetensors_writer.h"

#include "engine/api/json.h"

namespace lathe::engine {
namespace {

constexpr std::size_t kAlignment = 64;  // of the first tensor; the others follow without gaps

std::string_view stored_name(kernels::Dtype dtype) {
  switch (dtype) {
    case kernels::Dtype::f16: return "F16";
    case kernels::Dtype::bf16: return "BF16";
    default: return "F32";
  }
}

/// The header: its length, then JSON padded with spaces.
std::string header_of(std::span<const WrittenTensor> tensors) {
  OrderedJson header = {{"__metadata__", {{"format", "pt"}}}};
  std::size_t begin = 0;
  for (const WrittenTensor& tensor : tensors) {
    const std::size_t end = begin + tensor.n_bytes();
    header[tensor.name] = {{"dtype", stored_name(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = dump_json(header);
  while ((sizeof(std::uint64_t) + text.size()) % kAlignment != 0) text.push_back(' ');
  const std::uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
}

}  // namespace

Result<WeightsWriter> create_safetensors(const std::string& path, std::span<const WrittenTensor> tensors) {
  return WeightsWriter::create(path, header_of(tensors), tensors, 1);
}

}  // namespace lathe::engine
