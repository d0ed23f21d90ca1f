// SPDX-License-Identifier: Apache-2.0
// lathe complete: one prompt, one answer; as text, or as one JSON object for other programs.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <variant>

#include "app/cli/line_reader.h"
#include "app/cli/model_command.h"
#include "app/cli/token_ids.h"
#include "engine/api/structured_outputs.h"

namespace lathe::app {

extern const Command kCompleteCommand;

namespace {

using engine::Error;
using engine::ErrorCode;
using engine::LogprobList;
using engine::OrderedJson;
using engine::Result;
using engine::TokenEvent;

/// vLLM's default of 16 is too short to be useful at a terminal.
constexpr std::int64_t kCompleteMaxTokens = 128;
constexpr std::chrono::milliseconds kCompletePatience{50};
/// Same limit as for a body of the server. Without it, reading /dev/zero would exhaust the memory.
constexpr std::size_t kMaxPromptBytes = 32u << 20;

/// A text that is not tokenized yet, or token ids.
using GivenPrompt = std::variant<std::string, std::vector<std::int32_t>>;

struct CompleteFlags {
  std::optional<std::string> prompt, prompt_ids, prompt_file;
  bool json = false;
  OptionFlags sampling;
};

void add_flags(CLI::App& parser, CompleteFlags& flags) {
  parser.add_option("--prompt", flags.prompt, "Text to continue; control tokens in it are read as such.")
      ->group("Prompt, one of");
  parser.add_option("--prompt-ids", flags.prompt_ids, "The prompt as comma-separated token IDs.")
      ->type_name("1,2,3")
      ->group("Prompt, one of");
  parser.add_option("--prompt-file", flags.prompt_file, "File with the prompt; -: standard input.")->group("Prompt, one of");
  parser.add_flag("--json", flags.json, "Print one JSON object on stdout instead of the text.");
  flags.sampling.add(parser, engine::sampling_fields());
  parser.footer(
      fmt::format("Without --max-tokens an answer ends after {} tokens. Sampling parameters that are not given come from "
                  "the checkpoint's generation_config.json.",
                  kCompleteMaxTokens));
}

/// Checks the flags before a model is loaded.
Result<void> check(const CompleteFlags& flags) {
  const int n_prompts = (flags.prompt ? 1 : 0) + (flags.prompt_ids ? 1 : 0) + (flags.prompt_file ? 1 : 0);
  if (n_prompts != 1) {
    return engine::fail(ErrorCode::invalid_argument,
                        fmt::format("{}give one of --prompt, --prompt-ids and --prompt-file",
                                    n_prompts == 0 ? "there is no prompt; " : "there is more than one prompt; "));
  }
  engine::SamplingParams sampling;
  LATHE_TRY_VOID(flags.sampling.apply(sampling));
  return sampling.structured_outputs.empty() ? Result<void>()
                                             : engine::check_structured_outputs(sampling.structured_outputs);
}

Result<std::string> read_text(int descriptor, const std::string& name, int interrupt_fd) {
  std::optional<std::string> text = LineReader(descriptor, interrupt_fd).rest(kMaxPromptBytes);
  if (!text) return engine::fail(ErrorCode::cancelled, "reading the prompt was stopped", name);
  if (text->size() > kMaxPromptBytes) {
    return engine::fail(ErrorCode::too_large, fmt::format("the prompt is larger than {} MiB", kMaxPromptBytes >> 20), name);
  }
  return std::move(*text);
}

Result<std::string> read_file(const std::string& path, int interrupt_fd) {
  std::error_code error;
  const int file = std::filesystem::is_directory(path, error) ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return engine::fail(ErrorCode::invalid_argument, "the prompt file cannot be read", path);
  Result<std::string> text = read_text(file, path, interrupt_fd);
  ::close(file);
  return text;
}

/// Called before the model is loaded, so that problems of the prompt are reported at once.
Result<GivenPrompt> read_prompt(const CompleteFlags& flags, ModelCommand& command, const Terminal& terminal) {
  if (flags.prompt_ids) return parse_token_ids(*flags.prompt_ids, "--prompt-ids");
  if (!flags.prompt_file) return flags.prompt.value_or("");
  if (*flags.prompt_file != "-") return read_file(*flags.prompt_file, command.signals().fd());
  if (terminal.in_is_terminal) command.print_note("Type the prompt; Ctrl+D on an empty line ends it.");
  return read_text(terminal.in_fd, "standard input", command.signals().fd());
}

/// Joins all events of the request into one. Unless `stream` is null, the text is also written to it as it arrives.
TokenEvent collect(engine::RequestHandle& handle, StopSignals& signals, std::ostream* stream) {
  TokenEvent all;
  while (!all.finished) {
    if (signals.requested()) handle.cancel();
    TokenEvent event;
    if (!handle.wait(event, kCompletePatience)) continue;
    if (stream != nullptr && !event.text.empty()) *stream << event.text << std::flush;
    merge(all, std::move(event));
  }
  return all;
}

OrderedJson pairs(const LogprobList& list) {
  OrderedJson out = OrderedJson::array();
  for (const engine::TokenLogprob& entry : list) out.push_back({entry.id, entry.logprob});
  return out;
}

/// With 0 alternatives only the chosen token is returned.
OrderedJson logprobs_json(const TokenEvent& event, std::optional<std::int64_t> n_alternatives) {
  if (!n_alternatives) return nullptr;
  OrderedJson out = OrderedJson::array();
  if (*n_alternatives == 0) {
    for (const engine::TokenLogprob& chosen : event.chosen_logprobs) out.push_back(pairs({chosen}));
  } else {
    for (const LogprobList& list : event.logprobs) out.push_back(pairs(list));
  }
  return out;
}

OrderedJson prompt_logprobs_json(const TokenEvent& event, std::optional<std::int64_t> n_alternatives) {
  if (!n_alternatives) return nullptr;
  OrderedJson out = OrderedJson::array();
  for (std::size_t i = 0; i < event.prompt_logprobs.size(); ++i) {
    out.push_back(i == 0 ? OrderedJson(nullptr) : pairs(event.prompt_logprobs[i]));
  }
  return out;
}

double rate(std::int64_t n_tokens, double ms) { return ms > 0 ? static_cast<double>(n_tokens) * 1000.0 / ms : 0.0; }

OrderedJson timings_json(const TokenEvent& event, const engine::LoadedModel& model) {
  const engine::RequestTimings& timings = event.timings;
  const std::int64_t n_read = event.usage.n_prompt_tokens - event.usage.n_cached_tokens;
  return {{"load_ms", model.load_ms},
          {"packed_cache", engine::name_of(model.packed_cache)},
          {"ttft_ms", timings.ttft_ms},
          {"prefill_tok_s", rate(n_read, timings.ttft_ms - timings.queue_ms)},
          {"decode_tok_s", rate(event.usage.n_completion_tokens - 1, timings.end_ms - timings.ttft_ms)}};
}

OrderedJson result_json(const engine::GenerateRequest& request, const TokenEvent& event, const engine::LoadedModel& model) {
  const engine::Usage& usage = event.usage;
  return {{"prompt_token_ids", request.prompt_token_ids},
          {"token_ids", event.token_ids},
          {"text", event.text},
          {"finish_reason", engine::name_of(event.finish_reason)},
          {"logprobs", logprobs_json(event, request.sampling.logprobs)},
          {"prompt_logprobs", prompt_logprobs_json(event, request.sampling.prompt_logprobs)},
          {"usage",
           {{"prompt_tokens", usage.n_prompt_tokens},
            {"completion_tokens", usage.n_completion_tokens},
            {"total_tokens", usage.n_prompt_tokens + usage.n_completion_tokens},
            {"cached_tokens", usage.n_cached_tokens}}},
          {"timings", timings_json(event, model)}};
}

Result<engine::GenerateRequest> make_request(const CompleteFlags& flags, const GivenPrompt& prompt,
                                             const engine::Engine& engine) {
  engine::GenerateRequest request;
  request.source = "cli";
  request.sampling = engine.model().default_sampling;
  request.sampling.max_tokens = kCompleteMaxTokens;
  LATHE_TRY_VOID(flags.sampling.apply(request.sampling));
  // Control tokens in a raw prompt are encoded as such: its author wrote them by hand.
  if (const auto* text = std::get_if<std::string>(&prompt)) {
    LATHE_TRY(request.prompt_token_ids, engine.tokenizer().encode(*text, true, true));
  } else {
    request.prompt_token_ids = std::get<std::vector<std::int32_t>>(prompt);
  }
  return request;
}

int generate(ModelCommand& command, const CompleteFlags& flags, const GivenPrompt& prompt, Terminal& terminal) {
  const EngineLease engine = command.workbench().models().lease();
  const Result<engine::GenerateRequest> request = make_request(flags, prompt, *engine);
  if (!request) return command.fail(request.error());
  const Result<engine::RequestHandlePtr> handle = engine->submit(*request);
  if (!handle) return command.fail(handle.error());
  const TokenEvent event = collect(**handle, command.signals(), flags.json ? nullptr : &terminal.out);
  if (event.error) return command.fail(*event.error);
  if (flags.json) {
    terminal.out << engine::dump_json(result_json(*request, event, engine->model())) << '\n';
  } else if (!event.text.ends_with('\n')) {
    terminal.out << '\n';
  }
  return event.finish_reason == engine::FinishReason::cancelled ? kExitFailed : kExitDone;
}

int complete(const std::vector<std::string>& arguments, Terminal& terminal) {
  ModelCommand command(kCompleteCommand, terminal, {"seed"});
  CompleteFlags flags;
  add_flags(command.parser(), flags);
  if (const auto code = command.parse(arguments)) return *code;
  if (const auto usable = check(flags); !usable) return command.fail(usable.error());
  const Result<engine::EngineOptions> options = command.engine_options();
  if (!options) return command.fail(options.error());
  const Result<GivenPrompt> prompt = read_prompt(flags, command, terminal);
  if (!prompt) return command.fail(prompt.error());
  if (const auto loaded = command.load(*options); !loaded) return command.fail(loaded.error());
  return generate(command, flags, *prompt, terminal);
}

}  // namespace

extern constexpr Command kCompleteCommand = {.name = "complete", .help = "Continue one prompt.", .run = complete};

}  // namespace lathe::app
