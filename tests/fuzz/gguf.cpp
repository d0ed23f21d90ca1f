// SPDX-License-Identifier: Apache-2.0
// A GGUF file: any bytes, or values and tensors of known names with types, sizes and places out of the input.
#include "engine/load/gguf/gguf_config.h"
#include "engine/load/gguf/gguf_families.h"
#include "engine/load/gguf/gguf_files.h"
#include "engine/model/model_config.h"
#include "engine/text/gguf_tokenizer.h"
#include "tests/fuzz/gguf_names.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/use_tokenizer.h"
#include "tests/support/gguf_builder.h"

namespace lathe::fuzz {

/// Defined in gguf_changes.cpp.
std::string change_gguf(std::string_view file, std::uint32_t seed);

namespace {

using tests::GgufBuilder;

/// A value of a type out of the input, as the file has it.
std::string value_of(ByteSource& source, std::uint32_t type) {
  constexpr std::uint32_t kText = 8, kList = 9;
  if (type == kText) return GgufBuilder::text(source.text());
  if (type == kList) {
    const std::uint32_t of = source.number<std::uint8_t>() % 13;
    const auto n = static_cast<std::uint64_t>(source.size());
    std::string all = GgufBuilder::bytes_of(of) + GgufBuilder::bytes_of(n);
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(n, 16) && of != kList; ++i) all += value_of(source, of);
    return all;
  }
  constexpr std::size_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  const auto number = source.size();
  return std::string(reinterpret_cast<const char*>(&number), type < std::size(kSizes) ? kSizes[type] : 8);
}

std::string built(ByteSource& source) {
  const std::string family(source.one_of(kGgufFamilies));
  GgufBuilder builder;
  builder.value("general.architecture", std::string_view(family));
  for (const std::string_view key : {"context_length", "embedding_length", "block_count", "feed_forward_length"}) {
    if (source.number<std::uint8_t>() != 0) builder.value(family + "." + std::string(key), 32U);
  }
  for (std::size_t n = source.below(12); n > 0; --n) {
    const bool is_global = source.number<std::uint8_t>() % 2 == 0;
    const std::string key(is_global ? source.one_of(kGgufKeys) : source.one_of(kGgufFamilyKeys));
    const std::uint32_t type = source.number<std::uint8_t>() % 14;
    builder.value(is_global ? key : family + "." + key, type, value_of(source, type));
  }
  for (std::size_t n = source.below(6); n > 0; --n) {
    const std::string_view name = source.one_of(kGgufTensors);
    std::vector<std::int64_t> shape(source.below(5));
    for (std::int64_t& size : shape) size = source.size();
    const std::uint32_t type = source.number<std::uint8_t>() % 42;
    const std::string bytes = source.text();
    const bool is_elsewhere = source.number<std::uint8_t>() % 4 == 0;
    builder.tensor(name, shape, type, bytes, is_elsewhere ? source.size() : -1);
  }
  return builder.bytes(source.number<std::uint8_t>() % 16 == 0 ? source.number<std::uint32_t>() : 3);
}

/// The numbers of the first block: no decoder may read beside the bytes that were checked.
void decode(const engine::StoredTensor& tensor) {
  const auto n_bytes = static_cast<std::size_t>(tensor.type->bits / 8);
  if (tensor.type->decode == nullptr || tensor.bytes.size() < n_bytes) return;
  std::vector<float> numbers(static_cast<std::size_t>(tensor.type->block));
  tensor.type->decode(tensor.bytes.last(n_bytes).data(), 1, numbers.data());
}

void read_gguf(std::span<const std::byte> file) {
  const auto header = engine::GgufHeader::parse(file, "fuzz.gguf");
  if (!header) return;
  if (const auto vocabulary = engine::read_gguf_vocabulary(*header)) {
    if (const auto tokenizer = engine::make_gguf_tokenizer(*vocabulary)) use_tokenizer(**tokenizer);
  }
  if (const auto config = engine::gguf_config(*header, header->tensors())) (void)engine::read_model_config(*config);
  const auto family = engine::family_of(*header);
  if (!family) return;
  const auto tensors = engine::gguf_tensors(*header, **family);
  if (!tensors) return;
  for (const engine::StoredTensor& tensor : *tensors) decode(tensor);
}

void feed_gguf(std::span<const std::byte> bytes) {
  if (text_of(bytes).starts_with("GGUF")) return read_gguf(bytes);
  ByteSource source(bytes);
  const std::string file = built(source);
  read_gguf(std::as_bytes(std::span(file)));
}

}  // namespace

extern constexpr Target kGgufTarget{.name = "gguf", .feed = feed_gguf, .change = change_gguf};

}  // namespace lathe::fuzz
