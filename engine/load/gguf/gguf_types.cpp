// SPDX-License-Identifier: Apache-2.0
// THE TABLE of element types in GGUF files. The planner refuses types without a decoder by name.
#include "engine/load/gguf/gguf_types.h"

#include <algorithm>
#include <array>

#include "engine/load/gguf/block_codes.h"
#include "engine/load/gguf/legacy_blocks.h"
#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

using kernels::Dtype;
using kernels::WeightFormat;

struct NumberedType {
  std::uint32_t number;
  StoredType type;
};

constexpr NumberedType block(std::uint32_t number, std::string_view name, std::int64_t n, int n_bytes,
                             BlockDecoder decode = nullptr, std::optional<WeightFormat> packed = {}) {
  return {number, {.name = name, .bits = 8 * n_bytes, .block = n, .decode = decode, .packed = packed}};
}

/// Decodes a type that has codes: treats each block as a row of a coded matrix, so that only BlockCodes knows the layout.
template <std::uint32_t kNumber>
void decode_codes(const std::byte* from, std::int64_t n_blocks, float* to) {
  const StoredType& type = *find_gguf_type(kNumber);
  const std::span bytes(from, static_cast<std::size_t>(n_blocks * type.bits / 8));
  decode(coded_of_blocks(type, bytes, n_blocks, type.block), {}, to);
}

template <std::uint32_t kNumber>
constexpr NumberedType coded(std::string_view name, std::int64_t n, int n_bytes, const BlockCodes& codes) {
  return {kNumber, {.name = name, .bits = 8 * n_bytes, .block = n, .decode = decode_codes<kNumber>, .codes = &codes}};
}

constexpr std::array kGgufTypes = {
    NumberedType{0, {.name = "F32", .bits = 32, .dtype = Dtype::f32}},
    NumberedType{1, {.name = "F16", .bits = 16, .dtype = Dtype::f16}},
    block(2, "Q4_0", 32, 18, decode_q4_0, WeightFormat::int4_g32),
    coded<3>("Q4_1", 32, 20, kQ4_1Codes),
    coded<6>("Q5_0", 32, 22, kQ5_0Codes),
    coded<7>("Q5_1", 32, 24, kQ5_1Codes),
    block(8, "Q8_0", 32, 34, decode_q8_0, WeightFormat::int8_g32),
    coded<10>("Q2_K", 256, 84, kQ2KCodes),
    coded<11>("Q3_K", 256, 110, kQ3KCodes),
    coded<12>("Q4_K", 256, 144, kQ4KCodes),
    coded<13>("Q5_K", 256, 176, kQ5KCodes),
    coded<14>("Q6_K", 256, 210, kQ6KCodes),
    block(16, "IQ2_XXS", 256, 66),
    block(17, "IQ2_XS", 256, 74),
    block(18, "IQ3_XXS", 256, 98),
    block(19, "IQ1_S", 256, 50),
    coded<20>("IQ4_NL", 32, 18, kIq4NlCodes),
    block(21, "IQ3_S", 256, 110),
    block(22, "IQ2_S", 256, 82),
    coded<23>("IQ4_XS", 256, 136, kIq4XsCodes),
    NumberedType{24, {.name = "I8", .bits = 8, .dtype = Dtype::i8}},
    NumberedType{25, {.name = "I16", .bits = 16}},
    NumberedType{26, {.name = "I32", .bits = 32, .dtype = Dtype::i32}},
    NumberedType{27, {.name = "I64", .bits = 64, .dtype = Dtype::i64}},
    NumberedType{28, {.name = "F64", .bits = 64}},
    block(29, "IQ1_M", 256, 56),
    NumberedType{30, {.name = "BF16", .bits = 16, .dtype = Dtype::bf16}},
    block(34, "TQ1_0", 256, 54),
    block(35, "TQ2_0", 256, 66),
    block(39, "MXFP4", 32, 17, decode_mxfp4),
};

}  // namespace

const StoredType* find_gguf_type(std::uint32_t number) {
  const auto* const found =
      std::find_if(kGgufTypes.begin(), kGgufTypes.end(), [&](const NumberedType& row) { return row.number == number; });
  return found == kGgufTypes.end() ? nullptr : &found->type;
}

std::uint32_t number_of(const StoredType& type) {
  const auto* const found = std::find_if(kGgufTypes.begin(), kGgufTypes.end(),
                                         [&](const NumberedType& row) { return row.type.name == type.name; });
  LATHE_CHECK(found != kGgufTypes.end());
  return found->number;
}

const StoredType* find_gguf_type(WeightFormat format) {
  const auto has_its_codes = [&](const NumberedType& row) {
    return row.type.packed == format || (format == WeightFormat::mxfp4 && row.type.decode == decode_mxfp4);
  };
  const auto* const found = std::find_if(kGgufTypes.begin(), kGgufTypes.end(), has_its_codes);
  return found == kGgufTypes.end() ? nullptr : &found->type;
}

std::span<const WeightFormat> formats_of_gguf() {
  static constexpr std::array kFormats = {WeightFormat::int8_g32, WeightFormat::int4_g32, WeightFormat::mxfp4};
  return kFormats;
}

}  // namespace lathe::engine
