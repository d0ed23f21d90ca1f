// SPDX-License-Identifier: Apache-2.0
// `lathe inspect` describes a checkpoint, and names the changes with which it would fit.
#include <QTest>
#include <algorithm>

#include "engine/api/options.h"
#include "tests/support/cli_run.h"
#include "tests/support/quantized_folders.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace inspect_command_test {

namespace {

using lathe::engine::Json;
using lathe::tests::CliRun;
using lathe::tests::run_cli;
using lathe::tests::tiny_model_path;

using Arguments = std::vector<std::string>;

}  // namespace

class InspectCommandTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void inspect_json_describes_the_model();
  void inspect_prints_text();
  void inspect_counts_the_blocks_of_layers_with_a_window();
  void inspect_counts_snapshots_of_recurrent_states();
  void inspect_tells_of_quantized_folders();
  void inspect_shows_one_quantization();
  void inspect_says_with_which_change_it_would_fit();
  void inspect_warns_of_a_tokenizer_that_cannot_be_read();
};

void InspectCommandTest::inspect_json_describes_the_model() {
  const CliRun run = run_cli({"inspect", tiny_model_path(), "--json"});
  QVERIFY2(run.code == 0, run.err.c_str());
  const Json json = Json::parse(run.out);
  QCOMPARE(json["architecture"].get<std::string>(), std::string("LlamaForCausalLM"));
  QCOMPARE(json["vocab_size"].get<int>(), 384);
  QCOMPARE(json["has_chat_template"].get<bool>(), true);
  // Three types, and all quantizations but none.
  QCOMPARE(json["fit"].size(), 3 + lathe::engine::choices_of(lathe::engine::engine_option("quantization")).size() - 1);
  QCOMPARE(json["fit"][0]["quantization"].get<std::string>(), std::string("none"));
  const auto weights_of = [&](const char* quantization) {
    for (const Json& fit : json["fit"]) {
      if (fit["quantization"] == quantization) return fit["weights_bytes"].get<std::int64_t>();
    }
    return std::int64_t{0};
  };
  QVERIFY(weights_of("int4_g128") > 0 && weights_of("int4_g128") < weights_of("int8_g32"));
  for (const Json& fit : json["fit"]) {
    QCOMPARE(fit["verdict"].get<std::string>(), std::string("Fits"));
    QVERIFY(fit["weights_bytes"].get<std::int64_t>() > 0);
  }
}

void InspectCommandTest::inspect_prints_text() {
  const CliRun run = run_cli({"inspect", "--model", tiny_model_path()});
  QVERIFY(run.code == 0);
  for (const char* part : {"LlamaForCausalLM", "has a chat template", "bfloat16", "Fits"}) {
    QVERIFY2(run.out.find(part) != std::string::npos, part);
  }
}

void InspectCommandTest::inspect_counts_the_blocks_of_layers_with_a_window() {
  Arguments arguments = {"inspect",
                         lathe::tests::source_path("tests/fixtures/families/gemma2"),
                         "--block-size",
                         "4",
                         "--max-num-seqs",
                         "2",
                         "--max-num-batched-tokens",
                         "16"};
  const CliRun text = run_cli(arguments);
  QVERIFY2(text.out.find("(64 blocks, 16 of the 1 layers with a window of 12)") != std::string::npos, text.out.c_str());
  arguments.emplace_back("--json");
  const Json fit = Json::parse(run_cli(arguments).out)["fit"][0];
  QCOMPARE(fit["n_blocks"].get<int>(), 64);
  QCOMPARE(fit["windows"].dump(), std::string(R"([{"n_blocks":16,"n_layers":1,"window":12}])"));
}

void InspectCommandTest::inspect_counts_snapshots_of_recurrent_states() {
  Arguments arguments = {"inspect", lathe::tests::source_path("tests/fixtures/families/qwen3-5"), "--max-num-seqs", "2"};
  const CliRun text = run_cli(arguments);
  QVERIFY2(text.out.find(" blocks, recurrent states 0.1, 8 snapshots of them 0.2)") != std::string::npos, text.out.c_str());
  arguments.emplace_back("--json");
  const Json fit = Json::parse(run_cli(arguments).out)["fit"][0];
  QCOMPARE(fit["n_snapshots"].get<int>(), 8);
  QCOMPARE(fit["snapshots_bytes"].get<std::int64_t>(), 4 * fit["states_bytes"].get<std::int64_t>());
  QVERIFY(fit["kv_bytes"] > fit["snapshots_bytes"]);
  arguments.emplace_back("--no-enable-prefix-caching");
  QCOMPARE(Json::parse(run_cli(arguments).out)["fit"][0]["n_snapshots"].get<int>(), 0);
}

void InspectCommandTest::inspect_tells_of_quantized_folders() {
  const auto told = [](const char* name) { return run_cli({"inspect", lathe::tests::quantized_path(name)}).out; };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const std::string kept = told("gptq-4bit");
  QVERIFY2(has(kept, "quantized    gptq: 7 int4, groups of 32, zero points; its matrices keep their codes, as int4_g32\n"),
           kept.c_str());
  const std::string cut = told("bnb-nf4-over-rows");
  QVERIFY2(has(cut, "quantized    bitsandbytes: 7 nf4, blocks of 64; matrices that can keep their codes do, as nf4\n"),
           cut.c_str());
  QVERIFY2(has(cut, "tensors: their blocks cross the ends of rows"), cut.c_str());
}

void InspectCommandTest::inspect_shows_one_quantization() {
  const CliRun run = run_cli({"inspect", tiny_model_path(), "--quantization", "int8_g64", "--json"});
  QVERIFY2(run.code == 0, run.err.c_str());
  const auto json = lathe::engine::parse_json(run.out, "stdout");
  std::vector<std::string> shown;
  for (const Json& fit : (*json)["fit"]) shown.push_back(fit["quantization"]);
  QVERIFY((shown == std::vector<std::string>{"none", "none", "none", "int8_g64"}));
  const CliRun idle = run_cli({"inspect", tiny_model_path(), "--quantization", "fp8", "--quantization-zero-point"});
  QVERIFY2(idle.err.find("without effect: --quantization-zero-point") != std::string::npos, idle.err.c_str());
  QCOMPARE(run_cli({"inspect", tiny_model_path(), "--quantization", "int7"}).code, 2);
}

void InspectCommandTest::inspect_says_with_which_change_it_would_fit() {
  const auto fixes_of = [](Arguments more) {
    Arguments arguments = {"inspect", tiny_model_path(), "--block-size", "256", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return lathe::engine::parse_json(run_cli(arguments).out, "stdout")->at("fixes");
  };
  QVERIFY(fixes_of({}).empty());
  const std::string bytes = std::to_string(1LL << 43);
  const Json fixes = fixes_of({"--kv-cache-memory-bytes", bytes});
  const auto is_automatic = [](const Json& fix) {
    return fix["option"] == "kv_cache_memory_bytes" && fix["value"] == "0" && fix["total_bytes"] > 0;
  };
  QVERIFY2(std::any_of(fixes.begin(), fixes.end(), is_automatic), fixes.dump().c_str());
  const CliRun run = run_cli({"inspect", tiny_model_path(), "--block-size", "256", "--kv-cache-memory-bytes", bytes});
  QVERIFY2(run.out.find("would fit with    --kv-cache-memory-bytes 0: ") != std::string::npos, run.out.c_str());
}

void InspectCommandTest::inspect_warns_of_a_tokenizer_that_cannot_be_read() {
  const lathe::tests::TinyModelCopy model;
  lathe::tests::write_file(model.file("tokenizer.json"), R"({"model": {"type": "BPE", "vocab": {"a": 0}, )");
  const CliRun run = run_cli({"inspect", model.path()});
  QCOMPARE(run.code, 0);
  QVERIFY2(run.out.find("Warning: the tokenizer cannot be read, so a load will fail: tokenizer.json: not valid JSON at "
                        "byte 45: ") != std::string::npos,
           run.out.c_str());
  // Another tokenizer takes its place.
  const CliRun named = run_cli({"inspect", model.path(), "--tokenizer", tiny_model_path()});
  QVERIFY2(named.out.find("cannot be read") == std::string::npos, named.out.c_str());
}

LATHE_TEST(InspectCommandTest)

}  // namespace inspect_command_test
#include "inspect_command_test.moc"
