// SPDX-License-Identifier: Apache-2.0
#include "engine/text/rank_file.h"

#include <QTest>

#include "engine/base/base64.h"
#include "tests/support/encoded.h"
#include "tests/support/test_class.h"
#include "tests/support/text_files.h"

namespace rank_file_test {

using namespace lathe::engine;
using namespace lathe::tests;

namespace {

std::string refusal(const std::string& ranks, const std::string& config = "{}") {
  const TextFolder folder;
  folder.write("tokenizer.model", ranks);
  folder.write("tokenizer_config.json", config);
  const auto made = open_rank_file(*ModelFolder::open(folder.path()), "tokenizer.model");
  if (made) return "was accepted";
  return made.error().code == ErrorCode::model_refused ? made.error().where + ": " + made.error().message : "another code";
}

/// As many ranks as Llama 3 has: the bytes, " a", " ab", then texts of digits that no test spells.
std::string many_ranks(std::size_t n = 128'000) {
  std::string text;
  int rank = 0;
  const auto add = [&](const std::string& bytes) {
    text += QByteArray::fromStdString(bytes).toBase64().toStdString() + " " + std::to_string(rank++) + "\n";
  };
  for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
  add(" a");
  add(" ab");
  for (std::size_t i = 258; i < n; ++i) add("#" + std::to_string(1'000'000 + i));
  return text;
}

}  // namespace

class RankFileTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void base64_is_read_strictly() {
    QCOMPARE(decode_base64("").value(), std::string());
    QCOMPARE(decode_base64("IQ==").value(), std::string("!"));
    QCOMPARE(decode_base64("YWI=").value(), std::string("ab"));
    QCOMPARE(decode_base64("YWJj").value(), std::string("abc"));
    for (const char* bad : {"I", "IQ=", "I!==", "====", "=IQ=", "IQ==IQ=="}) QVERIFY2(!decode_base64(bad).has_value(), bad);
  }
  void a_rank_file_is_known_by_its_first_line() {
    QVERIFY(is_rank_file("IQ== 0\nIg== 1\n"));
    for (const char* other : {"", "IQ== 0", "\n", "{}\n", "IQ==\n", "IQ== x\n", "\x0A\x0E\x0A\x05<unk>\n"}) {
      QVERIFY2(!is_rank_file(other), other);
    }
  }
  void pieces_merge_by_rank_and_families_bring_their_control_tokens() {
    const TextFolder folder;
    folder.write("tokenizer.model", many_ranks());
    const auto t = open_tokenizer(folder.path());
    QVERIFY2(t.has_value(), t ? "" : t.error().message.c_str());
    QCOMPARE((*t)->vocab_size(), 128'256);
    QCOMPARE((*t)->bos_id().value(), 128'000);
    QCOMPARE((*t)->id_of("<|eot_id|>").value(), 128'009);
    QCOMPARE((*t)->id_of("<|reserved_special_token_246|>").has_value(), false);
    QCOMPARE(encoded(**t, "x ab a", true, false), (std::vector<std::int32_t>{128'000, 'x', 257, 256}));
    QCOMPARE(encoded(**t, "<|eot_id|>", false, true), (std::vector<std::int32_t>{128'009}));
    QVERIFY(encoded(**t, "<|eot_id|>", false, false).size() > 1);
  }
  void the_configuration_may_name_a_control_token_otherwise() {
    const TextFolder folder;
    folder.write("tokenizer.model", many_ranks());
    folder.write("tokenizer_config.json", R"({"added_tokens_decoder":{"128011":{"content":"<|mine|>","special":true}}})");
    const auto t = open_tokenizer(folder.path());
    QVERIFY2(t.has_value(), t ? "" : t.error().message.c_str());
    QCOMPARE((*t)->id_of("<|mine|>").value(), 128'011);
    QVERIFY(!(*t)->id_of("<|image|>").has_value());
  }
  void L17_damaged_lines_are_refused_with_their_number() {
    for (const char* bad : {"!!!! 1", "IQ==", "IQ== -1", "IQ== 1x", "IQ== 99999999999", " 1"}) {
      const std::string message = refusal("Ig== 0\n" + std::string(bad) + "\n");
      QVERIFY2(message.starts_with("tokenizer.model: line 2: must be the bytes"), message.c_str());
    }
  }
  void L17_other_numbers_of_ranks_are_refused() {
    QVERIFY(refusal("IQ== 0\n").find("1 ranks: only the rank files of Llama 3") != std::string::npos);
  }
  void L17_the_same_piece_or_rank_twice_is_refused() {
    std::string text = many_ranks();
    QVERIFY(refusal(text.substr(0, text.rfind('\n', text.size() - 2) + 1) + "IQ== 127999\n").find("appears twice") !=
            std::string::npos);
    QVERIFY(refusal(text.substr(0, text.rfind(' ')) + " 5\n").find("the id 5 is given") != std::string::npos);
  }
};

LATHE_TEST(RankFileTest)

}  // namespace rank_file_test
#include "rank_file_test.moc"
