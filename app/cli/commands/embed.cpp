// SPDX-License-Identifier: Apache-2.0
// lathe embed: converts texts to vectors.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "app/cli/json_lines.h"
#include "app/cli/model_command.h"
#include "app/cli/token_ids.h"
#include "engine/api/embed.h"

namespace lathe::app {

extern const Command kEmbedCommand;

namespace {

using engine::Embedder;
using engine::ErrorCode;
using engine::Json;
using engine::OrderedJson;
using engine::Result;

// Elements of a vector that are shown without --json.
constexpr std::size_t kShown = 8;

using Ids = std::vector<std::int32_t>;

struct EmbedFlags {
  std::optional<std::string> prompt, prompt_ids;
  bool batch = false, json = false;
};

void add_flags(CLI::App& parser, EmbedFlags& flags) {
  parser.add_option("--prompt", flags.prompt, "Text to embed; the tokenizer adds its special tokens.")
      ->group("Text, one of");
  parser.add_option("--prompt-ids", flags.prompt_ids, "The text as comma-separated token IDs; nothing is added.")
      ->type_name("1,2,3")
      ->group("Text, one of");
  parser
      .add_flag("--batch", flags.batch,
                "Each line of stdin is a JSON string; each line of stdout is the JSON of its vector.")
      ->group("Text, one of");
  parser.add_flag("--json", flags.json, "Print one JSON object with all numbers on stdout.");
  parser.footer(
      "The pooling, and whether vectors have length 1, are set by modules.json and 1_Pooling/config.json of the folder.");
}

Result<void> check(const EmbedFlags& flags) {
  if ((flags.prompt ? 1 : 0) + (flags.prompt_ids ? 1 : 0) + (flags.batch ? 1 : 0) == 1) return {};
  return engine::fail(ErrorCode::invalid_argument, "give one of --prompt, --prompt-ids and --batch");
}

Result<Ids> ids_of_text(const Embedder& embedder, std::string_view text) {
  LATHE_TRY(const engine::Tokenizer* tokenizer, embedder.tokenizer());
  return tokenizer->encode(text, true, false);
}

OrderedJson result_json(const Embedder& embedder, const Ids& ids, const std::vector<float>& vector) {
  return {{"embedding", vector},
          {"dimensions", vector.size()},
          {"pooling", engine::name_of(embedder.info().pooling)},
          {"normalized", embedder.info().normalises},
          {"prompt_token_ids", ids},
          {"usage", {{"prompt_tokens", ids.size()}, {"total_tokens", ids.size()}}}};
}

std::string summary(const Embedder& embedder, const Ids& ids, const std::vector<float>& vector) {
  double squares = 0;
  for (const float x : vector) squares += static_cast<double>(x) * x;
  const auto shown = std::span(vector).first(std::min(vector.size(), kShown));
  return fmt::format("{} numbers of {} tokens, pooled by {}, length {:.4f}\n{:.6f}{}\n", vector.size(), ids.size(),
                     engine::name_of(embedder.info().pooling), std::sqrt(squares), fmt::join(shown, " "),
                     shown.size() < vector.size() ? " ... (--json prints all)" : "");
}

Result<std::string> answer(Embedder& embedder, std::string_view line) {
  LATHE_TRY(const Json text, engine::parse_json(line, ""));
  if (!text.is_string())
    return engine::fail(ErrorCode::invalid_argument, fmt::format("must be a JSON string, not a {}", text.type_name()));
  LATHE_TRY(const Ids ids, ids_of_text(embedder, text.get_ref<const std::string&>()));
  LATHE_TRY(const auto vector, embedder.embed(ids));
  return engine::dump_json(result_json(embedder, ids, vector));
}

int embed_one(ModelCommand& command, Embedder& embedder, const EmbedFlags& flags, Terminal& terminal) {
  const Result<Ids> ids =
      flags.prompt ? ids_of_text(embedder, *flags.prompt) : parse_token_ids(*flags.prompt_ids, "--prompt-ids");
  if (!ids) return command.fail(ids.error());
  const auto vector = embedder.embed(*ids);
  if (!vector) return command.fail(vector.error());
  if (flags.json) {
    terminal.out << engine::dump_json(result_json(embedder, *ids, *vector)) << '\n';
  } else {
    terminal.out << summary(embedder, *ids, *vector);
  }
  return kExitDone;
}

int embed(const std::vector<std::string>& arguments, Terminal& terminal) {
  ModelCommand command(kEmbedCommand, terminal);
  EmbedFlags flags;
  add_flags(command.parser(), flags);
  if (const auto code = command.parse(arguments)) return *code;
  if (const auto usable = check(flags); !usable) return command.fail(usable.error());
  const auto options = command.engine_options();
  if (!options) return command.fail(options.error());
  const auto observe = [&](std::int64_t bytes) {
    command.progress(fmt::format("loading, {} MiB", bytes >> 20));
    return !command.signals().requested();
  };
  const auto embedder = engine::open_embedder(*options, observe);
  command.progress({});
  if (!embedder) return command.fail(embedder.error());
  if (!flags.batch) return embed_one(command, **embedder, flags, terminal);
  return answer_lines(terminal, command.parser(), [&](std::string_view line) { return answer(**embedder, line); });
}

}  // namespace

extern constexpr Command kEmbedCommand = {.name = "embed", .help = "Convert texts to vectors.", .run = embed};

}  // namespace lathe::app
