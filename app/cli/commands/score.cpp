// SPDX-License-Identifier: Apache-2.0
// lathe score: how well documents answer a query, by a reranker, a cross-encoder, or the cosine of two vectors.
#include <fmt/format.h>

#include <chrono>
#include <deque>

#include "app/cli/json_lines.h"
#include "app/cli/model_command.h"
#include "app/server/embed/pair_scores.h"

namespace lathe::app {

extern const Command kScoreCommand;

namespace {

using engine::ErrorCode;
using engine::Json;
using engine::OrderedJson;
using engine::Result;

/// Texts that are in the engine at a time: enough for its batches, few enough for its queue.
constexpr std::size_t kMostRunning = 64;
constexpr std::chrono::milliseconds kScorePatience{50};

struct ScoreFlags {
  std::optional<std::string> query;
  std::vector<std::string> documents;
  bool batch = false, json = false, raw = false;
};

struct Scores {
  std::vector<double> of_documents;
  std::size_t n_tokens = 0;
};

void add_flags(CLI::App& parser, ScoreFlags& flags) {
  parser.add_option("--query", flags.query, "Text that the documents are compared with.")->group("Texts");
  parser.add_option("--document", flags.documents, "Text that gets a score; may be repeated.")
      ->group("Texts")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  parser
      .add_flag(
          "--batch", flags.batch,
          "Each line of stdin is {\"query\": ..., \"documents\": [...]}; each line of stdout is the JSON of its scores.")
      ->group("Texts");
  parser.add_flag("--logits", flags.raw, "Print the logits of a classifier, without its activation.");
  parser.add_flag("--json", flags.json, "Print one JSON object on stdout.");
  parser.footer(
      "A model with a classifier of one label reads the query and a document as one text. Other models score by the cosine "
      "of "
      "the two vectors.");
}

Result<void> check(const ScoreFlags& flags) {
  const bool has_texts = flags.query && !flags.documents.empty();
  const bool has_any = flags.query || !flags.documents.empty();
  if (flags.batch ? !has_any : has_texts) return {};
  return engine::fail(ErrorCode::invalid_argument, "give --query and one or more --document, or --batch");
}

/// Asks the engine for the vector of each text.
Result<std::vector<std::vector<float>>> vectors_of(engine::Engine& engine, const PairPlan& plan, StopSignals& signals) {
  std::vector<std::vector<float>> vectors;
  std::deque<engine::RequestHandlePtr> running;
  for (std::size_t next = 0; vectors.size() < plan.texts.size();) {
    while (next < plan.texts.size() && running.size() < kMostRunning) {
      engine::GenerateRequest request;
      request.prompt_token_ids = plan.texts[next].ids;
      request.source = "cli";
      request.pooling = plan.pooling;
      request.pooling->second_begin = plan.texts[next++].second_begin;
      LATHE_TRY(engine::RequestHandlePtr handle, engine.submit(std::move(request)));
      running.push_back(std::move(handle));
    }
    engine::TokenEvent event;
    while (!event.finished) {
      if (signals.requested()) return engine::fail(ErrorCode::cancelled, "was stopped by a signal");
      event = {};
      running.front()->wait(event, kScorePatience);
    }
    if (event.error) return tl::unexpected(*event.error);
    vectors.push_back(std::move(event.vector));
    running.pop_front();
  }
  return vectors;
}

Result<Scores> score(ModelCommand& command, const TextPairs& pairs, bool raw) {
  const EngineLease lease = command.workbench().models().lease();
  engine::Engine& engine = lease->embedder();
  const TextInput input(engine, {});
  const auto& labels = engine.model().labels;
  if (raw && !labels)
    return engine::fail(ErrorCode::invalid_argument, "the model has no classifier, so its scores have no logits",
                        "--logits");
  LATHE_TRY(const PairPlan plan,
            labels ? plan_cross_encoder(input, pairs, *labels, !raw) : plan_vectors(input, input, pairs));
  LATHE_TRY(const auto vectors, vectors_of(engine, plan, command.signals()));
  Scores scores;
  for (const VectorText& text : plan.texts) scores.n_tokens += text.ids.size();
  for (std::size_t i = 0; i < pairs.second.size(); ++i) scores.of_documents.push_back(plan.score(vectors, i));
  return scores;
}

std::string scores_json(const Scores& scores) {
  return engine::dump_json(OrderedJson{{"scores", scores.of_documents},
                                       {"usage", {{"prompt_tokens", scores.n_tokens}, {"total_tokens", scores.n_tokens}}}});
}

Result<std::string> text_of(const Json& value, const std::string& path) {
  if (value.is_string()) return value.get<std::string>();
  return engine::fail(ErrorCode::invalid_argument, fmt::format("must be a string, not a {}", value.type_name()), path);
}

Result<std::string> answer_line(ModelCommand& command, std::string_view line, bool raw) {
  LATHE_TRY(const Json json, engine::parse_json(line, ""));
  if (!json.is_object() || !json.contains("query") || !json.contains("documents"))
    return engine::fail(ErrorCode::invalid_argument, "must be an object with \"query\" and \"documents\"");
  TextPairs pairs{.first = {}, .second = {}, .first_name = "query", .second_name = "documents"};
  LATHE_TRY(std::string query, text_of(json["query"], "query"));
  pairs.first.push_back(std::move(query));
  LATHE_TRY_VOID(read_text_list(&json["documents"], "documents", !json["documents"].is_array(),
                                [&](const Json& item, const std::string& path) -> Result<void> {
                                  LATHE_TRY(std::string document, text_of(item, path));
                                  pairs.second.push_back(std::move(document));
                                  return {};
                                }));
  LATHE_TRY(const Scores scores, score(command, pairs, raw));
  return scores_json(scores);
}

int score_once(ModelCommand& command, const ScoreFlags& flags, Terminal& terminal) {
  const TextPairs pairs{
      .first = {*flags.query}, .second = flags.documents, .first_name = "--query", .second_name = "--document"};
  const Result<Scores> scores = score(command, pairs, flags.raw);
  if (!scores) return command.fail(scores.error());
  if (flags.json) {
    terminal.out << scores_json(*scores) << '\n';
    return kExitDone;
  }
  for (std::size_t i = 0; i < pairs.second.size(); ++i)
    terminal.out << fmt::format("{:.6f}\t{}\n", scores->of_documents[i], pairs.second[i]);
  return kExitDone;
}

int score_texts(const std::vector<std::string>& arguments, Terminal& terminal) {
  ModelCommand command(kScoreCommand, terminal);
  ScoreFlags flags;
  add_flags(command.parser(), flags);
  if (const auto code = command.parse(arguments)) return *code;
  if (const auto usable = check(flags); !usable) return command.fail(usable.error());
  const auto options = command.engine_options();
  if (!options) return command.fail(options.error());
  if (const auto loaded = command.load(*options); !loaded) return command.fail(loaded.error());
  if (!flags.batch) return score_once(command, flags, terminal);
  return answer_lines(terminal, command.parser(),
                      [&](std::string_view line) { return answer_line(command, line, flags.raw); });
}

}  // namespace

extern constexpr Command kScoreCommand = {
    .name = "score", .help = "Score how well documents answer a query.", .run = score_texts};

}  // namespace lathe::app
