// SPDX-License-Identifier: Apache-2.0
// What the commands over a tokenizer share: which one, and one text or many.
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
  /// None: go on, the tokenizer is open. Else the exit code, and what is wrong has been said.
  std::optional<int> open(const std::vector<std::string>& arguments);
  /// Requires: open() said go on.
  const engine::Tokenizer& tokenizer() const { return *tokenizer_; }
  bool is_batch() const { return batch_; }
  int answer_lines(const LineAnswer& answer) { return app::answer_lines(terminal_, parser_, answer); }
  /// All of stdin. Errors: too_large, cancelled when a signal came.
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
