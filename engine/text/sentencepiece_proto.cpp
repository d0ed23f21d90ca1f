// SPDX-License-Identifier: Apache-2.0
#include "engine/text/sentencepiece_proto.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "engine/base/utf8.h"

namespace lathe::engine {
namespace {

constexpr std::string_view kFile = "tokenizer.model";
constexpr std::size_t kMaxPieces = 4'000'000, kMaxPieceBytes = 4096;

tl::unexpected<Error> refuse(std::string message, std::string_view field = {}) {
  return fail(ErrorCode::model_refused, std::move(message),
              field.empty() ? std::string(kFile) : fmt::format("{}: {}", kFile, field));
}

/// Wire types of protobuf that occur in a model.
enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct Field {
  std::uint32_t number = 0;
  Wire wire = Wire::varint;
  std::uint64_t value = 0;   ///< of varint and fixed32
  std::size_t value_at = 0;  ///< offset of the value in the file
  std::string_view bytes{};
};

/// Reads the fields of one message, each with its place in the file.
class FieldReader {
 public:
  FieldReader(std::string_view file, std::string_view message)
      : file_(file), at_(static_cast<std::size_t>(message.data() - file.data())), end_(at_ + message.size()) {}

  bool done() const { return at_ == end_; }
  Result<Field> next() {
    LATHE_TRY(const std::uint64_t tag, varint());
    Field field{.number = static_cast<std::uint32_t>(tag >> 3), .wire = static_cast<Wire>(tag & 7), .value_at = at_};
    switch (field.wire) {
      case Wire::varint: {
        LATHE_TRY(field.value, varint());
        return field;
      }
      case Wire::fixed32:
      case Wire::fixed64: {
        const std::size_t size = field.wire == Wire::fixed32 ? 4 : 8;
        if (end_ - at_ < size) return truncated();
        std::memcpy(&field.value, file_.data() + at_, size);
        at_ += size;
        return field;
      }
      case Wire::bytes: {
        LATHE_TRY(const std::uint64_t size, varint());
        if (size > end_ - at_) return truncated();
        field.bytes = file_.substr(at_, size);
        at_ += size;
        return field;
      }
    }
    return refuse(fmt::format("byte {} is no field of a sentencepiece model", at_));
  }

 private:
  tl::unexpected<Error> truncated() const {
    return refuse(fmt::format("truncated: a field reaches past its end at byte {}", at_));
  }
  Result<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) return truncated();
      const auto byte = static_cast<unsigned char>(file_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return refuse(fmt::format("a number at byte {} is too long", at_));
  }

  std::string_view file_;
  std::size_t at_, end_;
};

Result<SentencePieceEntry> read_piece(std::string_view file, std::string_view message, std::size_t index) {
  SentencePieceEntry piece;
  for (FieldReader reader(file, message); !reader.done();) {
    LATHE_TRY(const Field field, reader.next());
    if (field.number == 1 && field.wire == Wire::bytes) piece.text = field.bytes;
    if (field.number == 2 && field.wire == Wire::fixed32)
      piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
    if (field.number == 3 && field.wire == Wire::varint) {
      if (field.value < 1 || field.value > 6)
        return refuse(fmt::format("unknown type {}", field.value), fmt::format("piece {}", index));
      piece.type = static_cast<PieceType>(field.value);
      piece.type_at = field.value_at;
    }
  }
  const std::string where = fmt::format("piece {}", index);
  if (piece.text.empty()) return refuse("is empty", where);
  if (piece.text.size() > kMaxPieceBytes) return refuse(fmt::format("has {} bytes", piece.text.size()), where);
  if (piece.text.find('\0') != piece.text.npos) return refuse("holds a NUL character", where);
  if (!is_valid_utf8(piece.text)) return refuse("is not UTF-8", where);
  if (!std::isfinite(piece.score)) return refuse("has a score that is not a finite number", where);
  return piece;
}

/// Every link of the double-array trie must stay inside the array, and every value inside the text behind it: the library
/// follows both unchecked. Layout: u32 size of the trie in bytes, the trie, then texts that end with NUL.
Result<void> check_charsmap(std::string_view map) {
  constexpr std::string_view kField = "precompiled_charsmap";
  if (map.empty()) return {};
  std::uint32_t trie_bytes = 0;
  if (map.size() < sizeof trie_bytes) return refuse("truncated", kField);
  std::memcpy(&trie_bytes, map.data(), sizeof trie_bytes);
  map.remove_prefix(sizeof trie_bytes);
  if (trie_bytes > map.size() || trie_bytes < 1024 || trie_bytes % 4 != 0) {
    return refuse(fmt::format("a trie of {} bytes in {}", trie_bytes, map.size()), kField);
  }
  const std::string_view texts = map.substr(trie_bytes);
  if (texts.empty() || texts.back() != '\0') return refuse("its texts are not terminated", kField);
  const std::size_t n_units = trie_bytes / 4;
  for (std::size_t i = 0; i < n_units; ++i) {
    std::uint32_t unit = 0;
    std::memcpy(&unit, map.data() + 4 * i, sizeof unit);
    if ((unit >> 31) != 0) {
      if ((unit & 0x7FFFFFFF) >= texts.size()) return refuse(fmt::format("unit {} points past the texts", i), kField);
      continue;
    }
    const std::size_t offset = static_cast<std::size_t>(unit >> 10) << ((unit & (1u << 9)) >> 6);
    if (unit != 0 && ((i ^ offset) | 0xFF) >= n_units) return refuse(fmt::format("unit {} points past the trie", i), kField);
  }
  return {};
}

Result<void> read_normalizer(std::string_view file, std::string_view message, SentencePieceProto& proto) {
  for (FieldReader reader(file, message); !reader.done();) {
    LATHE_TRY(const Field field, reader.next());
    if (field.number == 2 && field.wire == Wire::bytes) proto.charsmap = field.bytes;
    if (field.number == 3 && field.wire == Wire::varint) proto.add_dummy_prefix = field.value != 0;
    if (field.number == 4 && field.wire == Wire::varint) proto.remove_extra_whitespaces = field.value != 0;
  }
  return check_charsmap(proto.charsmap);
}

}  // namespace

Result<SentencePieceProto> read_sentencepiece_proto(std::string_view bytes) {
  SentencePieceProto proto;
  if (bytes.empty()) return refuse("the file is empty");
  for (FieldReader reader(bytes, bytes); !reader.done();) {
    LATHE_TRY(const Field field, reader.next());
    if (field.number == 1 && field.wire == Wire::bytes) {
      if (proto.pieces.size() == kMaxPieces) return refuse(fmt::format("more than {} pieces", kMaxPieces));
      LATHE_TRY(proto.pieces.emplace_back(), read_piece(bytes, field.bytes, proto.pieces.size()));
    } else if (field.number == 3 && field.wire == Wire::bytes) {
      LATHE_TRY_VOID(read_normalizer(bytes, field.bytes, proto));
    }
  }
  if (proto.pieces.empty()) return refuse("it holds no pieces");
  return proto;
}

}  // namespace lathe::engine
