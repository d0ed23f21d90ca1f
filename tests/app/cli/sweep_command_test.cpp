// SPDX-License-Identifier: Apache-2.0
// lathe sweep on a tiny model: what a plan, a template, a journal and flags come to together.
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

#include "app/api/sweep_export.h"
#include "app/api/sweep_plan.h"
#include "app/cli/option_flags.h"
#include "tests/support/cli_run.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace sweep_command_test {

namespace {

using lathe::engine::Json;
using lathe::tests::CliRun;
using lathe::tests::json_of;
using lathe::tests::read_file;
using lathe::tests::run_cli;
using lathe::tests::tiny_model_path;

bool has(const std::string& text, std::string_view words) { return text.find(words) != std::string::npos; }

}  // namespace

class SweepCommandTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::string path(const char* name) const { return folder_.filePath(QLatin1String(name)).toStdString(); }
  std::string file(const char* name, std::string_view content) const {
    lathe::tests::write_file(path(name), content);
    return path(name);
  }

  /// Work of milliseconds.
  static CliRun sweep(const std::vector<std::string>& more, const std::vector<std::string>& first = {tiny_model_path()}) {
    std::vector<std::string> all = {"sweep"};
    all.insert(all.end(), first.begin(), first.end());
    for (const char* word :
         {"--prompt-tokens", "8", "--output-tokens", "2", "--requests", "1", "--repeats", "1", "--no-warm-up"})
      all.emplace_back(word);
    all.insert(all.end(), more.begin(), more.end());
    return run_cli(all);
  }

 private Q_SLOTS:
  void a_page_that_cannot_be_written_costs_no_sweep() {
    const std::string nowhere = path("no/such/page.html");
    const CliRun run = sweep({"--html", nowhere, "--json", "--journal", path("page.jsonl")});
    QVERIFY2(run.code == 2 && has(run.err, "No such file or directory") && has(run.err, nowhere), run.err.c_str());
    QVERIFY(run.out.empty() && !std::filesystem::exists(path("page.jsonl")));
    file("old.html", "old");
    const CliRun wrong = sweep({"--html", path("old.html"), "--trace", path("none.csv")});
    QVERIFY(wrong.code == 2 && read_file(path("old.html")) == "old");
    QVERIFY(json_of(sweep({"--html", path("new.html"), "--json"}))["cells"].size() == 1);
    QVERIFY(has(read_file(path("new.html")), "<svg") || has(read_file(path("new.html")), "<table"));
  }

  void every_format_goes_to_stdout_or_a_file() {
    for (const lathe::app::ExportFormat* format : lathe::app::export_formats()) {
      const std::string flag = lathe::app::flag_of(format->name), file = path("sweep.") + std::string(format->ending);
      const CliRun run = sweep(format->is_printed ? std::vector{flag} : std::vector{flag, file});
      QVERIFY2(run.code == 0, run.err.c_str());
      const std::string text = format->is_printed ? run.out : read_file(file);
      QVERIFY2(has(text, "tok_s") || has(text, "tok/s"), (flag + ": " + text).c_str());
      QVERIFY(has(run.out, "ttft_ms_p50"));  // a table where no format is printed
    }
  }

  /// It could be opened, and still takes nothing.
  void what_was_measured_is_printed_before_the_page_fails() {
    const CliRun run = sweep({"--html", "/dev/full", "--json"});
    QCOMPARE(run.code, 1);
    QVERIFY2(has(run.err, "/dev/full cannot be written"), run.err.c_str());
    QVERIFY(lathe::engine::parse_json(run.out, "stdout").has_value());
  }

  /// Flags and a plan that says the same measure the same: greedy, with room for all that are sent at a time.
  void a_plan_measures_what_flags_do() {
    const Json of_flags = json_of(sweep({"--var", "concurrency=20", "--json"}))["plan"];
    const std::string plan = file("plan.json", R"({"variables": [{"name": "concurrency", "values": [20]}]})");
    const Json of_plan = json_of(sweep({"--json", "--model", tiny_model_path()}, {plan}))["plan"];
    QCOMPARE(lathe::engine::dump_json(of_plan), lathe::engine::dump_json(of_flags));
    QVERIFY(of_plan["sampling"]["temperature"] == "0" && of_plan["options"]["max_num_seqs"] == "20");
    // Values that the plan sets itself stay.
    const std::string narrow = file(
        "narrow.json",
        R"({"options": {"max_num_seqs": 4}, "sampling": {"temperature": 0.5}, "variables": [{"name": "concurrency", "values": [20]}]})");
    const Json kept = json_of(sweep({"--json", "--model", tiny_model_path()}, {narrow}))["plan"];
    QVERIFY(kept["options"]["max_num_seqs"] == "4" && kept["sampling"]["temperature"] == "0.5");
  }

  void a_plan_has_its_model() {
    const std::string plan = file("with_model.json", R"({"options": {"model": ")" + tiny_model_path() + R"("}})");
    const CliRun run = sweep({"--json"}, {plan});
    QVERIFY(json_of(run)["plan"]["options"]["model"] == std::filesystem::absolute(tiny_model_path()).string());
    QVERIFY2(!has(run.err, "bundled"), run.err.c_str());
    const CliRun by_name =
        sweep({"--json", "--max-model-len", "64"}, {file("by_name.json", R"({"options": {"model": "demo"}})")});
    QVERIFY(has(json_of(by_name)["plan"]["options"]["model"], "demo_model"));
    const CliRun none = sweep({}, {file("no_model.json", R"({"options": {"model": "no such model"}})")});
    QVERIFY2(none.code == 3 && has(none.err, "no such model"), none.err.c_str());
  }

  void a_file_that_is_not_there_loads_nothing() {
    for (const char* flag : {"--dataset", "--trace", "--quality-dataset"}) {
      const CliRun run = sweep({flag, path("none.json"), "--journal", path("none.jsonl")});
      QVERIFY2(run.code == 2 && has(run.err, "none.json: No such file") && run.out.empty(), run.err.c_str());
      QCOMPARE(sweep({flag, folder_.path().toStdString()}).code, 2);
    }
    QVERIFY(!std::filesystem::exists(path("none.jsonl")));
    const CliRun varied = sweep({"--var", "dataset=" + file("one.txt", "One.\n") + "," + path("two.txt")});
    QVERIFY2(varied.code == 2 && has(varied.err, "two.txt"), varied.err.c_str());
  }

  void a_file_that_is_wrong_loads_nothing() {
    const CliRun prompts = sweep({"--dataset", file("prompts.jsonl", "{\"text\": \"a\"}\n{\"x\": 1}\n")});
    QVERIFY2(prompts.code == 2 && has(prompts.err, "prompts.jsonl, line 2"), prompts.err.c_str());
    const CliRun trace = sweep({"--trace", file("trace.csv", "0,8,2\n1,8\n")});
    QVERIFY2(trace.code == 2 && has(trace.err, "trace.csv, line 2"), trace.err.c_str());
    const CliRun text = sweep({"--quality-dataset", file("texts.json", "[1]")});
    QVERIFY2(text.code == 2 && has(text.err, "item 0 must be a string"), text.err.c_str());
  }

  void goals_and_shares_out_of_their_range_are_refused() {
    for (const char* flag : {"--goal-ttft-ms", "--goal-itl-ms", "--stop-at-ci"}) {
      for (const char* value : {"-5", "nan", "inf", "soon"}) {
        const CliRun run = sweep({flag, value});
        QVERIFY2(run.code == 2 && has(run.err, flag), (run.err + value).c_str());
      }
    }
    const std::string plan = file("goal.json", R"({"goal": {"ttft_ms": 200, "itl_ms": 50}})");
    const Json goal =
        json_of(sweep({"--goal-ttft-ms", "0", "--json", "--model", tiny_model_path()}, {plan}))["plan"]["goal"];
    QVERIFY(goal["ttft_ms"] == 0.0 && goal["itl_ms"] == 50.0);
  }

  void a_variable_takes_the_place_of_the_templates() {
    const Json narrowed = json_of(sweep({"--template", "kv-block-size", "--var", "block-size=8", "--json"}))["plan"];
    QCOMPARE(narrowed["variables"].size(), std::size_t{2});
    QVERIFY(narrowed["variables"][0]["name"] == "block_size" && narrowed["variables"][0]["values"].dump() == R"(["8"])");
    QVERIFY(narrowed["variables"][1]["name"] == "concurrency");
    const std::string plan = file("two.json", R"({"variables": [{"name": "concurrency", "values": [1, 2]}]})");
    QVERIFY(json_of(sweep({"--var", "concurrency=1", "--json", "--model", tiny_model_path()}, {plan}))["cells"].size() == 1);
    const CliRun twice = sweep({"--var", "concurrency=1", "--var", "concurrency=2"});
    QVERIFY2(twice.code == 2 && has(twice.err, "twice"), twice.err.c_str());
    const CliRun fixed = sweep({"--var", "concurrency=1,2", "--concurrency", "4"});
    QVERIFY2(fixed.code == 0 && has(fixed.err, "without effect: --concurrency"), fixed.err.c_str());
  }

  void quality_without_a_text_is_missed_aloud() {
    const std::vector<std::string> small = {"--template", "quantization-cost", "--var", "quantization=none",
                                            "--var",      "concurrency=1"};
    const CliRun speed = sweep(small);
    QVERIFY2(speed.code == 0 && has(speed.err, "--dataset FILE"), speed.err.c_str());
    std::vector<std::string> whole = small;
    whole.insert(whole.end(), {"--dataset", file("text.json", R"(["Once upon a time."])"), "--json"});
    const CliRun both = sweep(whole);
    QVERIFY2(json_of(both)["cells"][0]["metrics"].contains("perplexity") && !has(both.err, "--dataset FILE"),
             both.err.c_str());
  }

  /// "<s>" is four pieces and more, or one token that begins the text anyway.
  void marks_in_a_text_are_tokens_on_demand() {
    const std::string text = file("marks.jsonl", R"({"given": "<s>Once upon", "text": " a time there was</s>"})");
    const auto perplexity = [&](const std::vector<std::string>& more) {
      std::vector<std::string> all = {"--quality-dataset", text, "--json"};
      all.insert(all.end(), more.begin(), more.end());
      const Json got = json_of(sweep(all));
      const std::string plan = lathe::engine::dump_json(got["plan"]);
      return std::pair(got["cells"][0]["metrics"]["perplexity"]["mean"].get<double>(), has(plan, "parse_special"));
    };
    const auto of_command = [&](const std::vector<std::string>& more) {
      std::vector<std::string> all = {"eval", "perplexity", tiny_model_path(), "--dataset", text, "--json"};
      all.insert(all.end(), more.begin(), more.end());
      return json_of(run_cli(all))["perplexity"].get<double>();
    };
    const auto plain = perplexity({}), parsed = perplexity({"--parse-special"});
    QVERIFY(plain.first != parsed.first && !plain.second && parsed.second);
    QCOMPARE(plain.first, of_command({}));
    QCOMPARE(parsed.first, of_command({"--parse-special"}));
    const CliRun idle = sweep({"--parse-special"});
    QVERIFY2(has(idle.err, "without effect: --parse-special"), idle.err.c_str());
  }

  void a_journal_alone_is_gone_on_with() {
    const std::string journal = path("own.jsonl");
    const Json first = json_of(sweep({"--var", "concurrency=1,2", "--journal", journal, "--json"}));
    const std::string whole = read_file(journal);
    file("own.jsonl", whole.substr(0, whole.rfind("{\"cell\"")));  // without the last run
    const CliRun resumed = run_cli({"sweep", "--resume", "--journal", journal, "--json", "-q"});
    const Json again = json_of(resumed);
    QVERIFY(again["plan"] == first["plan"] && again["cells"].size() == 2);
    QCOMPARE(std::count(whole.begin(), whole.end(), '\n'), 3);
    const std::string after = read_file(journal);
    QCOMPARE(std::count(after.begin(), after.end(), '\n'), 3);  // no run was made twice
    QVERIFY2(!has(resumed.err, "bundled"), resumed.err.c_str());
    // The same words as before do as well.
    QCOMPARE(sweep({"--var", "concurrency=1,2", "--journal", journal, "--resume"}).code, 0);
    const CliRun none = run_cli({"sweep", "--resume", "--journal", path("nowhere.jsonl")});
    QVERIFY2(none.code == 2 && has(none.err, "nowhere.jsonl"), none.err.c_str());
    const CliRun key = run_cli({"sweep", "--resume", "--journal", journal, "--api-key", "k"});
    QVERIFY2(key.code == 2 && has(key.err, "--target"), key.err.c_str());
  }

  void a_journal_of_another_plan_says_what_differs() {
    const std::string journal = path("other.jsonl");
    QCOMPARE(sweep({"--var", "concurrency=1", "--journal", journal}).code, 0);
    const CliRun other = sweep({"--var", "concurrency=1,2", "--length-spread", "0.5", "--journal", journal, "--resume"});
    QVERIFY2(other.code == 2 && has(other.err, "variables is concurrency=1 in the journal and concurrency=1,2 here"),
             other.err.c_str());
    QVERIFY2(has(other.err, "length_spread is 0 in the journal and 0.5 here"), other.err.c_str());
    QVERIFY2(has(other.err, "--resume and --journal alone"), other.err.c_str());
    QVERIFY2(!has(other.err, "prompt_tokens"), other.err.c_str());
    std::string older = read_file(journal);
    older.replace(older.find("output_tok_s"), 12, "tokens_a_sec");
    file("older.jsonl", older);
    const CliRun version = run_cli({"sweep", "--resume", "--journal", path("older.jsonl")});
    QVERIFY2(version.code == 2 && has(version.err, "another version"), version.err.c_str());
  }

  void lists_are_values_of_a_variable() {
    const Json got =
        json_of(sweep({"--var", "logit_bias=5:1,{5:1,6:-2}", "--var", "stop_token_ids=[3,4],7", "--in-order", "--json"}));
    QCOMPARE(got["cells"].size(), std::size_t{4});
    for (const Json& cell : got["cells"]) QVERIFY2(cell.contains("metrics"), cell.dump().c_str());
    QVERIFY(got["cells"][2]["variables"]["logit_bias"] == "{5:1,6:-2}");
    QVERIFY(got["cells"][0]["variables"]["stop_token_ids"] == "[3,4]");
  }

  void codes_of_four_bits_are_those_that_were_asked_for() {
    const auto divergence = [&](const std::vector<std::string>& more) {
      std::vector<std::string> all = {"--json", "--quality-dataset",
                                      file("bits.json", R"(["Once upon a time there was a dog."])")};
      all.insert(all.end(), more.begin(), more.end());
      return json_of(sweep(all))["cells"][0]["metrics"]["kl_mean"]["mean"].get<double>();
    };
    const double fp4 = divergence({"--quantization", "bitsandbytes_4bit", "--bnb-4bit-quant-type", "fp4"});
    QVERIFY(fp4 != divergence({"--quantization", "bitsandbytes_4bit"}));
    QCOMPARE(divergence({"--bnb-4bit-quant-type", "fp4", "--var", "quantization=bitsandbytes"}), fp4);
    const Json rows =
        json_of(run_cli({"eval", "compare", tiny_model_path(), "--dataset", path("bits.json"), "--json",
                         "--bnb-4bit-quant-type", "fp4", "--quantizations", "bitsandbytes,bitsandbytes-nf4"}))["rows"];
    QCOMPARE(rows[0]["kl"].get<double>(), fp4);
    QVERIFY(rows[1]["kl"] != rows[0]["kl"]);
    QVERIFY(rows[0]["quantization"] == "bitsandbytes" && rows[1]["quantization"] == "bitsandbytes-nf4");
  }
};

LATHE_TEST(SweepCommandTest)

}  // namespace sweep_command_test
#include "sweep_command_test.moc"
