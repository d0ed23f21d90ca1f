// SPDX-License-Identifier: Apache-2.0
// `lathe complete` on a real, tiny model: what other programs rely on.
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>

#include "tests/support/cli_run.h"
#include "tests/support/german_locale.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace complete_command_test {

namespace {

using lathe::engine::Json;
using lathe::tests::CliRun;
using lathe::tests::run_cli;
using lathe::tests::tiny_model_path;

using Arguments = std::vector<std::string>;

CliRun complete(Arguments more) {
  Arguments arguments = {"complete", "--model", tiny_model_path(), "--temperature", "0"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_cli(arguments);
}

/// The JSON object of a successful run; stdout must hold nothing else.
Json complete_json(Arguments more) {
  more.push_back("--json");
  const CliRun run = complete(more);
  if (run.code != 0) qFatal("%s", run.err.c_str());
  auto json = lathe::engine::parse_json(run.out, "stdout");
  if (!json) qFatal("%s: %s", json.error().message.c_str(), run.out.c_str());
  return *json;
}

std::string ids_text(const Json& ids) {
  std::string text;
  for (const Json& id : ids) text += (text.empty() ? "" : ",") + std::to_string(id.get<int>());
  return text;
}

}  // namespace

class CompleteCommandTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void complete_json_has_every_field();
  void complete_takes_text_ids_and_files_alike();
  void complete_streams_text_without_json();
  void complete_takes_an_empty_prompt();
  void complete_gives_k_logprobs_best_first();
  void complete_with_k_zero_gives_the_token_itself();
  void complete_gives_prompt_logprobs();
  void complete_without_logprobs_gives_null();
  void complete_obeys_max_tokens_and_ignore_eos();
  void complete_obeys_stop_strings();
  void complete_with_a_seed_repeats_itself();
  void complete_takes_each_dtype();
  void complete_answers_alike_under_each_policy();
  void complete_warns_of_a_pool_with_few_reservations();
  void complete_uses_the_bundled_model_and_says_so();
  void complete_equals_the_reference_on_real_weights_data();
  void complete_equals_the_reference_on_real_weights();
  void quiet_leaves_stderr_empty();
  void options_of_the_cache_are_obeyed();
  void a_prompt_beyond_the_context_is_wrong_usage_with_numbers();
  void U6_json_does_not_follow_the_locale();
  void what_is_loaded_is_named_with_its_details();
};

void CompleteCommandTest::complete_json_has_every_field() {
  const Json json = complete_json({"--prompt", "Hello there", "--max-tokens", "6", "--ignore-eos"});
  for (const char* field :
       {"prompt_token_ids", "token_ids", "text", "finish_reason", "logprobs", "prompt_logprobs", "usage", "timings"}) {
    QVERIFY2(json.contains(field), field);
  }
  QCOMPARE(json.size(), std::size_t{8});
  QCOMPARE(json["token_ids"].size(), std::size_t{6});
  QCOMPARE(json["finish_reason"].get<std::string>(), std::string("length"));
  QCOMPARE(json["usage"]["prompt_tokens"].get<std::size_t>(), json["prompt_token_ids"].size());
  QCOMPARE(json["usage"]["completion_tokens"].get<int>(), 6);
  QCOMPARE(json["usage"]["total_tokens"].get<std::size_t>(), json["prompt_token_ids"].size() + 6);
  for (const char* field : {"load_ms", "ttft_ms", "prefill_tok_s", "decode_tok_s"}) {
    QVERIFY2(json["timings"][field].get<double>() > 0, field);
  }
}

void CompleteCommandTest::complete_takes_text_ids_and_files_alike() {
  const QTemporaryDir folder;
  const std::string file = folder.filePath("prompt").toStdString();
  lathe::tests::write_file(file, "Hello there");
  const Json by_text = complete_json({"--prompt", "Hello there", "--max-tokens", "8"});
  const Json by_file = complete_json({"--prompt-file", file, "--max-tokens", "8"});
  const Json by_ids = complete_json({"--prompt-ids", ids_text(by_text["prompt_token_ids"]), "--max-tokens", "8"});
  for (const Json* other : {&by_file, &by_ids}) {
    QVERIFY((*other)["prompt_token_ids"] == by_text["prompt_token_ids"]);
    QVERIFY((*other)["token_ids"] == by_text["token_ids"]);
    QVERIFY((*other)["text"] == by_text["text"]);
  }
}

void CompleteCommandTest::complete_streams_text_without_json() {
  const Json json = complete_json({"--prompt", "Hello there", "--max-tokens", "8"});
  const CliRun run = complete({"--prompt", "Hello there", "--max-tokens", "8"});
  QVERIFY(run.code == 0);
  QCOMPARE(run.out, json["text"].get<std::string>() + "\n");
}

void CompleteCommandTest::complete_takes_an_empty_prompt() {
  // The tokenizer puts BOS in front: one token to go on from.
  QCOMPARE(complete_json({"--prompt", "", "--max-tokens", "2", "--ignore-eos"})["token_ids"].size(), std::size_t{2});
}

void CompleteCommandTest::complete_gives_k_logprobs_best_first() {
  const Json json = complete_json({"--prompt", "Hello", "--max-tokens", "5", "--ignore-eos", "--logprobs", "4"});
  QCOMPARE(json["logprobs"].size(), std::size_t{5});
  for (std::size_t i = 0; i < 5; ++i) {
    const Json& list = json["logprobs"][i];
    QCOMPARE(list.size(), std::size_t{4});
    QVERIFY(list[0][0] == json["token_ids"][i]);  // greedy: the best is the one that was taken
    for (std::size_t k = 1; k < 4; ++k) QVERIFY(list[k - 1][1].get<double>() >= list[k][1].get<double>());
    QVERIFY(list[0][1].get<double>() <= 0);
  }
}

void CompleteCommandTest::complete_with_k_zero_gives_the_token_itself() {
  const Json json = complete_json({"--prompt", "Hello", "--max-tokens", "3", "--ignore-eos", "--logprobs", "0"});
  QCOMPARE(json["logprobs"].size(), std::size_t{3});
  for (std::size_t i = 0; i < 3; ++i) {
    QCOMPARE(json["logprobs"][i].size(), std::size_t{1});
    QVERIFY(json["logprobs"][i][0][0] == json["token_ids"][i]);
  }
}

void CompleteCommandTest::complete_gives_prompt_logprobs() {
  for (const int k : {0, 3}) {
    const Json json =
        complete_json({"--prompt", "Hello there", "--max-tokens", "1", "--prompt-logprobs", std::to_string(k)});
    const Json& lists = json["prompt_logprobs"];
    QCOMPARE(lists.size(), json["prompt_token_ids"].size());
    QVERIFY(lists[0].is_null());
    for (std::size_t i = 1; i < lists.size(); ++i) {
      QVERIFY(lists[i][0][0] == json["prompt_token_ids"][i]);
      QVERIFY(lists[i][0][1].get<double>() < 0);
      if (k == 0) QCOMPARE(lists[i].size(), std::size_t{1});
      if (k == 3) QVERIFY(lists[i].size() >= 3);
    }
  }
}

void CompleteCommandTest::complete_without_logprobs_gives_null() {
  const Json json = complete_json({"--prompt", "Hello", "--max-tokens", "1"});
  QVERIFY(json["logprobs"].is_null());
  QVERIFY(json["prompt_logprobs"].is_null());
}

void CompleteCommandTest::complete_obeys_max_tokens_and_ignore_eos() {
  for (const char* n : {"1", "17", "60"}) {
    const Json json = complete_json({"--prompt", "Hello", "--max-tokens", n, "--ignore-eos"});
    QCOMPARE(json["token_ids"].size(), static_cast<std::size_t>(std::stoi(n)));
  }
}

void CompleteCommandTest::complete_obeys_stop_strings() {
  const std::string text = complete_json({"--prompt", "Hello", "--max-tokens", "30", "--ignore-eos"})["text"];
  // Three letters that stand in the text: a random model also writes halves of characters.
  std::size_t at = 1;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  while (at + 3 < text.size() && !std::all_of(text.begin() + static_cast<std::ptrdiff_t>(at),
                                              text.begin() + static_cast<std::ptrdiff_t>(at) + 3, is_letter)) {
    ++at;
  }
  QVERIFY(at + 3 < text.size());
  const std::string stop = text.substr(at, 3);
  const Json json =
      complete_json({"--prompt", "Hello", "--max-tokens", "30", "--ignore-eos", "--stop", "never seen", "--stop", stop});
  QCOMPARE(json["text"].get<std::string>(), text.substr(0, text.find(stop)));
  QCOMPARE(json["finish_reason"].get<std::string>(), std::string("stop"));
}

void CompleteCommandTest::complete_with_a_seed_repeats_itself() {
  const auto sample = [](const char* seed) {
    const CliRun run = run_cli({"complete", "-q", "--model", tiny_model_path(), "--prompt", "Hello", "--max-tokens", "24",
                                "--ignore-eos", "--temperature", "1.5", "--seed", seed});
    return run.out;
  };
  QCOMPARE(sample("7"), sample("7"));
  QVERIFY(sample("7") != sample("8"));
}

void CompleteCommandTest::complete_answers_alike_under_each_policy() {
  const Arguments what = {"--prompt", "One day", "--max-tokens", "8", "--ignore-eos"};
  const CliRun paged = complete(what);
  QCOMPARE(paged.code, 0);
  for (const char* policy : {"static", "dynamic", "continuous"}) {
    Arguments arguments = what;
    arguments.insert(arguments.end(), {"--policy", policy});
    QCOMPARE(complete(arguments).out, paged.out);
  }
  QCOMPARE(complete({"--prompt", "One day", "--policy", "best"}).code, 2);
}

void CompleteCommandTest::complete_warns_of_a_pool_with_few_reservations() {
  const CliRun run =
      complete({"--prompt", "One day", "--max-tokens", "1", "--policy", "continuous", "--num-gpu-blocks-override", "40"});
  QCOMPARE(run.code, 0);
  QVERIFY2(run.err.find("Warning: policy continuous reserves 16 KV blocks") != std::string::npos, run.err.c_str());
}

void CompleteCommandTest::complete_takes_each_dtype() {
  for (const char* dtype : {"auto", "float32", "bfloat16", "float16"}) {
    QCOMPARE(complete_json({"--prompt", "Hello", "--max-tokens", "3", "--ignore-eos", "--dtype", dtype})["token_ids"].size(),
             std::size_t{3});
  }
}

void CompleteCommandTest::complete_uses_the_bundled_model_and_says_so() {
  const CliRun run = run_cli({"complete", "--prompt", "What is", "--max-tokens", "3", "--temperature", "0", "--json"});
  QVERIFY2(run.code == 0, run.err.c_str());
  QVERIFY(run.err.find("demo model") != std::string::npos);
}

void CompleteCommandTest::complete_equals_the_reference_on_real_weights_data() {
  QTest::addColumn<QString>("model");
  QTest::newRow("stories260K-hf") << "data/models/stories260K-hf";
  QTest::newRow("TinyStories-656K-hf") << "data/models/TinyStories-656K-hf";
}

void CompleteCommandTest::complete_equals_the_reference_on_real_weights() {
  QFETCH(QString, model);
  SKIP_WITHOUT_SHARED(model.toStdString());
  const std::string path = lathe::tests::shared_path(model.toStdString());
  const Json reference = lathe::tests::read_json_file(path + "/reference_greedy.json");
  for (const Json& wanted : reference["runs"]) {
    const CliRun run = run_cli({"complete", "-q", "--model", path, "--prompt", wanted["prompt"].get<std::string>(),
                                "--temperature", "0", "--max-tokens", std::to_string(wanted["generated_ids"].size()),
                                "--dtype", "float32", "--prompt-logprobs", "0", "--json"});
    QVERIFY2(run.code == 0, run.err.c_str());
    const Json json = Json::parse(run.out);
    QVERIFY(json["prompt_token_ids"] == wanted["prompt_ids"]);
    QVERIFY(json["token_ids"] == wanted["generated_ids"]);
    QVERIFY(json["finish_reason"] == wanted["finish_reason"]);
    for (std::size_t i = 1; i < wanted["prompt_logprobs"].size(); ++i) {
      const double error = json["prompt_logprobs"][i][0][1].get<double>() - wanted["prompt_logprobs"][i].get<double>();
      QVERIFY(std::abs(error) < 1e-3);
    }
  }
}

void CompleteCommandTest::quiet_leaves_stderr_empty() {
  QVERIFY(!complete({"--prompt", "a", "--max-tokens", "1"}).err.empty());
  QCOMPARE(complete({"-q", "--prompt", "a", "--max-tokens", "1"}).err, std::string());
}

void CompleteCommandTest::options_of_the_cache_are_obeyed() {
  const CliRun run = complete({"--prompt", "a", "--max-tokens", "1", "--block-size", "8", "--num-gpu-blocks-override", "20",
                               "--max-model-len", "100", "--max-num-seqs", "2", "--no-enable-prefix-caching"});
  QVERIFY2(run.code == 0, run.err.c_str());
  QVERIFY2(run.err.find("context 100, 20 KV blocks") != std::string::npos, run.err.c_str());
}

void CompleteCommandTest::a_prompt_beyond_the_context_is_wrong_usage_with_numbers() {
  std::string ids = "1";
  for (int i = 0; i < 300; ++i) ids += ",5";
  const CliRun run = complete({"--prompt-ids", ids, "--json"});
  QVERIFY(run.code == 2);
  QVERIFY2(run.err.find("301") != std::string::npos && run.err.find("256") != std::string::npos, run.err.c_str());
}

void CompleteCommandTest::U6_json_does_not_follow_the_locale() {
  const lathe::tests::GermanLocale german;
  QVERIFY2(german.active(), "the sources of locales are missing: package locales");
  const Json json = complete_json({"--prompt", "Hello", "--max-tokens", "2", "--top-p", "0.95", "--logprobs", "2"});
  QVERIFY(json["logprobs"][0][0][1].get<double>() < 0);
}

void CompleteCommandTest::what_is_loaded_is_named_with_its_details() {
  const auto loaded = [](Arguments more) {
    more.insert(more.end(), {"--prompt", "a", "--max-tokens", "1", "--dtype", "bfloat16"});
    return complete(more).err;
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const std::string four = loaded({"--quantization", "bitsandbytes-fp4", "--bnb-4bit-use-double-quant"});
  QVERIFY2(has(four, "bitsandbytes_4bit (fp4, double quantization) and bfloat16"), four.c_str());
  const std::string zero = loaded({"--quantization", "int4_g32", "--quantization-zero-point", "--keep-head"});
  QVERIFY2(has(zero, "int4_g32 (zero points, head in bfloat16) and bfloat16"), zero.c_str());
  const std::string plain = loaded({"--quantization", "int8_g64"});
  QVERIFY2(has(plain, "int8_g64 and bfloat16"), plain.c_str());
  const std::string none = loaded({"--keep-head"});
  QVERIFY2(!has(none, "head in"), none.c_str());
}

LATHE_TEST(CompleteCommandTest)

}  // namespace complete_command_test
#include "complete_command_test.moc"
