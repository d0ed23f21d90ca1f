// SPDX-License-Identifier: Apache-2.0
// lathe chat: a conversation at the terminal, or line by line from a pipe.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/cli/line_reader.h"
#include "app/cli/model_command.h"

namespace lathe::app {

extern const Command kChatCommand;

namespace {

using engine::ChatMessage;
using engine::Result;
using engine::TokenEvent;

constexpr std::int64_t kChatMaxTokens = 512;
constexpr std::chrono::milliseconds kChatPatience{50};
constexpr std::string_view kDim = "\x1b[2m", kPlain = "\x1b[0m";  // ECMA-48, SGR

constexpr std::string_view kHelp =
    "Each line is a user message; commands begin with a slash:\n"
    "  /user TEXT, /assistant TEXT, /system TEXT   add a message without an answer (/system TEXT comes first)\n"
    "  /go            answer now\n"
    "  /again         delete the last answer and generate another\n"
    "  /undo          delete the last message\n"
    "  /set NAME VALUE  change a sampling parameter (temperature, top_p, max_tokens...)\n"
    "  /show          show the conversation so far\n"
    "  /clear         start over; the system prompt is kept\n"
    "  /help, /quit\n";

class Conversation {
 public:
  Conversation(ModelCommand& command, Terminal& terminal, engine::SamplingParams sampling, const std::string& system)
      : command_(command),
        terminal_(terminal),
        sampling_(std::move(sampling)),
        lines_(terminal.in_fd, command.signals().fd()) {
    if (!system.empty()) messages_.push_back({"system", system});
  }

  /// Runs until the end of the input, /quit, or Ctrl+C at the prompt. Returns the exit code.
  int run() {
    if (terminal_.in_is_terminal)
      command_.print_note("Type a message; /help lists the commands, Ctrl+C stops an answer, Ctrl+D ends.");
    while (true) {
      if (terminal_.in_is_terminal) terminal_.err << "> " << std::flush;
      const std::optional<std::string> line = lines_.next();
      if (!line) break;
      if (line->empty()) continue;
      if (*line == "/quit" || *line == "/exit") break;
      if (line->front() == '/') {
        slash(*line);
      } else {
        messages_.push_back({"user", *line});
        answer();
      }
      // A person reads the error and goes on; a script must get the exit code. A single signal ends the lines of a script,
      // too.
      if (terminal_.in_is_terminal) continue;
      if (code_ != kExitDone) return code_;
      if (command_.signals().requested()) break;
    }
    if (terminal_.in_is_terminal) terminal_.err << std::endl;
    return command_.signals().requested() && !terminal_.in_is_terminal ? static_cast<int>(kExitFailed) : code_;
  }

 private:
  void slash(const std::string& line) {
    const std::size_t space = line.find(' ');
    const std::string word = line.substr(1, space == std::string::npos ? space : space - 1);
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (word == "user" || word == "assistant") add(word, rest);
    else if (word == "system") set_system(rest);
    else if (word == "go") answer();
    else if (word == "again") again();
    else if (word == "undo") undo();
    else if (word == "set") set_parameter(rest);
    else if (word == "show") show();
    else if (word == "clear") std::erase_if(messages_, [](const ChatMessage& m) { return m.role != "system"; });
    else if (word == "help") terminal_.err << kHelp << std::flush;
    else refuse(fmt::format("there is no command /{}; /help lists the commands", word));
  }

  void add(const std::string& role, const std::string& text) {
    if (text.empty()) return refuse(fmt::format("/{} needs a text", role));
    messages_.push_back({role, text});
  }

  void set_system(const std::string& text) {
    std::erase_if(messages_, [](const ChatMessage& message) { return message.role == "system"; });
    if (!text.empty()) messages_.insert(messages_.begin(), {"system", text});
  }

  void undo() {
    if (messages_.empty()) return refuse("there is no message to delete");
    messages_.pop_back();
  }

  void again() {
    if (!messages_.empty() && messages_.back().role == "assistant") messages_.pop_back();
    answer();
  }

  void set_parameter(const std::string& text) {
    const std::size_t space = text.find(' ');
    std::string name = text.substr(0, space);
    std::replace(name.begin(), name.end(), '-', '_');
    const std::string value = space == std::string::npos ? "" : text.substr(space + 1);
    if (const auto set = engine::set_option(sampling_, name, value); !set) fail(set.error());
  }

  void show() {
    for (const ChatMessage& message : messages_) terminal_.err << message.role << ": " << message.content << '\n';
    terminal_.err << std::flush;
  }

  void answer() {
    if (messages_.empty()) return refuse("there is no message to answer");
    ChatTurn turn{
        .messages = messages_, .sampling = sampling_, .source = "cli", .client = "lathe chat", .route = "command line"};
    const auto generation = start_chat(command_.workbench().models(), command_.workbench().requests(), turn);
    if (!generation) return fail(generation.error());
    TokenEvent event;
    ChatMessage message{"assistant", {}};
    while (!event.finished) {
      if (command_.signals().requested()) (*generation)->cancel();
      event = {};
      if (!(*generation)->wait(event, kChatPatience)) continue;
      show_reasoning((*generation)->take_reasoning(), message);
      show_content(event.text, message);
    }
    terminal_.out << (is_dim_ ? kPlain : "") << '\n' << std::flush;
    is_dim_ = false;
    if (event.error) return fail(*event.error);
    if (message.content.empty() && !message.reasoning.empty() && event.finish_reason == engine::FinishReason::length)
      command_.print_note("[the answer ended within its reasoning; /set max_tokens N allows a longer answer]");
    messages_.push_back(std::move(message));
    if (terminal_.in_is_terminal) {
      command_.signals().forget();
      footer(event);
    }
  }

  /// Shows the reasoning dimmed on a terminal; a pipe gets the answer only. The reasoning is stored separately from the
  /// content: the template of the model decides whether the next prompt includes it.
  void show_reasoning(const std::string& text, ChatMessage& message) {
    message.reasoning += text;
    if (text.empty() || !terminal_.out_is_terminal) return;
    terminal_.out << (is_dim_ ? "" : kDim) << text << std::flush;
    is_dim_ = true;
  }

  void show_content(const std::string& text, ChatMessage& message) {
    if (text.empty()) return;
    if (is_dim_) terminal_.out << kPlain << "\n\n";
    is_dim_ = false;
    message.content += text;
    terminal_.out << text << std::flush;
  }

  void footer(const TokenEvent& event) {
    const double seconds = (event.timings.end_ms - event.timings.ttft_ms) / 1000;
    const double tok_s = seconds > 0 ? static_cast<double>(event.usage.n_completion_tokens - 1) / seconds : 0;
    command_.print_note(fmt::format("[{} tokens, {:.1f} tok/s, first after {:.0f} ms, prompt {} ({} cached), {}]",
                                    event.usage.n_completion_tokens, tok_s, event.timings.ttft_ms,
                                    event.usage.n_prompt_tokens, event.usage.n_cached_tokens,
                                    engine::name_of(event.finish_reason)));
  }

  void refuse(std::string why) { fail({engine::ErrorCode::invalid_argument, std::move(why), {}}); }
  void fail(const engine::Error& error) { code_ = command_.fail(error); }

  ModelCommand& command_;
  Terminal& terminal_;
  engine::SamplingParams sampling_;
  LineReader lines_;
  std::vector<ChatMessage> messages_;
  bool is_dim_ = false;  ///< the terminal currently shows reasoning
  int code_ = kExitDone;
};

int chat(const std::vector<std::string>& arguments, Terminal& terminal) {
  ModelCommand command(kChatCommand, terminal, {"seed"});
  std::string system;
  OptionFlags sampling_flags;
  command.parser().add_option("--system", system, "System prompt.");
  sampling_flags.add(command.parser(), engine::sampling_fields(), {"logprobs", "prompt_logprobs"});
  if (const auto code = command.parse(arguments)) return *code;
  engine::SamplingParams checked;
  if (const auto usable = sampling_flags.apply(checked); !usable) return command.fail(usable.error());
  const Result<engine::EngineOptions> options = command.engine_options();
  if (!options) return command.fail(options.error());
  if (const auto loaded = command.load(*options); !loaded) return command.fail(loaded.error());

  engine::SamplingParams sampling = command.workbench().models().lease()->model().default_sampling;
  sampling.max_tokens = kChatMaxTokens;
  if (const auto set = sampling_flags.apply(sampling); !set) return command.fail(set.error());
  return Conversation(command, terminal, std::move(sampling), system).run();
}

}  // namespace

extern constexpr Command kChatCommand = {.name = "chat", .help = "Chat with a model in the terminal.", .run = chat};

}  // namespace lathe::app
