// SPDX-License-Identifier: Apache-2.0
#include "engine/text/sentencepiece_proto.h"

#include <QTest>
#include <limits>
#include <map>

#include "engine/base/text_file.h"
#include "tests/support/sentencepiece_model.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"

namespace sentencepiece_proto_test {

using namespace lathe::engine;
using namespace lathe::tests;

namespace {

std::string refusal(const std::string& bytes) {
  const auto proto = read_sentencepiece_proto(bytes);
  if (proto) return {};
  return proto.error().code == ErrorCode::model_refused ? proto.error().where + ": " + proto.error().message : "wrong code";
}
std::string with_piece(const PieceSpec& piece) {
  ModelSpec model = small_model();
  model.pieces.push_back(piece);
  return refusal(serialized(model));
}
std::string with_charsmap(const std::string& charsmap) {
  ModelSpec model = small_model();
  model.charsmap = charsmap;
  return refusal(serialized(model));
}
std::string little_endian(std::uint32_t value) {
  std::string out;
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift);
  return out;
}
/// A trie of 256 units and the texts "ab" and "". Without `units` it holds no key: its root leads to base 1, and no unit
/// belongs there.
std::string charsmap(const std::map<std::uint32_t, std::uint32_t>& units = {}) {
  std::string out = little_endian(1024);
  for (std::uint32_t i = 0; i < 256; ++i) {
    const auto given = units.find(i);
    out += little_endian(given != units.end() ? given->second : i == 0 ? 1u << 10 : i ^ 0xFF);
  }
  return out + std::string("ab\0", 3);
}
constexpr std::uint32_t kLeaf = 0x100, kValue = 0x8000'0000;
/// The keys "a", "aa", "aaa", ...: each begins the next.
std::string charsmap_of_nested(std::uint32_t n) {
  std::map<std::uint32_t, std::uint32_t> units = {{0, 0x80u << 10}};
  for (std::uint32_t base = 0x80; base < 0x80 + n; ++base) {
    units[base ^ 'a'] = 'a' | kLeaf | (base ^ 'a' ^ (base + 1)) << 10;
    units[base + 1] = kValue;
  }
  return charsmap(units);
}
std::string with_user_defined(int n) {
  ModelSpec model = small_model();
  for (int i = 1; i <= n; ++i) model.pieces.push_back({std::string(static_cast<std::size_t>(i), '~'), 0, 4});
  return refusal(serialized(model));
}

}  // namespace

class SentencePieceProtoTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void reads_pieces_and_flags() {
    ModelSpec model = small_model();
    model.add_dummy_prefix = false;
    model.remove_extra_whitespaces = true;
    const std::string bytes = serialized(model);
    const auto proto = read_sentencepiece_proto(bytes);
    QVERIFY(proto.has_value());
    QCOMPARE(proto->pieces.size(), model.pieces.size());
    QCOMPARE(proto->pieces[3].text, std::string_view("<|user|>"));
    QVERIFY(proto->pieces[3].type == PieceType::control);
    QVERIFY(!proto->add_dummy_prefix && proto->remove_extra_whitespaces);
  }
  void the_place_of_the_type_is_right() {
    const std::string bytes = serialized(small_model());
    const auto proto = read_sentencepiece_proto(bytes);
    for (const SentencePieceEntry& piece : proto->pieces)
      QCOMPARE(static_cast<int>(bytes[piece.type_at]), static_cast<int>(piece.type));
  }
  void L1_every_prefix_is_refused_or_read() {
    ModelSpec model;
    model.pieces = {{"<unk>", 0, 2}, {"a", -1, 1}};
    const std::string bytes = serialized(model);
    for (std::size_t n = 0; n < bytes.size(); ++n) read_sentencepiece_proto(bytes.substr(0, n));
    QVERIFY(!refusal("").empty());
    QVERIFY(!refusal(bytes.substr(0, 3)).empty());
    for (const std::size_t n : {std::size_t{5}, bytes.size() - 1}) {
      QVERIFY(refusal(bytes.substr(0, n)).find("truncated") != std::string::npos);
    }
  }
  void L18_bad_pieces_are_refused() {
    QVERIFY(with_piece({"", 0, 1}).find("empty") != std::string::npos);
    QVERIFY(with_piece({std::string("a\0b", 3), 0, 1}).find("NUL") != std::string::npos);
    QVERIFY(with_piece({std::string(1 << 20, 'x'), 0, 1}).find("1048576") != std::string::npos);
    QVERIFY(with_piece({"\xFF", 0, 1}).find("UTF-8") != std::string::npos);
    QVERIFY(with_piece({"x", std::numeric_limits<float>::quiet_NaN(), 1}).find("score") != std::string::npos);
    QVERIFY(with_piece({"x", std::numeric_limits<float>::infinity(), 1}).find("score") != std::string::npos);
    QVERIFY(with_piece({"x", 0, 7}).find("type 7") != std::string::npos);
    QVERIFY(with_piece({"ok", 0, 1}).empty());
  }
  void L18_a_piece_that_claims_more_bytes_than_there_are_is_refused() {
    std::string bytes = serialized(small_model());
    bytes += varint(1 << 3 | 2) + varint(1ull << 31) + "x";
    QVERIFY(refusal(bytes).find("truncated") != std::string::npos);
  }
  void L18_bad_normalizer_tables_are_refused() {
    QCOMPARE(with_charsmap(charsmap()), std::string());
    QVERIFY(with_charsmap("x").find("charsmap") != std::string::npos);
    QVERIFY(!with_charsmap(std::string("\xFF\xFF\xFF\xFF", 4) + "abc").empty());
    QVERIFY(!with_charsmap(std::string("\x03\0\0\0", 4) + "abcd").empty());
    QVERIFY(with_charsmap(charsmap({{5, 0x7FFFFC00u}})).find("unit 5") != std::string::npos);  // far offset
    QVERIFY(with_charsmap(charsmap({{9, kValue | 3}})).find("texts") != std::string::npos);    // behind "ab\0"
    QCOMPARE(with_charsmap(charsmap({{9, kValue | 2}})), std::string());
    std::string open_text = charsmap();
    open_text.back() = 'x';
    QVERIFY(with_charsmap(open_text).find("terminated") != std::string::npos);
    const std::string long_text = charsmap() + std::string(257, 'x') + '\0';
    QVERIFY(with_charsmap(long_text).find("a text of 257 bytes, at most 256") != std::string::npos);
  }
  void L18_a_value_is_read_whatever_its_unit_says() {
    // "a" leads to unit 0x61, whose value lies in unit 0x60: not marked as a value, and far behind the texts.
    const std::string reason = with_charsmap(charsmap({{0, 0}, {0x61, 0x561}, {0x60, 0x3FC00}}));
    QVERIFY2(reason.find("the value of unit 97 points past the texts") != std::string::npos, reason.c_str());
  }
  void L18_a_root_that_is_a_value_is_refused() {
    const std::string reason = with_charsmap(charsmap({{0, kValue | 1}}));
    QVERIFY2(reason.find("its root is a value") != std::string::npos, reason.c_str());
  }
  void L18_more_matches_than_the_library_has_room_for_are_refused() {
    QCOMPARE(with_charsmap(charsmap_of_nested(32)), std::string());
    const std::string reason = with_charsmap(charsmap_of_nested(33));
    QVERIFY2(reason.find("33 of its keys are prefixes of one another, at most 32") != std::string::npos, reason.c_str());
    QCOMPARE(with_user_defined(64), std::string());
    QVERIFY(with_user_defined(65).find("more than 64 user-defined pieces") != std::string::npos);
  }
  void L18_a_trie_that_goes_in_a_circle_is_refused() {
    // "a" leads from base 1 to base 1.
    const std::string reason = with_charsmap(charsmap({{0x60, 'a' | 0x61u << 10}}));
    QVERIFY2(reason.find("keys of more than 256 bytes") != std::string::npos, reason.c_str());
  }
  void L18_the_table_of_the_way_back_is_checked_too() {
    const std::string bad = bytes_field(2, charsmap({{9, kValue | 3}}));
    QVERIFY(refusal(serialized(small_model()) + bytes_field(5, bad)).find("past the texts") != std::string::npos);
  }
  void L18_a_field_number_beyond_32_bits_is_refused() {
    // The library drops the upper bits and would take this for a normalizer that was never checked.
    const std::string tag = varint((1ull << 32) + (3 << 3 | 2));
    const std::string spec = bytes_field(2, charsmap({{9, kValue | 3}}));
    QVERIFY(refusal(serialized(small_model()) + tag + varint(spec.size()) + spec).find("too long") != std::string::npos);
  }
  void L18_flipped_bytes_never_crash() {
    const std::string good = serialized(small_model());
    for (std::size_t i = 0; i < good.size(); i += 3) {
      for (const int flip : {0x01, 0x80, 0xFF}) {
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ flip);
        read_sentencepiece_proto(bad);
      }
    }
  }
  void real_models_pass() {
    SKIP_WITHOUT_SHARED("data/tokenizers/mistral/v3.tokenizer.model");
    for (const char* path : {"data/tokenizers/llama-2/tokenizer.model", "data/tokenizers/mistral/v1.tokenizer.model",
                             "data/tokenizers/mistral/v3.tokenizer.model", "data/tokenizers/mistral/v7.tokenizer.model"}) {
      QCOMPARE(refusal(read_text_file(shared_path(path), 1 << 24).value()), std::string());
    }
  }
};

LATHE_TEST(SentencePieceProtoTest)

}  // namespace sentencepiece_proto_test
#include "sentencepiece_proto_test.moc"
