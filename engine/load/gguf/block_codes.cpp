// SPDX-License-Identifier: Apache-2.0
#include "engine/load/gguf/block_codes.h"

#include <fmt/format.h>

#include "engine/load/checkpoint.h"
#include "engine/load/gguf/block_reading.h"
#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

constexpr int kCodesBlock = 32, kCodesBytes = kCodesBlock / 2;
constexpr int kLongMiddle = 128;  // zero point of encodings with 8-bit codes
constexpr int kHalf = kSuperBlock / 2;

std::uint8_t code_of(int code) { return static_cast<std::uint8_t>(code); }

void read_q4_1(const std::byte* block, std::uint8_t* codes, float* scales, float* minimums) {
  *scales = half_at(block);
  *minimums = half_at(block + 2);
  for_codes(block + 4, kCodesBytes, [&](int i, int code) { codes[i] = code_of(code); });
}

void read_q5_0(const std::byte* block, std::uint8_t* codes, float* scales, float*) {
  *scales = half_at(block);
  for_long_codes(block + 2, [&](int i, int code) { codes[i] = code_of(code - 16 + kLongMiddle); });
}

void read_q5_1(const std::byte* block, std::uint8_t* codes, float* scales, float* minimums) {
  *scales = half_at(block);
  *minimums = half_at(block + 2);
  for_long_codes(block + 4, [&](int i, int code) { codes[i] = code_of(code); });
}

void read_iq4_nl(const std::byte* block, std::uint8_t* codes, float* scales, float*) {
  *scales = half_at(block);
  for_codes(block + 2, kCodesBytes, [&](int i, int code) { codes[i] = code_of(code); });
}

void read_q2_k(const std::byte* block, std::uint8_t* codes, float* scales, float* minimums) {
  constexpr int kParts = 16, kCodes = 64;
  const float all_scales = half_at(block + kParts + kCodes), all_offsets = half_at(block + kParts + kCodes + 2);
  for (int j = 0; j < kParts; ++j) {
    scales[j] = all_scales * static_cast<float>(bits_of(block[j], 0, 4));
    minimums[j] = -(all_offsets * static_cast<float>(bits_of(block[j], 4, 4)));
  }
  for (int half = 0; half < 2; ++half) {
    for_short_codes(block + kParts + half * 32, [&](int i, int code) { codes[half * kHalf + i] = code_of(code); });
  }
}

/// Codes of 3 bits become codes of 4 bits with the zero point 8.
void read_q3_k(const std::byte* block, std::uint8_t* codes, float* scales, float*) {
  constexpr int kHighBits = 32, kCodes = 64, kParts = 16, kMiddle = 8;
  const std::byte* const parts = block + kHighBits + kCodes;
  const float scale = half_at(parts + 12);
  for (int j = 0; j < kParts; ++j) scales[j] = scale * static_cast<float>(short_scale(parts, j) - 32);
  for (int half = 0; half < 2; ++half) {
    for_short_codes(block + kHighBits + half * 32, [&](int i, int code) {
      const int at = half * kHalf + i;
      codes[at] = code_of((code | bits_of(block[at % 32], at / 32, 1) << 2) - 4 + kMiddle);
    });
  }
}

/// Reads the scales and minimums of Q4_K and Q5_K.
void read_eight_scales(const std::byte* block, float* scales, float* minimums) {
  const float all_scales = half_at(block), all_offsets = half_at(block + 2);
  for (int j = 0; j < 8; ++j) {
    const ScaleAndOffset part = scale_and_offset(block + 4, j);
    scales[j] = all_scales * static_cast<float>(part.scale);
    minimums[j] = -(all_offsets * static_cast<float>(part.offset));
  }
}

void read_q4_k(const std::byte* block, std::uint8_t* codes, float* scales, float* minimums) {
  read_eight_scales(block, scales, minimums);
  for (int i = 0; i < kSuperBlock; ++i) codes[i] = code_of(nibble(block + 16, i));
}

void read_q5_k(const std::byte* block, std::uint8_t* codes, float* scales, float* minimums) {
  read_eight_scales(block, scales, minimums);
  for (int i = 0; i < kSuperBlock; ++i) {
    codes[i] = code_of(nibble(block + 48, i) | bits_of(block[16 + i % 32], i / 32, 1) << 4);
  }
}

void read_q6_k(const std::byte* block, std::uint8_t* codes, float* scales, float*) {
  constexpr int kLow = 128, kHigh = 64, kParts = 16;
  const std::byte* const parts = block + kLow + kHigh;
  const float scale = half_at(parts + kParts);
  for (int j = 0; j < kParts; ++j) scales[j] = scale * static_cast<float>(read_as<std::int8_t>(parts + j));
  for (int half = 0; half < 2; ++half) {
    const std::byte* const low = block + half * kLow / 2;
    for_short_codes(block + kLow + half * 32, [&](int i, int high) {
      const int code = bits_of(low[i % 64], i / 64 * 4, 4) | high << 4;
      codes[half * kHalf + i] = code_of(code - 32 + kLongMiddle);
    });
  }
}

void read_iq4_xs(const std::byte* block, std::uint8_t* codes, float* scales, float*) {
  const float all_scales = half_at(block);
  const auto high = read_as<std::uint16_t>(block + 2);
  for (int j = 0; j < kSuperBlock / kCodesBlock; ++j) {
    const int six_bits = bits_of(block[4 + j / 2], j % 2 * 4, 4) | (high >> (2 * j) & 3) << 4;
    scales[j] = all_scales * static_cast<float>(six_bits - 32);
    for_codes(block + 8 + j * kCodesBytes, kCodesBytes,
              [&](int i, int code) { codes[j * kCodesBlock + i] = code_of(code); });
  }
}

void read_rows(const StoredType& type, const std::byte* bytes, std::int64_t k, CodedRows& rows) {
  const BlockCodes& blocks = *type.codes;
  const std::int64_t n_blocks = k / type.block, groups_of_block = type.block / blocks.group, block_bytes = type.bits / 8;
  for (std::int64_t i = 0; i < rows.n * n_blocks; ++i) {
    float* const minimums = rows.zeros.empty() ? nullptr : rows.zeros.data() + i * groups_of_block;
    blocks.read(bytes + (rows.first * n_blocks + i) * block_bytes, rows.codes.data() + i * type.block,
                rows.scales.data() + i * groups_of_block, minimums);
  }
}

}  // namespace

constexpr BlockCodes kQ4_1Codes{CodeEncoding::uint4_min, 32, true, read_q4_1};
constexpr BlockCodes kQ5_0Codes{CodeEncoding::int8, 32, true, read_q5_0};
constexpr BlockCodes kQ5_1Codes{CodeEncoding::uint8_min, 32, true, read_q5_1};
constexpr BlockCodes kIq4NlCodes{CodeEncoding::iq4, 32, true, read_iq4_nl};
constexpr BlockCodes kQ2KCodes{CodeEncoding::uint4_min, 16, false, read_q2_k};
constexpr BlockCodes kQ3KCodes{CodeEncoding::int4_subscaled, 16, false, read_q3_k};
constexpr BlockCodes kQ4KCodes{CodeEncoding::uint4_min, 32, false, read_q4_k};
constexpr BlockCodes kQ5KCodes{CodeEncoding::uint8_min, 32, false, read_q5_k};
constexpr BlockCodes kQ6KCodes{CodeEncoding::int8_subscaled, 16, false, read_q6_k};
constexpr BlockCodes kIq4XsCodes{CodeEncoding::iq4, 32, false, read_iq4_xs};

CodedTensor coded_of_blocks(const StoredType& type, std::span<const std::byte> bytes, std::int64_t n, std::int64_t k) {
  LATHE_CHECK(type.codes != nullptr && k % type.block == 0);
  const BlockCodes& blocks = *type.codes;
  CodedTensor coded{.form = fmt::format("blocks of {}", type.name),
                    .kind = blocks.kind,
                    .n_rows = n,
                    .k = k,
                    .n_groups = k / blocks.group,
                    .group = blocks.group,
                    .numbers = numbers_of(blocks.kind),
                    .has_zeros = has_minimums(blocks.kind)};
  coded.read = [&type, bytes = bytes.data(), k](CodedRows& rows) { read_rows(type, bytes, k, rows); };
  coded.formats = formats_that_keep(coded, {.are_halves = blocks.are_halves});
  return coded;
}

}  // namespace lathe::engine
