// SPDX-License-Identifier: Apache-2.0
// lathe convert: writes a checkpoint with the weights that the engine would compute with.
#include <fmt/format.h>

#include "app/cli/model_command.h"
#include "engine/api/convert.h"

namespace lathe::app {

extern const Command kConvertCommand;

namespace {

using engine::ErrorCode;
using engine::Result;

struct ConvertFlags {
  engine::ConvertOptions options;
  bool dequantize = false, json = false;
};

void add_flags(CLI::App& parser, ConvertFlags& flags) {
  parser
      .add_option("--output", flags.options.output,
                  "Folder to create for the new checkpoint, or a file name that ends in .gguf.")
      ->type_name("PATH");
  parser.add_flag("--overwrite", flags.options.overwrite,
                  "Replace the weights of an existing checkpoint, or the existing file.");
  parser.add_flag("--dequantize", flags.dequantize, "Write the numbers that the codes represent, in --dtype.");
  parser.add_flag("--json", flags.json, "Print one JSON object on stdout.");
  parser.footer(
      "Tensors keep their names. --quantization rounds their numbers in the same way as a load does. A .gguf file holds the "
      "codes of int8_g32 (Q8_0) and int4_g32 (Q4_0); tensors that are stored as codes keep them if neither --quantization "
      "nor --dtype is given.");
}

/// Refuses to write quantized codes to a folder.
Result<void> check(const ConvertFlags& flags, const engine::EngineOptions& options) {
  if (flags.options.output.empty()) return engine::fail(ErrorCode::invalid_argument, "there is no output", "--output");
  if (options.quantization == "none" || flags.dequantize || flags.options.output.ends_with(".gguf")) return {};
  return engine::fail(
      ErrorCode::invalid_argument,
      fmt::format("a folder cannot hold the codes of {}, only the numbers that they represent: add --dequantize; or give a "
                  "file name that ends in .gguf, which can hold int8_g32 and int4_g32",
                  options.quantization),
      "--quantization");
}

int convert(const std::vector<std::string>& arguments, Terminal& terminal) {
  ModelCommand command(kConvertCommand, terminal);
  ConvertFlags flags;
  add_flags(command.parser(), flags);
  if (const auto code = command.parse(arguments)) return *code;
  const Result<engine::EngineOptions> options = command.engine_options();
  if (!options) return command.fail(options.error());
  if (const auto fine = check(flags, *options); !fine) return command.fail(fine.error());
  flags.options.write_codes = !flags.dequantize;
  command.warn_of_idle({&*options, 1});
  const auto observer = [&](const engine::LoadProgress& progress) {
    command.progress(fmt::format("{:.0f} of {:.0f} MiB", static_cast<double>(progress.bytes_done) / kMiB,
                                 static_cast<double>(progress.bytes_total) / kMiB));
    return !command.signals().requested();
  };
  const auto report = engine::convert_checkpoint(*options, flags.options, observer);
  command.progress("");
  if (!report) return command.fail(report.error());
  for (const std::string& line : report->notes) command.print_note(line);
  if (flags.json) {
    terminal.out << engine::dump_json(engine::OrderedJson{{"output", report->output},
                                                          {"n_tensors", report->n_tensors},
                                                          {"n_bytes", report->n_bytes},
                                                          {"notes", report->notes}},
                                      2)
                 << "\n";
  } else {
    terminal.out << fmt::format("{}: {} tensors, {:.1f} MiB\n", report->output, report->n_tensors,
                                static_cast<double>(report->n_bytes) / kMiB);
  }
  return kExitDone;
}

}  // namespace

extern constexpr Command kConvertCommand = {
    .name = "convert", .help = "Write a checkpoint in another format or number type.", .run = convert};

}  // namespace lathe::app
