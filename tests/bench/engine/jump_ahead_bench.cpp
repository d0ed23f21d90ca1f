// SPDX-License-Identifier: Apache-2.0
// Measures what structured outputs cost and save in an engine: time of an answer to a schema of fixed keys with and without
// jump-ahead, and time of a step of 16 sequences with and without a constraint. Prints a JSON object a measurement, with the
// median and the quartiles of the ratios of pairs that were measured one after the other.
//   jump_ahead_bench MODEL [--pairs N] [--threads N] [--quantization NAME]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "engine/api/engine.h"
#include "engine/api/json.h"

namespace {

using namespace lathe::engine;
using Clock = std::chrono::steady_clock;

constexpr int kSequences = 16;

struct Choice {
  EngineOptions options;
  int n_pairs = 15;
};

Choice read_choice(int argc, char** argv) {
  Choice choice;
  choice.options.max_model_len = 1024;
  choice.options.enable_prefix_caching = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--pairs" && has_value) choice.n_pairs = std::stoi(argv[++i]);
    else if (word == "--threads" && has_value) choice.options.threads = std::stoi(argv[++i]);
    else if (word == "--quantization" && has_value) choice.options.quantization = argv[++i];
    else choice.options.model = word;
  }
  return choice;
}

/// The record of a customer: twelve keys, short values.
std::string keys_schema(bool jump_ahead, const char* whitespace) {
  OrderedJson properties = OrderedJson::object(), required = OrderedJson::array();
  for (const char* name : {"customer_identifier", "first_name_initial", "account_balance_cents", "is_active_account",
                           "preferred_language", "number_of_orders", "shipping_country_code", "newsletter_subscription",
                           "loyalty_program_level", "last_contact_channel", "payment_method", "requires_follow_up"}) {
    const auto i = required.size();
    properties[name] = i % 3 == 0   ? OrderedJson{{"type", "integer"}, {"minimum", 0}, {"maximum", 9}}
                       : i % 3 == 1 ? OrderedJson{{"enum", {"a", "b", "c"}}}
                                    : OrderedJson{{"type", "boolean"}};
    required.push_back(name);
  }
  return dump_json(OrderedJson{{"jump_ahead", jump_ahead},
                               {"whitespace", whitespace},
                               {"json", {{"type", "object"}, {"properties", properties}, {"required", required}}}});
}

struct Run {
  double ms = 0;
  std::uint64_t n_steps = 0, n_tokens = 0, n_jumped = 0;
  double ms_a_step() const { return ms / static_cast<double>(n_steps); }
};

/// Answers of as many sequences at once, from the first submission to the last token.
Run run(Engine& engine, const std::string& constraint, int n_sequences, std::int64_t max_tokens) {
  const EngineCounters before = engine.snapshot()->counters;
  std::vector<RequestHandlePtr> handles;
  const auto begin = Clock::now();
  for (int i = 0; i < n_sequences; ++i) {
    GenerateRequest request;
    request.prompt_token_ids.assign(16, 20 + i);
    request.sampling.structured_outputs = constraint;
    request.sampling.max_tokens = max_tokens;
    request.sampling.ignore_eos = true;
    request.sampling.seed = static_cast<std::uint64_t>(i);
    auto handle = engine.submit(std::move(request));
    if (!handle) {
      fmt::print(stderr, "{}\n", handle.error().message);
      std::exit(3);
    }
    handles.push_back(*handle);
  }
  for (const RequestHandlePtr& handle : handles) {
    TokenEvent event;
    while (!event.finished) handle->wait(event, std::chrono::seconds(1));
  }
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  while (engine.snapshot()->n_running > 0) std::this_thread::yield();
  const EngineCounters after = engine.snapshot()->counters;
  return {.ms = ms,
          .n_steps = after.n_steps - before.n_steps,
          .n_tokens = after.n_generation_tokens - before.n_generation_tokens,
          .n_jumped = after.n_jumped_tokens - before.n_jumped_tokens};
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

void print(const char* name, Json row, const std::vector<double>& ratios) {
  row["name"] = name;
  row.update(
      {{"ratio", quantile(ratios, 0.5)}, {"ratio_q25", quantile(ratios, 0.25)}, {"ratio_q75", quantile(ratios, 0.75)}});
  fmt::print("{}\n", dump_json(row));
}

void measure_jumps(Engine& engine, int n_sequences, const char* whitespace, int n_pairs) {
  std::vector<double> on_ms, off_ms, ratios;
  Run on, off;
  for (int i = -1; i < n_pairs; ++i) {
    off = run(engine, keys_schema(false, whitespace), n_sequences, 400);
    on = run(engine, keys_schema(true, whitespace), n_sequences, 400);
    if (i < 0) continue;  // compiles both
    on_ms.push_back(on.ms);
    off_ms.push_back(off.ms);
    ratios.push_back(off.ms / on.ms);
  }
  print("answer without jump-ahead / with",
        {{"sequences", n_sequences},
         {"whitespace", whitespace},
         {"tokens", on.n_tokens},
         {"jumped", on.n_jumped},
         {"steps_on", on.n_steps},
         {"steps_off", off.n_steps},
         {"ms_on", quantile(on_ms, 0.5)},
         {"ms_off", quantile(off_ms, 0.5)}},
        ratios);
}

/// A string is where masks are made at each token, and no text is forced.
void measure_masks(Engine& engine, int n_pairs) {
  const std::string text = R"({"json": {"type": "string", "minLength": 2000}})";
  std::vector<double> with_ms, without_ms, ratios;
  for (int i = -1; i < n_pairs; ++i) {
    const Run without = run(engine, {}, kSequences, 100), with = run(engine, text, kSequences, 100);
    if (i < 0) continue;
    with_ms.push_back(with.ms_a_step());
    without_ms.push_back(without.ms_a_step());
    ratios.push_back(with.ms_a_step() / without.ms_a_step());
  }
  print("step with constraints / without",
        {{"sequences", kSequences}, {"ms_with", quantile(with_ms, 0.5)}, {"ms_without", quantile(without_ms, 0.5)}}, ratios);
}

}  // namespace

int main(int argc, char** argv) {
  const Choice choice = read_choice(argc, argv);
  if (choice.options.model.empty())
    return fmt::print(stderr, "jump_ahead_bench MODEL [--pairs N] [--threads N] [--quantization NAME]\n"), 2;
  const auto engine = load_engine(choice.options);
  if (!engine) return fmt::print(stderr, "{}\n", engine.error().message), 3;
  for (const int n_sequences : {1, kSequences}) {
    for (const char* whitespace : {"none", "flexible"}) measure_jumps(**engine, n_sequences, whitespace, choice.n_pairs);
  }
  measure_masks(**engine, choice.n_pairs);
  return 0;
}
