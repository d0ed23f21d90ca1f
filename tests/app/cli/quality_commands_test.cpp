// SPDX-License-Identifier: Apache-2.0
// lathe eval and lathe convert on a tiny model: what other programs rely on.
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

#include "tests/support/cli_run.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace quality_commands_test {

namespace {

using lathe::engine::Json;
using lathe::tests::CliRun;
using lathe::tests::json_of;
using lathe::tests::run_cli;
using lathe::tests::tiny_model_path;

}  // namespace

class QualityCommandsTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::string path(const char* name) const { return folder_.filePath(QLatin1String(name)).toStdString(); }

  std::string dataset(const char* name, std::string_view content) const {
    lathe::tests::write_file(path(name), content);
    return path(name);
  }
  std::string list() const {
    return dataset("list.json", R"(["Once upon a time there was a dog.", "The cat sat.", "No."])");
  }

 private Q_SLOTS:
  void perplexity_has_its_interval_and_counts() {
    const Json got = json_of(run_cli({"eval", "perplexity", "--model", tiny_model_path(), "--dataset", list(), "--json"}));
    QVERIFY(got["perplexity"] > 1 && got["n_tokens"] > 10 && got["n_texts"] == 3);
    QVERIFY(got["interval"][0] < got["perplexity"] && got["perplexity"] < got["interval"][1]);
  }

  void what_is_no_text_is_refused() {
    const std::string packed = dataset("texts.gz", std::string_view("ab\x1f\x8b\x08", 5));
    const CliRun run = run_cli({"eval", "perplexity", tiny_model_path(), "--dataset", packed, "--json"});
    QVERIFY2(run.code == 2 && run.err.find("byte 4 of 5") != std::string::npos, run.err.c_str());
    QVERIFY(run.out.empty());
  }

  void a_target_is_swept_without_a_model() {
    const lathe::tests::ServerFixture server;
    server.engine().answer_with(std::string(64, 'x'));
    const std::string url = "http://127.0.0.1:" + std::to_string(server.port());
    const Json got =
        json_of(run_cli({"sweep", "--target", url, "--var", "concurrency=1,2", "--prompt-tokens", "8", "--output-tokens",
                         "4", "--requests", "2", "--repeats", "1", "--no-warm-up", "--html", path("page.html"), "--json"}));
    QVERIFY(got["cells"].size() == 2);
    for (const Json& cell : got["cells"]) QVERIFY2(cell.contains("metrics"), cell.dump().c_str());
    QVERIFY(lathe::tests::read_file(path("page.html")).find("<svg") != std::string::npos);
  }

  void what_a_target_has_settled_is_refused() {
    const CliRun variable = run_cli({"sweep", "--target", "http://127.0.0.1:1", "--var", "max_num_seqs=1,2"});
    QVERIFY2(variable.code == 2 && variable.err.find("max_num_seqs") != std::string::npos, variable.err.c_str());
    const CliRun model = run_cli({"sweep", tiny_model_path(), "--target", "http://127.0.0.1:1"});
    QVERIFY2(model.code == 2 && model.err.find("--target-model") != std::string::npos, model.err.c_str());
  }

  void limit_and_window_bound_what_is_read() {
    const Json got = json_of(
        run_cli({"eval", "perplexity", tiny_model_path(), "--dataset", list(), "--limit", "2", "--window", "4", "--json"}));
    QVERIFY(got["n_texts"] == 2);
    QVERIFY(got["n_tokens"] == 6);
  }

  void counts_below_the_least_are_refused_in_a_few_words() {
    const std::string list_file = list();
    for (const char* wrong : {"-5", "few", "1.5"}) {
      const CliRun run = run_cli({"eval", "perplexity", tiny_model_path(), "--dataset", list_file, "--limit", wrong});
      QCOMPARE(run.code, 2);
      QVERIFY2(run.err.starts_with("lathe eval perplexity: error: --limit: must be a whole number, 0 or more, got "),
               run.err.c_str());
      QVERIFY2(run.err.size() < 160, run.err.c_str());
    }
    const CliRun sweep = run_cli({"sweep", "--template", "concurrency-curve", "--repeats", "0"});
    QVERIFY2(sweep.code == 2 && sweep.err.find("must be between 1 and 1000, got 0") != std::string::npos, sweep.err.c_str());
  }

  void weights_that_are_no_numbers_are_told() {
    const lathe::tests::TinyModelCopy model;
    std::string bytes = lathe::tests::read_file(model.file("model.safetensors"));
    bytes.replace(bytes.size() - 4, 4, std::string("\0\0\xc0\x7f", 4));  // NaN as the head's last number
    lathe::tests::write_file(model.file("model.safetensors"), bytes);
    const std::string told = "Warning: weights hold NaN or infinity: lm_head.weight (1 of 24576 numbers)\n";
    for (const char* mode : {"perplexity", "compare"}) {
      std::vector<std::string> words{"eval", mode, model.path(), "--dataset", list(), "--quantization", "int8_g32"};
      if (std::string(mode) == "compare")
        words.insert(words.end(), {"--reference-quantization", "fp8", "--quantizations", "int8_g64,dynamic_int8"});
      const CliRun run = run_cli(words);
      QVERIFY2(run.code == 0, run.err.c_str());
      QVERIFY2(run.err.find(told) != std::string::npos && run.err.find(told) == run.err.rfind(told), run.err.c_str());
    }
  }

  void the_help_of_a_mode_names_it() {
    const CliRun run = run_cli({"eval", "kl", "--help"});
    QVERIFY2(run.code == 0 && run.out.find("Usage: lathe eval kl [OPTIONS]") != std::string::npos, run.out.c_str());
    QVERIFY(run.out.find("divergence of a model's distributions from those of a reference") != std::string::npos);
  }

  void lines_and_plain_texts_are_read_as_well() {
    const std::string lines = dataset(
        "lines.jsonl", "{\"text\": \"Once upon a time there was a dog.\"}\n\n{\"text\": \"The cat sat.\", \"id\": 7}\n");
    const Json from_lines = json_of(run_cli({"eval", "perplexity", tiny_model_path(), "--dataset", lines, "--json"}));
    const Json from_list =
        json_of(run_cli({"eval", "perplexity", tiny_model_path(), "--dataset", list(), "--limit", "2", "--json"}));
    QVERIFY(from_lines["nll"] == from_list["nll"]);
    const std::string text = dataset("text.txt", "Once upon a time there was a dog.");
    const Json from_text = json_of(run_cli({"eval", "perplexity", tiny_model_path(), "--dataset", text, "--json"}));
    const Json first =
        json_of(run_cli({"eval", "perplexity", tiny_model_path(), "--dataset", list(), "--limit", "1", "--json"}));
    QVERIFY(from_text["nll"] == first["nll"]);
  }

  void a_broken_dataset_is_named() {
    const CliRun item = run_cli({"eval", "perplexity", tiny_model_path(), "--dataset", dataset("bad.json", "[\"a\", 7]")});
    QCOMPARE(item.code, 2);
    QVERIFY(item.err.find("item 1 must be a string") != std::string::npos);
    const CliRun line = run_cli(
        {"eval", "perplexity", tiny_model_path(), "--dataset", dataset("bad.jsonl", "{\"text\": \"a\"}\n{\"txt\": 1}\n")});
    QVERIFY(line.code == 2 && line.err.find("line 2") != std::string::npos);
    const CliRun missing = run_cli({"eval", "perplexity", tiny_model_path(), "--dataset", path("none.json")});
    QVERIFY(missing.code == 2 && missing.err.find("none.json") != std::string::npos);
  }

  void divergence_is_from_the_unquantized_model() {
    const Json got =
        json_of(run_cli({"eval", "kl", tiny_model_path(), "--dataset", list(), "--quantization", "int4_g32", "--json"}));
    QVERIFY(got["kl"] > 0 && got["same_best"] <= 1 && !got["worst"].empty());
    QVERIFY(got["reference"]["perplexity"] != got["tested"]["perplexity"]);
  }

  void a_model_is_not_compared_with_itself() {
    const CliRun same = run_cli({"eval", "kl", tiny_model_path(), "--dataset", list()});
    QVERIFY2(same.code == 2 && same.err.find("--reference-model") != std::string::npos, same.err.c_str());
    QVERIFY(same.out.empty());
    const CliRun other = run_cli({"eval", "kl", tiny_model_path(), "--dataset", list(), "--dtype", "bfloat16",
                                  "--reference-dtype", "float32", "--json"});
    QVERIFY(json_of(other)["kl"] > 0);
  }

  void what_has_no_effect_is_named_in_one_line() {
    const auto warning = [](const CliRun& run) {
      if (run.code != 0) qFatal("%s", run.err.c_str());
      const std::size_t at = run.err.find("Warning: without effect: ");
      return at == std::string::npos ? std::string() : run.err.substr(at, run.err.find('\n', at) - at);
    };
    const std::vector<std::string> eval = {"eval", "perplexity", tiny_model_path(), "--dataset", list()};
    const auto with = [](std::vector<std::string> all, const std::vector<std::string>& more) {
      all.insert(all.end(), more.begin(), more.end());
      return run_cli(all);
    };
    QCOMPARE(warning(with(eval, {"--keep-head", "--bnb-4bit-quant-type", "nf4", "--no-quantization-zero-point"})),
             std::string("Warning: without effect: --bnb-4bit-quant-type (it applies only to quantization "
                         "bitsandbytes_4bit), --keep-head (the output head is not quantized anyway)"));
    QCOMPARE(warning(with(eval, {"--keep-head", "--quantization", "int8_g32"})), std::string());
    QCOMPARE(warning(with(eval, {"--keep-head", "--quiet"})), std::string());
    // An option has an effect if it changes one of several quantizations or policies.
    const std::vector<std::string> compare = {"eval", "compare", tiny_model_path(), "--dataset", list(), "--quantizations"};
    QCOMPARE(warning(with(compare, {"none,int8_g32", "--keep-head"})), std::string());
    QVERIFY(!warning(with(compare, {"none", "--keep-head"})).empty());
    QCOMPARE(warning(small_sweep({"--var", "policy=paged,dynamic", "--max-batch-delay-ms", "5"})), std::string());
    QVERIFY(!warning(small_sweep({"--max-batch-delay-ms", "5"})).empty());
  }

  void several_quantizations_are_compared() {
    const Json got = json_of(
        run_cli({"eval", "compare", tiny_model_path(), "--dataset", list(), "--quantizations", "none,int8_g32", "--json"}));
    QCOMPARE(got["rows"].size(), std::size_t{2});
    QVERIFY(got["rows"][0]["kl"] == 0.0);
    QVERIFY(got["rows"][1]["quantization"] == "int8_g32");
  }

  void quantized_weights_are_kept_for_other_commands() {
    const std::string profile = path("profile");
    const Json made = json_of(run_cli({"eval", "compare", tiny_model_path(), "--dataset", list(), "--quantizations",
                                       "none,int8_g32", "--profile-dir", profile, "--json"}));
    const Json load = json_of(run_cli({"complete", tiny_model_path(), "--quantization", "int8_g32", "--prompt", "a",
                                       "--max-tokens", "2", "--profile-dir", profile, "--json"}));
    QVERIFY2(load["timings"]["packed_cache"] == "hit", load.dump().c_str());
    const Json again = json_of(run_cli({"eval", "kl", tiny_model_path(), "--dataset", list(), "--quantization", "int8_g32",
                                        "--profile-dir", profile, "--json"}));
    QVERIFY(again["kl"] == made["rows"][1]["kl"]);
  }

  void turns_are_options_of_a_sweep() {
    const Json got =
        json_of(run_cli({"sweep", tiny_model_path(), "--turns", "2", "--turn-tokens", "4", "--prompt-tokens", "40",
                         "--output-tokens", "4", "--requests", "2", "--repeats", "1", "--no-warm-up", "--json"}));
    QVERIFY(got["plan"]["workload"]["turns"] == "2");
    QVERIFY2(got["cells"][0]["metrics"]["cached_share"]["mean"] > 0, got["cells"][0].dump().c_str());
  }

  /// The model has 64 tokens of context at most in each of the cells.
  CliRun small_sweep(std::vector<std::string> more) {
    std::vector<std::string> all = {
        "sweep", tiny_model_path(), "--prompt-tokens", "8", "--output-tokens", "2", "--requests", "1", "--repeats",
        "1",     "--no-warm-up"};
    all.insert(all.end(), more.begin(), more.end());
    return run_cli(all);
  }

  void a_sweep_fails_when_every_cell_did() {
    const CliRun one = small_sweep({"--var", "prompt_tokens=8,900000", "--in-order"});
    QVERIFY2(one.code == 0 && one.out.find("failed: ") != std::string::npos, (one.out + one.err).c_str());
    const CliRun all = small_sweep({"--var", "max_num_seqs=-3,-4", "--json"});
    QVERIFY2(all.code == 1 && all.err.find("all 2 cells failed") != std::string::npos, all.err.c_str());
    const auto json = lathe::engine::parse_json(all.out, "stdout");  // which is printed all the same
    QVERIFY(json && (*json)["cells"].size() == 2);
    const std::string reason = (*json)["cells"][0]["error"];
    QVERIFY2(reason.starts_with("max_num_seqs must be between"), reason.c_str());
    const CliRun only = small_sweep({"--max-model-len", "4"});
    QVERIFY2(only.code == 1 && only.err.find("the only cell failed") != std::string::npos, only.err.c_str());
  }

  void a_slip_of_the_pen_is_told_before_any_work() {
    const CliRun typo = small_sweep({"--var", "quantization=none,int7", "--journal", path("typo.jsonl")});
    QVERIFY2(typo.code == 2 && typo.err.find("did you mean int8_g32?") != std::string::npos, typo.err.c_str());
    QVERIFY(typo.out.empty() && !std::filesystem::exists(path("typo.jsonl")));
    lathe::tests::write_file(path("plan.json"), R"({"variables": [{"name": "policy", "values": ["pagged"]}]})");
    const CliRun plan = run_cli({"sweep", path("plan.json"), "--model", tiny_model_path()});
    QVERIFY2(plan.code == 2 && plan.err.find("did you mean paged?") != std::string::npos, plan.err.c_str());
    QCOMPARE(run_cli({"sweep", path("no_plan.json")}).code, 2);
  }

  void a_word_after_a_flag_without_value_is_no_model() {
    for (const char* flag : {"--csv", "--json", "--markdown"}) {
      const CliRun two = run_cli({"sweep", "--model", tiny_model_path(), flag, "out.csv"});
      QVERIFY2(two.code == 2 && two.err.find(std::string(flag) + " takes no value") != std::string::npos, two.err.c_str());
      const CliRun one = run_cli({"sweep", flag, "out.csv"});
      QVERIFY2(one.code == 3 && one.err.find("> out.csv") != std::string::npos, one.err.c_str());
    }
    QVERIFY(run_cli({"sweep", "--quiet", "out.csv"}).err.find("takes no value") == std::string::npos);
    const CliRun plain = run_cli({"sweep", "out.csv", "--model", tiny_model_path()});
    QVERIFY2(plain.code == 2 && plain.err.find("takes no value") == std::string::npos, plain.err.c_str());
  }

  void a_mode_must_be_named() {
    QCOMPARE(run_cli({"eval"}).code, 2);
    QVERIFY(run_cli({"eval", "perplexty"}).err.find("perplexity") != std::string::npos);
    QCOMPARE(run_cli({"eval", "--help"}).code, 0);
    QVERIFY(run_cli({"eval", "kl", "--help"}).out.find("--reference-quantization") != std::string::npos);
  }

  void convert_writes_a_checkpoint_that_opens() {
    const Json report = json_of(run_cli({"convert", "--model", tiny_model_path(), "--quantization", "bitsandbytes_8bit",
                                         "--dequantize", "--dtype", "float32", "--output", path("made"), "--json"}));
    QVERIFY(report["n_tensors"] > 10);
    const CliRun inspected = run_cli({"inspect", path("made"), "--json"});
    QVERIFY(json_of(inspected)["stored_dtype"] == "float32");
  }

  void convert_says_what_it_cannot_write() {
    const CliRun codes = run_cli({"convert", tiny_model_path(), "--quantization", "int8_g32", "--output", path("codes")});
    QVERIFY(codes.code == 2 && codes.err.find("--dequantize") != std::string::npos);
    QCOMPARE(run_cli({"convert", tiny_model_path()}).code, 2);  // no --output
    const CliRun groups =
        run_cli({"convert", tiny_model_path(), "--quantization", "int8_g64", "--output", path("groups.gguf")});
    QVERIFY(groups.code != 0 && groups.err.find("int8_g64 have no equivalent") != std::string::npos);
    QVERIFY(!std::filesystem::exists(path("groups.gguf")));
  }

  void convert_writes_codes_into_a_gguf_file_and_reads_them_again() {
    const Json report = json_of(
        run_cli({"convert", tiny_model_path(), "--quantization", "int8_g32", "--output", path("q8.gguf"), "--json"}));
    QVERIFY(report["n_tensors"] > 10 && report["notes"].size() == 1);
    QVERIFY(report["notes"][0].get<std::string>().find("legacy: false") != std::string::npos);
    QVERIFY(json_of(run_cli({"inspect", path("q8.gguf"), "--json"}))["stored_quantization"] == "int8_g32");
    const CliRun back = run_cli({"convert", path("q8.gguf"), "--dtype", "bfloat16", "--output", path("back"), "--json"});
    QVERIFY(json_of(back)["notes"].size() == 1);
    QVERIFY(back.err.find("--dtype float32") != std::string::npos);
  }
};

LATHE_TEST(QualityCommandsTest)

}  // namespace quality_commands_test
#include "quality_commands_test.moc"
