// SPDX-License-Identifier: Apache-2.0
#include "engine/text/sentencepiece_proto.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/base/utf8.h"
#include "engine/text/charsmap.h"

namespace lathe::engine {
namespace {

constexpr std::string_view kFile = "tokenizer.model";
constexpr std::size_t kMaxPieces = 4'000'000, kMaxProtoPieceBytes = 4096;

tl::unexpected<Error> refuse_proto(std::string message, std::string_view field = {}) {
  return fail(ErrorCode::model_refused, std::move(message),
              field.empty() ? std::string(kFile) : fmt::format("{}: {}", kFile, field));
}

/// Wire types of protobuf that occur in a model.
enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct Field {
  std::uint32_t number = 0;
  Wire wire = Wire::varint;
  std::uint64_t value = 0;   ///< value of varint and fixed32
  std::size_t value_at = 0;  ///< offset of the value in the file
  std::string_view bytes{};
};

/// Reads the fields of one message, each with its offset in the file.
class ProtoReader {
 public:
  ProtoReader(std::string_view file, std::string_view message)
      : file_(file), at_(static_cast<std::size_t>(message.data() - file.data())), end_(at_ + message.size()) {}

  bool done() const { return at_ == end_; }
  Result<Field> next() {
    LATHE_TRY(const std::uint64_t tag, varint());
    // The library keeps only the low 32 bits of a tag, so it would read a longer one as another field.
    if (tag > std::numeric_limits<std::uint32_t>::max())
      return refuse_proto(fmt::format("a field number before byte {} is too long", at_));
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
    return refuse_proto(fmt::format("byte {} is not a field of a sentencepiece model", at_));
  }

 private:
  tl::unexpected<Error> truncated() const {
    return refuse_proto(fmt::format("truncated: a field reaches past its end at byte {}", at_));
  }
  Result<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) return truncated();
      const auto byte = static_cast<unsigned char>(file_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return refuse_proto(fmt::format("a number at byte {} is too long", at_));
  }

  std::string_view file_;
  std::size_t at_, end_;
};

Result<SentencePieceEntry> read_piece(std::string_view file, std::string_view message, std::size_t index) {
  SentencePieceEntry piece;
  for (ProtoReader reader(file, message); !reader.done();) {
    LATHE_TRY(const Field field, reader.next());
    if (field.number == 1 && field.wire == Wire::bytes) piece.text = field.bytes;
    if (field.number == 2 && field.wire == Wire::fixed32)
      piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
    if (field.number == 3 && field.wire == Wire::varint) {
      if (field.value < 1 || field.value > 6)
        return refuse_proto(fmt::format("unknown type {}", field.value), fmt::format("piece {}", index));
      piece.type = static_cast<PieceType>(field.value);
      piece.type_at = field.value_at;
    }
  }
  const std::string where = fmt::format("piece {}", index);
  if (piece.text.empty()) return refuse_proto("is empty", where);
  if (piece.text.size() > kMaxProtoPieceBytes) return refuse_proto(fmt::format("has {} bytes", piece.text.size()), where);
  if (piece.text.find('\0') != piece.text.npos) return refuse_proto("holds a NUL character", where);
  if (!is_valid_utf8(piece.text)) return refuse_proto("is not UTF-8", where);
  if (!std::isfinite(piece.score)) return refuse_proto("has a score that is not a finite number", where);
  return piece;
}

/// Reads normalizer_spec or denormalizer_spec: the library opens the tables of both.
Result<void> read_normalizer(std::string_view file, std::string_view message, SentencePieceProto& proto) {
  for (ProtoReader reader(file, message); !reader.done();) {
    LATHE_TRY(const Field field, reader.next());
    if (field.number == 2 && field.wire == Wire::bytes) proto.charsmap = field.bytes;
    if (field.number == 3 && field.wire == Wire::varint) proto.add_dummy_prefix = field.value != 0;
    if (field.number == 4 && field.wire == Wire::varint) proto.remove_extra_whitespaces = field.value != 0;
  }
  return check_charsmap(proto.charsmap);
}

Result<void> read_trainer(std::string_view file, std::string_view message, SentencePieceProto& proto) {
  for (ProtoReader reader(file, message); !reader.done();) {
    LATHE_TRY(const Field field, reader.next());
    if (field.number == 3 && field.wire == Wire::varint && field.value == 2) proto.kind = SentencePieceKind::bpe;
    if (field.number == 35 && field.wire == Wire::varint) proto.byte_fallback = field.value != 0;
  }
  return {};
}

/// Checks how many user-defined pieces are prefixes of one another: the library has capacity for kMaxMatches that match a
/// text.
Result<void> check_user_defined(const std::vector<SentencePieceEntry>& pieces) {
  constexpr std::size_t kMaxMatches = 64;  // kResultSize of PrefixMatcher::PrefixMatch
  std::vector<std::string_view> texts, prefixes;
  for (const SentencePieceEntry& piece : pieces) {
    if (piece.type == PieceType::user_defined) texts.push_back(piece.text);
  }
  std::sort(texts.begin(), texts.end());
  for (const std::string_view text : texts) {
    while (!prefixes.empty() && !text.starts_with(prefixes.back())) prefixes.pop_back();
    prefixes.push_back(text);
    if (prefixes.size() > kMaxMatches) {
      return refuse_proto(fmt::format("more than {} user-defined pieces are prefixes of one another: {}", kMaxMatches,
                                      printable_excerpt(text)));
    }
  }
  return {};
}

/// Appends the fields of one message.
class FieldWriter {
 public:
  void varint(std::uint32_t number, std::uint64_t value) {
    raw(number << 3 | static_cast<std::uint32_t>(Wire::varint));
    raw(value);
  }
  void fixed32(std::uint32_t number, float value) {
    raw(number << 3 | static_cast<std::uint32_t>(Wire::fixed32));
    const auto bits = std::bit_cast<std::array<char, sizeof value>>(value);
    out_.append(bits.data(), bits.size());
  }
  void bytes(std::uint32_t number, std::string_view value) {
    raw(number << 3 | static_cast<std::uint32_t>(Wire::bytes));
    raw(value.size());
    out_ += value;
  }
  std::string take() { return std::move(out_); }

 private:
  void raw(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }

  std::string out_;
};

}  // namespace

Result<SentencePieceProto> read_sentencepiece_proto(std::string_view bytes) {
  SentencePieceProto proto;
  if (bytes.empty()) return refuse_proto("the file is empty");
  for (ProtoReader reader(bytes, bytes); !reader.done();) {
    LATHE_TRY(const Field field, reader.next());
    if (field.number == 1 && field.wire == Wire::bytes) {
      if (proto.pieces.size() == kMaxPieces) return refuse_proto(fmt::format("more than {} pieces", kMaxPieces));
      LATHE_TRY(proto.pieces.emplace_back(), read_piece(bytes, field.bytes, proto.pieces.size()));
    } else if (field.number == 2 && field.wire == Wire::bytes) {
      LATHE_TRY_VOID(read_trainer(bytes, field.bytes, proto));
    } else if (field.number == 3 && field.wire == Wire::bytes) {
      LATHE_TRY_VOID(read_normalizer(bytes, field.bytes, proto));
    } else if (field.number == 5 && field.wire == Wire::bytes) {
      SentencePieceProto other_way;
      LATHE_TRY_VOID(read_normalizer(bytes, field.bytes, other_way));
    }
  }
  if (proto.pieces.empty()) return refuse_proto("it holds no pieces");
  LATHE_TRY_VOID(check_user_defined(proto.pieces));
  return proto;
}

std::string write_sentencepiece_proto(const SentencePieceProto& proto) {
  FieldWriter model, trainer, normalizer;
  for (const SentencePieceEntry& entry : proto.pieces) {
    FieldWriter piece;
    piece.bytes(1, entry.text);
    piece.fixed32(2, entry.score);
    piece.varint(3, static_cast<std::uint64_t>(entry.type));
    model.bytes(1, piece.take());
  }
  trainer.varint(3, static_cast<std::uint64_t>(proto.kind));
  trainer.varint(35, proto.byte_fallback ? 1 : 0);
  normalizer.bytes(2, proto.charsmap);
  normalizer.varint(3, proto.add_dummy_prefix ? 1 : 0);
  normalizer.varint(4, proto.remove_extra_whitespaces ? 1 : 0);
  model.bytes(2, trainer.take());
  model.bytes(3, normalizer.take());
  return model.take();
}

}  // namespace lathe::engine
