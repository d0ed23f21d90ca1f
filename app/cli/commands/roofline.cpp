// SPDX-License-Identifier: Apache-2.0
// lathe roofline: shows what limits each matrix product of a model and its attention, and how near each comes to its limit.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "app/bench/machine_watch.h"
#include "app/cli/machine_text.h"
#include "app/cli/model_command.h"
#include "engine/api/machine.h"
#include "engine/api/model_shapes.h"

namespace lathe::app {

extern const Command kRooflineCommand;

namespace {

using engine::OrderedJson;
using kernels::AttentionPoint;
using kernels::RooflineFigures;
using kernels::RooflinePoint;

constexpr double kTolerance = 1.1;  // difference of two equal measurements on a quiet machine

constexpr std::string_view kHead =
    "format        matrix           n       k   rows  ops/byte   GFLOP/s      GB/s      roof   share  bound\n";
constexpr std::string_view kAttentionHead =
    "\nKV cache      attention         tokens   rows  ops/byte   GFLOP/s      GB/s      roof   share  bound\n";

std::string text_of(const RooflineFigures& figures) {
  return fmt::format("{:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f} {:>5.0f} %  {}\n", figures.intensity(), figures.gflop_s(),
                     figures.gb_s(), figures.roof_gflop_s, 100 * figures.share(), figures.bound);
}

std::string line_of(const RooflinePoint& point) {
  return fmt::format("{:<13} {:<6} {:>11} {:>7} {:>6} {}", kernels::name_of(point.format), point.matrix.name, point.matrix.n,
                     point.matrix.k, point.n_rows, text_of(point.figures));
}

std::string_view name_of(const kernels::AttentionStep& step) { return step.n_rows == 1 ? "decode" : "prompt"; }

std::string line_of(const AttentionPoint& point) {
  return fmt::format("{:<13} {:<9} {:>14} {:>6} {}", kernels::name_of(point.kv_type), name_of(point.step),
                     point.step.context, point.step.n_rows, text_of(point.figures));
}

void add_figures(OrderedJson& point, const RooflineFigures& figures) {
  point["seconds"] = figures.seconds;
  point["intensity"] = figures.intensity();
  point["gflop_s"] = figures.gflop_s();
  point["gb_s"] = figures.gb_s();
  point["roof_gflop_s"] = figures.roof_gflop_s;
  point["share"] = figures.share();
  point["bound"] = figures.bound;
}

OrderedJson json_of(const RooflinePoint& point) {
  OrderedJson json = {{"format", kernels::name_of(point.format)},
                      {"matrix", point.matrix.name},
                      {"n", point.matrix.n},
                      {"k", point.matrix.k},
                      {"rows", point.n_rows},
                      {"weight_bytes", point.figures.bytes}};
  add_figures(json, point.figures);
  return json;
}

OrderedJson json_of(const AttentionPoint& point) {
  OrderedJson json = {{"kv_cache_dtype", kernels::name_of(point.kv_type)},
                      {"step", name_of(point.step)},
                      {"tokens", point.step.context},
                      {"rows", point.step.n_rows},
                      {"kv_bytes", point.figures.bytes}};
  add_figures(json, point.figures);
  return json;
}

OrderedJson json_of(const engine::Roofline& roofline) {
  OrderedJson points = OrderedJson::array();
  for (const RooflinePoint& point : roofline.points) points.push_back(json_of(point));
  OrderedJson attention = OrderedJson::array();
  for (const AttentionPoint& point : roofline.attention) attention.push_back(json_of(point));
  return {{"machine", machine_json(roofline.machine)}, {"points", std::move(points)}, {"attention", std::move(attention)}};
}

/// Prints points as they come, with a header before the first of each kind; prints nothing if the output is JSON.
engine::RooflineReport report_to(Terminal& terminal, StopSignals& signals, bool json) {
  const auto reporter = [&terminal, &signals, json](std::string_view head) {
    return [&terminal, &signals, json, head, is_first = true](const auto& point) mutable {
      if (!json && std::exchange(is_first, false)) terminal.out << head;
      if (!json) terminal.out << line_of(point) << std::flush;
      return !signals.requested();
    };
  };
  return {.product = reporter(kHead), .attention = reporter(kAttentionHead)};
}

template <class T>
void add_list(CLI::App& parser, const std::string& flag, std::vector<T>& values, const std::string& help,
              const std::string& example) {
  parser.add_option(flag, values, help)->delimiter(',')->allow_extra_args(false)->type_name(example);
}

/// A model given as an argument or by --model, as in other commands.
struct NamedModel {
  std::string positional, flag, shape, profile_dir;
};

void add_model(CLI::App& parser, NamedModel& model) {
  parser.add_option("MODEL", model.positional, "The same as --model.");
  parser.add_option("--model", model.flag,
                    "Model whose shapes are measured: a folder, a GGUF file, or a name that `lathe models` lists; default: "
                    "the shapes of a model with half a billion parameters.");
  add_shape(parser, model.shape);
  parser.add_option("--profile-dir", model.profile_dir,
                    "Folder for settings and other files; default: the folders of the user.");
}

/// Returns the model's path; empty: none is given. An existing path needs no library.
engine::Result<std::string> path_of(const NamedModel& model) {
  if (!model.positional.empty() && !model.flag.empty() && model.positional != model.flag) {
    return engine::fail(engine::ErrorCode::invalid_argument,
                        fmt::format("two models were given: {} and --model {}", model.positional, model.flag));
  }
  const std::string& name = model.flag.empty() ? model.positional : model.flag;
  if (!model.shape.empty() && !name.empty()) {
    return engine::fail(engine::ErrorCode::invalid_argument,
                        fmt::format("a model and a shape were given: {} and --shape {}", name, model.shape));
  }
  if (!model.shape.empty()) {
    LATHE_TRY_VOID(engine::find_shape(model.shape));
    return engine::shape_path(model.shape);
  }
  std::error_code error;
  if (name.empty() || std::filesystem::exists(name, error)) return name;
  WorkbenchOptions options;
  options.profile_dir = model.profile_dir;
  options.keep_history = false;
  LATHE_TRY(const std::unique_ptr<Workbench> workbench, Workbench::create(std::move(options)));
  return workbench->library().resolve(name);
}

/// Prints the machine's warnings. A figure above its roof means that the ceilings were measured under other load.
void warn_of(const std::vector<MachineWarning>& warnings, const engine::Roofline& roofline, Terminal& terminal) {
  for (const MachineWarning& warning : warnings) terminal.err << "Warning: " << text_of(warning) << '\n';
  const auto is_above = [](const auto& point) { return point.figures.share() > kTolerance; };
  const auto n = std::count_if(roofline.points.begin(), roofline.points.end(), is_above) +
                 std::count_if(roofline.attention.begin(), roofline.attention.end(), is_above);
  if (n == 0) return;
  terminal.err << fmt::format(
      "Warning: {} of {} figures are above their roof, so other programs used the machine while its ceilings were measured. "
      "Measure again when nothing else runs.\n",
      n, roofline.points.size() + roofline.attention.size());
}

int roofline(const std::vector<std::string>& arguments, Terminal& terminal) {
  StopSignals signals;
  CLI::App parser(std::string(kRooflineCommand.help), program_name(kRooflineCommand));
  engine::RooflineRequest request{
      .model = {}, .formats = {"bf16", "int8_g32", "int4_g32"}, .rows = {1, 4, 16, 64, 512}, .isa = {}};
  bool json = false;
  NamedModel named;
  add_model(parser, named);
  add_list(parser, "--format", request.formats, "Comma-separated weight formats.", "bf16,int8_g32");
  add_list(parser, "--rows", request.rows,
           "Comma-separated numbers of rows in a step: streams that decode, or tokens of a prompt.", "1,16,512");
  parser.get_option("--rows")->check(CLI::Range(1, 8192).description(""));
  parser.add_option("--isa", request.isa, "Instruction set; default: the best one that the machine has (or LATHE_ISA).");
  add_device(parser, request.device);
  add_number(parser, "--threads", request.n_threads, 0, 1024, "Number of threads; 0: one per physical core.");
  parser.add_flag("--json", json, "Print one JSON object on stdout.");
  if (const auto code = parse(parser, arguments, terminal)) return *code;
  auto model = path_of(named);
  if (!model) return report(terminal, parser, model.error());
  request.model = std::move(*model);

  MachineWatch watch;
  const auto measured = engine::measure_roofline(request, report_to(terminal, signals, json));
  if (!measured) return report(terminal, parser, measured.error());
  warn_of(watch.end(), *measured, terminal);
  if (signals.requested()) return kExitFailed;
  if (json) {
    terminal.out << engine::dump_json(json_of(*measured), 2) << '\n';
  } else {
    terminal.out << '\n' << machine_line(measured->machine) << '\n';
  }
  return kExitDone;
}

}  // namespace

extern constexpr Command kRooflineCommand = {
    .name = "roofline",
    .help = "Measure what limits each matrix product of a model, and its attention, on this machine.",
    .run = roofline};

}  // namespace lathe::app
