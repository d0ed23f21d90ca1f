// SPDX-License-Identifier: Apache-2.0
#include "engine/text/sentencepiece_proto.h"

#include <QTest>
#include <limits>

#include "engine/base/text_file.h"
#include "tests/support/sentencepiece_model.h"
#include "tests/support/shared_data.h"

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
/// A trie whose units are all zero but one, and a terminated text.
std::string charsmap(std::uint32_t at, std::uint32_t unit) {
  std::string out = {0, 4, 0, 0};  // 1024 bytes
  for (std::uint32_t i = 0; i < 256; ++i) {
    const std::uint32_t value = i == at ? unit : 0;
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift);
  }
  return out + std::string("ab\0", 3);
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
    QVERIFY(refusal(bytes.substr(0, 5)).find("truncated") != std::string::npos);
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
    QVERIFY(with_charsmap(charsmap(0, 0)).empty());
    QVERIFY(with_charsmap("x").find("charsmap") != std::string::npos);
    QVERIFY(!with_charsmap(std::string("\xFF\xFF\xFF\xFF", 4) + "abc").empty());
    QVERIFY(!with_charsmap(std::string("\x03\0\0\0", 4) + "abcd").empty());
    QVERIFY(with_charsmap(charsmap(5, 0x7FFFFC00u)).find("unit 5") != std::string::npos);  // far offset
    QVERIFY(with_charsmap(charsmap(9, 0x80000003u)).find("texts") != std::string::npos);   // value behind "ab\0"
    QVERIFY(with_charsmap(charsmap(9, 0x80000002u)).empty());
    std::string open_text = charsmap(0, 0);
    open_text.back() = 'x';
    QVERIFY(with_charsmap(open_text).find("terminated") != std::string::npos);
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

QTEST_GUILESS_MAIN(SentencePieceProtoTest)
#include "sentencepiece_proto_test.moc"
