// SPDX-License-Identifier: Apache-2.0
#include "app/api/sweep_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include "app/bench/sweep/export/number_text.h"
#include "app/bench/sweep/plan/sampling_json.h"
#include "app/bench/this_machine.h"

namespace lathe::app {
namespace {

using engine::OrderedJson;

/// Metrics of a report's table for people.
constexpr std::string_view kMainMetrics[] = {"output_tok_s", "ttft_ms_p50",   "ttft_ms_p99", "itl_ms_p50",
                                             "itl_ms_p99",   "kv_usage_peak", "padding",     "kv_reserved"};
constexpr std::string_view kTargetMetrics[] = {"output_tok_s", "ttft_ms_p50",  "ttft_ms_p99", "itl_ms_p50",
                                               "itl_ms_p99",   "tpot_ms_mean", "e2e_ms_mean"};
constexpr std::string_view kTurnMetrics[] = {"output_tok_s", "ttft_ms_p50",  "ttft_ms_p99", "itl_ms_p50",
                                             "itl_ms_p99",   "cached_share", "e2e_ms_mean"};
constexpr std::string_view kQualityMetrics[] = {"output_tok_s", "prefill_tok_s", "perplexity",   "kl_mean",
                                                "kl_99",        "same_best",     "weight_bytes", "load_s"};

constexpr std::string_view kSaturationMetrics[] = {"max_rate",    "goodput_req_s", "output_tok_s", "ttft_ms_p50",
                                                   "ttft_ms_p99", "itl_ms_p50",    "itl_ms_p99"};

constexpr std::int64_t kMostCurlTokens = 4096;  // one argument of a command line holds at most 128 KiB
constexpr std::size_t kMinRunsToEnd = 3;        // an interval of two runs is too wide to be useful

bool is_checksum(std::size_t metric) { return sweep_metrics()[metric].unit == kChecksumUnit; }

/// True for intervals, which are shown next to their metric.
bool is_interval(std::size_t metric) { return sweep_metrics()[metric].name.ends_with("_ci95"); }

/// Converts samples that are whole numbers below 2^53, which a double holds exactly.
std::vector<std::uint64_t> whole(const std::vector<double>& samples) { return {samples.begin(), samples.end()}; }

OrderedJson metrics_json(const CellResult& result) {
  OrderedJson json = OrderedJson::object();
  for (std::size_t i = 0; i < sweep_metrics().size(); ++i) {
    const Estimate together = result.estimate_of(i);
    if (together.n == 0) continue;  // it was not observed
    if (is_checksum(i)) {
      json[sweep_metrics()[i].name] = {
          {"checksum", result.checksums_of(i)}, {"n", together.n}, {"samples", whole(result.samples_of(i))}};
      continue;
    }
    const OrderedJson half_width = together.has_interval() ? OrderedJson(together.half_width) : OrderedJson();
    json[sweep_metrics()[i].name] = {
        {"mean", together.mean}, {"ci95", half_width}, {"n", together.n}, {"samples", result.samples_of(i)}};
  }
  return json;
}

OrderedJson distributions_json(const CellResult& result) {
  OrderedJson json = OrderedJson::object();
  for (std::size_t i = 0; i < latencies().size(); ++i) {
    const LatencyDistribution together = result.distribution_of(i);
    if (together.n == 0) continue;
    OrderedJson quantiles = OrderedJson::array();
    for (const Quantile& quantile : together.quantiles()) quantiles.push_back({quantile.share, quantile.value});
    json[latencies()[i].name] = {{"n", together.n}, {"quantiles", std::move(quantiles)}};
  }
  return json;
}

OrderedJson warnings_json(std::span<const MachineWarning> warnings) {
  OrderedJson list = OrderedJson::array();
  for (const MachineWarning& warning : warnings)
    list.push_back({{"guard", warning.guard}, {"value", warning.value}, {"words", text_of(warning)}});
  return list;
}

/// Quotes a CSV field. Source: RFC 4180.
std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

/// Escapes text for a cell of a Markdown table.
std::string markdown_field(std::string_view text) {
  std::string field;
  for (const char c : text) {
    if (c == '|' || c == '\\') field += '\\';
    field += c == '\n' || c == '\r' ? ' ' : c;
  }
  return field;
}

std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

/// Formats a value as --var accepts it: a list of several items in brackets.
std::string as_one_value(std::string_view name, const std::string& value) {
  if (value.find(',') == value.npos || value.starts_with('[') || value.starts_with('{')) return value;
  if (name == "stop_token_ids") return "[" + value + "]";
  if (name == "logit_bias") return "{" + value + "}";
  return name == "stop" ? engine::dump_json(engine::Json::array({value})) : value;
}

/// Returns " --name value" for every setting that differs from its default, except variables, which have their --var.
template <class Target>
std::string changed_flags(const SweepPlan& plan, std::span<const engine::OptionDescriptor> table, const Target& target,
                          const Target& defaults) {
  std::string flags;
  for (const engine::OptionDescriptor& option : table) {
    const std::string value = get_option(target, option.name);
    const bool varies = std::any_of(plan.variables.begin(), plan.variables.end(),
                                    [&](const SweepVariable& variable) { return variable.name == option.name; });
    if (varies || option.name == "model" || value == get_option(defaults, option.name)) continue;
    std::string flag(option.name);
    std::replace(flag.begin(), flag.end(), '_', '-');
    flags += fmt::format(" --{}={}", flag, shell_word(value));
  }
  return flags;
}

/// 97.5 % quantile of Student's t (two-sided 95 %) for fractional degrees of freedom: below 10 interpolated between whole
/// degrees in 1 / degrees, else approximated.
double student_t(double degrees) {
  constexpr double kTable[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
  if (degrees >= 10) return 1.96 + 2.372 / degrees + 2.82 / (degrees * degrees);
  const double below = std::max(1.0, std::floor(degrees));
  const double lower = kTable[static_cast<std::size_t>(below) - 1];
  const double upper = below >= 10 ? lower : kTable[static_cast<std::size_t>(below)];
  const double share = (1 / below - 1 / std::max(degrees, 1.0)) / (1 / below - 1 / (below + 1));
  return lower + share * (upper - lower);
}

/// A mean, its variance and the degrees of freedom of that variance; 0: the variance of a single run is unknown.
struct Spread {
  double mean = 0, variance = 0, degrees = 0;
};

Spread spread_of(const CellResult& cell, std::size_t metric) {
  const Estimate value = cell.estimate_of(metric);
  if (metric == metric_index("perplexity") && value.half_width > 0) {  // its interval is over thousands of tokens
    const double deviation = value.half_width / student_t(INFINITY);
    return {value.mean, deviation * deviation, INFINITY};
  }
  const std::vector<double> samples = cell.samples_of(metric);
  if (samples.size() < 2) return {};
  double squares = 0;
  for (const double sample : samples) squares += (sample - value.mean) * (sample - value.mean);
  const auto n = static_cast<double>(samples.size());
  return {value.mean, squares / (n - 1) / n, n - 1};
}

}  // namespace

std::vector<double> CellResult::samples_of(std::size_t metric) const {
  std::vector<double> values;
  for (const std::vector<double>& sample : samples) {
    if (!std::isnan(sample[metric])) values.push_back(sample[metric]);
  }
  return values;
}

Estimate CellResult::estimate_of(std::size_t metric) const {
  Estimate value = estimate(samples_of(metric));
  // Every run has the same perplexity: its uncertainty is over the tokens of the text.
  if (metric == metric_index("perplexity")) value.half_width = estimate(samples_of(metric_index("perplexity_ci95"))).mean;
  return value;
}

LatencyDistribution CellResult::distribution_of(std::size_t latency) const {
  std::vector<const LatencyDistribution*> parts;
  for (const RunDistributions& run : distributions) parts.push_back(&(*run)[latency]);
  return merged(parts);
}

bool has_distribution(const SweepReport& report, std::size_t latency) {
  return std::any_of(report.cells.begin(), report.cells.end(), [&](const auto& cell) {
    const auto& runs = cell.second.distributions;
    return cell.second.error.empty() &&
           std::any_of(runs.begin(), runs.end(), [&](const RunDistributions& run) { return (*run)[latency].n > 0; });
  });
}

std::string CellResult::checksums_of(std::size_t metric) const {
  std::vector<std::uint64_t> sums = whole(samples_of(metric));
  if (std::adjacent_find(sums.begin(), sums.end(), std::not_equal_to<>()) == sums.end() && !sums.empty()) sums.resize(1);
  return fmt::format("{}", fmt::join(sums, " "));
}

std::vector<MachineWarning> SweepReport::warnings() const {
  std::vector<MachineWarning> all;
  for (const auto& [index, cell] : cells) keep_worst(all, cell.warnings);
  return all;
}

std::size_t SweepReport::n_failed() const {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(), [](const auto& cell) { return cell.second.has_failed(); }));
}

std::size_t SweepReport::n_skipped() const {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(), [](const auto& cell) { return cell.second.is_skipped(); }));
}

bool CellResult::is_done(const SweepPlan& plan) const {
  if (!error.empty() || samples.size() >= static_cast<std::size_t>(plan.repeats)) return true;
  if (plan.stop_at_ci == 0 || samples.size() < kMinRunsToEnd) return false;
  Estimate judged = estimate_of(metric_index(main_metrics(plan).front()));
  // The first metric may be max_rate, which cells of other loads than saturation do not have.
  if (judged.n == 0) judged = estimate_of(metric_index("output_tok_s"));
  return judged.half_width < plan.stop_at_ci * judged.mean;
}

std::size_t metric_index(std::string_view name) {
  const auto metrics = sweep_metrics();
  const auto found =
      std::find_if(metrics.begin(), metrics.end(), [&](const SweepMetric& metric) { return metric.name == name; });
  return static_cast<std::size_t>(found - metrics.begin());
}

bool has_turns(const SweepPlan& plan) {
  return plan.workload.turns > 1 || std::any_of(plan.variables.begin(), plan.variables.end(),
                                                [](const SweepVariable& variable) { return variable.name == "turns"; });
}

bool has_saturation(const SweepPlan& plan) {
  for (const SweepVariable& variable : plan.variables) {
    if (variable.name == "load")
      return std::find(variable.values.begin(), variable.values.end(), "saturation") != variable.values.end();
  }
  return plan.workload.pattern() == LoadPattern::saturation;
}

std::span<const std::string_view> main_metrics(const SweepPlan& plan) {
  if (!plan.quality_dataset.empty()) return kQualityMetrics;
  if (has_saturation(plan)) return kSaturationMetrics;
  if (has_turns(plan)) return kTurnMetrics;
  return plan.target.url.empty() ? std::span<const std::string_view>(kMainMetrics) : kTargetMetrics;
}

std::vector<std::size_t> pareto_front(const SweepReport& report, std::size_t metric, std::size_t over) {
  struct Point {
    std::size_t cell;
    double x, y;  // the greater, the better
  };
  const auto metrics = sweep_metrics();
  std::vector<Point> points;
  for (const auto& [index, cell] : report.cells) {
    const Estimate x = cell.estimate_of(over), y = cell.estimate_of(metric);
    if (!cell.error.empty() || x.n == 0 || y.n == 0) continue;
    points.push_back(
        {index, metrics[over].more_is_better ? x.mean : -x.mean, metrics[metric].more_is_better ? y.mean : -y.mean});
  }
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.x != b.x ? a.x > b.x : a.y > b.y; });
  std::vector<std::size_t> front;
  double best = -INFINITY;
  for (const Point& point : points) {
    if (point.y <= best) continue;
    best = point.y;
    front.push_back(point.cell);
  }
  return front;
}

Verdict compare(const CellResult& cell, const CellResult& baseline, std::size_t metric) {
  const Spread ours = spread_of(cell, metric), theirs = spread_of(baseline, metric);
  if (ours.degrees == 0 || theirs.degrees == 0) return Verdict::unknown;
  const double difference = ours.mean - theirs.mean;
  if (difference == 0) return Verdict::noise;
  const double variance = ours.variance + theirs.variance;
  if (variance > 0) {
    // Welch-Satterthwaite degrees of freedom.
    const double degrees =
        variance * variance /
        (ours.variance * ours.variance / ours.degrees + theirs.variance * theirs.variance / theirs.degrees);
    if (std::abs(difference) <= student_t(degrees) * std::sqrt(variance)) return Verdict::noise;
  }
  return (difference > 0) == sweep_metrics()[metric].more_is_better ? Verdict::better : Verdict::worse;
}

OrderedJson to_json(const SweepPlan& plan, const SweepReport& report) {
  OrderedJson cells = OrderedJson::array();
  for (const auto& [index, result] : report.cells) {
    OrderedJson variables = OrderedJson::object();
    for (const auto& [name, value] : values_of(plan, index)) variables[name] = value;
    OrderedJson cell = {{"variables", variables}};
    if (result.error.empty()) {
      cell["metrics"] = metrics_json(result);
      if (!result.distributions.empty()) cell["distributions"] = distributions_json(result);
    } else {
      cell["error"] = result.error;
    }
    for (const std::vector<SweepTrial>& run : result.trials) cell["trials"].push_back(to_json(run));
    if (!result.warnings.empty()) cell["warnings"] = to_json(result.warnings);
    cells.push_back(std::move(cell));
  }
  OrderedJson definitions = OrderedJson::object();
  for (const SweepMetric& metric : sweep_metrics()) {
    definitions[metric.name] = {{"unit", metric.unit}, {"definition", metric.definition}};
  }
  OrderedJson spread = OrderedJson::object();
  for (const Latency& latency : latencies()) spread[latency.name] = {{"unit", "ms"}, {"definition", latency.definition}};
  return {{"plan", to_json(plan)},
          {"cells", cells},
          {"n_cells", n_cells(plan)},
          {"stopped", report.stopped},
          {"seconds", report.seconds},
          {"warnings", warnings_json(report.warnings())},
          {"metrics", definitions},
          {"distributions", spread},
          {"machine", to_json(this_machine())}};
}

std::string to_csv(const SweepPlan& plan, const SweepReport& report) {
  std::string csv;
  for (const SweepVariable& variable : plan.variables) csv += csv_field(variable.name) + ",";
  for (std::size_t i = 0; i < sweep_metrics().size(); ++i) {
    const std::string_view name = sweep_metrics()[i].name;
    if (is_interval(i)) continue;
    csv += is_checksum(i) ? fmt::format("{},", name) : fmt::format("{0},{0}_ci95,", name);
  }
  csv += "n,error\r\n";
  for (const auto& [index, result] : report.cells) {
    for (const auto& [name, value] : values_of(plan, index)) csv += csv_field(value) + ",";
    for (std::size_t i = 0; i < sweep_metrics().size(); ++i) {
      if (is_interval(i)) continue;
      const Estimate together = result.estimate_of(i);
      csv += is_checksum(i)            ? result.checksums_of(i) + ","
             : together.n == 0         ? ",,"
             : together.has_interval() ? fmt::format("{:.6g},{:.6g},", together.mean, together.half_width)
                                       : fmt::format("{:.6g},,", together.mean);
    }
    csv += fmt::format("{},{}\r\n", result.samples.size(), csv_field(result.error));
  }
  return csv;
}

std::string to_markdown(const SweepPlan& plan, const SweepReport& report) {
  std::string text = "|", line = "|";
  const auto add_column = [&](std::string_view title, std::string_view rule) {
    text += fmt::format(" {} |", markdown_field(title));
    line += fmt::format("{}|", rule);
  };
  for (const SweepVariable& variable : plan.variables) add_column(variable.name, "---");
  for (const std::string_view name : main_metrics(plan)) {
    add_column(fmt::format("{} ({})", name, sweep_metrics()[metric_index(name)].unit), "---:");
  }
  add_column("n", "---:");
  text += "\n" + line + "\n";
  for (const auto& [index, result] : report.cells) {
    text += "|";
    for (const auto& [name, value] : values_of(plan, index)) text += fmt::format(" {} |", markdown_field(value));
    for (const std::string_view name : main_metrics(plan)) {
      const Estimate value = result.estimate_of(metric_index(name));
      const bool has_error = !result.error.empty(), is_first = name == main_metrics(plan).front();
      text += has_error      ? (is_first ? fmt::format(" {} |", markdown_field(result.error_text())) : " |")
              : value.n == 0 ? " |"
              : value.has_interval()
                  ? fmt::format(" {} ± {} |", number_text(value.mean, 4), number_text(value.half_width, 2))
                  : fmt::format(" {} |", number_text(value.mean, 4));
    }
    text += fmt::format(" {} |\n", result.samples.size());
  }
  for (const MachineWarning& warning : report.warnings()) text += fmt::format("\n> Warning: {}\n", text_of(warning));
  return text;
}

OrderedJson cell_plan_json(const SweepPlan& plan, std::size_t cell) {
  SweepPlan one = plan;
  one.variables.clear();
  for (const auto& [name, value] : values_of(plan, cell)) one.variables.push_back({.name = name, .values = {value}});
  return to_json(one);
}

std::string cell_command(const SweepPlan& plan, std::size_t cell) {
  std::string command = "lathe sweep";
  const bool has_target = !plan.target.url.empty();
  if (has_target) command += " --target " + shell_word(plan.target.url);
  if (!plan.target.model.empty()) command += " --target-model " + shell_word(plan.target.model);
  if (!has_target && !plan.options.model.empty()) command += " --model " + shell_word(plan.options.model);
  for (const auto& [name, value] : values_of(plan, cell))
    command += " --var " + shell_word(fmt::format("{}={}", name, as_one_value(name, value)));
  SweepWorkload no_work;
  command += changed_flags(plan, workload_option_table(), plan.workload, no_work);
  if (!has_target) command += changed_flags(plan, engine::engine_option_table(), plan.options, engine::EngineOptions{});
  command += changed_flags(plan, engine::sampling_option_table(), plan.sampling, greedy_sampling());
  command += fmt::format(" --repeats {} --sweep-seed {}", plan.repeats, plan.seed);
  if (!plan.quality_dataset.empty()) command += " --quality-dataset " + shell_word(plan.quality_dataset);
  if (plan.parse_special) command += " --parse-special";
  if (plan.goal.ttft_ms > 0) command += fmt::format(" --goal-ttft-ms {:g}", plan.goal.ttft_ms);
  if (plan.goal.itl_ms > 0) command += fmt::format(" --goal-itl-ms {:g}", plan.goal.itl_ms);
  if (plan.stop_at_ci > 0) command += fmt::format(" --stop-at-ci {:g}", plan.stop_at_ci);
  if (!plan.warm_up) command += " --no-warm-up";
  return command;
}

std::string cell_curl(const SweepPlan& plan, std::size_t index, const std::string& base_url) {
  engine::SamplingParams sampling = plan.sampling;
  SweepWorkload work = plan.workload;
  if (const auto cell = cell_of(plan, index)) {
    sampling = cell->sampling;
    work = cell->workload;
  }
  // The choice of tokens does not change the work; every vocabulary has these ids.
  std::vector<std::int64_t> prompt(static_cast<std::size_t>(std::min(work.prompt_tokens, kMostCurlTokens)));
  for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = 3 + static_cast<std::int64_t>(i % 200);
  OrderedJson body = {{"model", plan.target.model.empty() ? std::filesystem::path(plan.options.model).filename().string()
                                                          : plan.target.model},
                      {"prompt", prompt},
                      {"max_tokens", work.output_tokens}};
  if (plan.target.url.empty()) body["ignore_eos"] = true;  // unknown to some servers
  body.update(sampling_json(sampling));
  return fmt::format("curl {} -H 'Content-Type: application/json' -d {}",
                     shell_word((plan.target.url.empty() ? base_url : plan.target.url) + "/v1/completions"),
                     shell_word(engine::dump_json(body)));
}

}  // namespace lathe::app
