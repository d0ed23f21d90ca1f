// SPDX-License-Identifier: Apache-2.0
// lathe detokenize: converts token ids to texts.
#include <fmt/format.h>

#include <charconv>

#include "app/cli/tokenizer_command.h"
#include "engine/api/json.h"

namespace lathe::app {

extern const Command kDetokenizeCommand;

namespace {

using engine::ErrorCode;
using engine::Json;
using engine::Result;

constexpr engine::JsonLimits kLineLimits{.max_depth = 2, .max_nodes = 16'000'000};

Result<void> check_id(const TokenizerCommand& command, std::int64_t id) {
  const std::int32_t n = command.tokenizer().vocab_size();
  if (id >= 0 && id < n) return {};
  return engine::fail(ErrorCode::invalid_argument, fmt::format("{} is not a token ID of this vocabulary of {}", id, n));
}

Result<std::vector<std::int32_t>> ids_of_json(const TokenizerCommand& command, std::string_view line) {
  LATHE_TRY(const Json list, engine::parse_json(line, "", kLineLimits));
  if (!list.is_array()) {
    return engine::fail(ErrorCode::invalid_argument,
                        fmt::format("must be a JSON list of token IDs, not a {}", list.type_name()));
  }
  std::vector<std::int32_t> ids;
  for (const Json& item : list) {
    if (!item.is_number_integer()) {
      return engine::fail(ErrorCode::invalid_argument, fmt::format("item {} is not a whole number", ids.size()));
    }
    const auto id = item.get<std::int64_t>();
    LATHE_TRY_VOID(check_id(command, id));
    ids.push_back(static_cast<std::int32_t>(id));
  }
  return ids;
}

/// Parses numbers separated by blanks, commas or brackets.
Result<std::vector<std::int32_t>> ids_of_text(const TokenizerCommand& command, std::string_view text) {
  constexpr std::string_view kBetween = " ,[]\t\r\n";
  std::vector<std::int32_t> ids;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kBetween), text.size()));
    if (text.empty()) return ids;
    const std::string_view word = text.substr(0, text.find_first_of(kBetween));
    std::int64_t id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size()) {
      return engine::fail(ErrorCode::invalid_argument, fmt::format("\"{}\" is not a token ID", word.substr(0, 64)));
    }
    LATHE_TRY_VOID(check_id(command, id));
    ids.push_back(static_cast<std::int32_t>(id));
    text.remove_prefix(word.size());
  }
}

int detokenize(const std::vector<std::string>& arguments, Terminal& terminal) {
  TokenizerCommand command(kDetokenizeCommand, terminal);
  std::vector<std::string> words;
  bool skip_special = false;
  command.parser().add_option("IDS", words, "Token IDs; default: read them from stdin.");
  command.parser().add_flag("--skip-special", skip_special, "Leave control tokens out of the text.");
  command.parser().footer(
      "With --batch each line of stdin is a JSON list of token IDs, and each line of stdout is a JSON string. Bytes that "
      "are not a character become U+FFFD.");
  if (const auto code = command.open(arguments)) return *code;
  if (command.is_batch() && !words.empty()) {
    return command.fail({ErrorCode::invalid_argument, "--batch reads token IDs from stdin, so IDS has no effect", ""});
  }
  if (command.is_batch()) {
    return command.answer_lines([&](std::string_view line) -> Result<std::string> {
      LATHE_TRY(const auto ids, ids_of_json(command, line));
      return engine::dump_json(Json(command.tokenizer().decode(ids, skip_special)));
    });
  }
  std::string input = fmt::format("{}", fmt::join(words, " "));
  if (words.empty()) {
    auto read = command.read_input();
    if (!read) return command.fail(read.error());
    input = std::move(*read);
  }
  const auto ids = ids_of_text(command, input);
  if (!ids) return command.fail(ids.error());
  terminal.out << command.tokenizer().decode(*ids, skip_special) << '\n';
  return kExitDone;
}

}  // namespace

extern constexpr Command kDetokenizeCommand = {
    .name = "detokenize", .help = "Convert token IDs to text.", .run = detokenize};

}  // namespace lathe::app
