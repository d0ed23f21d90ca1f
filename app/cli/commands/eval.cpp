// SPDX-License-Identifier: Apache-2.0
// lathe eval: measures how well a model predicts a text, and what quantization costs.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <set>

#include "app/bench/text_dataset.h"
#include "app/cli/model_command.h"
#include "app/log/printable.h"
#include "app/workbench/cached_loader.h"
#include "engine/api/evaluate.h"

namespace lathe::app {

extern const Command kEvalCommand;

namespace {

using engine::DivergenceReport;
using engine::EngineOptions;
using engine::ErrorCode;
using engine::EvalPlan;
using engine::EvalProtocol;
using engine::Interval;
using engine::OrderedJson;
using engine::PerplexityReport;
using engine::Result;

struct EvalFlags {
  std::string dataset, protocol = "auto";
  std::int64_t limit = 0, window = 0, stride = 0;
  std::string reference_model, reference_dtype = "auto", reference_quantization = "none";
  std::vector<std::string> quantizations;
  bool parse_special = false, json = false;
};

/// A mode of `lathe eval`.
struct EvalMode {
  std::string_view name, help;
  bool has_reference, has_list;
  int (*run)(ModelCommand& command, const EngineOptions& options, const EvalFlags& flags, const EvalPlan& plan,
             Terminal& terminal);
};

int run_perplexity(ModelCommand&, const EngineOptions&, const EvalFlags&, const EvalPlan&, Terminal&);
int run_kl(ModelCommand&, const EngineOptions&, const EvalFlags&, const EvalPlan&, Terminal&);
int run_compare(ModelCommand&, const EngineOptions&, const EvalFlags&, const EvalPlan&, Terminal&);

// THE TABLE of modes.
constexpr std::array kModes = {
    EvalMode{"perplexity", "Measure the perplexity of a model on a text.", false, false, run_perplexity},
    EvalMode{"kl", "Measure the divergence of a model's distributions from those of a reference.", true, false, run_kl},
    EvalMode{"compare", "Measure perplexity and divergence for several quantizations of one model.", true, true,
             run_compare},
};

void add_count(CLI::App& parser, const std::string& flag, std::int64_t& value, const std::string& help) {
  parser.add_option(flag, value, help)->check(at_least(0))->type_name("N");
}

void add_flags(CLI::App& parser, const EvalMode& mode, EvalFlags& flags) {
  parser
      .add_option("--dataset", flags.dataset,
                  "A text, a JSON list of strings (.json), or JSONL (.jsonl) with \"text\" and optionally \"given\", a text "
                  "before it that is read but not predicted.")
      ->type_name("FILE");
  add_count(parser, "--limit", flags.limit,
            "Use only the first N texts of a list, or the first N predicted tokens of a plain text.");
  add_count(parser, "--window", flags.window, "Size of the window in tokens; 0: the model's context, at most 2048.");
  add_count(parser, "--stride", flags.stride, "Tokens by which a sliding window moves; 0: half of the window.");
  parser
      .add_option(
          "--protocol", flags.protocol,
          "Tokens that are predicted. sliding: every token, with at least half a window before it; cut: the first window of "
          "each text; llama.cpp: the second half of each window; auto: cut for a list, sliding for a plain text.")
      ->check(CLI::IsMember({"auto", "sliding", "cut", "llama.cpp"}).description(""))
      ->type_name("NAME");
  if (mode.has_reference) {
    parser.add_option("--reference-model", flags.reference_model, "Model of the reference; default: the same model.")
        ->type_name("DIR");
    parser.add_option("--reference-dtype", flags.reference_dtype, "Number format of the reference.")->type_name("NAME");
    parser.add_option("--reference-quantization", flags.reference_quantization, "Quantization of the reference.")
        ->type_name("NAME");
  }
  parser.add_flag(
      "--parse-special", flags.parse_special,
      "Read special tokens that are written out in the dataset as these tokens, as in the output of 'lathe template'.");
  if (mode.has_list) {
    parser.add_option("--quantizations", flags.quantizations, "Comma-separated quantizations; default: all.")
        ->delimiter(',')
        ->type_name("NAMES");
  }
  parser.add_flag("--json", flags.json, "Print one JSON object on stdout.");
}

EvalProtocol protocol_of(const EvalFlags& flags, bool is_list) {
  if (flags.protocol == "cut" || (flags.protocol == "auto" && is_list)) return EvalProtocol::cut;
  return flags.protocol == "llama.cpp" ? EvalProtocol::halves : EvalProtocol::sliding;
}

Result<EvalPlan> plan_of(const EvalFlags& flags) {
  if (flags.dataset.empty()) return engine::fail(ErrorCode::invalid_argument, "no dataset was given", "--dataset");
  Result<TextDataset> read = read_text_dataset(flags.dataset);
  // Exit code 3 is reserved for problems of models.
  if (!read && read.error().code == ErrorCode::not_found) read.error().code = ErrorCode::invalid_argument;
  LATHE_TRY(TextDataset dataset, std::move(read));
  EvalPlan plan;
  plan.protocol = protocol_of(flags, dataset.is_list);
  plan.window = flags.window;
  plan.stride = flags.stride;
  if (dataset.is_list && flags.limit > 0 && static_cast<std::size_t>(flags.limit) < dataset.texts.size()) {
    dataset.texts.resize(static_cast<std::size_t>(flags.limit));
    if (!dataset.given.empty()) dataset.given.resize(dataset.texts.size());
  }
  if (!dataset.is_list) plan.max_tokens = flags.limit;
  plan.parse_special = flags.parse_special;
  plan.texts = std::move(dataset.texts);
  plan.given = std::move(dataset.given);
  return plan;
}

Result<EngineOptions> reference_of(const EngineOptions& tested, const EvalFlags& flags) {
  EngineOptions reference = tested;
  if (!flags.reference_model.empty()) reference.model = flags.reference_model;
  LATHE_TRY_VOID(engine::set_option(reference, "dtype", flags.reference_dtype));
  LATHE_TRY_VOID(engine::set_option(reference, "quantization", flags.reference_quantization));
  return reference;
}

engine::EvalObserver observer_of(ModelCommand& command, const std::string& what) {
  return [&command, what](const engine::EvalProgress& progress) {
    command.progress(progress.tokens_total == 0
                         ? fmt::format("{}loading, {} MiB", what, progress.bytes_loaded >> 20)
                         : fmt::format("{}{} of {} tokens, perplexity {:.3f}", what, progress.tokens_done,
                                       progress.tokens_total, progress.perplexity));
    return !command.signals().requested();
  };
}

OrderedJson interval_json(const Interval& interval) { return {interval.low, interval.high}; }

OrderedJson perplexity_json(const PerplexityReport& report) {
  return {{"perplexity", report.perplexity.mean},
          {"interval", interval_json(report.perplexity)},
          {"nll", report.nll.mean},
          {"n_tokens", report.n_tokens},
          {"n_texts", report.n_texts},
          {"window", report.window},
          {"seconds", report.seconds}};
}

OrderedJson divergence_json(const DivergenceReport& report) {
  OrderedJson json = {{"kl", report.kl.mean},
                      {"kl_interval", interval_json(report.kl)},
                      {"kl_median", report.kl_median},
                      {"kl_90", report.kl_90},
                      {"kl_99", report.kl_99},
                      {"kl_max", report.kl_max},
                      {"same_best", report.same_best},
                      {"reference", perplexity_json(report.reference)},
                      {"tested", perplexity_json(report.tested)},
                      {"worst", OrderedJson::array()}};
  for (const engine::Divergence& worst : report.worst) {
    json["worst"].push_back({{"kl", worst.kl},
                             {"before", worst.before},
                             {"token", worst.token},
                             {"reference_best", worst.reference_best},
                             {"tested_best", worst.tested_best},
                             {"reference_probability", worst.reference_probability},
                             {"tested_probability", worst.tested_probability}});
  }
  return json;
}

std::string perplexity_text(const PerplexityReport& report) {
  return fmt::format("perplexity {:.4f} ({:.4f} to {:.4f} with 95 % confidence), {} tokens of {} texts, window {}\n",
                     report.perplexity.mean, report.perplexity.low, report.perplexity.high, report.n_tokens, report.n_texts,
                     report.window);
}

/// Returns the end of the text before a token, cut at a whole character.
std::string_view tail_of(std::string_view text) {
  constexpr std::size_t kMost = 48;
  if (text.size() <= kMost) return text;
  text.remove_prefix(text.size() - kMost);
  while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xc0U) == 0x80U) text.remove_prefix(1);
  return text;
}

std::string divergence_text(const DivergenceReport& report) {
  std::string text = fmt::format(
      "reference  {}tested     {}"
      "KL {:.6f} nats per token ({:.6f} to {:.6f}); median {:.6f}, 90 % {:.6f}, 99 % {:.6f}, largest {:.4f}\n"
      "same best token {:.2f} %\n\nLargest divergences\n",
      perplexity_text(report.reference), perplexity_text(report.tested), report.kl.mean, report.kl.low, report.kl.high,
      report.kl_median, report.kl_90, report.kl_99, report.kl_max, 100 * report.same_best);
  for (const engine::Divergence& worst : report.worst) {
    text += fmt::format("  {:8.4f}  ...{} [{}]: {:.3f} and {:.3f}; best {} and {}\n", worst.kl,
                        printable(tail_of(worst.before), 80), printable(worst.token, 20), worst.reference_probability,
                        worst.tested_probability, printable(worst.reference_best, 20), printable(worst.tested_best, 20));
  }
  return text;
}

/// Prints each warning once.
void tell(ModelCommand& command, const std::vector<std::string>& warnings, std::set<std::string>& told) {
  for (const std::string& warning : warnings) {
    if (told.insert(warning).second) command.print_note("Warning: " + warning);
  }
}

void tell(ModelCommand& command, const DivergenceReport& report, std::set<std::string>& told) {
  tell(command, report.reference.warnings, told);
  tell(command, report.tested.warnings, told);
}

int run_perplexity(ModelCommand& command, const EngineOptions& options, const EvalFlags& flags, const EvalPlan& plan,
                   Terminal& terminal) {
  command.warn_of_idle({&options, 1});
  const auto folder = packed_folder(command.workbench().paths());
  const auto report = engine::measure_perplexity(options, plan, observer_of(command, ""), folder);
  command.progress({});
  if (!report) return command.fail(report.error());
  std::set<std::string> told;
  tell(command, report->warnings, told);
  terminal.out << (flags.json ? engine::dump_json(perplexity_json(*report), 2) + "\n" : perplexity_text(*report));
  return kExitDone;
}

int run_kl(ModelCommand& command, const EngineOptions& options, const EvalFlags& flags, const EvalPlan& plan,
           Terminal& terminal) {
  const auto reference = reference_of(options, flags);
  if (!reference) return command.fail(reference.error());
  if (*reference == options) {
    return command.fail({ErrorCode::invalid_argument,
                         "the model would be compared with itself, which gives 0: choose what to test with --quantization "
                         "or --dtype, or give another reference with --reference-model",
                         "--quantization"});
  }
  command.warn_of_idle({&options, 1});
  const auto folder = packed_folder(command.workbench().paths());
  const auto report = engine::measure_divergence(*reference, options, plan, observer_of(command, ""), folder);
  command.progress({});
  if (!report) return command.fail(report.error());
  std::set<std::string> told;
  tell(command, *report, told);
  terminal.out << (flags.json ? engine::dump_json(divergence_json(*report), 2) + "\n" : divergence_text(*report));
  return kExitDone;
}

std::vector<std::string> quantizations_of(const EvalFlags& flags) {
  if (!flags.quantizations.empty()) return flags.quantizations;
  std::vector<std::string> all;
  for (const std::string_view name : engine::choices_of(engine::engine_option("quantization"))) all.emplace_back(name);
  return all;
}

int run_compare(ModelCommand& command, const EngineOptions& options, const EvalFlags& flags, const EvalPlan& plan,
                Terminal& terminal) {
  const auto reference = reference_of(options, flags);
  if (!reference) return command.fail(reference.error());
  // Names as given: bitsandbytes-nf4 and -fp4 map to one quantization of Lathe.
  const std::vector<std::string> names = quantizations_of(flags);
  std::vector<EngineOptions> all;
  for (const std::string& name : names) {
    EngineOptions& tested = all.emplace_back(options);
    if (const auto set = engine::set_option(tested, "quantization", name); !set) return command.fail(set.error());
  }
  command.warn_of_idle(all);
  const auto comparison = engine::open_comparison(*reference, plan, observer_of(command, "reference: "),
                                                  packed_folder(command.workbench().paths()));
  command.progress({});
  if (!comparison) return command.fail(comparison.error());
  OrderedJson rows = OrderedJson::array();
  std::string table = fmt::format("{:<20}{:>12}  {:<24}{:>12}{:>12}{:>12}\n", "quantization", "perplexity", "95 %", "KL",
                                  "99 % KL", "same best");
  std::optional<engine::Error> problem;
  std::set<std::string> told;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string& name = names[i];
    const auto report = (*comparison)->measure(all[i], observer_of(command, name + ": "));
    command.progress({});
    if (!report) {
      problem = report.error();
      break;
    }
    tell(command, *report, told);
    const Interval& perplexity = report->tested.perplexity;
    table += fmt::format("{:<20}{:>12.4f}  {:<24}{:>12.6f}{:>12.6f}{:>11.2f}%\n", name, perplexity.mean,
                         fmt::format("{:.4f} to {:.4f}", perplexity.low, perplexity.high), report->kl.mean, report->kl_99,
                         100 * report->same_best);
    OrderedJson row = {{"quantization", name}};
    row.update(divergence_json(*report));
    rows.push_back(std::move(row));
  }
  // Results measured before a failure are still printed.
  if (!problem || !rows.empty())
    terminal.out << (flags.json ? engine::dump_json(OrderedJson{{"rows", rows}}, 2) + "\n" : table);
  return problem ? command.fail(*problem) : static_cast<int>(kExitDone);
}

const EvalMode* find_mode(std::string_view name) {
  const auto* const found =
      std::find_if(kModes.begin(), kModes.end(), [&](const EvalMode& mode) { return mode.name == name; });
  return found != kModes.end() ? found : nullptr;
}

std::string overview() {
  std::string text =
      fmt::format("{}\nUsage: lathe eval MODE [MODEL] --dataset FILE [OPTIONS]\n\nModes:\n", kEvalCommand.help);
  for (const EvalMode& mode : kModes) text += fmt::format("  {:<12}{}\n", mode.name, mode.help);
  return text + "\n'lathe eval MODE --help' lists its options.\n";
}

int eval(const std::vector<std::string>& arguments, Terminal& terminal) {
  const std::string first = arguments.empty() ? "" : arguments.front();
  if (first == "--help" || first == "-h") {
    terminal.out << overview();
    return kExitDone;
  }
  const EvalMode* const mode = find_mode(first);
  if (mode == nullptr) {
    const std::string problem =
        first.empty() ? "no mode was given" : fmt::format("there is no mode '{}'", printable(first, 64));
    terminal.err << fmt::format("lathe eval: error: {}; one of perplexity, kl, compare ('lathe eval --help')\n", problem);
    return kExitUsage;
  }
  ModelCommand command(kEvalCommand, terminal);
  command.parser().name(fmt::format("{} {}", program_name(kEvalCommand), mode->name));
  command.parser().description(std::string(mode->help));
  EvalFlags flags;
  add_flags(command.parser(), *mode, flags);
  if (const auto code = command.parse({arguments.begin() + 1, arguments.end()})) return *code;
  const Result<EngineOptions> options = command.engine_options();
  if (!options) return command.fail(options.error());
  const Result<EvalPlan> plan = plan_of(flags);
  if (!plan) return command.fail(plan.error());
  return mode->run(command, *options, flags, *plan, terminal);
}

}  // namespace

extern constexpr Command kEvalCommand = {.name = "eval", .help = "Measure how well a model predicts a text.", .run = eval};

}  // namespace lathe::app
