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

void add_flags(CLI::App& parser, BenchPlan& plan, bool& json) {
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
  add_number(parser, "--repeats", plan.n_repeats, 1, 1000, "Samples of each measurement, after one that is discarded.");
  parser.add_flag("--json", json, "Print one JSON object on stdout.");
}

/// Tokens of the longest stream, after the depth: a prompt and one token, or one token and the generated ones.
std::int64_t context_of(const BenchPlan& plan) { return plan.depth + std::max(plan.n_prompt + 1, plan.n_generate + 2); }

/// Checks the plan before anything is measured.
Result<void> check(const BenchPlan& plan, const std::string& model) {
  if (plan.n_prompt == 0 && plan.n_generate == 0) {
    return engine::fail(engine::ErrorCode::invalid_argument, "with --pp 0 and --tg 0 there is nothing to measure");
  }
  LATHE_TRY(const engine::ModelInfo info, engine::inspect_checkpoint(model));
  if (const std::int64_t needed = context_of(plan); needed > info.max_position_embeddings) {
    return engine::fail(
        engine::ErrorCode::invalid_argument,
        fmt::format("--pp {} and --tg {} at --depth {} need a context of {} tokens, but {} supports {}", plan.n_prompt,
                    plan.n_generate, plan.depth, needed, info.name, info.max_position_embeddings));
  }
  return {};
}

/// Raises the limits so that all streams and their tokens fit, except limits that were given; warns if these are too low.
void make_room(ModelCommand& command, const BenchPlan& plan, engine::EngineOptions& options) {
  const int n_streams = *std::max_element(plan.concurrency.begin(), plan.concurrency.end());
  if (!command.given("max_num_seqs")) options.max_num_seqs = n_streams;
  if (n_streams > options.max_num_seqs) {
    command.print_note(
        fmt::format("{} streams, but max_num_seqs is {}: the remaining streams wait", n_streams, options.max_num_seqs));
  }
  if (!command.given("max_num_batched_tokens")) {
    options.max_num_batched_tokens = std::max<std::int64_t>(options.max_num_batched_tokens, options.max_num_seqs);
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

std::string title_of(const BenchRun& run) {
  const std::string title = fmt::format("{}{}", name_of(run.kind), run.n_tokens);
  return run.depth > 0 ? fmt::format("{} @ {}", title, run.depth) : title;
}

OrderedJson bench_json(const engine::LoadedModel& model, const engine::MachineReport& machine,
                       const std::vector<BenchRun>& runs) {
  OrderedJson list = OrderedJson::array();
  for (const BenchRun& run : runs) {
    list.push_back({{"kind", name_of(run.kind)},
                    {"n_tokens", run.n_tokens},
                    {"depth", run.depth},
                    {"concurrency", run.concurrency},
                    {"samples_tok_s", run.samples_tok_s}});
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

int bench(const std::vector<std::string>& arguments, Terminal& terminal) {
  ModelCommand command(kBenchCommand, terminal);
  BenchPlan plan;
  bool json = false;
  add_flags(command.parser(), plan, json);
  if (const auto code = command.parse(arguments)) return *code;
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
  terminal.out << (json ? engine::dump_json(bench_json(engine->model(), *machine, *runs), 2) + "\n"
                        : table(engine->model(), *machine, *runs));
  return kExitDone;
}

}  // namespace

extern constexpr Command kBenchCommand = {
    .name = "bench", .help = "Measure the speed of prompt processing and of generation.", .run = bench};

}  // namespace lathe::app
