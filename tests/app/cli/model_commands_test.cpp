// SPDX-License-Identifier: Apache-2.0
// `lathe bench` and `chat` on a real, tiny model: what other programs rely on.
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <filesystem>

#include "engine/api/options.h"
#include "tests/support/cli_run.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace model_commands_test {

namespace {

using lathe::engine::Json;
using lathe::tests::CliRun;
using lathe::tests::run_cli;
using lathe::tests::tiny_model_path;

using Arguments = std::vector<std::string>;

}  // namespace

class ModelCommandsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void bench_json_has_runs_and_machine();
  void roofline_has_a_point_for_each_product();
  void bench_leaves_a_kind_out();
  void bench_prints_a_table();
  void bench_without_a_tokenizer_says_what_to_name();
  void bench_measures_a_shape();
  void bench_measures_runs_that_are_listed();
  void a_shape_is_refused_by_name_and_next_to_a_model();
  void chat_answers_line_by_line();
  void chat_obeys_its_commands();
  void chat_ends_with_an_error_on_a_bad_command();
  void chat_needs_a_template();
};

void ModelCommandsTest::bench_json_has_runs_and_machine() {
  const CliRun run = run_cli({"bench", "--model", tiny_model_path(), "--pp", "32", "--tg", "8", "--concurrency", "1,3",
                              "--repeats", "2", "--threads", "1", "--json"});
  QVERIFY2(run.code == 0, run.err.c_str());
  const Json json = Json::parse(run.out);
  QCOMPARE(json["runs"].size(), std::size_t{4});
  for (const Json& one : json["runs"]) {
    QCOMPARE(one["n_tokens"].get<int>(), one["kind"] == "pp" ? 32 : 8);
    QCOMPARE(one["samples_tok_s"].size(), std::size_t{2});
    for (const Json& sample : one["samples_tok_s"]) QVERIFY(sample.get<double>() > 0);
  }
  QCOMPARE(json["runs"][1]["concurrency"].get<int>(), 3);
  QCOMPARE(json["machine"]["threads"].get<int>(), 1);
  QVERIFY(json["machine"]["read_gb_s"].get<double>() > 0);
  QVERIFY(json["machine"]["fma_gflop_s"].get<double>() > 0);
  QVERIFY(!json["machine"]["isa"].get<std::string>().empty());
}

void ModelCommandsTest::roofline_has_a_point_for_each_product() {
  const CliRun run = run_cli({"roofline", "--model", tiny_model_path(), "--format", "f32,int4_g32", "--rows", "128,256",
                              "--threads", "1", "--json"});
  QVERIFY2(run.code == 0, run.err.c_str());
  const Json json = Json::parse(run.out);
  QCOMPARE(json["points"].size(), std::size_t{2 * 5 * 2});
  for (const Json& point : json["points"]) {
    QVERIFY(point["share"].get<double>() > 0);
    QVERIFY(!point["bound"].get<std::string>().empty());
  }
  QVERIFY(json["machine"]["int8_gop_s"].get<double>() > 0);
  QCOMPARE(json["attention"].size(), std::size_t{6 * 2});
  for (std::size_t i = 0; i < json["attention"].size(); ++i) {
    const Json& point = json["attention"][i];
    QCOMPARE(point["step"].get<std::string>(), std::string(i % 2 == 0 ? "decode" : "prompt"));
    QCOMPARE(point["tokens"].get<int>(), i % 2 == 0 ? 2048 : 512);
    QVERIFY(point["share"].get<double>() > 0 && point["kv_bytes"].get<double>() > 0);
  }
}

void ModelCommandsTest::bench_leaves_a_kind_out() {
  const CliRun run =
      run_cli({"bench", "-q", "--model", tiny_model_path(), "--pp", "0", "--tg", "4", "--repeats", "1", "--json"});
  const Json json = Json::parse(run.out);
  QCOMPARE(json["runs"].size(), std::size_t{1});
  QVERIFY(json["runs"][0]["kind"] == "tg");
}

void ModelCommandsTest::bench_prints_a_table() {
  const CliRun run = run_cli({"bench", "--model", tiny_model_path(), "--pp", "16", "--tg", "4", "--repeats", "2"});
  QVERIFY2(run.code == 0, run.err.c_str());
  QVERIFY(run.out.find("pp16") != std::string::npos && run.out.find("tg4") != std::string::npos);
}

void ModelCommandsTest::bench_without_a_tokenizer_says_what_to_name() {
  const QTemporaryDir folder;
  const std::string bare = folder.filePath("bare").toStdString();
  std::filesystem::copy(tiny_model_path(), bare);
  for (const char* file : {"tokenizer.json", "tokenizer.model", "tokenizer_config.json"})
    std::filesystem::remove(std::filesystem::path(bare) / file);
  const CliRun refused = run_cli({"bench", bare, "--pp", "8", "--tg", "2", "--repeats", "1"});
  QVERIFY2(refused.code == 3 && refused.err.find("--tokenizer") != std::string::npos, refused.err.c_str());
  const CliRun named =
      run_cli({"bench", bare, "--tokenizer", tiny_model_path(), "--pp", "8", "--tg", "2", "--repeats", "1"});
  QVERIFY2(named.code == 0, named.err.c_str());
  QVERIFY(run_cli({"inspect", bare}).out.find("--tokenizer") != std::string::npos);
}

void ModelCommandsTest::bench_measures_a_shape() {
  const CliRun run = run_cli({"bench", "--shape", "tiny", "--pp", "32", "--tg", "8", "--depth", "40", "--concurrency", "2",
                              "--repeats", "3", "--threads", "1", "--json"});
  QVERIFY2(run.code == 0, run.err.c_str());
  const Json json = Json::parse(run.out);
  QCOMPARE(json["model"].get<std::string>(), std::string("tiny"));
  QCOMPARE(json["packed_cache"].get<std::string>(), std::string("none"));
  auto samples = json["runs"][1]["samples_tok_s"].get<std::vector<double>>();
  std::sort(samples.begin(), samples.end());
  QCOMPARE(json["runs"][1]["median_tok_s"].get<double>(), samples[1]);
  QCOMPARE(json["runs"][1]["step_ms"].get<double>(), 2000 / samples[1]);
  QVERIFY(!json["runs"][0].contains("step_ms"));
  const CliRun roofline =
      run_cli({"roofline", "--shape", "tiny", "--format", "f32", "--rows", "8", "--threads", "1", "--json"});
  QVERIFY2(roofline.code == 0, roofline.err.c_str());
  QCOMPARE(Json::parse(roofline.out)["points"][0]["k"].get<int>(), 128);
}

void ModelCommandsTest::bench_measures_runs_that_are_listed() {
  const CliRun run =
      run_cli({"bench", "--shape", "tiny", "--run", "tg4x2@32,pp16,tg3x3@20", "--repeats", "1", "--threads", "1", "--json"});
  QVERIFY2(run.code == 0, run.err.c_str());
  const Json runs = Json::parse(run.out)["runs"];
  std::vector<std::string> titles;
  for (const Json& one : runs) {
    titles.push_back(one["kind"].get<std::string>() + " " + one["n_tokens"].dump() + " " + one["concurrency"].dump() + " " +
                     one["depth"].dump());
  }
  QVERIFY(titles == (std::vector<std::string>{"tg 4 2 32", "pp 16 1 0", "tg 3 3 20"}));
}

void ModelCommandsTest::a_shape_is_refused_by_name_and_next_to_a_model() {
  for (const char* command : {"bench", "roofline"}) {
    const CliRun unknown = run_cli({command, "--shape", "llama-9b"});
    QVERIFY2(unknown.code == 3 && unknown.err.find("llama-8b-128k, llama-1b") != std::string::npos, unknown.err.c_str());
    const CliRun both = run_cli({command, "--shape", "tiny", tiny_model_path()});
    QVERIFY2(both.code == 2 && both.err.find("--shape tiny") != std::string::npos, both.err.c_str());
  }
}

void ModelCommandsTest::chat_answers_line_by_line() {
  const Arguments arguments = {"chat", "-q", "--model", tiny_model_path(), "--temperature", "0", "--max-tokens", "5"};
  const CliRun one = run_cli(arguments, "Hello\n");
  QVERIFY2(one.code == 0, one.err.c_str());
  QVERIFY(one.out.ends_with('\n'));
  const CliRun two = run_cli(arguments, "Hello\nAnd again");
  QVERIFY2(two.out.starts_with(one.out), two.out.c_str());
  QVERIFY(two.out.size() > one.out.size());
  QVERIFY(two.err.empty());
}

void ModelCommandsTest::chat_obeys_its_commands() {
  const Arguments arguments = {"chat", "-q", "--model", tiny_model_path(), "--temperature", "0", "--max-tokens", "5"};
  const CliRun typed = run_cli(arguments, "Hello\n");
  const CliRun staged = run_cli(arguments, "/system ignored\n/system\n/user Hello\n/go\n/quit\nnever read\n");
  QVERIFY2(staged.code == 0, staged.err.c_str());
  QCOMPARE(staged.out, typed.out);
  const CliRun again = run_cli(arguments, "Hello\n/again\n");
  QCOMPARE(again.out, typed.out + typed.out);
  const CliRun cleared = run_cli(arguments, "Something else\n/clear\nHello\n");
  QVERIFY(cleared.out.ends_with(typed.out));
  const CliRun shown = run_cli(arguments, "/user Hello\n/show\n/undo\n/show\n/set max_tokens 2\n/help\n");
  QVERIFY2(shown.err.starts_with("user: Hello\nEach line is"), shown.err.c_str());
}

void ModelCommandsTest::chat_ends_with_an_error_on_a_bad_command() {
  for (const char* line :
       {"/fly\n", "/set temperature hot\n", "/set tempreature 1\n", "/again\n", "/go\n", "/undo\n", "/user\n"}) {
    const CliRun run = run_cli({"chat", "-q", "--model", tiny_model_path()}, line);
    QVERIFY2(run.code == 2, line);
    QVERIFY(!run.err.empty());
    QVERIFY2(run.out.empty(), run.out.c_str());
  }
}

void ModelCommandsTest::chat_needs_a_template() {
  SKIP_WITHOUT_SHARED("data/models/stories260K-hf");
  const CliRun run = run_cli({"chat", "-q", "--model", lathe::tests::shared_path("data/models/stories260K-hf")}, "Hello\n");
  QVERIFY(run.code == 2);
  QVERIFY(run.err.find("chat template") != std::string::npos);
}

LATHE_TEST(ModelCommandsTest)

}  // namespace model_commands_test
#include "model_commands_test.moc"
