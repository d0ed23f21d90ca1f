// SPDX-License-Identifier: Apache-2.0
// Products of four unsigned codes and four signed activations for each column: the ways in which instruction sets get them.
// Each gives the exact integer, so that all give the same. keep() turns quads [row][kBlockQuads] into [quad][row], as
// broadcast() reads them.
#pragma once

#include "kernels/cpu/ops/transpose.h"
#include "kernels/cpu/table/coded_layout.h"
#include "kernels/formats/bnb4/code_book.h"
#include "kernels/formats/iq4/iq4_book.h"
#include "kernels/formats/mxfp4/mxfp4_book.h"

namespace lathe::kernels {
namespace {

/// Quads of a block of activations. Four codes travel as the bits of a float: nothing computes with those.
constexpr std::int64_t kBlockQuads = kActivationBlock / kQuad;

/// Activations stay bytes, four of a row in one number; codes go as they are.
template <class V>
struct ByteQuads {
  using Int = typename V::Int;
  using Codes = Int;
  static constexpr int kQuadBytes = kQuad;
  static Codes prepare(Int codes) {
    V::hold(codes);
    return codes;
  }
  static Int broadcast(const std::byte* x) {
    std::int32_t value = 0;
    __builtin_memcpy(&value, x, sizeof value);
    return V::set_int(value);
  }
  static void keep(const float* quads, std::int64_t n_rows, std::byte* out) {
    pack_rows_as_columns(quads, kBlockQuads, n_rows, kBlockQuads, reinterpret_cast<float*>(out));
  }
};

/// Codes and activations widened to 16 bits, even ones and odd ones apart. For any codes.
template <class V>
struct WideDot {
  using Int = typename V::Int;
  static constexpr int kQuadBytes = 2 * kQuad;
  static constexpr int kPairsToFold = 0;
  struct Codes {
    Int even, odd;
  };
  static Codes prepare(Int codes) { return {V::even_bytes(codes), V::odd_bytes(codes)}; }
  static Codes broadcast(const std::byte* x) { return {V::set_int(load_quad(x)), V::set_int(load_quad(x + kQuad))}; }
  static void add(Int& acc, const Codes& w, const Codes& x) {
    acc = V::add_int(acc, V::multiply_halves(w.even, x.even));
    acc = V::add_int(acc, V::multiply_halves(w.odd, x.odd));
  }
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

 private:
  static std::int32_t load_quad(const std::byte* p) {
    std::int32_t value = 0;
    __builtin_memcpy(&value, p, sizeof value);
    return value;
  }
};

/// Codes of 4 bits leave room: sums of 16 products of at most 15 * 127 fit into 16 bits, so they are widened every 8 quads.
template <class V>
struct NarrowDot : ByteQuads<V> {
  using Int = typename V::Int;
  static constexpr int kPairsToFold = 4;
  static void add(Int& acc, Int w, Int x) { acc = V::add_halves(acc, V::multiply_bytes(w, x)); }
  static Int fold(Int halves) { return V::multiply_halves(halves, V::ones()); }
};

/// One column at a time.
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

// ---- codes as they lie in a panel: vector j of one quad of a pair. kMiddle: what stands for zero
template <class V>
struct ByteCodes {
  static constexpr int kBits = 8;
  static constexpr int kMiddle = 128;
  static constexpr int kPairBytes = 2 * kQuad * kPanelColumns;
  template <int kSecond>
  static typename V::Int load(const std::byte* pair, int j) {
    return V::load_int(pair + (kSecond * kPanelColumns + j * V::kLanes) * kQuad);
  }
};

template <class V>
struct NibbleCodes {
  static constexpr int kBits = 4;
  static constexpr int kMiddle = 8;
  static constexpr int kPairBytes = kQuad * kPanelColumns;
  template <int kSecond>
  static typename V::Int load(const std::byte* pair, int j) {
    const auto both = V::load_int(pair + j * V::kLanes * kQuad);
    return kSecond != 0 ? V::high_nibbles(both) : V::low_nibbles(both);
  }
};

/// Codes of 4 bits that stand for whole numbers of a book.
template <class V, class Book>
struct BookCodes {
  static constexpr int kBits = 4;
  static constexpr int kMiddle = 128;
  static constexpr int kPairBytes = NibbleCodes<V>::kPairBytes;
  static constexpr WholeBook<Book> kBook{};
  template <int kSecond>
  static typename V::Int load(const std::byte* pair, int j) {
    return V::look_up(kBook.codes, NibbleCodes<V>::template load<kSecond>(pair, j));
  }
};

}  // namespace
}  // namespace lathe::kernels
