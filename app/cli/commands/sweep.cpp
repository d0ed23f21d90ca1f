// SPDX-License-Identifier: Apache-2.0
// lathe sweep: the same work under every combination of some settings.
#include <fmt/format.h>

#include <fstream>

#include "app/api/sweep_templates.h"
#include "app/bench/sweep/sweep.h"
#include "app/cli/model_command.h"
#include "app/log/printable.h"
#include "app/workbench/cached_loader.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Result;

struct SweepFlags {
  std::string plan_file, template_name, journal;
  std::vector<std::string> variables;
  std::vector<std::pair<std::string, std::string>> workload;  ///< given, by name
  std::int64_t repeats = 0, seed = 0;
  bool resume = false, json = false, csv = false, markdown = false, in_order = false, no_warm_up = false;
  double goal_ttft_ms = 0, goal_itl_ms = 0, stop_at_ci = 0;
  OptionFlags sampling;
};

void add_flags(CLI::App& parser, SweepFlags& flags) {
  parser.add_option("--plan", flags.plan_file, "Plan as JSON, as --json prints it; flags add to it.")->type_name("FILE");
  parser.add_option("--var", flags.variables,
                    "A setting and its values: name=a,b,c, numbers also first:last:step or first:last:*factor. At most three; any "
                    "option of loading, serving, sampling or of the work.")
      ->type_name("NAME=VALUES")
      ->allow_extra_args(false);
  std::vector<std::string> names;
  for (const SweepTemplate& shape : sweep_templates()) names.emplace_back(shape.name);
  parser.add_option("--template", flags.template_name, "A sweep that is asked for often; flags add to it.")
      ->check(CLI::IsMember(names))
      ->type_name("NAME")
      ->excludes("--plan");
  for (const engine::OptionDescriptor& option : workload_option_table()) {
    const std::string name(option.name);
    parser.add_option_function<std::string>(
              flag_of(name), [&flags, name](const std::string& value) { flags.workload.emplace_back(name, value); },
              std::string(option.help))
        ->type_name(option.choices.empty() ? "N" : "NAME")
        ->group("Work");
  }
  CLI::Validator positive = CLI::PositiveNumber;
  positive.description("");
  parser.add_option("--repeats", flags.repeats, "Runs of each cell; without it 3.")->check(positive)->type_name("N");
  parser.add_option("--sweep-seed", flags.seed, "Draws prompts and the order of the cells; without it 1.")->check(positive)->type_name("N");
  parser.add_option("--stop-at-ci", flags.stop_at_ci,
                    "A cell ends early, after three runs at least, once the 95 % interval of its tok/s is under this share of the mean: 0.05.")
      ->check(CLI::Range(0.001, 0.999))
      ->type_name("SHARE");
  parser.add_flag("--in-order", flags.in_order, "Measure cells in the order of their values instead of a random one.");
  parser.add_flag("--no-warm-up", flags.no_warm_up, "Leave out the uncounted run before each cell.");
  parser.add_option("--goal-ttft-ms", flags.goal_ttft_ms, "Goodput counts requests whose first token came within N ms.")->type_name("N");
  parser.add_option("--goal-itl-ms", flags.goal_itl_ms, "And whose tokens came N ms apart at most, on the average.")->type_name("N");
  parser.add_option("--journal", flags.journal, "File that keeps every run as it ends.")->type_name("FILE");
  parser.add_flag("--resume", flags.resume, "Go on with that journal where it ended.");
  parser.add_flag("--json", flags.json, "One JSON object on stdout.");
  parser.add_flag("--csv", flags.csv, "A line a cell on stdout.");
  parser.add_flag("--markdown", flags.markdown, "A table in Markdown on stdout.");
  flags.sampling.add(parser, engine::sampling_option_table(), {"max_tokens", "ignore_eos", "seed"});
}

Result<SweepPlan> read_plan(const std::string& path) {
  if (path.empty()) {
    SweepPlan plan;
    plan.sampling.temperature = 0;
    return plan;
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return engine::fail(ErrorCode::not_found, "there is no readable plan", path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  LATHE_TRY(engine::Json json, engine::parse_json(text, path));
  return sweep_plan_from(json.is_object() && json.contains("plan") ? json["plan"] : json);
}

Result<SweepPlan> plan_of(ModelCommand& command, const SweepFlags& flags, const engine::EngineOptions& given) {
  LATHE_TRY(SweepPlan plan, read_plan(flags.plan_file));
  const std::string planned_model = plan.options.model;
  if (flags.plan_file.empty()) plan.options = given;
  LATHE_TRY_VOID(command.apply_given(plan.options));
  plan.options.model = planned_model.empty() || command.names_model() ? given.model : planned_model;
  if (const SweepTemplate* shape = find_sweep_template(flags.template_name)) {
    plan.name = shape->title;
    shape->shape(plan);
  }
  LATHE_TRY_VOID(flags.sampling.apply(plan.sampling));
  for (const auto& [name, value] : flags.workload) LATHE_TRY_VOID(set_option(plan.workload, name, value));
  for (const std::string& text : flags.variables) {
    LATHE_TRY(SweepVariable variable, parse_variable(text));
    plan.variables.push_back(std::move(variable));
  }
  if (flags.repeats > 0) plan.repeats = flags.repeats;
  if (flags.stop_at_ci > 0) plan.stop_at_ci = flags.stop_at_ci;
  if (flags.goal_ttft_ms > 0) plan.goal.ttft_ms = flags.goal_ttft_ms;
  if (flags.goal_itl_ms > 0) plan.goal.itl_ms = flags.goal_itl_ms;
  if (flags.seed > 0) plan.seed = static_cast<std::uint64_t>(flags.seed);
  plan.shuffle = plan.shuffle && !flags.in_order;
  plan.warm_up = plan.warm_up && !flags.no_warm_up;
  LATHE_TRY_VOID(check(plan));
  return plan;
}

std::string values_text(const SweepPlan& plan, std::size_t cell) {
  std::string text;
  for (const auto& [name, value] : values_of(plan, cell)) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text.empty() ? "the only cell" : text;
}

std::string with_interval(const Estimate& value) {
  return value.n > 1 ? fmt::format("{:.2f} +- {:.2f}", value.mean, value.half_width) : fmt::format("{:.2f}", value.mean);
}

std::string table(const SweepPlan& plan, const SweepReport& report) {
  constexpr const char* kShown[] = {"output_tok_s", "ttft_ms_p50", "itl_ms_p50", "itl_ms_p99", "e2e_ms_mean"};
  std::string text;
  for (const SweepVariable& variable : plan.variables) text += fmt::format("{:<18}", variable.name);
  for (const char* name : kShown) text += fmt::format("{:>20}", name);
  text += "\n";
  for (const auto& [index, result] : report.cells) {
    for (const auto& [name, value] : values_of(plan, index)) text += fmt::format("{:<18}", printable(value, 17));
    if (!result.error.empty()) {
      text += "failed: " + printable(result.error, 200) + "\n";
      continue;
    }
    for (const char* name : kShown) {
      text += fmt::format("{:>20}", with_interval(result.estimate_of(metric_index(name))));
    }
    text += "\n";
  }
  return text;
}

int sweep(const std::vector<std::string>& arguments, Terminal& terminal) {
  ModelCommand command(kSweepCommand, terminal);
  SweepFlags flags;
  add_flags(command.parser(), flags);
  // A file in the place of the model is a plan.
  std::vector<std::string> rest = arguments;
  if (!rest.empty() && !rest.front().starts_with('-') && rest.front().ends_with(".json")) {
    rest.front() = "--plan=" + rest.front();
  }
  if (const auto code = command.parse(rest)) return *code;
  if (flags.resume && flags.journal.empty()) {
    return command.fail({ErrorCode::invalid_argument, "there is no journal to go on with: name it with --journal", "--resume"});
  }
  const Result<engine::EngineOptions> options = command.engine_options();
  if (!options) return command.fail(options.error());
  Result<SweepPlan> plan = plan_of(command, flags, *options);
  if (!plan) return command.fail(plan.error());
  if (flags.plan_file.empty()) make_room(*plan, !command.given("max_num_seqs"), !command.given("max_num_batched_tokens"));
  Result<SweepJournal> journal = SweepJournal::open(flags.journal, *plan, flags.resume);
  if (!journal) return command.fail(journal.error());
  const SweepObserver observer = [&](const SweepProgress& now, bool) {
    command.progress(fmt::format("cell {} of {}: {}: {}{}", now.cells_done + 1, now.cells_total, values_text(*plan, now.cell), now.doing,
                                 now.seconds_left > 0 ? fmt::format(", {:.0f} s left", now.seconds_left) : ""));
    return command.signals().requested() ? SweepOrder::stop : SweepOrder::go_on;
  };
  const auto report = run_sweep(*plan, *journal, cached_loader(command.workbench().paths()), observer);
  command.progress({});
  if (!report) return command.fail(report.error());
  if (flags.json) {
    terminal.out << engine::dump_json(to_json(*plan, *report), 2) << "\n";
  } else {
    terminal.out << (flags.csv ? to_csv(*plan, *report) : flags.markdown ? to_markdown(*plan, *report) : table(*plan, *report));
  }
  if (!report->stopped) return kExitDone;
  command.note(flags.journal.empty() ? "Stopped." : fmt::format("Stopped; --resume goes on with {}.", flags.journal));
  return kExitFailed;
}

}  // namespace

constexpr Command kSweepCommand = {.name = "sweep", .help = "Measure the same work under several settings.", .run = sweep};

}  // namespace lathe::app
