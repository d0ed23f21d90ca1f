// SPDX-License-Identifier: Apache-2.0
#include "engine/load/gguf/super_blocks.h"

#include "engine/load/gguf/block_reading.h"

namespace lathe::engine {
namespace {

constexpr int kBlock = kSuperBlock, kHalf = kBlock / 2;

/// Q4_K and Q5_K: 8 parts of 32, code(i) for each number. Behind the two halves `from` begins with.
template <class Code>
void decode_eight_parts(const std::byte* from, float* to, const Code& code) {
  constexpr int kPart = 32;
  const float scales = half_at(from), offsets = half_at(from + 2);
  for (int j = 0; j < kBlock / kPart; ++j) {
    const ScaleAndOffset part = scale_and_offset(from + 4, j);
    const float scale = scales * static_cast<float>(part.scale), offset = offsets * static_cast<float>(part.offset);
    for (int i = j * kPart; i < (j + 1) * kPart; ++i) to[i] = scale * static_cast<float>(code(i)) - offset;
  }
}

}  // namespace

void decode_q2_k(const std::byte* from, std::int64_t n_blocks, float* to) {
  constexpr int kScales = 16, kCodes = 64;
  for (; n_blocks > 0; --n_blocks, from += 84, to += kBlock) {
    const float scales = half_at(from + kScales + kCodes), offsets = half_at(from + kScales + kCodes + 2);
    for (int half = 0; half < 2; ++half) {
      for_short_codes(from + kScales + half * 32, [&](int i, int code) {
        const int at = half * kHalf + i;
        const std::byte part = from[at / 16];
        to[at] = scales * static_cast<float>(bits_of(part, 0, 4)) * static_cast<float>(code) -
                 offsets * static_cast<float>(bits_of(part, 4, 4));
      });
    }
  }
}

void decode_q3_k(const std::byte* from, std::int64_t n_blocks, float* to) {
  constexpr int kHighBits = 32, kCodes = 64;
  for (; n_blocks > 0; --n_blocks, from += 110, to += kBlock) {
    const std::byte* const scales = from + kHighBits + kCodes;
    const float scale = half_at(scales + 12);
    for (int half = 0; half < 2; ++half) {
      for_short_codes(from + kHighBits + half * 32, [&](int i, int code) {
        const int at = half * kHalf + i;
        const int high = bits_of(from[at % 32], at / 32, 1);
        to[at] = scale * static_cast<float>(short_scale(scales, at / 16) - 32) * static_cast<float>((code | high << 2) - 4);
      });
    }
  }
}

void decode_q4_k(const std::byte* from, std::int64_t n_blocks, float* to) {
  for (; n_blocks > 0; --n_blocks, from += 144, to += kBlock) {
    decode_eight_parts(from, to, [codes = from + 16](int i) { return nibble(codes, i); });
  }
}

void decode_q5_k(const std::byte* from, std::int64_t n_blocks, float* to) {
  for (; n_blocks > 0; --n_blocks, from += 176, to += kBlock) {
    decode_eight_parts(from, to, [high = from + 16, codes = from + 48](int i) {
      return nibble(codes, i) | bits_of(high[i % 32], i / 32, 1) << 4;
    });
  }
}

void decode_q6_k(const std::byte* from, std::int64_t n_blocks, float* to) {
  constexpr int kLow = 128, kHigh = 64, kScales = 16;
  for (; n_blocks > 0; --n_blocks, from += 210, to += kBlock) {
    const std::byte* const scales = from + kLow + kHigh;
    const float scale = half_at(scales + kScales);
    for (int half = 0; half < 2; ++half) {
      const std::byte* const low = from + half * kLow / 2;
      for_short_codes(from + kLow + half * 32, [&](int i, int high) {
        const int code = bits_of(low[i % 64], i / 64 * 4, 4) | high << 4;
        const int at = half * kHalf + i;
        to[at] = scale * static_cast<float>(read_as<std::int8_t>(scales + at / 16)) * static_cast<float>(code - 32);
      });
    }
  }
}

void decode_iq4_xs(const std::byte* from, std::int64_t n_blocks, float* to) {
  constexpr int kPart = 32, kCodes = 16;
  for (; n_blocks > 0; --n_blocks, from += 136) {
    const float scales = half_at(from);
    const auto high = read_as<std::uint16_t>(from + 2);
    for (int j = 0; j < kBlock / kPart; ++j, to += kPart) {
      const int six_bits = bits_of(from[4 + j / 2], j % 2 * 4, 4) | (high >> (2 * j) & 3) << 4;
      const float scale = scales * static_cast<float>(six_bits - 32);
      for_codes(from + 8 + j * kCodes, kCodes,
                [&](int i, int code) { to[i] = scale * kDenseValues[static_cast<std::size_t>(code)]; });
    }
  }
}

}  // namespace lathe::engine
