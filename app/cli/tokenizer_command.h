// SPDX-License-Identifier: Apache-2.0
// TokenizerCommand: the common part of commands over a tokenizer: which tokenizer, and one text or many.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/command.h"
#include "app/cli/json_lines.h"
#include "engine/api/tokenizer.h"

namespace lathe::app {

class TokenizerCommand {
 public:
  TokenizerCommand(const Command& command, Terminal& terminal);

  CLI::App& parser() { return parser_; }
  /// Opens the tokenizer; nothing: the command goes on. Otherwise the exit code, after the help or an error message was
  /// written.
  std::optional<int> open(const std::vector<std::string>& arguments);
  /// Requires: open() returned nothing.
  const engine::Tokenizer& tokenizer() const { return *tokenizer_; }
  bool is_batch() const { return batch_; }
  int answer_lines(const LineAnswer& answer) { return app::answer_lines(terminal_, parser_, answer); }
  /// Returns all of stdin. Errors: too_large, cancelled when a signal came.
  engine::Result<std::string> read_input();
  int fail(const engine::Error& error);

 private:
  Terminal& terminal_;
  CLI::App parser_;
  std::string path_;
  bool batch_ = false;
  std::unique_ptr<engine::Tokenizer> tokenizer_;
};

}  // namespace lathe::app
