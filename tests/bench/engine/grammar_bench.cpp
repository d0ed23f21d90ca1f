// SPDX-License-Identifier: Apache-2.0
// Compiles constraints and walks through random answers under them: milliseconds to compile, microseconds a mask. Answers
// are drawn evenly from the allowed tokens, so that they reach places that no model would. Prints a JSON object a
// constraint.
//   grammar_bench TOKENIZER FILE... [--walks N] [--tokens N] [--vocabulary FILE]
// Each FILE holds a constraint as structured_outputs has it. --vocabulary writes the bytes of each token, in hex, a line
// each.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/tokenizer.h"
#include "engine/base/text_file.h"
#include "engine/sample/grammar/matcher.h"
#include "engine/sample/grammar/structured_outputs.h"

namespace {

using namespace lathe::engine;
using grammar::Matcher;
using grammar::Vocabulary;
using Clock = std::chrono::steady_clock;

struct Choice {
  std::string tokenizer, vocabulary;
  std::vector<std::string> files;
  int n_walks = 20, n_tokens = 200;
};

Choice read_choice(int argc, char** argv) {
  Choice choice;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--walks" && has_value) choice.n_walks = std::stoi(argv[++i]);
    else if (word == "--tokens" && has_value) choice.n_tokens = std::stoi(argv[++i]);
    else if (word == "--vocabulary" && has_value) choice.vocabulary = argv[++i];
    else if (choice.tokenizer.empty()) choice.tokenizer = word;
    else choice.files.push_back(word);
  }
  return choice;
}

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

/// Draws one of the allowed tokens; -1: none is allowed.
std::int32_t draw(const grammar::TokenMask& mask, std::mt19937_64& random) {
  std::vector<std::int32_t> ids;
  for (std::size_t word = 0; word < mask.words.size(); ++word) {
    for (std::uint64_t bits = mask.words[word]; bits != 0; bits &= bits - 1)
      ids.push_back(static_cast<std::int32_t>(word * 64) + __builtin_ctzll(bits));
  }
  return ids.empty() ? -1 : ids[random() % ids.size()];
}

struct Walks {
  std::vector<double> first_us, us;  ///< masks of the first answer, and of those that follow
  std::vector<std::string> answers;  ///< those that ended
};

/// Ends an answer with an even chance wherever it may end.
Walks walk(const grammar::Constraint& constraint, const grammar::MatcherParts& parts, const Choice& choice) {
  Walks walks;
  std::mt19937_64 random(1);
  for (int n = 0; n < choice.n_walks; ++n) {
    Matcher matcher(constraint.automaton, parts);
    std::string answer;
    for (int i = 0; i < choice.n_tokens; ++i) {
      const auto begin = Clock::now();
      const grammar::TokenMask& mask = matcher.mask();
      (n == 0 ? walks.first_us : walks.us).push_back(microseconds_since(begin));
      const std::int32_t token = mask.may_end && random() % 2 == 0 ? -1 : draw(mask, random);
      if (token < 0) {
        if (mask.may_end) walks.answers.push_back(answer);
        break;
      }
      answer += parts.vocabulary->text_of(token);
      matcher.accept(token);
    }
  }
  return walks;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

/// Best of some compilations, in microseconds.
double compile_us(std::string_view text) {
  double best = 1e12;
  for (int i = 0; i < 5; ++i) {
    const auto begin = Clock::now();
    if (!grammar::compile_constraint(text)) return 0;
    best = std::min(best, microseconds_since(begin));
  }
  return best;
}

void measure(const std::string& file, const std::shared_ptr<const Vocabulary>& vocabulary, const Choice& choice) {
  Json row = {{"file", file}};
  const auto text = read_text_file(file, 1U << 24);
  const auto constraint = text ? grammar::compile_constraint(*text) : tl::unexpected(text.error());
  if (constraint) {
    const Walks walks = walk(*constraint, {vocabulary, std::make_shared<grammar::TokenSetCache>()}, choice);
    row.update({{"compile_ms", compile_us(*text) / 1e3},
                {"first_answer_max_us", quantile(walks.first_us, 1)},
                {"mask_p50_us", quantile(walks.us, 0.5)},
                {"mask_p99_us", quantile(walks.us, 0.99)},
                {"answers", walks.answers}});
  } else {
    row["refused"] = fmt::format("{} ({})", constraint.error().message, constraint.error().where);
  }
  fmt::print("{}\n", dump_json(row));
}

void write_vocabulary(const Vocabulary& vocabulary, const std::string& path) {
  std::ofstream file(path);
  for (std::size_t id = 0; id < vocabulary.n_logits(); ++id) {
    for (const char byte : vocabulary.text_of(static_cast<std::int32_t>(id)))
      file << fmt::format("{:02x}", static_cast<unsigned char>(byte));
    file << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Choice choice = read_choice(argc, argv);
  if (choice.tokenizer.empty())
    return fmt::print(stderr, "grammar_bench TOKENIZER FILE... [--walks N] [--tokens N] [--vocabulary FILE]\n"), 2;
  const auto tokenizer = open_tokenizer(choice.tokenizer);
  if (!tokenizer) return fmt::print(stderr, "{}\n", tokenizer.error().message), 3;
  const auto vocabulary = std::make_shared<const Vocabulary>(**tokenizer, (*tokenizer)->vocab_size());
  if (!choice.vocabulary.empty()) write_vocabulary(*vocabulary, choice.vocabulary);
  for (const std::string& file : choice.files) measure(file, vocabulary, choice);
  return 0;
}
