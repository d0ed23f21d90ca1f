// SPDX-License-Identifier: Apache-2.0
// lathe tokenize: converts texts to token ids.
#include <fmt/format.h>

#include "app/cli/tokenizer_command.h"
#include "app/log/printable.h"
#include "engine/api/json.h"

namespace lathe::app {

extern const Command kTokenizeCommand;

namespace {

using engine::ErrorCode;
using engine::Json;
using engine::Result;

struct TokenizeFlags {
  std::string text;
  bool add_special = false, parse_special = false, json = false;
};

void add_flags(CLI::App& parser, TokenizeFlags& flags) {
  parser.add_option("TEXT", flags.text, "Text; default: read it from stdin.");
  parser.add_flag("--add-special", flags.add_special,
                  "Add the special tokens that the tokenizer puts around a text, such as BOS.");
  parser.add_flag("--parse-special", flags.parse_special,
                  "Read control tokens that are written out in the text. Do not use it for untrusted text.");
  parser.add_flag("--json", flags.json, "Print the token IDs as one JSON list instead of a table with the pieces.");
  parser.footer("With --batch each line of stdin is a JSON string, and each line of stdout is the list of its token IDs.");
}

Result<std::vector<std::int32_t>> ids_of(const TokenizerCommand& command, const TokenizeFlags& flags,
                                         std::string_view text) {
  return command.tokenizer().encode(text, flags.add_special, flags.parse_special);
}

Result<std::string> answer(const TokenizerCommand& command, const TokenizeFlags& flags, std::string_view line) {
  LATHE_TRY(const Json text, engine::parse_json(line, ""));
  if (!text.is_string())
    return engine::fail(ErrorCode::invalid_argument, fmt::format("must be a JSON string, not a {}", text.type_name()));
  LATHE_TRY(const auto ids, ids_of(command, flags, text.get_ref<const std::string&>()));
  return fmt::format("[{}]", fmt::join(ids, ","));
}

std::string table(const engine::Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
  std::string text;
  for (const std::int32_t id : ids) {
    text +=
        fmt::format("{:>8}  \"{}\"{}\n", id, printable(tokenizer.piece(id)), tokenizer.is_special(id) ? "  control" : "");
  }
  return text + fmt::format("{} token{}\n", ids.size(), ids.size() == 1 ? "" : "s");
}

int tokenize(const std::vector<std::string>& arguments, Terminal& terminal) {
  TokenizerCommand command(kTokenizeCommand, terminal);
  TokenizeFlags flags;
  add_flags(command.parser(), flags);
  if (const auto code = command.open(arguments)) return *code;
  const bool has_text = command.parser().count("TEXT") > 0;
  if (command.is_batch() && has_text) {
    return command.fail({ErrorCode::invalid_argument, "--batch reads its texts from stdin, so TEXT has no effect", ""});
  }
  if (command.is_batch()) {
    return command.answer_lines([&](std::string_view line) { return answer(command, flags, line); });
  }
  if (!has_text) {
    auto input = command.read_input();
    if (!input) return command.fail(input.error());
    flags.text = std::move(*input);
  }
  const auto ids = ids_of(command, flags, flags.text);
  if (!ids) return command.fail(ids.error());
  terminal.out << (flags.json ? fmt::format("[{}]\n", fmt::join(*ids, ",")) : table(command.tokenizer(), *ids));
  return kExitDone;
}

}  // namespace

extern constexpr Command kTokenizeCommand = {.name = "tokenize", .help = "Convert texts to token IDs.", .run = tokenize};

}  // namespace lathe::app
