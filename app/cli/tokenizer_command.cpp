// SPDX-License-Identifier: Apache-2.0
#include "app/cli/tokenizer_command.h"

#include <fmt/format.h>

#include "app/cli/line_reader.h"
#include "app/cli/model_command.h"
#include "app/cli/stop_signals.h"

namespace lathe::app {

TokenizerCommand::TokenizerCommand(const Command& command, Terminal& terminal)
    : terminal_(terminal), parser_(std::string(command.help), program_name(command)) {
  parser_
      .add_option("--tokenizer", path_,
                  "Folder of a checkpoint, or one file: tokenizer.json, tokenizer.model or a GGUF file.")
      ->type_name("PATH");
  parser_.add_flag("--batch", batch_, "JSONL on stdin, JSONL on stdout; an invalid line ends the command.");
}

std::optional<int> TokenizerCommand::open(const std::vector<std::string>& arguments) {
  if (const auto code = parse(parser_, arguments, terminal_)) return code;
  if (path_.empty()) return fail({engine::ErrorCode::invalid_argument, "no tokenizer was given", "--tokenizer"});
  auto opened = engine::open_tokenizer(path_);
  if (!opened) return fail(opened.error());
  tokenizer_ = std::move(*opened);
  return std::nullopt;
}

engine::Result<std::string> TokenizerCommand::read_input() {
  constexpr std::size_t kMaxBytes = 256u << 20;
  StopSignals signals;
  auto text = LineReader(terminal_.in_fd, signals.fd()).rest(kMaxBytes);
  if (!text) return engine::fail(engine::ErrorCode::cancelled, "interrupted", "standard input");
  if (text->size() > kMaxBytes) {
    return engine::fail(engine::ErrorCode::too_large, fmt::format("it has more than {} bytes; use --batch", kMaxBytes),
                        "standard input");
  }
  return *std::move(text);
}

int TokenizerCommand::fail(const engine::Error& error) { return report(terminal_, parser_, error); }

}  // namespace lathe::app
