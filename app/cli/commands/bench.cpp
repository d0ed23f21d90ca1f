// SPDX-License-Identifier: Apache-2.0
// lathe bench: measures synthetic prompts with several concurrent streams; prints a table for people or JSON for programs.
#include "app/bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/cli/machine_text.h"
#include "app/cli/memory_text.h"
#include "app/cli/model_command.h"
#include "engine/api/machine.h"

namespace lathe::app {

extern const Command kBenchCommand;

namespace {

using engine::OrderedJson;
using engine::Result;

/// Values of the command's own flags; `runs` as they are written.
struct BenchFlags {
  BenchPlan plan;
  std::vector<std::string> runs;
  bool json = false;
};

void add_flags(CLI::App& parser, BenchFlags& flags) {
  BenchPlan& plan = flags.plan;
  constexpr int kMaxTokens = 1 << 20;
  add_number(parser, "--pp", plan.n_prompt, 0, kMaxTokens, "Prompt length in tokens; 0: do not measure prompt processing.");
  add_number(parser, "--tg", plan.n_generate, 0, kMaxTokens, "Tokens to generate; 0: do not measure generation.");
  add_number(parser, "--depth", plan.depth, 0, kMaxTokens,
             "Tokens that each stream has in the KV cache before the measurement.");
  CLI::Validator streams = CLI::Range(1, 4096);
  streams.description("");
  parser.add_option("--concurrency", plan.concurrency, "Comma-separated numbers of concurrent streams; default: 1.")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(streams)
      ->type_name("1,4,16");
  parser
      .add_option("--run", flags.runs,
                  "Comma-separated runs in place of --pp, --tg, --depth and --concurrency: pp512, tg128x32 (32 streams), "
                  "tg128x32@8000 (at a depth of 8000).")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("pp512,tg128x32");
  add_number(parser, "--repeats", plan.n_repeats, 1, 1000, "Samples of each measurement, after one that is discarded.");
  parser.add_flag("--json", flags.json, "Print one JSON object on stdout.");
}

std::string title_of(const BenchRun& run) {
  const std::string title = fmt::format("{}{}", name_of(run.kind), run.n_tokens);
  return run.depth > 0 ? fmt::format("{} @ {}", title, run.depth) : title;
}

/// Tokens of each stream, after the depth: a prompt and one token, or one token and the generated ones.
std::int64_t context_of(const BenchRun& run) {
  return std::int64_t{run.depth} + run.n_tokens + (run.kind == BenchKind::pp ? 1 : 2);
}

/// Tokens of the longest stream.
std::int64_t context_of(const BenchPlan& plan) {
  std::int64_t longest = 1;
  for (const BenchRun& run : planned_runs(plan)) longest = std::max(longest, context_of(run));
  return longest;
}

/// Checks the plan before anything is measured.
Result<void> check(const BenchPlan& plan, const std::string& model) {
  const std::vector<BenchRun> runs = planned_runs(plan);
  if (runs.empty()) {
    return engine::fail(engine::ErrorCode::invalid_argument, "with --pp 0 and --tg 0 there is nothing to measure");
  }
  LATHE_TRY(const engine::ModelInfo info, engine::inspect_checkpoint(model));
  const auto longest = std::max_element(runs.begin(), runs.end(),
                                        [](const BenchRun& a, const BenchRun& b) { return context_of(a) < context_of(b); });
  if (context_of(*longest) <= info.max_position_embeddings) return {};
  return engine::fail(engine::ErrorCode::invalid_argument,
                      fmt::format("{} needs a context of {} tokens, but {} supports {}", title_of(*longest),
                                  context_of(*longest), info.name, info.max_position_embeddings));
}

/// Raises the limits so that all streams and their tokens fit, except limits that were given; warns if these are too low.
void make_room(ModelCommand& command, const BenchPlan& plan, engine::EngineOptions& options) {
  int n_streams = 1;
  for (const BenchRun& run : planned_runs(plan)) n_streams = std::max(n_streams, run.concurrency);
  if (!command.given("max_num_seqs")) options.max_num_seqs = n_streams;
  if (n_streams > options.max_num_seqs) {
    command.print_note(
        fmt::format("{} streams, but max_num_seqs is {}: the remaining streams wait", n_streams, options.max_num_seqs));
  }
  if (!command.given("max_model_len")) options.max_model_len = context_of(plan);
}

double mean(const std::vector<double>& samples) {
  return samples.empty() ? 0.0 : std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

double deviation(const std::vector<double>& samples) {
  if (samples.size() < 2) return 0.0;
  const double average = mean(samples);
  double sum = 0;
  for (const double sample : samples) sum += (sample - average) * (sample - average);
  return std::sqrt(sum / static_cast<double>(samples.size() - 1));
}

double median(std::vector<double> samples) {
  if (samples.empty()) return 0.0;
  std::sort(samples.begin(), samples.end());
  const std::size_t half = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
}

OrderedJson bench_json(const engine::LoadedModel& model, const engine::MachineReport& machine,
                       const std::vector<BenchRun>& runs) {
  OrderedJson list = OrderedJson::array();
  for (const BenchRun& run : runs) {
    OrderedJson& one = list.emplace_back(OrderedJson{{"kind", name_of(run.kind)},
                                                     {"n_tokens", run.n_tokens},
                                                     {"depth", run.depth},
                                                     {"concurrency", run.concurrency},
                                                     {"samples_tok_s", run.samples_tok_s}});
    const double tok_s = median(run.samples_tok_s);
    one["median_tok_s"] = tok_s;
    // Every stream gets a token a step.
    if (run.kind == BenchKind::tg && tok_s > 0) one["step_ms"] = 1e3 * run.concurrency / tok_s;
  }
  return {{"model", model.name},
          {"dtype", model.dtype},
          {"quantization", model.running_quantization()},
          {"load_ms", model.load_ms},
          {"packed_cache", engine::name_of(model.packed_cache)},
          {"memory", memory_json(model)},
          {"version", version()},
          {"machine", machine_json(machine)},
          {"runs", std::move(list)}};
}

std::string table(const engine::LoadedModel& model, const engine::MachineReport& machine,
                  const std::vector<BenchRun>& runs) {
  std::string text = fmt::format("{} in {}; {}", model.name, weights_text(model), machine_line(machine));
  text += "\n\ntest             streams         tok/s       +-  tok/s per stream\n";
  for (const BenchRun& run : runs) {
    const double average = mean(run.samples_tok_s);
    text += fmt::format("{:<17}{:>7}  {:>12.2f} {:>8} {:>17.2f}\n", title_of(run), run.concurrency, average,
                        run.samples_tok_s.size() > 1 ? fmt::format("{:.2f}", deviation(run.samples_tok_s)) : "-",
                        average / run.concurrency);
  }
  return text;
}

/// Refuses options that --run takes the place of. CLI11's excludes() would list them in the help in the order of addresses.
Result<void> check_runs(const CLI::App& parser) {
  for (const char* other : {"--pp", "--tg", "--depth", "--concurrency"}) {
    if (parser.count("--run") == 0 || parser.count(other) == 0) continue;
    return engine::fail(engine::ErrorCode::invalid_argument,
                        fmt::format("--run lists whole runs, such as tg128x32@8000; {} cannot be given with it", other));
  }
  return {};
}

int bench(const std::vector<std::string>& arguments, Terminal& terminal) {
  ModelCommand command(kBenchCommand, terminal);
  BenchFlags flags;
  BenchPlan& plan = flags.plan;
  command.add_shape();
  add_flags(command.parser(), flags);
  if (const auto code = command.parse(arguments)) return *code;
  if (const auto usable = check_runs(command.parser()); !usable) return command.fail(usable.error());
  for (const std::string& run : flags.runs) {
    auto read = parse_bench_run(run);
    if (!read) return command.fail(read.error());
    plan.runs.push_back(std::move(*read));
  }
  Result<engine::EngineOptions> options = command.engine_options();
  if (!options) return command.fail(options.error());
  if (const auto usable = check(plan, options->model); !usable) return command.fail(usable.error());
  make_room(command, plan, *options);
  // The ceilings are measured first: the threads of a loaded model would share the cores.
  const auto machine = engine::measure_machine(
      {.device = options->device, .isa = options->isa, .n_threads = static_cast<int>(options->threads)});
  if (!machine) return command.fail(machine.error());
  if (const auto loaded = command.load(*options); !loaded) return command.fail(loaded.error());

  const EngineLease engine = command.workbench().models().lease();
  const auto progress = [&](const BenchProgress& now) {
    command.progress(fmt::format("{} x {}: sample {} of {}, run {} of {}", title_of(now.run), now.run.concurrency,
                                 now.run.samples_tok_s.size() + 1, plan.n_repeats, now.n_done + 1, now.n_total));
    return !command.signals().requested();
  };
  const Result<std::vector<BenchRun>> runs = run_bench(*engine, plan, progress);
  command.progress({});
  if (!runs) return command.fail(runs.error());
  terminal.out << (flags.json ? engine::dump_json(bench_json(engine->model(), *machine, *runs), 2) + "\n"
                              : table(engine->model(), *machine, *runs));
  return kExitDone;
}

}  // namespace

extern constexpr Command kBenchCommand = {
    .name = "bench", .help = "Measure the speed of prompt processing and of generation.", .run = bench};

}  // namespace lathe::app
