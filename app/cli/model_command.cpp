// SPDX-License-Identifier: Apache-2.0
#include "app/cli/model_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>

#include "app/api/sweep_export.h"
#include "app/cli/memory_text.h"
#include "app/log/printable.h"
#include "engine/api/model_shapes.h"
#include "engine/api/option_value.h"

namespace lathe::app {
namespace {

using engine::EngineOptions;
using engine::Error;
using engine::ErrorCode;
using engine::Result;

constexpr std::chrono::milliseconds kProgressEvery{100};
/// True for flags that choose the output format. They take no value, but users give them a file, as for --html FILE.
bool is_printing_flag(std::string_view flag) {
  const auto formats = export_formats();
  return std::any_of(formats.begin(), formats.end(),
                     [&](const ExportFormat* format) { return format->is_printed && flag == flag_of(format->name); });
}

std::string loading_line(const ModelStatus& status) {
  const engine::LoadProgress& done = status.progress;
  const double share =
      done.bytes_total > 0 ? static_cast<double>(done.bytes_done) / static_cast<double>(done.bytes_total) : 0.0;
  return fmt::format("Loading {}: {} {:.0f} % of {:.1f} MiB, {:.1f} s",
                     std::filesystem::path(status.path).filename().string(), engine::name_of(done.phase), 100 * share,
                     static_cast<double>(done.bytes_total) / kMiB, done.seconds);
}

/// Settings of the quantization, in addition to its name.
std::vector<std::string> quantization_details(const engine::LoadedModel& model) {
  const EngineOptions& options = model.options;
  std::vector<std::string> details;
  const auto add = [&](std::string_view option, bool is_set, std::string words) {
    if (is_set && options.quantization != "none" && why_idle(options, option).empty()) details.push_back(std::move(words));
  };
  add("bnb_4bit_quant_type", true, options.bnb_4bit_quant_type);
  add("bnb_4bit_use_double_quant", options.bnb_4bit_use_double_quant, "double quantization");
  add("bnb_4bit_compute_dtype", options.bnb_4bit_compute_dtype != "auto", "activations unchanged");
  add("quantization_zero_point", options.quantization_zero_point, "zero points");
  add("smoothquant_alpha", true, fmt::format("alpha {:g}", options.smoothquant_alpha));
  add("keep_head", options.keep_head, "head in " + model.dtype);
  return details;
}

std::string loaded_line(const engine::LoadedModel& model) {
  return fmt::format("Loaded {}: {}, {}, {} with {} thread{}, context {}, {} KV blocks, in {:.2f} s{}; {}", model.name,
                     model.info.architecture, weights_text(model), model.isa, model.n_threads,
                     model.n_threads == 1 ? "" : "s", model.max_model_len, model.n_blocks, model.load_ms / 1000,
                     model.packed_cache == engine::PackedCacheUse::hit ? " from the cache" : "", memory_text(model));
}

std::string embedder_line(const engine::LoadedModel& model) { return "For embeddings: " + loaded_line(model); }

}  // namespace

std::string weights_text(const engine::LoadedModel& model) {
  const std::string& quantization = model.running_quantization();
  if (quantization == "none") return model.dtype;
  const std::string details = fmt::format("{}", fmt::join(quantization_details(model), ", "));
  return fmt::format("{}{} and {}", quantization, details.empty() ? "" : fmt::format(" ({})", details), model.dtype);
}

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::model_refused:
    case ErrorCode::not_found:
    case ErrorCode::unsupported: return kExitModelRefused;
    case ErrorCode::invalid_argument:
    case ErrorCode::too_large: return kExitUsage;
    default: return kExitFailed;
  }
}

int report(Terminal& terminal, const CLI::App& parser, const Error& error) {
  terminal.err << fmt::format("{}: error: {}", parser.get_name(), printable(error.message, 1024));
  if (!error.where.empty()) terminal.err << " (" << printable(error.where, 512) << ')';
  terminal.err << std::endl;
  return exit_code_of(error.code);
}

void add_device(CLI::App& parser, std::string& device) {
  const engine::OptionDescriptor& option = engine::engine_option("device");
  const auto check = [&option](const std::string& value) {
    const engine::Result<std::string> known = engine::parse_choice(option, value);
    return known ? std::string() : known.error().message;
  };
  parser.add_option("--device", device, std::string(option.help))
      ->check(CLI::Validator(check, ""))
      ->type_name(engine::named_choices(option));
}

void add_shape(CLI::App& parser, std::string& shape) {
  parser
      .add_option("--shape", shape,
                  fmt::format("Measure a model of these sizes with random weights, which are made in memory: {}.",
                              fmt::join(engine::model_shape_names(), ", ")))
      ->type_name("NAME");
}

void add_number(CLI::App& parser, const std::string& flag, int& value, int min, int max, const std::string& help) {
  CLI::Validator range = CLI::Range(min, max);
  range.description("");
  parser.add_option(flag, value, help)->check(range)->type_name("N")->capture_default_str();
}

CLI::Validator at_least(std::int64_t least) {
  return CLI::Validator(
      [least](const std::string& text) {
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool fits = error == std::errc() && end == text.data() + text.size() && value >= least;
        return fits ? std::string() : fmt::format("must be a whole number, {} or more, got {}", least, text);
      },
      "");
}

std::string program_name(const Command& command) { return fmt::format("lathe {}", command.name); }

/// Returns "; did you mean --quantization?" for the first unknown argument; empty: no flag is near.
std::string nearest_flag(const CLI::App& parser) {
  const std::vector<std::string> unknown = parser.remaining();
  const auto flag = std::find_if(unknown.begin(), unknown.end(), [](const auto& word) { return word.starts_with("--"); });
  if (flag == unknown.end()) return {};
  std::vector<std::string_view> names;
  for (const CLI::Option* option : parser.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  const std::string_view near = engine::nearest_name(std::string_view(*flag).substr(2, flag->find('=') - 2), names);
  return near.empty() ? std::string() : fmt::format("; did you mean --{}?", near);
}

/// The message of a problem; of unknown arguments the parser's own has them in reverse.
std::string message_of(const CLI::App& parser, const CLI::ParseError& problem) {
  if (dynamic_cast<const CLI::ExtrasError*>(&problem) == nullptr) return problem.what();
  const std::vector<std::string> unknown = parser.remaining();
  return fmt::format("{} not expected: {}", unknown.size() == 1 ? "this argument is" : "these arguments are",
                     fmt::join(unknown, " "));
}

std::optional<int> parse(CLI::App& parser, const std::vector<std::string>& arguments, Terminal& terminal) {
  try {
    parser.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    terminal.out << parser.help();
    return kExitDone;
  } catch (const CLI::ParseError& problem) {
    terminal.err << fmt::format("{0}: error: {1}{2} ('{0} --help' lists the options)\n", parser.get_name(),
                                printable(message_of(parser, problem), 512), nearest_flag(parser));
    return kExitUsage;
  }
}

ModelCommand::ModelCommand(const Command& command, Terminal& terminal, std::vector<std::string_view> except)
    : terminal_(terminal), parser_(std::string(command.help), program_name(command)), except_(std::move(except)) {
  parser_.add_option(
      "MODEL", positional_model_,
      "The same as --model: a folder, a GGUF file, or a name that `lathe models` lists; default: the bundled model.");
  parser_.add_option("--profile-dir", profile_dir_,
                     "Folder for settings and other files; default: the folders of the user.");
  parser_.add_flag("-q,--quiet", quiet_, "Print no progress and no notes on stderr.");
}

void ModelCommand::add_shape() { app::add_shape(parser_, shape_); }

std::optional<int> ModelCommand::parse(const std::vector<std::string>& arguments) {
  // The engine's flags are added last, so that the help shows the command's own flags first.
  flags_.add(parser_, engine::engine_option_table(), except_);
  const auto code = app::parse(parser_, arguments, terminal_);
  const auto model = std::find(arguments.begin(), arguments.end(), positional_model_);
  if (code || positional_model_.empty() || model == arguments.end() || model == arguments.begin()) return code;
  const std::string& before = *std::prev(model);
  if (is_printing_flag(before)) flag_before_model_ = before;
  return code;
}

std::string ModelCommand::hint_at_flag() const {
  if (flag_before_model_.empty()) return {};
  return fmt::format("; {} takes no value, so {} was read as a model; to keep the output, write > {}", flag_before_model_,
                     positional_model_, positional_model_);
}

void ModelCommand::print_note(const std::string& line) {
  if (!quiet_) terminal_.err << printable(line) << std::endl;
}

Result<void> ModelCommand::open_workbench() {
  WorkbenchOptions options;
  options.profile_dir = profile_dir_;
  options.keep_history = false;
  options.log.level = quiet_ ? LogLevel::error : log_level_;
  options.log_name = log_name_;
  LATHE_TRY(workbench_, Workbench::create(std::move(options)));  // logs the problems of the files in its folder
  return {};
}

Result<EngineOptions> ModelCommand::engine_options(const std::string& otherwise) {
  EngineOptions options;
  options.model = positional_model_;
  LATHE_TRY_VOID(flags_.apply(options));
  if (!positional_model_.empty() && options.model != positional_model_) {
    return engine::fail(ErrorCode::invalid_argument, fmt::format("two models were given: {} and --model {}{}",
                                                                 positional_model_, options.model, hint_at_flag()));
  }
  if (!shape_.empty() && !options.model.empty()) {
    return engine::fail(ErrorCode::invalid_argument,
                        fmt::format("a model and a shape were given: {} and --shape {}", options.model, shape_));
  }
  if (!shape_.empty()) options.model = engine::shape_path(shape_);
  LATHE_TRY_VOID(open_workbench());
  if (!options.embedding_model.empty()) {
    LATHE_TRY(options.embedding_model, workbench_->library().resolve(options.embedding_model));
  }
  if (options.model.empty()) options.model = otherwise;
  if (!options.model.empty()) {
    auto folder = workbench_->library().resolve(options.model);
    if (!folder) return engine::fail(folder.error().code, folder.error().message + hint_at_flag(), folder.error().where);
    options.model = std::move(*folder);
    return options;
  }
  options.model = workbench_->library().demo_model();
  if (options.model.empty()) {
    return engine::fail(ErrorCode::invalid_argument, "no model was given, and the bundled one is not installed", "--model");
  }
  print_note("No --model was given: using the bundled demo model, which is small and knows little.");
  return options;
}

void ModelCommand::warn_of_idle(std::span<const EngineOptions> all) {
  std::vector<std::string> idle;
  for (const auto& [name, value] : flags_.values()) {
    const bool is_off = value == "false" && get_option(EngineOptions(), name) == "false";  // requests nothing
    const auto changes = [&](const EngineOptions& options) { return engine::why_idle(options, name).empty(); };
    if (is_off || all.empty() || std::any_of(all.begin(), all.end(), changes)) continue;
    std::string words = fmt::format("{} ({})", flag_of(name), engine::why_idle(all.front(), name));
    if (std::find(idle.begin(), idle.end(), words) == idle.end()) idle.push_back(std::move(words));
  }
  if (!idle.empty()) print_note(fmt::format("Warning: without effect: {}", fmt::join(idle, ", ")));
}

void ModelCommand::progress(const std::string& line) {
  if (!quiet_ && terminal_.err_is_terminal) terminal_.err << "\r\x1b[K" << printable(line, 120) << std::flush;
}

Result<void> ModelCommand::load(const EngineOptions& options) {
  warn_of_idle({&options, 1});
  ModelSlot& models = workbench_->models();
  LATHE_TRY_VOID(models.load(options));
  while (models.status().state == ModelState::loading) {
    if (signals_.wait(kProgressEvery)) {
      begin_end();
      models.cancel_load();
      break;
    }
    progress(loading_line(models.status()));
  }
  progress({});
  LATHE_TRY_VOID(models.wait());
  const EngineLease engine = models.lease();
  if (!engine) return engine::fail(ErrorCode::cancelled, "loading was cancelled", options.model);
  engine::Engine& embedder = engine->embedder();
  if (&embedder != &*engine) {
    print_note(embedder_line(embedder.model()));
    for (const std::string& warning : embedder.model().info.warnings) print_note("Warning: " + printable(warning));
  }
  print_note(loaded_line(engine->model()));
  if (engine->model().division) print_note("Memory: " + text_of(*engine->model().division));
  for (const std::string& warning : engine->model().info.warnings) print_note("Warning: " + printable(warning));
  return {};
}

}  // namespace lathe::app
