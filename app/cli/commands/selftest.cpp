// SPDX-License-Identifier: Apache-2.0
// lathe selftest: compares every operation on every instruction set of this machine, or on its CUDA device, with the scalar
// reference.
#include <fmt/format.h>

#include <algorithm>

#include "app/cli/machine_text.h"
#include "app/cli/model_command.h"
#include "engine/api/machine.h"

namespace lathe::app {

extern const Command kSelftestCommand;

namespace {

using engine::IsaSelftest;
using engine::OrderedJson;
using engine::Result;
using kernels::OpCheck;

std::string check_line(const OpCheck& check) {
  const std::string share = check.bound.empty() ? "" : fmt::format("  {:5.1f} % of {}", 100 * check.share, check.bound);
  return fmt::format("  {:<4} {:<44} error {:.2e} of {:.0e}  {:>9.1f} us{}\n", check.passed() ? "ok" : "FAIL", check.op,
                     check.max_error, check.tolerance, check.seconds * 1e6, share);
}

OrderedJson selftest_json(const IsaSelftest& selftest) {
  OrderedJson checks = OrderedJson::array();
  for (const OpCheck& check : selftest.checks) {
    checks.push_back({{"op", check.op},
                      {"passed", check.passed()},
                      {"max_error", check.max_error},
                      {"tolerance", check.tolerance},
                      {"seconds", check.seconds},
                      {"share", check.share},
                      {"bound", check.bound}});
  }
  return {{"isa", selftest.machine.backend.isa},
          {"device", selftest.machine.backend.device},
          {"threads", selftest.machine.backend.n_threads},
          {"ceilings",
           {{"read_gb_s", selftest.machine.ceilings.read_gb_s},
            {"fma_gflop_s", selftest.machine.ceilings.fma_gflop_s},
            {"bf16_gflop_s", selftest.machine.ceilings.bf16_gflop_s},
            {"int8_gop_s", selftest.machine.ceilings.int8_gop_s},
            {"int4_gop_s", selftest.machine.ceilings.int4_gop_s}}},
          {"checks", std::move(checks)}};
}

int selftest(const std::vector<std::string>& arguments, Terminal& terminal) {
  CLI::App parser(std::string(kSelftestCommand.help), program_name(kSelftestCommand));
  bool json = false;
  int n_threads = 0;
  std::string device = "cpu", only_isa;
  parser.add_flag("--json", json, "Print one JSON object on stdout.");
  add_number(parser, "--threads", n_threads, 0, 1024, "Number of threads; 0: one per physical core.");
  parser.add_option("--isa", only_isa, "Instruction set to check; default: all that the machine has (or LATHE_ISA).");
  add_device(parser, device);
  if (const auto code = parse(parser, arguments, terminal)) return *code;

  const bool has_many = device == "cpu" && only_isa.empty();
  const auto isas = has_many ? engine::machine_isas() : std::vector<std::string>{only_isa};
  OrderedJson results = OrderedJson::array();
  std::size_t n_checks = 0, n_failed = 0;
  for (const std::string& isa : isas) {
    if (!json) terminal.out << (isa.empty() ? device : isa) << '\n' << std::flush;
    const auto progress = [&](const OpCheck& check) {
      if (!json) terminal.out << check_line(check) << std::flush;
    };
    const Result<IsaSelftest> done = engine::selftest_machine({device, isa, n_threads}, progress);
    if (!done) return report(terminal, parser, done.error());
    n_checks += done->checks.size();
    n_failed += static_cast<std::size_t>(
        std::count_if(done->checks.begin(), done->checks.end(), [](const OpCheck& check) { return !check.passed(); }));
    results.push_back(selftest_json(*done));
    if (!json) terminal.out << machine_line(done->machine) << "\n\n";
  }
  if (json) {
    terminal.out << engine::dump_json(OrderedJson{{"passed", n_failed == 0}, {"isas", std::move(results)}}, 2) << '\n';
  } else {
    terminal.out << fmt::format("{} checks, {} failed\n", n_checks, n_failed);
  }
  return n_failed == 0 ? kExitDone : kExitFailed;
}

}  // namespace

extern constexpr Command kSelftestCommand = {
    .name = "selftest", .help = "Check every operation on this machine against the reference.", .run = selftest};

}  // namespace lathe::app
