// SPDX-License-Identifier: Apache-2.0
// lathe inspect: shows what a checkpoint is and whether it fits, from its headers only; on request also what a load takes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <utility>

#include "app/cli/knob_text.h"
#include "app/cli/memory_text.h"
#include "app/cli/model_command.h"
#include "app/log/printable.h"
#include "engine/api/fit_fixes.h"
#include "engine/api/model_knobs.h"

namespace lathe::app {

extern const Command kInspectCommand;

namespace {

using engine::FitEstimate;
using engine::ModelInfo;
using engine::OrderedJson;
using engine::Result;

constexpr std::string_view kAsStored = "auto";

struct FitAt {
  std::string dtype, quantization;
  Result<FitEstimate> fit;
};

/// Estimates the unquantized model in each type, then each quantization, or only the requested one.
std::vector<FitAt> fits(const ModelInfo& info, engine::EngineOptions options, bool one_quantization) {
  std::vector<FitAt> all;
  const std::string asked = std::exchange(options.quantization, engine::EngineOptions().quantization);
  for (const std::string_view dtype : engine::choices_of(engine::engine_option("dtype"))) {
    if (dtype == kAsStored) continue;
    options.dtype = dtype;
    all.push_back({options.dtype, options.quantization, engine::estimate_fit(info, options)});
  }
  options.dtype = kAsStored;
  if (!info.kept_quantization().empty())
    all.push_back({"as stored", options.quantization, engine::estimate_fit(info, options)});
  for (const std::string_view quantization : engine::choices_of(engine::engine_option("quantization"))) {
    if (quantization == options.quantization) continue;  // "none": the rows above
    if (one_quantization && quantization != asked) continue;
    engine::EngineOptions quantized = options;
    quantized.quantization = quantization;
    all.push_back({info.stored_dtype, quantized.quantization, engine::estimate_fit(info, quantized)});
  }
  return all;
}

OrderedJson windows_json(const FitEstimate& fit) {
  OrderedJson windows = OrderedJson::array();
  for (const engine::FitWindow& of : fit.windows) {
    windows.push_back({{"window", of.window}, {"n_layers", of.n_layers}, {"n_blocks", of.n_blocks}});
  }
  return windows;
}

OrderedJson fit_json(const FitAt& at) {
  if (!at.fit) {
    return {
        {"dtype", at.dtype}, {"quantization", at.quantization}, {"verdict", "Unknown"}, {"error", at.fit.error().message}};
  }
  const FitEstimate& fit = *at.fit;
  return {{"dtype", at.dtype},
          {"quantization", at.quantization},
          {"verdict", engine::name_of(fit.verdict)},
          {"total_bytes", fit.total()},
          {"weights_bytes", fit.weights},
          {"kv_bytes", fit.kv},
          {"activations_bytes", fit.activations},
          {"other_bytes", fit.other},
          {"free_bytes", fit.free},
          {"n_blocks", fit.n_blocks},
          {"windows", windows_json(fit)},
          {"states_bytes", fit.states},
          {"snapshots_bytes", fit.snapshots},
          {"n_snapshots", fit.n_snapshots},
          {"max_model_len", fit.max_model_len}};
}

OrderedJson fixes_json(const std::vector<engine::FitFix>& fixes) {
  OrderedJson list = OrderedJson::array();
  for (const engine::FitFix& fix : fixes)
    list.push_back({{"option", fix.option}, {"value", fix.value}, {"total_bytes", fix.total}});
  return list;
}

/// Lines of the changes of one option with which a load with the given options would fit.
std::string fix_lines(const std::vector<engine::FitFix>& fixes) {
  std::string text;
  for (const engine::FitFix& fix : fixes) {
    text += fmt::format("  would fit with    {} {}: {:.1f} MiB\n", flag_of(fix.option), fix.value,
                        static_cast<double>(fix.total) / kMiB);
  }
  return text;
}

OrderedJson info_json(const ModelInfo& info, const OrderedJson& knobs, const std::vector<FitAt>& all_fits) {
  OrderedJson json = {{"path", info.path},
                      {"name", info.name},
                      {"architecture", info.architecture},
                      {"whole", info.whole},
                      {"file_format", info.file_format},
                      {"n_parameters", info.n_parameters},
                      {"file_bytes", info.file_bytes},
                      {"vocab_size", info.vocab_size},
                      {"hidden_size", info.hidden_size},
                      {"n_layers", info.n_layers},
                      {"n_heads", info.n_heads},
                      {"n_kv_heads", info.n_kv_heads},
                      {"head_dim", info.head_dim},
                      {"intermediate_size", info.intermediate_size},
                      {"max_position_embeddings", info.max_position_embeddings},
                      {"rope_theta", info.rope_theta},
                      {"rope_scaling", info.rope_scaling},
                      {"tied_embeddings", info.tied_embeddings},
                      {"has_chat_template", info.has_chat_template},
                      {"chat_templates", info.chat_templates},
                      {"tokenizer", info.tokenizer},
                      {"bos_id", info.bos_id ? OrderedJson(*info.bos_id) : OrderedJson(nullptr)},
                      {"eos_ids", info.eos_ids},
                      {"stored_dtype", info.stored_dtype},
                      {"stored_quantization", info.stored_quantization},
                      {"stored_expert_quantization", info.stored_expert_quantization},
                      {"quantization_scheme", info.quantization_scheme},
                      {"tensors_by_dtype", info.tensors_by_dtype},
                      {"knobs", knobs},
                      {"warnings", info.warnings},
                      {"fit", OrderedJson::array()}};
  for (const FitAt& at : all_fits) json["fit"].push_back(fit_json(at));
  return json;
}

/// Returns the weight bytes in the stored type, without quantization.
std::int64_t plain_weights(const ModelInfo& info, const std::vector<FitAt>& all_fits) {
  for (const FitAt& at : all_fits) {
    if (at.quantization == "none" && at.dtype == info.stored_dtype && at.fit) return at.fit->weights;
  }
  return std::numeric_limits<std::int64_t>::max();
}

/// A quantization may save nothing: rows whose length is no multiple of its group size stay unquantized, as f32.
std::string fit_line(const FitAt& at, std::int64_t plain) {
  const std::string& storage = at.quantization == "none" ? at.dtype : at.quantization;
  if (!at.fit) return fmt::format("  {:<18}unknown: {}\n", storage, at.fit.error().message);
  const FitEstimate& fit = *at.fit;
  const auto mib = [](std::int64_t n_bytes) { return static_cast<double>(n_bytes) / kMiB; };
  std::string windows;
  for (const engine::FitWindow& of : fit.windows) {
    windows += fmt::format(", {} of the {} layers with a window of {}", of.n_blocks, of.n_layers, of.window);
  }
  std::string states;
  if (fit.states > 0) {
    states = fmt::format(", recurrent states {:.1f}, {} snapshots of them {:.1f}", mib(fit.states), fit.n_snapshots,
                         mib(fit.snapshots));
  }
  return fmt::format(
      "  {:<18}{:<10} {:.1f} of {:.1f} MiB free: weights {:.1f}, KV {:.1f} ({} blocks{}{}), activations {:.1f}, other "
      "{:.1f}{}\n",
      storage, engine::name_of(fit.verdict), mib(fit.total()), mib(fit.free), mib(fit.weights), mib(fit.kv), fit.n_blocks,
      windows, states, mib(fit.activations), mib(fit.other),
      at.quantization != "none" && fit.weights >= plain ? "; saves nothing, because the groups do not fit these matrices"
                                                        : "");
}

std::string chat_text(const ModelInfo& info) {
  if (info.chat_templates.size() > 1) return printable(fmt::format("templates {}", fmt::join(info.chat_templates, ", ")));
  return info.has_chat_template ? "has a chat template" : "no chat template";
}

std::string info_text(const ModelInfo& info, const OrderedJson& knobs, const std::vector<FitAt>& all_fits,
                      const std::vector<engine::FitFix>& fixes) {
  std::string tensors;
  for (const auto& [dtype, n] : info.tensors_by_dtype)
    tensors += fmt::format("{}{} {}", tensors.empty() ? "" : ", ", n, dtype);
  const std::string positions =
      info.rope_theta > 0 ? fmt::format("RoPE theta {:g}, scaling {}", info.rope_theta, info.rope_scaling) : "no RoPE";
  std::string text = fmt::format(
      "{}\n"
      "  path         {}\n"
      "  architecture {}, {:.2f} M parameters, {:.1f} MiB in {}\n"
      "  tensors      {}\n"
      "  shape        {} layers, hidden {}, intermediate {}, heads {} ({} KV) of {}\n"
      "  context      {} tokens, {}\n"
      "  vocabulary   {} tokens, {}, {} embeddings\n"
      "  chat         {}\n",
      printable(info.name), printable(info.path), printable(info.architecture), static_cast<double>(info.n_parameters) / 1e6,
      static_cast<double>(info.file_bytes) / kMiB, info.file_format, tensors, info.n_layers, info.hidden_size,
      info.intermediate_size, info.n_heads, info.n_kv_heads, info.head_dim, info.max_position_embeddings, positions,
      info.vocab_size, info.tokenizer.empty() ? "no tokenizer" : info.tokenizer, info.tied_embeddings ? "tied" : "separate",
      chat_text(info));
  if (!info.whole.empty()) {
    text += fmt::format("  text of      {}, whose other parts are not read\n", printable(info.whole));
  }
  if (!info.quantization_scheme.empty()) {
    const char* const stay = info.stored_layer_quantizations.empty() ? "its matrices keep their codes, as "
                                                                     : "matrices that can keep their codes do, as ";
    text += fmt::format("  quantized    {}; {}\n", printable(info.quantization_scheme),
                        info.stored_quantization.empty() ? "becomes " + info.stored_dtype : stay + info.stored_quantization);
  }
  text += "Knobs\n" + knob_lines(knobs) + "Memory\n";
  for (const FitAt& at : all_fits) text += fit_line(at, plain_weights(info, all_fits));
  text += fix_lines(fixes);
  for (const std::string& warning : info.warnings) text += "Warning: " + printable(warning) + "\n";
  return text;
}

int inspect(const std::vector<std::string>& arguments, Terminal& terminal) {
  ModelCommand command(kInspectCommand, terminal, {"dtype"});
  bool json = false, measure = false;
  command.parser().add_flag("--json", json, "Print one JSON object on stdout.");
  command.parser().add_flag("--measure", measure,
                            "Load the model with these options, and compare the memory that it takes with the estimate.");
  if (const auto code = command.parse(arguments)) return *code;
  const Result<engine::EngineOptions> options = command.engine_options();
  if (!options) return command.fail(options.error());
  Result<ModelInfo> info = engine::inspect_checkpoint(options->model);
  if (!info) return command.fail(info.error());
  if (auto warning = engine::tokenizer_warning(*info, options->tokenizer)) info->warnings.push_back(std::move(*warning));
  const Result<OrderedJson> knobs = engine::model_knobs(options->model, options->tokenizer);
  if (!knobs) return command.fail(knobs.error());
  if (command.given("quantization") && !measure) command.warn_of_idle({&*options, 1});
  const std::vector<FitAt> all_fits = fits(*info, *options, command.given("quantization"));
  // A load that cannot be estimated with these options has no fixes; its row of all_fits says why.
  const std::vector<engine::FitFix> fixes = engine::find_fixes(*info, *options).value_or(std::vector<engine::FitFix>());
  OrderedJson report = info_json(*info, *knobs, all_fits);
  report["fixes"] = fixes_json(fixes);
  std::string text = info_text(*info, *knobs, all_fits, fixes);
  if (measure) {
    if (const auto loaded = command.load(*options); !loaded) return command.fail(loaded.error());
    const engine::LoadedModel model = command.workbench().models().lease()->model();
    report["memory"] = memory_json(model);
    report["memory"]["dtype"] = model.dtype;
    report["memory"]["quantization"] = model.running_quantization();
    text += fmt::format("Measured after a load as {}\n  {}\n", weights_text(model), memory_line(model));
  }
  terminal.out << (json ? engine::dump_json(report, 2) + "\n" : text);
  return kExitDone;
}

}  // namespace

extern constexpr Command kInspectCommand = {
    .name = "inspect", .help = "Show what a model is and whether it fits into memory.", .run = inspect};

}  // namespace lathe::app
