// SPDX-License-Identifier: Apache-2.0
// The command line without a model: help, usage, exit codes, refused models.
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <sstream>

#include "app/api/workbench.h"
#include "app/cli/command.h"
#include "app/cli/option_flags.h"
#include "kernels/api/backend.h"
#include "tests/support/cli_run.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/verify_has.h"

namespace command_line_test {

namespace {

using lathe::app::command_table;
using lathe::app::flag_of;
using lathe::engine::Json;
using lathe::tests::CliRun;
using lathe::tests::run_cli;
using lathe::tests::tiny_model_path;
using lathe::tests::TinyModelCopy;

bool is_one_line(const std::string& text) { return std::count(text.begin(), text.end(), '\n') == 1 && text.ends_with('\n'); }

struct WindowRun {
  std::optional<int> code;
  lathe::app::WindowArguments parsed;
  std::string err;
};

WindowRun parse_window(const QStringList& arguments) {
  std::ostringstream out, err;
  lathe::app::Terminal terminal{.out = out, .err = err};
  std::vector<std::string> words;
  for (const QString& argument : arguments) words.push_back(argument.toStdString());
  WindowRun run;
  run.code = lathe::app::parse_window_arguments(words, run.parsed, terminal);
  run.err = err.str();
  return run;
}

CliRun complete(const std::string& model) { return run_cli({"complete", "--model", model, "--prompt", "x", "--json"}); }

/// The rule for a refused model: exit code 3, one line that has all of `parts`, nothing on stdout.
void check_refused(const std::string& model, std::initializer_list<const char*> parts) {
  const CliRun run = complete(model);
  QVERIFY2(run.code == 3, (run.err + run.out).c_str());
  QVERIFY2(is_one_line(run.err), run.err.c_str());
  QVERIFY(run.out.empty());
  for (const char* part : parts) QVERIFY2(run.err.find(part) != std::string::npos, (run.err + " lacks " + part).c_str());
}

}  // namespace

class CommandLineTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void without_arguments_the_window_opens();
  void a_model_opens_the_window();
  void options_of_the_window_are_not_ours();
  void arguments_of_the_window_are_read_data();
  void arguments_of_the_window_are_read();
  void options_of_the_engine_are_the_windows_too();
  void wrong_arguments_of_the_window_are_wrong_usage_data();
  void wrong_arguments_of_the_window_are_wrong_usage();
  void help_lists_every_command();
  void version_is_printed();
  void an_unknown_command_is_wrong_usage_and_names_the_nearest();
  void a_far_off_word_gets_no_suggestion();
  void a_mistyped_option_names_the_nearest();
  void every_command_has_help();
  void help_names_every_option_of_the_engine();
  void help_names_every_sampling_parameter();
  void an_unknown_option_is_wrong_usage();
  void two_models_are_wrong_usage();
  void a_missing_value_is_wrong_usage();
  void a_value_out_of_range_is_wrong_usage_and_names_the_flag();
  void complete_needs_one_prompt();
  void bad_prompt_ids_are_wrong_usage();
  void a_missing_prompt_file_is_wrong_usage();
  void a_prompt_without_end_is_wrong_usage();
  void S5_negative_seeds_are_seeds();
  void serve_checks_its_port();
  void bench_checks_its_numbers();
  void selftest_knows_the_instruction_sets();
  void a_device_is_there_or_it_is_said_what_is_missing();
  void devices_are_listed();
  void roofline_knows_formats_and_rows();
  void a_missing_model_is_refused();
  void a_folder_without_config_is_refused();
  void a_truncated_weight_file_is_refused();
  void L20_bad_values_in_config_json_are_refused_data();
  void L20_bad_values_in_config_json_are_refused();
  void S22_errors_are_one_line_without_control_characters();
};

void CommandLineTest::without_arguments_the_window_opens() { QVERIFY(!run_cli({}).code.has_value()); }

void CommandLineTest::a_model_opens_the_window() {
  const QTemporaryDir folder;
  QVERIFY(!run_cli({folder.path().toStdString()}).code.has_value());
  QVERIFY(!run_cli({"some/path/that/is/not/there"}).code.has_value());
}

void CommandLineTest::options_of_the_window_are_not_ours() {
  QVERIFY(!run_cli({"--profile-dir", "/tmp/x"}).code.has_value());
  QVERIFY(!run_cli({"-platform", "offscreen"}).code.has_value());
}

void CommandLineTest::arguments_of_the_window_are_read_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QString>("model");
  QTest::addColumn<QString>("profile_dir");
  QTest::newRow("none") << QStringList{} << ""
                        << "";
  QTest::newRow("model") << QStringList{"/m"} << "/m"
                         << "";
  QTest::newRow("profile, then model") << QStringList{"--profile-dir", "/p", "/m"} << "/m"
                                       << "/p";
  QTest::newRow("model, then profile") << QStringList{"/m", "--profile-dir", "/p"} << "/m"
                                       << "/p";
  QTest::newRow("with an equals sign") << QStringList{"--profile-dir=/p"} << ""
                                       << "/p";
}

void CommandLineTest::arguments_of_the_window_are_read() {
  QFETCH(QStringList, arguments);
  const WindowRun run = parse_window(arguments);
  QVERIFY2(!run.code.has_value(), run.err.c_str());
  QTEST(QString::fromStdString(run.parsed.model), "model");
  QTEST(QString::fromStdString(run.parsed.profile_dir), "profile_dir");
  QVERIFY(!run.parsed.why_no_display);
}

void CommandLineTest::options_of_the_engine_are_the_windows_too() {
  const WindowRun run = parse_window({"--quantization", "int4_g32", "/m", "--no-enable-prefix-caching"});
  QVERIFY2(!run.code.has_value(), run.err.c_str());
  using Options = std::vector<std::pair<std::string, std::string>>;
  QVERIFY((run.parsed.options == Options{{"quantization", "int4_g32"}, {"enable_prefix_caching", "false"}}));
  const WindowRun wrong = parse_window({"--quantization", "int3", "/m"});
  QVERIFY(wrong.code == 2 && wrong.err.find("int4_g32") != std::string::npos);
}

void CommandLineTest::wrong_arguments_of_the_window_are_wrong_usage_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QString>("named");
  QTest::newRow("option of a command") << QStringList{"--port", "9000"} << "--port";
  QTest::newRow("unknown option") << QStringList{"/m", "--frobnicate"} << "--frobnicate";
  QTest::newRow("two models") << QStringList{"/m", "/n"} << "/n";
  QTest::newRow("no value") << QStringList{"--profile-dir"} << "--profile-dir";
  QTest::newRow("command behind an option") << QStringList{"--profile-dir", "/p", "serve"} << "lathe serve";
}

void CommandLineTest::wrong_arguments_of_the_window_are_wrong_usage() {
  QFETCH(QStringList, arguments);
  QFETCH(QString, named);
  const WindowRun run = parse_window(arguments);
  QVERIFY(run.code == 2);
  QVERIFY2(run.err.find(named.toStdString()) != std::string::npos, run.err.c_str());
  QVERIFY(is_one_line(run.err));
}

void CommandLineTest::help_lists_every_command() {
  for (const char* word : {"--help", "-h"}) {
    const CliRun run = run_cli({word});
    QVERIFY(run.code == 0);
    for (const auto* command : command_table()) QVERIFY(run.out.find(std::string(command->help)) != std::string::npos);
  }
}

void CommandLineTest::version_is_printed() {
  const CliRun run = run_cli({"--version"});
  QVERIFY(run.code == 0);
  QCOMPARE(run.out, "lathe " + lathe::app::version() + "\n");
}

void CommandLineTest::an_unknown_command_is_wrong_usage_and_names_the_nearest() {
  for (const auto& [word, nearest] :
       {std::pair{"serv", "serve"}, {"compelte", "complete"}, {"benhc", "bench"}, {"Chat", "chat"}}) {
    const CliRun run = run_cli({word});
    QVERIFY(run.code == 2);
    QVERIFY2(run.err.find("'" + std::string(nearest) + "'") != std::string::npos, run.err.c_str());
    QVERIFY(is_one_line(run.err));
    QVERIFY(run.out.empty());
  }
}

void CommandLineTest::a_far_off_word_gets_no_suggestion() {
  const CliRun run = run_cli({"xylophone"});
  QVERIFY(run.code == 2);
  QVERIFY(run.err.find("did you mean") == std::string::npos);
}

void CommandLineTest::a_mistyped_option_names_the_nearest() {
  const CliRun run = run_cli({"bench", "--quantisation=int8_g32"});
  QVERIFY(run.code == 2);
  QVERIFY2(run.err.find("; did you mean --quantization?") != std::string::npos, run.err.c_str());
  const CliRun order = run_cli({"inspect", "m", "--gpu-layers", "5"});
  QVERIFY2(order.err.find("not expected: --gpu-layers 5") != std::string::npos, order.err.c_str());
  QVERIFY(run_cli({"bench", "--xylophone"}).err.find("did you mean") == std::string::npos);
}

void CommandLineTest::every_command_has_help() {
  for (const auto* command : command_table()) {
    const CliRun run = run_cli({std::string(command->name), "--help"});
    QVERIFY(run.code == 0);
    QVERIFY(run.err.empty());
    QVERIFY(run.out.find(std::string(command->help)) != std::string::npos);
    QVERIFY(run.out.find("Usage: lathe " + std::string(command->name)) != std::string::npos);
  }
}

void CommandLineTest::help_names_every_option_of_the_engine() {
  const std::string help = run_cli({"serve", "--help"}).out;
  for (const auto& option : lathe::engine::engine_option_table()) {
    const std::string flag = flag_of(option.name);
    const bool named = help.find(flag) != std::string::npos || help.find("--no-" + flag.substr(2)) != std::string::npos;
    QVERIFY2(named, flag.c_str());
  }
}

void CommandLineTest::help_names_every_sampling_parameter() {
  const std::string help = run_cli({"complete", "--help"}).out;
  for (const auto& option : lathe::engine::sampling_option_table()) {
    const std::string flag = flag_of(option.name);
    const bool named = help.find(flag) != std::string::npos || help.find("--no-" + flag.substr(2)) != std::string::npos;
    QVERIFY2(named, flag.c_str());
  }
}

void CommandLineTest::an_unknown_option_is_wrong_usage() {
  for (const auto* command : command_table()) {
    const CliRun run = run_cli({std::string(command->name), "--frobnicate"});
    QVERIFY(run.code == 2);
    QVERIFY(run.err.find("--frobnicate") != std::string::npos);
    QVERIFY(is_one_line(run.err));
  }
}

void CommandLineTest::two_models_are_wrong_usage() {
  const CliRun run = run_cli({"complete", tiny_model_path(), "--model", tiny_model_path("tiny-sharded"), "--prompt", "x"});
  QVERIFY(run.code == 2);
  QVERIFY(run.err.find("two models") != std::string::npos);
}

void CommandLineTest::a_missing_value_is_wrong_usage() {
  QVERIFY(run_cli({"complete", "--prompt"}).code == 2);
  QVERIFY(run_cli({"serve", "--port"}).code == 2);
}

void CommandLineTest::a_value_out_of_range_is_wrong_usage_and_names_the_flag() {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"--temperature", "-1"}, {"--temperature", "hot"}, {"--top-p", "1.5"},     {"--top-k", "1.5"},
      {"--seed", "5.5"},       {"--logprobs", "21"},     {"--max-tokens", "-1"}, {"--min-p", "nan"},
  };
  for (const auto& [flag, value] : cases) {
    const CliRun run = run_cli({"complete", "--model", tiny_model_path(), "--prompt", "x", flag, value});
    QVERIFY2(run.code == 2, (std::string(flag) + " " + value + ": " + run.err).c_str());
    QVERIFY2(run.err.find(std::string(flag).substr(2, 3)) != std::string::npos, run.err.c_str());
    QVERIFY(is_one_line(run.err));
  }
  QVERIFY(run_cli({"serve", "--model", tiny_model_path(), "--block-size", "0"}).code == 2);
  QVERIFY(run_cli({"serve", "--model", tiny_model_path(), "--dtype", "int3"}).code == 2);
  const CliRun contradiction = run_cli({"serve", "--model", tiny_model_path(), "--max-num-batched-tokens", "4"});
  QVERIFY(contradiction.code == 2);
  QVERIFY2(contradiction.err.find("is open") == std::string::npos, contradiction.err.c_str());  // before any port
}

void CommandLineTest::complete_needs_one_prompt() {
  QVERIFY(run_cli({"complete", "--model", tiny_model_path()}).code == 2);
  QVERIFY(run_cli({"complete", "--model", tiny_model_path(), "--prompt", "a", "--prompt-ids", "1"}).code == 2);
}

void CommandLineTest::bad_prompt_ids_are_wrong_usage() {
  for (const char* ids : {"", "1,,2", "1;2", "x", "-1", "384", "99999999999", "1,2,"}) {
    const CliRun run = run_cli({"complete", "-q", "--model", tiny_model_path(), "--prompt-ids", ids, "--json"});
    QVERIFY2(run.code == 2, (std::string(ids) + run.err + run.out).c_str());
    QVERIFY(run.out.empty());
  }
}

void CommandLineTest::a_missing_prompt_file_is_wrong_usage() {
  const CliRun run = run_cli({"complete", "-q", "--model", tiny_model_path(), "--prompt-file", "/not/there"});
  QVERIFY(run.code == 2);
  QVERIFY(run.err.find("/not/there") != std::string::npos);
  const QTemporaryDir folder;
  const std::string path = folder.path().toStdString();
  QVERIFY2(run_cli({"complete", "-q", "--model", tiny_model_path(), "--prompt-file", path}).code == 2, "a folder");
}

void CommandLineTest::a_prompt_without_end_is_wrong_usage() {
  const CliRun run = run_cli({"complete", "-q", "--model", tiny_model_path(), "--prompt-file", "/dev/zero"});
  QVERIFY(run.code == 2);
  QVERIFY2(run.err.find("32 MiB") != std::string::npos, run.err.c_str());
}

void CommandLineTest::S5_negative_seeds_are_seeds() {
  const auto sample = [](const char* seed) {
    return run_cli({"complete", "-q", "--model", tiny_model_path(), "--prompt", "Hello", "--max-tokens", "24",
                    "--ignore-eos", "--temperature", "1.5", "--seed", seed});
  };
  QVERIFY(sample("-5").code == 0);
  QCOMPARE(sample("-5").out, sample("18446744073709551611").out);
}

void CommandLineTest::serve_checks_its_port() {
  for (const char* port : {"65536", "-1", "http", ""}) QVERIFY2(run_cli({"serve", "--port", port}).code == 2, port);
}

void CommandLineTest::bench_checks_its_numbers() {
  QVERIFY(run_cli({"bench", "--concurrency", "0"}).code == 2);
  QVERIFY(run_cli({"bench", "--concurrency", "1,x"}).code == 2);
  QVERIFY(run_cli({"bench", "--pp", "-1"}).code == 2);
  QVERIFY(run_cli({"bench", "--repeats", "0"}).code == 2);
  QVERIFY(run_cli({"bench", "--model", tiny_model_path(), "--pp", "0", "--tg", "0"}).code == 2);
  for (const char* run : {"pp", "tg0", "xx5", "pp5x", "pp5x0", "tg5x9999", "tg5@", "tg5@x", "pp5x2@3 ", "pp-5", ""}) {
    const CliRun refused = run_cli({"bench", "--model", tiny_model_path(), "--run", run});
    QVERIFY2(refused.code == 2, run);
  }
  QVERIFY(run_cli({"bench", "--model", tiny_model_path(), "--run", "pp5", "--tg", "4"}).code == 2);
  QVERIFY(run_cli({"bench", "--model", "/not/there"}).code == 3);
  const CliRun longer = run_cli({"bench", "--model", tiny_model_path(), "--pp", "256"});
  QVERIFY(longer.code == 2);
  QVERIFY2(longer.err.find("pp256") != std::string::npos && longer.err.find("257") != std::string::npos, longer.err.c_str());
}

void CommandLineTest::selftest_knows_the_instruction_sets() {
  const CliRun run = run_cli({"selftest", "--isa", "mmx"});
  QVERIFY(run.code == 2);
  QVERIFY2(run.err.find("mmx") != std::string::npos && run.err.find("scalar") != std::string::npos, run.err.c_str());
}

void CommandLineTest::a_device_is_there_or_it_is_said_what_is_missing() {
  for (const std::string command : {"selftest", "roofline"}) {
    for (const std::string device : {"tpu", "cuda:", "cuda:x", "cuda:-0", "cpu:0"}) {
      const CliRun unknown = run_cli({command, "--device", device});
      QVERIFY(unknown.code == 2);
      VERIFY_HAS(unknown.err, "device must be one of cpu|cuda|cuda:N, got \"" + device + "\"");
    }
  }
  const CliRun load = run_cli({"complete", "--model", tiny_model_path(), "--device", "cuda", "--prompt", "Hello"});
  if (lathe::kernels::load_cuda_backend(0, 1).backend) {
    QVERIFY2(load.code == 0, load.err.c_str());
    return;
  }
  QVERIFY(load.code != 0);
  QVERIFY2(load.err.find("device cuda is not available: ") != std::string::npos, load.err.c_str());
  for (const std::string command : {"selftest", "roofline"}) {
    const CliRun run = run_cli({command, "--device", "cuda:1"});
    QVERIFY(run.code == 2);
    QVERIFY2(run.err.find("device cuda:1 is not available: ") != std::string::npos, run.err.c_str());
  }
}

void CommandLineTest::devices_are_listed() {
  const CliRun run = run_cli({"devices"});
  QVERIFY(run.code == 0);
  QVERIFY2(run.out.starts_with("cpu       ") && run.out.find("\ncuda") != std::string::npos, run.out.c_str());
  const Json list = Json::parse(run_cli({"devices", "--json"}).out)["devices"];
  QCOMPARE(list[0]["device"].get<std::string>(), std::string("cpu"));
  QVERIFY(list[0]["available"].get<bool>() && list[0]["total_bytes"].get<std::int64_t>() > 0);
  QVERIFY(list.size() >= 2);
  QCOMPARE(list[1]["available"].get<bool>(), !list[1].contains("why_not"));
}

void CommandLineTest::roofline_knows_formats_and_rows() {
  const CliRun format = run_cli({"roofline", "--format", "int3"});
  QVERIFY(format.code == 2);
  QVERIFY2(format.err.find("int3") != std::string::npos && format.err.find("int8_g32") != std::string::npos,
           format.err.c_str());
  QVERIFY(run_cli({"roofline", "--rows", "0"}).code == 2);
  QVERIFY(run_cli({"roofline", "--model", "/not/there"}).code == 3);
}

void CommandLineTest::a_missing_model_is_refused() { check_refused("/not/there", {"/not/there"}); }

void CommandLineTest::a_folder_without_config_is_refused() {
  const QTemporaryDir folder;
  check_refused(folder.path().toStdString(), {"config.json"});
}

void CommandLineTest::a_truncated_weight_file_is_refused() {
  const TinyModelCopy model;
  const std::string weights = lathe::tests::read_file(model.file("model.safetensors"));
  lathe::tests::write_file(model.file("model.safetensors"), weights.substr(0, weights.size() / 2));
  check_refused(model.path(), {"model.safetensors"});
}

void CommandLineTest::L20_bad_values_in_config_json_are_refused_data() {
  QTest::addColumn<QString>("key");
  QTest::addColumn<QString>("value");
  const auto row = [](const char* key, const char* value) {
    QTest::addRow("%s = %s", key, value) << QString(key) << QString(value);
  };
  row("hidden_size", "-64");
  row("hidden_size", "0");
  row("hidden_size", "1000000000");
  row("hidden_size", "\"64\"");
  row("num_hidden_layers", "1000000000");
  row("vocab_size", "-1");
  row("num_attention_heads", "0");
  row("max_position_embeddings", "9223372036854775808");
  row("rope_theta", "\"NaN\"");
  row("rope_theta", "-1");
  row("architectures", "[\"MysteryForCausalLM\"]");
}

void CommandLineTest::L20_bad_values_in_config_json_are_refused() {
  QFETCH(QString, key);
  QFETCH(QString, value);
  const TinyModelCopy model;
  model.set_config(key.toStdString(), Json::parse(value.toStdString()));
  check_refused(model.path(), {"config.json", key.toStdString().c_str()});
}

void CommandLineTest::S22_errors_are_one_line_without_control_characters() {
  const CliRun run = complete("/not\n/there\x1b[31m");
  QVERIFY(run.code == 3);
  QVERIFY(is_one_line(run.err));
  QVERIFY(run.err.find('\x1b') == std::string::npos);
}

LATHE_TEST(CommandLineTest)

}  // namespace command_line_test
#include "command_line_test.moc"
