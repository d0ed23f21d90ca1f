// SPDX-License-Identifier: Apache-2.0
// lathe embed: its contract with scripts.
#include <QTest>

#include "engine/api/json.h"
#include "tests/support/cli_run.h"
#include "tests/support/encoder_folder.h"
#include "tests/support/test_class.h"
#include "tests/support/verify_has.h"

namespace embed_command_test {

using lathe::engine::Json;
using namespace lathe::tests;

class EmbedCommandTest : public QObject {
  Q_OBJECT
  const EncoderFolder folder_;

  CliRun run(std::vector<std::string> more, const std::string& input = {}) const {
    more.insert(more.begin(), {"embed", "--model", folder_.path(), "--quiet", "--dtype", "float32"});
    return run_cli(more, input);
  }

 private Q_SLOTS:
  void ids_give_the_vector_as_json() {
    const CliRun done = run({"--prompt-ids", "7,8,9", "--json"});
    QCOMPARE(done.code, 0);
    const Json json = Json::parse(done.out);
    QCOMPARE(json.at("embedding").size(), std::size_t{48});
    QCOMPARE(json.at("dimensions").get<int>(), 48);
    QCOMPARE(json.at("pooling").get<std::string>(), std::string("mean"));
    QCOMPARE(json.at("prompt_token_ids").dump(), std::string("[7,8,9]"));
  }

  /// [CLS] and [SEP] go around a text, and nothing around ids.
  void a_text_is_what_its_ids_are() {
    const Json of_text = Json::parse(run({"--prompt", "t7 t8", "--json"}).out);
    QCOMPARE(of_text.at("prompt_token_ids").dump(), std::string("[2,7,8,3]"));
    const Json of_ids = Json::parse(run({"--prompt-ids", "2,7,8,3", "--json"}).out);
    QVERIFY(of_text.at("embedding") == of_ids.at("embedding"));
  }

  void lines_are_answered_with_lines() {
    const CliRun done = run({"--batch"}, "\"t7\"\n\"t8 t9\"\n");
    QCOMPARE(done.code, 0);
    const std::size_t end = done.out.find('\n');
    QCOMPARE(Json::parse(done.out.substr(0, end)).at("prompt_token_ids").size(), std::size_t{3});
    QCOMPARE(Json::parse(done.out.substr(end + 1)).at("prompt_token_ids").size(), std::size_t{4});
    QVERIFY(run({"--batch"}, "7\n").code != 0);
  }

  void without_json_the_first_numbers_are_shown() {
    const CliRun done = run({"--prompt-ids", "7"});
    QCOMPARE(done.code, 0);
    VERIFY_HAS(done.out, "48 numbers of 1 tokens, pooled by mean, length ");
  }

  void wrong_usage_is_told() {
    QCOMPARE(run({}).code, 2);
    QCOMPARE(run({"--prompt", "a", "--prompt-ids", "1"}).code, 2);
    const CliRun wrong = run({"--prompt-ids", "1,x"});
    QCOMPARE(wrong.code, 2);
    VERIFY_HAS(wrong.err, "'x' is not a token ID");
    VERIFY_HAS(run({"--prompt-ids", "99"}).err, "token ID 99 is not in the vocabulary of 96");
  }

  void a_file_that_convert_writes_gives_the_same_vector() {
    const EncoderFolder folder;
    folder.pool("cls", true);
    const std::string file = folder.path() + "/written.gguf";
    const CliRun written = run_cli({"convert", folder.path(), "--output", file, "--json"});
    QCOMPARE(written.code, 0);
    QVERIFY(Json::parse(written.out).at("notes").empty());
    const auto embedded = [](const std::string& model) {
      return Json::parse(run_cli({"embed", "--model", model, "--quiet", "--prompt", "T7 t8, T7", "--json"}).out);
    };
    const Json of_folder = embedded(folder.path()), of_file = embedded(file);
    QCOMPARE(of_file.at("pooling").get<std::string>(), std::string("cls"));
    QCOMPARE(of_file.at("prompt_token_ids").dump(), std::string("[2,7,8,1,7,3]"));
    QVERIFY(of_file.at("embedding") == of_folder.at("embedding"));
    QVERIFY(of_file.at("prompt_token_ids") == of_folder.at("prompt_token_ids"));
  }

  void convert_makes_no_folder_of_an_encoder() {
    const CliRun refused = run_cli({"convert", folder_.path(), "--output", folder_.path() + "/made"});
    QCOMPARE(refused.code, 2);
    VERIFY_HAS(refused.err, ".gguf");
  }

  /// The other commands say where such a model belongs.
  void complete_refuses_an_encoder() {
    const CliRun done = run_cli({"complete", "--model", folder_.path(), "--prompt", "a"}, "");
    QCOMPARE(done.code, 3);
    VERIFY_HAS(done.err, "lathe embed");
  }
};

LATHE_TEST(EmbedCommandTest)

}  // namespace embed_command_test
#include "embed_command_test.moc"
