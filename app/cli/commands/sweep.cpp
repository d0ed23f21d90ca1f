// SPDX-License-Identifier: Apache-2.0
// lathe sweep: the same work under every combination of some settings.
#include <fmt/format.h>

#include <fstream>
#include <set>

#include "app/api/sweep_export.h"
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
  std::string plan_file, template_name, journal, quality_dataset, html;
  SweepTarget target;
  std::vector<std::string> variables;
  std::vector<std::pair<std::string, std::string>> workload;  ///< given, by name
  std::int64_t repeats = 0, seed = 0;
  bool resume = false, json = false, csv = false, markdown = false, in_order = false, no_warm_up = false;
  double goal_ttft_ms = 0, goal_itl_ms = 0, stop_at_ci = 0;
  OptionFlags sampling;
};

void add_target_flags(CLI::App& parser, SweepTarget& target) {
  parser
      .add_option(
          "--target", target.url,
          "Measure a server of the OpenAI protocol from outside instead of an engine of this process: http://HOST:PORT. "
          "What varies are then sampling and the work.")
      ->type_name("URL")
      ->group("Target");
  parser.add_option("--api-key", target.api_key, "That the server asks for; kept nowhere.")
      ->type_name("KEY")
      ->group("Target");
  parser.add_option("--target-model", target.model, "Its model; without it the first that it names.")
      ->type_name("NAME")
      ->group("Target");
}

void add_flags(CLI::App& parser, SweepFlags& flags) {
  parser.add_option("--plan", flags.plan_file, "Plan as JSON, as --json prints it; flags add to it.")->type_name("FILE");
  parser
      .add_option(
          "--var", flags.variables,
          "A setting and its values: name=a,b,c, numbers also first:last:step or first:last:*factor. At most three; any "
          "option of loading, serving, sampling or of the work.")
      ->type_name("NAME=VALUES")
      ->allow_extra_args(false);
  const auto is_template = [](const std::string& name) {
    if (find_sweep_template(name) != nullptr) return std::string();
    std::string names;
    for (const SweepTemplate& shape : sweep_templates()) names += (names.empty() ? "" : ", ") + std::string(shape.name);
    return fmt::format("there is no template '{}'; there are {}", name, names);
  };
  parser.add_option("--template", flags.template_name, "A sweep that is asked for often; flags add to it.")
      ->check(is_template)
      ->type_name("NAME")
      ->excludes("--plan");
  for (const engine::OptionDescriptor& option : workload_option_table()) {
    const std::string name(option.name);
    parser
        .add_option_function<std::string>(
            flag_of(name), [&flags, name](const std::string& value) { flags.workload.emplace_back(name, value); },
            std::string(option.help))
        ->type_name(option.kind == engine::OptionKind::text ? "FILE"
                    : option.choices.empty()                ? "N"
                                                            : "NAME")
        ->group("Work");
  }
  CLI::Validator positive = CLI::PositiveNumber;
  positive.description("");
  parser.add_option("--repeats", flags.repeats, "Runs of each cell; without it 3.")->check(positive)->type_name("N");
  parser.add_option("--sweep-seed", flags.seed, "Draws prompts and the order of the cells; without it 1.")
      ->check(positive)
      ->type_name("N");
  parser
      .add_option("--stop-at-ci", flags.stop_at_ci,
                  "A cell ends early, after three runs at least, once the 95 % interval of its tok/s is under this share of "
                  "the mean: 0.05.")
      ->check(CLI::Range(0.001, 0.999))
      ->type_name("SHARE");
  parser.add_flag("--in-order", flags.in_order, "Measure cells in the order of their values instead of a random one.");
  parser.add_flag("--no-warm-up", flags.no_warm_up, "Leave out the uncounted run before each cell.");
  parser.add_option("--goal-ttft-ms", flags.goal_ttft_ms, "Goodput counts requests whose first token came within N ms.")
      ->type_name("N");
  parser.add_option("--goal-itl-ms", flags.goal_itl_ms, "And whose tokens came N ms apart at most, on the average.")
      ->type_name("N");
  parser
      .add_option("--quality-dataset", flags.quality_dataset,
                  "Also compare each model with the unquantized one on this text (as lathe eval does): perplexity, "
                  "divergence, agreement.")
      ->type_name("FILE");
  parser.add_option("--journal", flags.journal, "File that keeps every run as it ends.")->type_name("FILE");
  parser.add_flag("--resume", flags.resume, "Go on with that journal where it ended.");
  parser.add_flag("--json", flags.json, "One JSON object on stdout.");
  parser.add_flag("--csv", flags.csv, "A line a cell on stdout.");
  parser.add_flag("--markdown", flags.markdown, "A table in Markdown on stdout.");
  parser.add_option("--html", flags.html, "Also write a page with table, charts, plan and machine to this file.")
      ->type_name("FILE");
  add_target_flags(parser, flags.target);
  flags.sampling.add(parser, engine::sampling_option_table(), {"max_tokens", "ignore_eos", "seed"});
}

Result<SweepPlan> read_plan(const std::string& path) {
  if (path.empty()) {
    SweepPlan plan;
    plan.sampling.temperature = 0;
    return plan;
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return engine::fail(ErrorCode::invalid_argument, "there is no readable plan", path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  LATHE_TRY(engine::Json json, engine::parse_json(text, path));
  return sweep_plan_from(json.is_object() && json.contains("plan") ? json["plan"] : json);
}

/// Options of an engine would mean nothing.
Result<void> take_target(const ModelCommand& command, const SweepFlags& flags, SweepPlan& plan) {
  if (!flags.target.url.empty()) plan.target.url = flags.target.url;
  if (!flags.target.model.empty()) plan.target.model = flags.target.model;
  plan.target.api_key = flags.target.api_key;
  if (plan.target.url.empty()) {
    if (flags.target.model.empty() && flags.target.api_key.empty()) return {};
    return engine::fail(ErrorCode::invalid_argument, "--api-key and --target-model belong to a --target", "--target");
  }
  if (command.names_model())
    return engine::fail(ErrorCode::invalid_argument, "a target has its model: name it with --target-model", "--model");
  for (const engine::OptionDescriptor& option : engine::engine_option_table()) {
    if (!command.given(option.name)) continue;
    return engine::fail(ErrorCode::invalid_argument, "is set where the target is started, and means nothing here",
                        flag_of(option.name));
  }
  return {};
}

Result<void> take_options(ModelCommand& command, const SweepFlags& flags, SweepPlan& plan) {
  if (!plan.target.url.empty()) return {};
  LATHE_TRY(const engine::EngineOptions given, command.engine_options());
  const std::string planned_model = plan.options.model;
  if (flags.plan_file.empty()) plan.options = given;
  LATHE_TRY_VOID(command.apply_given(plan.options));
  plan.options.model = planned_model.empty() || command.names_model() ? given.model : planned_model;
  return {};
}

Result<void> take_work(const SweepFlags& flags, SweepPlan& plan) {
  const auto gives = [&](std::string_view name) {
    return std::any_of(flags.workload.begin(), flags.workload.end(), [&](const auto& given) { return given.first == name; });
  };
  for (const auto& [name, value] : flags.workload) LATHE_TRY_VOID(set_option(plan.workload, name, value));
  if (gives("trace") && !gives("load")) plan.workload.load = "replay";
  if (!flags.quality_dataset.empty()) plan.quality_dataset = flags.quality_dataset;
  // What such a template asks for is the text to evaluate on; its work is drawn.
  const SweepTemplate* shape = find_sweep_template(flags.template_name);
  if (shape != nullptr && shape->measures_quality && plan.quality_dataset.empty())
    plan.quality_dataset = std::exchange(plan.workload.dataset, {});
  return {};
}

Result<SweepPlan> plan_of(ModelCommand& command, const SweepFlags& flags) {
  LATHE_TRY(SweepPlan plan, read_plan(flags.plan_file));
  LATHE_TRY_VOID(take_target(command, flags, plan));
  LATHE_TRY_VOID(take_options(command, flags, plan));
  if (const SweepTemplate* shape = find_sweep_template(flags.template_name)) {
    plan.name = shape->title;
    shape->shape(plan);
  }
  LATHE_TRY_VOID(flags.sampling.apply(plan.sampling));
  LATHE_TRY_VOID(take_work(flags, plan));
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
  LATHE_TRY_VOID(check_values(plan));
  return plan;
}

std::string values_text(const SweepPlan& plan, std::size_t cell) {
  std::string text;
  for (const auto& [name, value] : values_of(plan, cell))
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text.empty() ? "the only cell" : text;
}

std::string with_interval(const Estimate& value) {
  if (value.n == 0) return "-";
  return value.n > 1 ? fmt::format("{:.2f} +- {:.2f}", value.mean, value.half_width) : fmt::format("{:.2f}", value.mean);
}

std::string table(const SweepPlan& plan, const SweepReport& report) {
  constexpr std::string_view kUsual[] = {"output_tok_s", "ttft_ms_p50", "itl_ms_p50", "itl_ms_p99", "e2e_ms_mean"};
  const bool is_usual = plan.quality_dataset.empty() && !has_turns(plan);
  const std::span<const std::string_view> shown = is_usual ? kUsual : main_metrics(plan);
  std::string text;
  const auto width = [](std::string_view name) { return std::max<std::size_t>(18, name.size() + 2); };
  for (const SweepVariable& variable : plan.variables) text += fmt::format("{:<{}}", variable.name, width(variable.name));
  for (const std::string_view name : shown) text += fmt::format("{:>20}", name);
  text += "\n";
  for (const auto& [index, result] : report.cells) {
    for (const auto& [name, value] : values_of(plan, index))
      text += fmt::format("{:<{}}", printable(value, width(name) - 1), width(name));
    if (!result.error.empty()) {
      text += "failed: " + printable(result.error, 200) + "\n";
      continue;
    }
    for (const std::string_view name : shown) {
      text += fmt::format("{:>20}", with_interval(result.estimate_of(metric_index(name))));
    }
    text += "\n";
  }
  return text;
}

Result<void> write_page(const std::string& path, const SweepPlan& plan, const SweepReport& report) {
  if (path.empty()) return {};
  std::ofstream file(path, std::ios::binary);
  file << to_html(plan, report);
  if (file.flush()) return {};
  return engine::fail(ErrorCode::resource_exhausted, "the page cannot be written", path);
}

/// Says of each guard of the machine that it is broken, when that is seen first: its user may still do something about it.
class MachineNotes {
 public:
  explicit MachineNotes(ModelCommand& command) : command_(command) {}

  void tell(const SweepJournal& journal) {
    for (const auto& [index, cell] : journal.cells()) {
      for (const MachineWarning& warning : cell.warnings) {
        if (!told_.insert(warning.guard).second) continue;
        command_.progress({});
        command_.note("Warning: " + words_of(warning));
      }
    }
  }

 private:
  ModelCommand& command_;
  std::set<std::string_view> told_;
};

/// Of no cell.
void warn_of_idle(ModelCommand& command, const SweepPlan& plan) {
  if (!plan.target.url.empty()) return;
  std::vector<engine::EngineOptions> all;
  for (std::size_t index = 0; index < n_cells(plan); ++index) {
    if (auto cell = cell_of(plan, index)) all.push_back(std::move(cell->options));
  }
  command.warn_of_idle(all);
}

/// What was measured is worth something as long as one cell was.
int verdict(ModelCommand& command, const SweepReport& report) {
  const auto failed = [](const auto& cell) { return !cell.second.error.empty(); };
  if (!std::all_of(report.cells.begin(), report.cells.end(), failed)) return kExitDone;
  const std::size_t n = report.cells.size();
  const std::string cells = n == 1 ? std::string("the only cell") : fmt::format("all {} cells", n);
  return command.fail(
      {ErrorCode::internal,
       fmt::format("nothing was measured: {} failed, the first with: {}", cells, report.cells.begin()->second.error),
       {}});
}

int sweep(const std::vector<std::string>& arguments, Terminal& terminal) {
  ModelCommand command(kSweepCommand, terminal);
  SweepFlags flags;
  add_flags(command.parser(), flags);
  // A file in the place of the model is a plan.
  std::vector<std::string> rest = arguments;
  if (!rest.empty() && !rest.front().starts_with('-') && rest.front().ends_with(".json"))
    rest.front() = "--plan=" + rest.front();
  if (const auto code = command.parse(rest)) return *code;
  if (flags.resume && flags.journal.empty()) {
    return command.fail(
        {ErrorCode::invalid_argument, "there is no journal to go on with: name it with --journal", "--resume"});
  }
  Result<SweepPlan> plan = plan_of(command, flags);
  if (!plan) return command.fail(plan.error());
  if (flags.plan_file.empty()) make_room(*plan, !command.given("max_num_seqs"), !command.given("max_num_batched_tokens"));
  Result<SweepJournal> journal = SweepJournal::open(flags.journal, *plan, flags.resume);
  if (!journal) return command.fail(journal.error());
  warn_of_idle(command, *plan);
  MachineNotes notes(command);
  const SweepObserver observer = [&](const SweepProgress& now, bool between_runs) {
    if (between_runs) notes.tell(*journal);
    command.progress(fmt::format("cell {} of {}: {}: {}{}", now.cells_done + 1, now.cells_total,
                                 values_text(*plan, now.cell), now.doing,
                                 now.seconds_left > 0 ? fmt::format(", {:.0f} s left", now.seconds_left) : ""));
    return command.signals().requested() ? SweepOrder::stop : SweepOrder::go_on;
  };
  // A target has its engine already, and no workbench was opened for one.
  EngineLoader loader;
  SweepPlaces places;
  if (plan->target.url.empty()) {
    loader = cached_loader(command.workbench().paths());
    places.packed = packed_folder(command.workbench().paths());
  }
  const auto report = run_sweep(*plan, *journal, loader, observer, places);
  command.progress({});
  notes.tell(*journal);
  if (!report) return command.fail(report.error());
  if (const auto written = write_page(flags.html, *plan, *report); !written) return command.fail(written.error());
  terminal.out << (flags.json       ? engine::dump_json(to_json(*plan, *report), 2) + "\n"
                   : flags.csv      ? to_csv(*plan, *report)
                   : flags.markdown ? to_markdown(*plan, *report)
                                    : table(*plan, *report));
  if (!report->stopped) return verdict(command, *report);
  command.note(flags.journal.empty() ? "Stopped." : fmt::format("Stopped; --resume goes on with {}.", flags.journal));
  return kExitFailed;
}

}  // namespace

constexpr Command kSweepCommand = {.name = "sweep", .help = "Measure the same work under several settings.", .run = sweep};

}  // namespace lathe::app
