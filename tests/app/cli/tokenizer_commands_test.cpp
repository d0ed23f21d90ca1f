// SPDX-License-Identifier: Apache-2.0
// lathe tokenize, detokenize and template: their contracts with scripts.
#include <QTest>

#include "tests/support/bpe_files.h"
#include "tests/support/cli_run.h"
#include "tests/support/test_class.h"
#include "tests/support/text_files.h"
#include "tests/support/verify_has.h"

namespace tokenizer_commands_test {

using lathe::engine::Json;
using lathe::tests::byte_level_file;
using lathe::tests::CliRun;
using lathe::tests::run_cli;
using lathe::tests::TextFolder;

namespace {

struct TokenizerFolder : TextFolder {
  TokenizerFolder() {
    Json file = byte_level_file();
    file["post_processor"] =
        Json::parse(R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<|end|>"}},{"Sequence":{"id":"A"}}]})");
    write("tokenizer.json", file.dump());
  }
};

const std::vector<std::string> kBatch = {"--batch"};

int hello() { return byte_level_file()["model"]["vocab"]["hello"].get<int>(); }
std::string list(std::vector<int> ids) { return Json(ids).dump() + "\n"; }

}  // namespace

class TokenizerCommandsTest : public QObject {
  Q_OBJECT
  const TokenizerFolder folder_;

  CliRun run(const std::string& command, const std::string& input, std::vector<std::string> more) const {
    more.insert(more.begin(), {command, "--tokenizer", folder_.path()});
    return run_cli(more, input);
  }
  CliRun tokenize(const std::string& input) const { return run("tokenize", input, kBatch); }
  CliRun tokenize(const std::string& input, const std::vector<std::string>& more) const {
    return run("tokenize", input, more);
  }
  CliRun detokenize(const std::string& input) const { return run("detokenize", input, kBatch); }
  CliRun detokenize(const std::string& input, const std::vector<std::string>& more) const {
    return run("detokenize", input, more);
  }
  CliRun render(const std::string& source, const std::string& input) const {
    return run_cli({"template", folder_.write("chat.jinja", source)}, input);
  }

 private Q_SLOTS:
  void a_line_in_is_a_line_out() {
    const CliRun run = tokenize("\"hello\"\n\"\"\n\"hellohello\"\n");
    QCOMPARE(run.code, 0);
    QCOMPARE(run.out, list({hello()}) + "[]\n" + list({hello(), hello()}));
    QCOMPARE(tokenize("\"hello\"").out, list({hello()}));  // the last line may lack its end
    QCOMPARE(tokenize("").out, std::string());
  }
  void T6_nothing_is_added_or_read_as_control_unless_asked_for() {
    const std::string line = "\"<|end|>\"\n";
    QCOMPARE(tokenize(line, {"--batch", "--parse-special"}).out, list({400}));
    QVERIFY(tokenize(line).out.find("400") == std::string::npos);
    QCOMPARE(tokenize("\"hello\"\n", {"--batch", "--add-special"}).out, list({400, hello()}));
  }
  void a_bad_line_is_named_and_ends_it() {
    for (const char* bad : {"hello", "5", "{\"a\":1}", "\"\\ud800\"", "\"\xFF\""}) {
      const CliRun run = tokenize("\"hello\"\n" + std::string(bad) + "\n\"hello\"\n");
      QCOMPARE(run.code, 1);
      QCOMPARE(run.out, list({hello()}));
      VERIFY_HAS(run.err, "lathe tokenize: error: ");
      VERIFY_HAS(run.err, "(line 2");
    }
  }
  void a_blank_line_has_no_answer() {
    const CliRun run = tokenize("\n\"hello\"\n  \t\r\n\"hello\"\n\n");
    QCOMPARE(run.code, 0);
    QCOMPARE(run.out, list({hello()}) + list({hello()}));
    VERIFY_HAS(tokenize("\n\n5\n").err, "(line 3");  // it counts, though
    QCOMPARE(detokenize("\n[]\n").out, std::string("\"\"\n"));
  }
  void one_text_is_shown_with_its_pieces() {
    const CliRun run = tokenize("", {"hello<tool>"});
    QCOMPARE(run.code, 0);
    VERIFY_HAS(run.out, "\"hello\"\n");
    VERIFY_HAS(run.out, "     401  \"<tool>\"\n2 tokens\n");
    QCOMPARE(tokenize("hello", {"--json"}).out, list({hello()}));
    VERIFY_HAS(tokenize("<|end|>", {"--parse-special"}).out, "\"<|end|>\"  control\n1 token\n");
  }
  void broken_text_is_repaired_as_elsewhere() {
    QCOMPARE(tokenize("a\xFFz", {"--json"}).out, tokenize("a\xEF\xBF\xBDz", {"--json"}).out);
  }
  void ids_become_texts_again() {
    QCOMPARE(detokenize(list({hello(), 400}) + "[]\n").out, std::string("\"hello<|end|>\"\n\"\"\n"));
    QCOMPARE(detokenize(list({hello(), 400}), {"--batch", "--skip-special"}).out, std::string("\"hello\"\n"));
    QCOMPARE(detokenize("", {std::to_string(hello()), "401"}).out, std::string("hello<tool>\n"));
    QCOMPARE(detokenize("[" + std::to_string(hello()) + ", 401]\n", {}).out, std::string("hello<tool>\n"));
  }
  void bad_ids_are_named() {
    for (const char* bad : {"5", "[\"a\"]", "[1.5]", "[-1]", "[402]", "[99999999999999]", "["}) {
      const CliRun run = detokenize("[1]\n" + std::string(bad) + "\n");
      QCOMPARE(run.code, 1);
      VERIFY_HAS(run.err, "(line 2");
    }
    QCOMPARE(detokenize("", {"x"}).code, 2);
    QCOMPARE(detokenize("", {"402"}).code, 2);
  }
  void wrong_usage_has_its_own_code() {
    QCOMPARE(run_cli({"tokenize"}).code, 2);
    QCOMPARE(run_cli({"detokenize", "--batch"}).code, 2);
    QCOMPARE(tokenize("", {"--batch", "text"}).code, 2);
    QCOMPARE(run_cli({"template"}).code, 2);
    QCOMPARE(run_cli({"template", "a", "--model", "b"}).code, 2);
  }
  void a_tokenizer_that_cannot_be_used_is_refused() {
    const TextFolder empty;
    const CliRun run = run_cli({"tokenize", "--tokenizer", empty.path(), "--batch"}, "\"a\"\n");
    QCOMPARE(run.code, 3);
    VERIFY_HAS(run.err, "no tokenizer: tokenizer.json or ");
    const std::string absent = empty.path() + "/none/tokenizer.json", other = empty.write("my.json", "{}");
    for (const auto& [path, advice] :
         {std::pair(absent, "there is no such file or folder; give the folder of a checkpoint"),
          std::pair(other, "is not the name of a tokenizer file, which ends in tokenizer.json or ")}) {
      const CliRun refused = run_cli({"tokenize", "--tokenizer", path});
      QCOMPARE(refused.code, 3);
      VERIFY_HAS(refused.err, path.c_str());
      VERIFY_HAS(refused.err, advice);
    }
    empty.write("tokenizer.json", R"({"model":{"type":"Marvel","vocab":{},"merges":[]}})");
    VERIFY_HAS(run_cli({"detokenize", "--tokenizer", empty.path()}).err, "\"Marvel\" is not supported");
  }
  void a_template_renders_each_line() {
    const CliRun run = render("{{ a }}|{{ b | tojson }}", "{\"a\":\"x\",\"b\":{\"z\":1,\"a\":[true,null]}}\n{\"b\":2}\n");
    QCOMPARE(run.code, 0);
    // keys keep their order
    QCOMPARE(run.out, std::string("{\"text\":\"x|{\\\"z\\\": 1, \\\"a\\\": [true, null]}\"}\n{\"text\":\"|2\"}\n"));
  }
  void errors_of_a_template_have_a_place_and_do_not_end_it() {
    const CliRun run = render("a\n{{ none.x.y if bad else 'fine' }}", "{\"bad\":true}\n{\"bad\":false}\n");
    QCOMPARE(run.code, 0);
    const Json first = Json::parse(run.out.substr(0, run.out.find('\n')));
    QVERIFY(!first.at("error").get<std::string>().empty());
    QVERIFY(first.at("line") == 2);
    QVERIFY(first.at("column").is_number());
    VERIFY_HAS(run.out, "{\"text\":\"a\\nfine\"}\n");
  }
  void T5_what_a_template_raises_has_its_own_words_and_no_place() {
    QCOMPARE(render("{{ raise_exception('no') }}", "{}\n").out,
             std::string("{\"error\":\"no\",\"line\":null,\"column\":null}\n"));
  }
  void a_template_that_does_not_compile_is_refused() {
    const CliRun run = render("a\n{% if %}", "{}\n");
    QCOMPARE(run.code, 3);
    QCOMPARE(Json::parse(run.out)["line"].get<int>(), 2);
    VERIFY_HAS(run.err, "line 2");
    QCOMPARE(run_cli({"template", folder_.path() + "/none.jinja"}, "{}\n").code, 3);
  }
  void a_template_takes_objects_alone() {
    for (const char* bad : {"[]", "5", "{", "{\"a\":1,\"a\":2}"}) {
      const CliRun run = render("x", std::string(bad) + "\n");
      QCOMPARE(run.code, 1);
      VERIFY_HAS(run.err, "(line 1");
    }
  }
  void a_model_brings_its_template_and_the_names_of_its_tokens() {
    const TextFolder model;
    model.write("tokenizer_config.json", R"({"bos_token":"<s>","chat_template":"{{ bos_token }}{{ eos_token }}"})");
    QCOMPARE(run_cli({"template", "--model", model.path()}, "{\"eos_token\":\"E\"}\n{\"bos_token\":\"B\"}\n").out,
             std::string("{\"text\":\"<s>E\"}\n{\"text\":\"B\"}\n"));
    model.write("tokenizer_config.json", R"({"chat_template":{"default":"d","tool_use":"t{{ tools|length }}","rag":"r"}})");
    const std::string lines = "{}\n{\"tools\":[1]}\n{\"tools\":null}\n";
    QCOMPARE(run_cli({"template", "--model", model.path()}, lines).out,
             std::string("{\"text\":\"d\"}\n{\"text\":\"t1\"}\n{\"text\":\"d\"}\n"));
    QCOMPARE(run_cli({"template", "--model", model.path(), "--name", "rag"}, "{}\n").out, std::string("{\"text\":\"r\"}\n"));
    const CliRun other = run_cli({"template", "--model", model.path(), "--name", "x"}, "{}\n");
    QCOMPARE(other.code, 1);
    VERIFY_HAS(other.err, "default, rag, tool_use");
    const TextFolder none;
    const CliRun run = run_cli({"template", "--model", none.path()}, "{}\n");
    QCOMPARE(run.code, 3);
    VERIFY_HAS(run.err, "no chat template");
  }
};

LATHE_TEST(TokenizerCommandsTest)

}  // namespace tokenizer_commands_test
#include "tokenizer_commands_test.moc"
