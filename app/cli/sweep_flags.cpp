// SPDX-License-Identifier: Apache-2.0
#include "app/cli/sweep_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>

#include "app/api/sweep_export.h"
#include "app/api/sweep_templates.h"
#include "app/bench/sweep/result/sweep_journal.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Result;

void add_target_flags(CLI::App& parser, SweepTarget& target) {
  parser
      .add_option("--target", target.url,
                  "Measure a server of the OpenAI protocol from outside, instead of an engine of this process: "
                  "http://HOST:PORT. Only sampling and the work can vary then.")
      ->type_name("URL")
      ->group("Target");
  parser.add_option("--api-key", target.api_key, "Key that the server asks for; it is stored nowhere.")
      ->type_name("KEY")
      ->group("Target");
  parser.add_option("--target-model", target.model, "Model of the server; default: the first one that it lists.")
      ->type_name("NAME")
      ->group("Target");
}

/// Accepts numbers from `least` to `most`; also refuses NaN, which is neither below nor above a limit.
CLI::Validator number_between(double least, double most, std::string words) {
  return CLI::Validator(
      [least, most, words = std::move(words)](const std::string& text) {
        double value = 0;
        const bool fits = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
        return fits ? std::string() : fmt::format("must be {}, got {}", words, text);
      },
      "");
}

void add_plan_flags(CLI::App& parser, SweepFlags& flags) {
  parser.add_option("--plan", flags.plan_file, "Plan as JSON, as --json prints it; other options change it.")
      ->type_name("FILE");
  parser
      .add_option("--var", flags.variables,
                  "A setting and its values: name=a,b,c, numbers also first:last:step or first:last:*factor, lists in "
                  "brackets: stop_token_ids=[1,2],[3]. At most three; any option of loading, serving, sampling or the work. "
                  "It replaces the variable of that name in the plan or template.")
      ->type_name("NAME=VALUES")
      ->allow_extra_args(false);
  const auto is_template = [](const std::string& name) {
    if (find_sweep_template(name) != nullptr) return std::string();
    std::string names;
    for (const SweepTemplate& shape : sweep_templates()) names += (names.empty() ? "" : ", ") + std::string(shape.name);
    return fmt::format("there is no template '{}'; the templates are {}", name, names);
  };
  parser.add_option("--template", flags.template_name, "A common sweep; other options change it.")
      ->check(is_template)
      ->type_name("NAME")
      ->excludes("--plan");
  for (const engine::OptionDescriptor& option : workload_option_table()) {
    const std::string name(option.name);
    parser
        .add_option_function<std::string>(
            flag_of(name), [&flags, name](const std::string& value) { flags.workload.emplace_back(name, value); },
            std::string(option.help))
        ->type_name(option.kind == engine::OptionKind::text     ? "FILE"
                    : option.kind == engine::OptionKind::choice ? engine::named_choices(option)
                                                                : "N")
        ->group("Work");
  }
}

void add_measurement_flags(CLI::App& parser, SweepFlags& flags) {
  parser.add_option("--repeats", flags.repeats, "Runs of each cell; default: 3.")
      ->check(number_between(1, 1000, "between 1 and 1000"))
      ->type_name("N");
  parser.add_option("--sweep-seed", flags.seed, "Seed that draws the prompts and the order of the cells; default: 1.")
      ->check(at_least(1))
      ->type_name("N");
  parser
      .add_option("--stop-at-ci", flags.stop_at_ci,
                  "End a cell early, after at least three runs, once the 95 % interval of its tok/s (of max_rate with load "
                  "saturation) is under this share of the mean, such as 0.05.")
      ->check(number_between(0.001, 0.999, "between 0.001 and 0.999"))
      ->type_name("SHARE");
  parser.add_flag("--in-order", flags.in_order,
                  "Measure cells in the order of their values instead of a random order. In both orders, cells that share "
                  "an engine follow each other, so drift over time affects options that need another load.");
  parser.add_flag("--no-warm-up", flags.no_warm_up, "Skip the uncounted run before each cell.");
  const CLI::Validator goal = number_between(0, std::numeric_limits<double>::max(), "0 (no goal) or more");
  parser
      .add_option("--goal-ttft-ms", flags.goal_ttft_ms,
                  "Goodput counts requests whose first token came within N ms; 0: no goal. Load saturation requires it of "
                  "95 of 100 requests.")
      ->check(goal)
      ->type_name("N");
  parser
      .add_option("--goal-itl-ms", flags.goal_itl_ms,
                  "Goodput counts requests whose tokens came at most N ms apart on average; 0: no goal.")
      ->check(goal)
      ->type_name("N");
  parser
      .add_option("--quality-dataset", flags.quality_dataset,
                  "Also compare each model with the unquantized one on this text (as lathe eval does): perplexity, "
                  "divergence, agreement.")
      ->type_name("FILE");
  parser.add_flag(
      "--parse-special", flags.parse_special,
      "Read special tokens that are written out in that text as these tokens, as in the output of 'lathe template'.");
}

void add_output_flags(CLI::App& parser, SweepFlags& flags) {
  parser.add_option("--journal", flags.journal, "File that gets every run when it ends.")->type_name("FILE");
  parser.add_flag("--resume", flags.resume, "Continue that journal where it ended; its plan need not be given again.");
  for (const ExportFormat* format : export_formats()) {
    const std::string flag = flag_of(format->name), help(format->help);
    if (format->is_printed) {
      parser.add_flag(flag, flags.printed[format->name], help);
    } else {
      parser.add_option(flag, flags.files[format->name], help)->type_name("FILE");
    }
  }
}

/// Flags about the journal of a sweep or the program, not about the measurement; nor are those of export formats.
constexpr std::string_view kOfNoPlan[] = {"--journal", "--resume", "--api-key", "--quiet", "--profile-dir"};

bool asks_for_a_plan(const CLI::App& parser) {
  const auto is_of_plan = [](const CLI::Option* option) {
    const auto formats = export_formats();
    const bool is_output = std::any_of(formats.begin(), formats.end(), [&](const ExportFormat* format) {
      return option->check_name(flag_of(format->name));
    });
    return !is_output && std::none_of(std::begin(kOfNoPlan), std::end(kOfNoPlan),
                                      [&](std::string_view name) { return option->check_name(std::string(name)); });
  };
  return std::any_of(parser.parse_order().begin(), parser.parse_order().end(), is_of_plan);
}

/// A plan, and the engine options that it names: defaults of other options may follow from its workload.
struct PlanFile {
  SweepPlan plan;
  std::set<std::string, std::less<>> named;
};

Result<PlanFile> read_plan(const std::string& path) {
  PlanFile read;
  if (path.empty()) return read;
  std::ifstream file(path, std::ios::binary);
  if (!file) return engine::fail(ErrorCode::invalid_argument, "there is no readable plan", path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  LATHE_TRY(engine::Json json, engine::parse_json(text, path));
  if (json.is_object() && json.contains("plan")) json = engine::Json(json["plan"]);
  LATHE_TRY(read.plan, sweep_plan_from(json));
  if (json.contains("options")) {
    for (const auto& [name, value] : json["options"].items()) read.named.insert(name);
  }
  return read;
}

Result<void> check_key(const SweepPlan& plan, const SweepFlags& flags) {
  if (!plan.target.url.empty() || (flags.target.model.empty() && flags.target.api_key.empty())) return {};
  return engine::fail(ErrorCode::invalid_argument, "--api-key and --target-model belong to a --target", "--target");
}

/// Returns the plan of a journal that is resumed without any argument about the measurement. Its model must still exist.
Result<SweepPlan> plan_of_journal(ModelCommand& command, const SweepFlags& flags) {
  Result<SweepPlan> kept = SweepJournal::plan_in(flags.journal);
  // Exit code 3 is reserved for problems of models.
  if (!kept) return engine::fail(ErrorCode::invalid_argument, kept.error().message, kept.error().where);
  SweepPlan plan = std::move(*kept);
  LATHE_TRY_VOID(check_key(plan, flags));
  plan.target.api_key = flags.target.api_key;
  LATHE_TRY_VOID(check(plan));
  LATHE_TRY_VOID(check_values(plan));
  LATHE_TRY_VOID(check_files(plan));
  if (plan.target.url.empty()) {
    LATHE_TRY([[maybe_unused]] const engine::EngineOptions found, command.engine_options(plan.options.model));
  }
  return plan;
}

/// Takes the target's flags; refuses engine options, which a target does not use.
Result<void> take_target(const ModelCommand& command, const SweepFlags& flags, SweepPlan& plan) {
  if (!flags.target.url.empty()) plan.target.url = flags.target.url;
  if (!flags.target.model.empty()) plan.target.model = flags.target.model;
  plan.target.api_key = flags.target.api_key;
  if (plan.target.url.empty()) return check_key(plan, flags);
  if (command.names_model())
    return engine::fail(ErrorCode::invalid_argument, "the model of a target is given with --target-model", "--model");
  for (const engine::OptionDescriptor& option : engine::engine_option_table()) {
    if (!command.given(option.name)) continue;
    return engine::fail(ErrorCode::invalid_argument, "is set where the target is started, and has no effect here",
                        flag_of(option.name));
  }
  return {};
}

Result<void> take_options(ModelCommand& command, SweepPlan& plan) {
  if (!plan.target.url.empty()) return {};
  LATHE_TRY(const engine::EngineOptions given, command.engine_options(plan.options.model));
  LATHE_TRY_VOID(command.apply_given(plan.options));
  plan.options.model = given.model;
  return {};
}

Result<void> take_work(const SweepFlags& flags, SweepPlan& plan) {
  const auto gives = [&](std::string_view name) {
    return std::any_of(flags.workload.begin(), flags.workload.end(), [&](const auto& given) { return given.first == name; });
  };
  for (const auto& [name, value] : flags.workload) LATHE_TRY_VOID(set_option(plan.workload, name, value));
  if (gives("trace") && !gives("load")) plan.workload.load = "replay";
  if (!flags.quality_dataset.empty()) plan.quality_dataset = flags.quality_dataset;
  // For templates that measure quality, --dataset names the text to evaluate on; their prompts are drawn.
  const SweepTemplate* shape = find_sweep_template(flags.template_name);
  if (shape != nullptr && shape->measures_quality && plan.quality_dataset.empty())
    plan.quality_dataset = std::exchange(plan.workload.dataset, {});
  return {};
}

/// Takes the variables, which replace those of the same name in the plan or template. Model names become paths; an unknown
/// name fails later, in its cells.
Result<void> take_variables(ModelCommand& command, const SweepFlags& flags, SweepPlan& plan) {
  std::set<std::string> given;
  for (const std::string& text : flags.variables) {
    LATHE_TRY(SweepVariable variable, parse_variable(text));
    if (!given.insert(variable.name).second)
      return engine::fail(ErrorCode::invalid_argument, "is given twice as a variable", variable.name);
    if (variable.name == "model" && plan.target.url.empty()) {
      for (std::string& model : variable.values) {
        if (auto path = command.workbench().library().resolve(model)) model = std::move(*path);
      }
    }
    const auto same = std::find_if(plan.variables.begin(), plan.variables.end(),
                                   [&](const SweepVariable& other) { return other.name == variable.name; });
    if (same != plan.variables.end()) {
      *same = std::move(variable);
    } else {
      plan.variables.push_back(std::move(variable));
    }
  }
  return {};
}

void take_measurement(const SweepFlags& flags, SweepPlan& plan) {
  if (flags.repeats > 0) plan.repeats = flags.repeats;
  if (flags.seed > 0) plan.seed = static_cast<std::uint64_t>(flags.seed);
  plan.stop_at_ci = flags.stop_at_ci.value_or(plan.stop_at_ci);
  plan.goal.ttft_ms = flags.goal_ttft_ms.value_or(plan.goal.ttft_ms);
  plan.goal.itl_ms = flags.goal_itl_ms.value_or(plan.goal.itl_ms);
  plan.shuffle = plan.shuffle && !flags.in_order;
  plan.warm_up = plan.warm_up && !flags.no_warm_up;
  plan.parse_special = plan.parse_special || flags.parse_special;
}

/// Warns of arguments that do not change the measurement.
void note_surprises(ModelCommand& command, const SweepFlags& flags, const SweepPlan& plan) {
  const auto gives_work = [&](std::string_view name) {
    return std::any_of(flags.workload.begin(), flags.workload.end(), [&](const auto& given) { return given.first == name; });
  };
  for (const SweepVariable& variable : plan.variables) {
    if (!gives_work(variable.name) && !command.given(variable.name) && !flags.sampling.given(variable.name)) continue;
    command.print_note(fmt::format("Warning: without effect: {} (it is a variable: its values come with --var {}=)",
                                   flag_of(variable.name), variable.name));
  }
  const SweepTemplate* const shape = find_sweep_template(flags.template_name);
  if (shape != nullptr && shape->measures_quality && plan.quality_dataset.empty()) {
    command.print_note(
        "Warning: only speed and memory are measured: --dataset FILE gives the text on which perplexity, divergence (KL) "
        "and agreement are measured");
  }
  if (plan.parse_special && plan.quality_dataset.empty())
    command.print_note("Warning: without effect: --parse-special (it applies only to --quality-dataset)");
}

}  // namespace

void add_flags(CLI::App& parser, SweepFlags& flags) {
  add_plan_flags(parser, flags);
  add_measurement_flags(parser, flags);
  add_output_flags(parser, flags);
  add_target_flags(parser, flags.target);
  std::vector<std::string_view> of_workload;  // parameters that the workload decides
  for (const engine::SamplingField& field : engine::sampling_fields()) {
    if (!can_vary(field.option.name)) of_workload.push_back(field.option.name);
  }
  flags.sampling.add(parser, engine::sampling_fields(), of_workload);
}

Result<SweepPlan> plan_of(ModelCommand& command, const SweepFlags& flags) {
  if (flags.resume && !asks_for_a_plan(command.parser())) return plan_of_journal(command, flags);
  LATHE_TRY(PlanFile file, read_plan(flags.plan_file));
  SweepPlan& plan = file.plan;
  LATHE_TRY_VOID(take_target(command, flags, plan));
  LATHE_TRY_VOID(take_options(command, plan));
  if (const SweepTemplate* shape = find_sweep_template(flags.template_name)) {
    plan.name = shape->title;
    shape->shape(plan);
  }
  LATHE_TRY_VOID(flags.sampling.apply(plan.sampling));
  LATHE_TRY_VOID(take_work(flags, plan));
  LATHE_TRY_VOID(take_variables(command, flags, plan));
  take_measurement(flags, plan);
  LATHE_TRY_VOID(check(plan));
  LATHE_TRY_VOID(check_values(plan));
  LATHE_TRY_VOID(check_files(plan));
  const auto is_open = [&](std::string_view name) { return !command.given(name) && !file.named.contains(name); };
  make_room(plan, is_open("max_num_seqs"), is_open("max_num_batched_tokens"));
  note_surprises(command, flags, plan);
  return plan;
}

}  // namespace lathe::app
