// SPDX-License-Identifier: Apache-2.0
// A sentencepiece model written byte by byte, right or wrong as a test wants it.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace lathe::tests {

struct PieceSpec {
  std::string text;
  float score = 0;
  int type = 1;  ///< 1 normal, 2 unknown, 3 control, 4 user-defined, 6 byte
};

struct ModelSpec {
  std::vector<PieceSpec> pieces;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = false;
  std::string charsmap;
};

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
inline std::string bytes_field(int number, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes;
}
inline std::string varint_field(int number, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(number) << 3) + varint(value);
}
inline std::string float_field(int number, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  std::string out = varint(static_cast<std::uint64_t>(number) << 3 | 5);
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(bits >> shift);
  return out;
}

/// The serialized ModelProto of a BPE model.
inline std::string serialized(const ModelSpec& model) {
  std::string out;
  for (const PieceSpec& piece : model.pieces) {
    out += bytes_field(1, bytes_field(1, piece.text) + float_field(2, piece.score) +
                              varint_field(3, static_cast<std::uint64_t>(piece.type)));
  }
  out += bytes_field(2, varint_field(3, 2) + varint_field(35, 1));  // trainer_spec: model_type BPE, byte_fallback
  std::string normalizer = bytes_field(1, "identity");
  if (!model.charsmap.empty()) normalizer += bytes_field(2, model.charsmap);
  normalizer += varint_field(3, model.add_dummy_prefix ? 1 : 0) + varint_field(4, model.remove_extra_whitespaces ? 1 : 0);
  return out + bytes_field(3, normalizer);
}

/// <unk> <s> </s> <|user|> (control), [tool] (user-defined), the 256 bytes, then letters, the space mark and a few words.
inline ModelSpec small_model() {
  ModelSpec model;
  model.pieces = {{"<unk>", 0, 2}, {"<s>", 0, 3}, {"</s>", 0, 3}, {"<|user|>", 0, 3}, {"[tool]", 0, 4}};
  for (int byte = 0; byte < 256; ++byte) {
    const char* digits = "0123456789ABCDEF";
    model.pieces.push_back({std::string("<0x") + digits[byte >> 4] + digits[byte & 15] + ">", 0, 6});
  }
  float score = 0;
  for (const char* piece :
       {"he", "ll", "\xE2\x96\x81he", "\xE2\x96\x81hell", "\xE2\x96\x81hello", "or", "\xE2\x96\x81w", "\xE2\x96\x81wor"}) {
    model.pieces.push_back({piece, score--, 1});
  }
  model.pieces.push_back({"\xE2\x96\x81", score--, 1});
  for (char c = 'a'; c <= 'z'; ++c) model.pieces.push_back({std::string(1, c), score--, 1});
  for (const char c : std::string("<>|/[]{}_.,!0123456789")) model.pieces.push_back({std::string(1, c), score--, 1});
  return model;
}

}  // namespace lathe::tests
