// SPDX-License-Identifier: Apache-2.0
// The serialized form of a sentencepiece model, checked before the library sees it.
// Source: sentencepiece_model.proto (ModelProto); protobuf wire format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"

namespace lathe::engine {

enum class PieceType : std::uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct SentencePieceEntry {
  std::string_view text;
  float score = 0;
  PieceType type = PieceType::normal;
  std::size_t type_at = 0;  ///< offset of the byte that holds the type; 0: the field is absent
};

/// Values of TrainerSpec.model_type.
enum class SentencePieceKind : std::uint8_t { unigram = 1, bpe = 2 };

/// The fields of a model that the tokenizer needs. Views into the file's bytes.
struct SentencePieceProto {
  std::vector<SentencePieceEntry> pieces;
  std::string_view charsmap;     ///< precompiled normalizer; empty: identity
  bool add_dummy_prefix = true;  ///< a space is added before the text
  bool remove_extra_whitespaces = true;
  SentencePieceKind kind = SentencePieceKind::unigram;  ///< other values are read as unigram
  bool byte_fallback = false;  ///< unknown characters become byte tokens; otherwise, adjacent ones become one id
};

/// Errors: model_refused with the byte or the piece. Input that the library would trust is refused: empty pieces and pieces
/// with NUL, scores that are not finite, unknown types, normalizer tables with links out of the table, and more user-defined
/// pieces that are prefixes of one another than the library has capacity for.
Result<SentencePieceProto> read_sentencepiece_proto(std::string_view bytes);

/// Returns the serialized form of a model with these pieces and rules; SentencePieceEntry::type_at is ignored.
std::string write_sentencepiece_proto(const SentencePieceProto& proto);

}  // namespace lathe::engine
