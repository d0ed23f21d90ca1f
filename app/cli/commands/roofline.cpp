// SPDX-License-Identifier: Apache-2.0
// lathe roofline: what binds each product of a model, and how near it comes to that.
#include <fmt/format.h>

#include <utility>

#include "app/cli/machine_words.h"
#include "app/cli/model_command.h"
#include "engine/api/machine.h"

namespace lathe::app {
namespace {

using engine::OrderedJson;
using kernels::RooflinePoint;

constexpr std::string_view kHead =
    "format        matrix           n       k   rows  ops/byte   GFLOP/s      GB/s      roof   share  bound\n";

std::string line_of(const RooflinePoint& point) {
  return fmt::format("{:<13} {:<6} {:>11} {:>7} {:>6} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f} {:>5.0f} %  {}\n",
                     kernels::name_of(point.format), point.matrix.name, point.matrix.n, point.matrix.k, point.n_rows,
                     point.intensity(), point.gflop_s(), point.gb_s(), point.roof_gflop_s, 100 * point.share(), point.bound);
}

OrderedJson json_of(const engine::Roofline& roofline) {
  OrderedJson points = OrderedJson::array();
  for (const RooflinePoint& point : roofline.points) {
    points.push_back({{"format", kernels::name_of(point.format)},
                      {"matrix", point.matrix.name},
                      {"n", point.matrix.n},
                      {"k", point.matrix.k},
                      {"rows", point.n_rows},
                      {"weight_bytes", point.weight_bytes},
                      {"seconds", point.seconds},
                      {"intensity", point.intensity()},
                      {"gflop_s", point.gflop_s()},
                      {"gb_s", point.gb_s()},
                      {"roof_gflop_s", point.roof_gflop_s},
                      {"share", point.share()},
                      {"bound", point.bound}});
  }
  return {{"machine", machine_json(roofline.machine)}, {"points", std::move(points)}};
}

template <class T>
void add_list(CLI::App& parser, const std::string& flag, std::vector<T>& values, const std::string& help,
              const std::string& example) {
  parser.add_option(flag, values, help)->delimiter(',')->allow_extra_args(false)->type_name(example);
}

int roofline(const std::vector<std::string>& arguments, Terminal& terminal) {
  StopSignals signals;
  CLI::App parser(std::string(kRooflineCommand.help), program_name(kRooflineCommand));
  engine::RooflineRequest request{
      .model = {}, .formats = {"bf16", "int8_g32", "int4_g32"}, .rows = {1, 4, 16, 64, 512}, .isa = {}};
  bool json = false;
  parser.add_option("--model", request.model,
                    "Folder of a checkpoint whose shapes are measured; without it those of half a billion parameters.");
  add_list(parser, "--format", request.formats, "Weight formats, with commas between.", "bf16,int8_g32");
  add_list(parser, "--rows", request.rows, "Rows of a step: streams that decode, or tokens of a prompt.", "1,16,512");
  parser.get_option("--rows")->check(CLI::Range(1, 8192).description(""));
  parser.add_option("--isa", request.isa, "Instruction set; without it the best that the machine has (or LATHE_ISA).");
  add_number(parser, "--threads", request.n_threads, 0, 1024, "Threads; 0: one a physical core.");
  parser.add_flag("--json", json, "One JSON object on stdout.");
  if (const auto code = parse(parser, arguments, terminal)) return *code;

  bool is_first = true;
  const auto report_point = [&](const RooflinePoint& point) {
    if (!json && std::exchange(is_first, false)) terminal.out << kHead;
    if (!json) terminal.out << line_of(point) << std::flush;
    return !signals.requested();
  };
  const auto measured = engine::measure_roofline(request, report_point);
  if (!measured) return report(terminal, parser, measured.error());
  if (signals.requested()) return kExitFailed;
  if (json) {
    terminal.out << engine::dump_json(json_of(*measured), 2) << '\n';
  } else {
    terminal.out << '\n' << machine_line(measured->machine) << '\n';
  }
  return kExitDone;
}

}  // namespace

constexpr Command kRooflineCommand = {
    .name = "roofline", .help = "Measure what binds each matrix product of a model on this machine.", .run = roofline};

}  // namespace lathe::app
