// SPDX-License-Identifier: Apache-2.0
// Dot products of four unsigned codes and four signed activations per column, one class for each way in which instruction
// sets compute them. Invariant: each gives the exact integer, so all give the same result.
// add() takes kParts vectors of codes per quad and as many 32-bit words of each row. keep() converts quads
// [row][kBlockQuads] to [quad][row][part], the order in which broadcast() reads them.
#pragma once

#include "kernels/cpu/ops/transpose.h"
#include "kernels/cpu/table/coded_layout.h"
#include "kernels/formats/bnb4/code_book.h"
#include "kernels/formats/iq4/iq4_book.h"
#include "kernels/formats/mxfp4/mxfp4_book.h"

namespace lathe::kernels {
namespace {

/// Quads of a block of activations. Four codes are passed as the bits of a float, with which nothing computes.
constexpr std::int64_t kBlockQuads = kActivationBlock / kQuad;

/// The same four bytes in every lane.
template <class V>
typename V::Int broadcast(const std::byte* x) {
  std::int32_t value = 0;
  __builtin_memcpy(&value, x, sizeof value);
  return V::set_int(value);
}

/// Activations stay bytes, four of a row in one 32-bit word; codes are used as they are.
template <class V>
struct ByteQuads {
  using Int = typename V::Int;
  static constexpr int kParts = 1;
  static constexpr int kQuadBytes = kQuad;
  template <int kPart>
  static Int prepare(Int codes) {
    V::hold(codes);
    return codes;
  }
  static void keep(const float* quads, std::int64_t n_rows, std::byte* out) {
    pack_rows_as_columns(quads, kBlockQuads, n_rows, kBlockQuads, reinterpret_cast<float*>(out));
  }
};

/// Codes and activations widened to 16 bits, even and odd ones in separate parts. For codes of any value.
template <class V>
struct WideDot {
  using Int = typename V::Int;
  static constexpr int kParts = 2;
  static constexpr int kQuadBytes = kParts * kQuad;
  static constexpr int kPairsToFold = 0;
  template <int kPart>
  static Int prepare(Int codes) {
    Int wide = kPart == 0 ? V::even_bytes(codes) : V::odd_bytes(codes);
    V::hold(wide);
    return wide;
  }
  static void add(Int& acc, Int w, Int x) { V::accumulate_halves(acc, w, x); }
  static void keep(const float* quads, std::int64_t n_rows, std::byte* out) {
    for (std::int64_t quad = 0; quad < kBlockQuads; ++quad) {
      for (std::int64_t row = 0; row < n_rows; ++row, out += kQuadBytes) {
        std::int8_t codes[kQuad];
        __builtin_memcpy(codes, quads + row * kBlockQuads + quad, kQuad);
        const std::int16_t wide[kQuad] = {codes[0], codes[2], codes[1], codes[3]};
        __builtin_memcpy(out, wide, sizeof wide);
      }
    }
  }
};

/// Dot product for 4-bit codes: sums of 16 products of at most 15 * 127 fit into 16 bits, so sums are widened only every 8
/// quads.
template <class V>
struct NarrowDot : ByteQuads<V> {
  using Int = typename V::Int;
  static constexpr int kPairsToFold = 4;
  static void add(Int& acc, Int w, Int x) { V::accumulate_bytes(acc, w, x); }
  static Int fold(Int halves) { return V::multiply_halves(halves, V::ones()); }
};

/// Dot product of one column at a time.
template <class V>
struct PlainDot : ByteQuads<V> {
  using Int = typename V::Int;
  static constexpr int kPairsToFold = 0;
  static void add(Int& acc, Int w, Int x) {
    for (int i = 0; i < kQuad; ++i) {
      acc += ((w >> (8 * i)) & 0xff) * static_cast<std::int8_t>((x >> (8 * i)) & 0xff);
    }
  }
};

// ---- codes as a panel stores them; load() gives vector j of a part of one quad of a pair. kMiddle: the code of weight 0
template <class V>
struct ByteCodes {
  static constexpr int kBits = 8;
  static constexpr int kMiddle = 128;
  static constexpr int kPairBytes = 2 * kQuad * kPanelColumns;
  template <class D, int kSecond, int kPart>
  static typename V::Int load(const std::byte* pair, int j) {
    return D::template prepare<kPart>(V::load_int(pair + (kSecond * kPanelColumns + j * V::kLanes) * kQuad));
  }
};

template <class V>
struct NibbleCodes {
  static constexpr int kBits = 4;
  static constexpr int kMiddle = 8;
  static constexpr int kPairBytes = kQuad * kPanelColumns;
  template <int kSecond>
  static typename V::Int load_nibbles(const std::byte* pair, int j) {
    const auto both = V::load_int(pair + j * V::kLanes * kQuad);
    return kSecond != 0 ? V::high_nibbles(both) : V::low_nibbles(both);
  }
  template <class D, int kSecond, int kPart>
  static typename V::Int load(const std::byte* pair, int j) {
    return D::template prepare<kPart>(load_nibbles<kSecond>(pair, j));
  }
};

/// 4-bit codes that index a codebook of integers.
template <class V, class Book>
struct BookCodes {
  static constexpr int kBits = 4;
  static constexpr int kMiddle = 128;
  static constexpr int kPairBytes = NibbleCodes<V>::kPairBytes;
  static constexpr WholeBook<Book> kBook{};
  template <class D, int kSecond, int kPart>
  static typename V::Int load(const std::byte* pair, int j) {
    return D::template prepare<kPart>(V::look_up(kBook.codes, NibbleCodes<V>::template load_nibbles<kSecond>(pair, j)));
  }
};

/// Codes that were prepared for the two parts of add(): [quad of a pair][part][16 columns][4 bytes].
template <class V>
struct PartedCodes {
  static constexpr int kParts = 2;
  static constexpr int kPairBytes = 2 * kParts * kQuad * kPanelColumns;
  template <class, int kSecond, int kPart>
  static typename V::Int load(const std::byte* pair, int j) {
    auto codes = V::load_int(pair + ((kSecond * kParts + kPart) * kPanelColumns + j * V::kLanes) * kQuad);
    V::hold(codes);
    return codes;
  }
};

/// Type of codes that were prepared for kParts parts.
template <class V, int kParts>
struct ReadyCodes {
  using Type = ByteCodes<V>;
};
template <class V>
struct ReadyCodes<V, 2> {
  using Type = PartedCodes<V>;
};

}  // namespace
}  // namespace lathe::kernels
