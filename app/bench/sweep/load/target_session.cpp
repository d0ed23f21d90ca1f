// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/load/target_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>

#include "app/bench/sweep/load/request_plan.h"
#include "app/bench/sweep/plan/sampling_json.h"
#include "app/log/printable.h"
#include "app/server/error_status.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Json;
using engine::OrderedJson;
using engine::Result;

constexpr std::chrono::milliseconds kSessionPatience{50};
constexpr std::size_t kMostBody = 4u << 20;
constexpr std::size_t kOwnTokens = 8;  // tokens at the begin of a prompt that differ in every run
constexpr int kTrims = 8;
constexpr const char* kCompletions = "/v1/completions";

/// Words that, with the blank before them, are one token each in almost every vocabulary.
constexpr std::array<std::string_view, 48> kWords = {
    "the", "of", "and",  "to",   "in",   "is",    "that", "for",   "on",   "with", "as",   "was",
    "at",  "by", "from", "have", "not",  "this",  "are",  "but",   "had",  "they", "you",  "one",
    "all", "we", "can",  "her",  "has",  "there", "been", "if",    "more", "when", "will", "would",
    "who", "so", "no",   "said", "what", "up",    "its",  "about", "time", "than", "into", "out"};

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

template <class Value, class Values>
std::vector<Value> drawn(const Values& from, std::size_t n, std::mt19937_64& random) {
  std::uniform_int_distribution<std::size_t> any(0, from.size() - 1);
  std::vector<Value> values(n);
  for (Value& value : values) value = from[any(random)];
  return values;
}

/// Draws a prompt: the shared part, then its own; the first tokens of the whole differ in every run. For a later turn only
/// its own part is drawn.
struct PromptDraw {
  const SweepWorkload& workload;
  std::uint64_t seed = 0, run = 0;

  template <class Value, class Values>
  std::vector<Value> draw(const Values& from, const PlannedRequest& request, std::size_t index) const {
    const auto n = static_cast<std::size_t>(request.prompt_tokens);
    if (request.turn > 0) return own<Value>(from, request, index, n);
    const std::size_t n_shared = workload.shared_of(request.prompt_tokens);
    std::mt19937_64 shared_random = random_for(seed, Purpose::shared);
    // Prompts of a trace that begin with the same block get the same first tokens.
    const std::uint64_t begin = request.blocks.empty() ? index : static_cast<std::uint64_t>(request.blocks.front());
    std::mt19937_64 run_random(run + (n_shared == 0 ? begin : 0));
    std::vector<Value> values = drawn<Value>(from, std::min(n_shared, n), shared_random);
    const std::vector<Value> more = own<Value>(from, request, index, n - values.size());
    values.insert(values.end(), more.begin(), more.end());
    const std::vector<Value> first = drawn<Value>(from, std::min({n, kOwnTokens, n_shared > 0 ? n_shared : n}), run_random);
    std::copy(first.begin(), first.end(), values.begin());
    return values;
  }

 private:
  template <class Value, class Values>
  std::vector<Value> own(const Values& from, const PlannedRequest& request, std::size_t index, std::size_t n) const {
    std::mt19937_64 own_random = random_for(seed, Purpose::prompts, index);
    if (request.blocks.empty()) return drawn<Value>(from, n, own_random);
    std::vector<Value> values;
    for (const std::int64_t block : request.blocks) {
      std::mt19937_64 random = random_for(seed, Purpose::blocks, static_cast<std::uint64_t>(block));
      const std::vector<Value> more = drawn<Value>(from, kTraceBlock, random);
      values.insert(values.end(), more.begin(), more.end());
    }
    values.resize(n);
    return values;
  }
};

bool has_token_ids(const Json& answer) {
  return answer.is_object() && answer.contains("choices") && answer["choices"].is_array() && !answer["choices"].empty() &&
         answer["choices"][0].is_object() && answer["choices"][0].contains("token_ids") &&
         answer["choices"][0]["token_ids"].is_array();
}

/// Returns the address up to "/v1": users also give addresses of routes below it.
std::string base_of(std::string url) {
  const auto trim = [&url] {
    while (url.ends_with('/')) url.pop_back();
  };
  trim();
  for (const std::string_view route : {"/v1/chat/completions", "/v1/completions", "/v1/models", "/v1"}) {
    if (!url.ends_with(route)) continue;
    url.resize(url.size() - route.size());
    break;
  }
  trim();
  return url;
}

}  // namespace

bool holds_error(const Json& answer) {
  const auto object = answer.find("object");
  if (object != answer.end() && *object == "error") return true;
  const auto error = answer.find("error");
  if (error == answer.end() || error->is_null()) return false;
  if (error->is_boolean()) return error->get<bool>();
  if (error->is_number()) return error->get<double>() != 0;
  return error->is_string() ? !error->get_ref<const std::string&>().empty() : !error->empty();
}

std::string error_text(const std::string& body) {
  std::string words = body;
  if (const auto json = engine::parse_json(body, "body"); json && json->is_object()) {
    const Json& holder = json->contains("error") && (*json)["error"].is_object() ? (*json)["error"] : *json;
    for (const char* key : {"message", "detail", "error"}) {
      if (holder.contains(key)) {
        words = holder[key].is_string() ? holder[key].get<std::string>() : engine::dump_json(holder[key]);
        break;
      }
    }
  }
  return printable(words, 300);
}

std::string refusal_text(const http::AnswerHead& head, const std::string& body) {
  std::string words = fmt::format("the server answered {}", head.status);
  if (!body.empty()) words += ": " + error_text(body);
  const std::string_view location = head.value("Location"), pause = head.value("Retry-After");
  if (head.status / 100 == 3 && !location.empty()) {
    words += fmt::format("; it redirects to {}: use that address as the target", printable(location, 200));
  }
  if (!pause.empty()) words += fmt::format(" (Retry-After: {})", printable(pause, 40));
  return words;
}

TargetSession::TargetSession(const SweepTarget& target, http::ServerUrl url, http::ClientLimits limits)
    : target_(target), client_(std::move(url), limits) {}

Result<std::unique_ptr<TargetSession>> TargetSession::open(const SweepTarget& target, http::ClientLimits limits,
                                                           const std::function<bool()>& go_on) {
  LATHE_TRY(http::ServerUrl url, http::parse_server_url(base_of(target.url)));
  const bool is_plain =
      std::all_of(target.api_key.begin(), target.api_key.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!is_plain) return engine::fail(ErrorCode::invalid_argument, "has characters that are not allowed in a key", "api_key");
  std::unique_ptr<TargetSession> session(new TargetSession(target, std::move(url), limits));
  LATHE_TRY_VOID(session->find_model(go_on));
  LATHE_TRY_VOID(session->find_abilities(go_on));
  return session;
}

http::Call TargetSession::call(const char* method, const char* path, const OrderedJson& body) const {
  http::Call call{.method = method, .path = path};
  if (!body.is_null()) call.body = engine::dump_json(body);
  call.fields.push_back({"Accept-Encoding", "identity"});  // pieces of a compressed stream hold many tokens
  if (!target_.api_key.empty()) call.fields.push_back({"Authorization", "Bearer " + target_.api_key});
  return call;
}

Result<Json> TargetSession::ask(http::Call call, const std::function<bool()>& go_on) {
  struct Answer {
    http::AnswerHead head;
    std::string body;
    bool is_over = false;
    std::optional<engine::Error> problem;
  };
  const auto answer = std::make_shared<Answer>();
  const std::string path = call.path;
  client_.start(std::move(call), {.on_head = [answer](const http::AnswerHead& head) { answer->head = head; },
                                  .on_piece =
                                      [answer](std::string_view bytes) {
                                        if (answer->body.size() < kMostBody) answer->body += bytes;
                                      },
                                  .on_end =
                                      [answer](const std::optional<engine::Error>& problem) {
                                        answer->problem = problem;
                                        answer->is_over = true;
                                      }});
  while (!answer->is_over) {
    client_.run_for(kSessionPatience);
    if (!go_on()) {
      client_.abandon();
      return engine::fail(ErrorCode::cancelled, "stopped while a request was sent to the server", "target");
    }
  }
  if (answer->problem) return tl::unexpected(*answer->problem);
  const int status = answer->head.status;
  if (status != 200) return engine::fail(code_of(status), refusal_text(answer->head, answer->body), path);
  LATHE_TRY(Json json, engine::parse_json(answer->body, path));
  if (json.is_object() && holds_error(json))
    return engine::fail(ErrorCode::invalid_argument, "the server answered 200 with an error: " + error_text(answer->body),
                        path);
  return json;
}

Result<void> TargetSession::find_model(const std::function<bool()>& go_on) {
  if (!target_.model.empty()) return {};
  LATHE_TRY(const Json models, ask(call("GET", "/v1/models"), go_on));
  const bool has_one = models.is_object() && models.contains("data") && models["data"].is_array() &&
                       !models["data"].empty() && models["data"][0].is_object() && models["data"][0].contains("id") &&
                       models["data"][0]["id"].is_string();
  if (!has_one) return engine::fail(ErrorCode::not_found, "the server lists no model: give its name", "target model");
  target_.model = models["data"][0]["id"].get<std::string>();
  return {};
}

Result<std::vector<std::int32_t>> TargetSession::tokenize(const std::string& text, bool as_prompt,
                                                          const std::function<bool()>& go_on) {
  const OrderedJson body = {{"model", target_.model}, {"prompt", text}, {"add_special_tokens", as_prompt}};
  LATHE_TRY(const Json answer, ask(call("POST", "/tokenize", body), go_on));
  std::vector<std::int32_t> ids;
  if (answer.is_object() && answer.contains("tokens") && answer["tokens"].is_array()) {
    for (const Json& id : answer["tokens"]) {
      if (id.is_number_integer()) ids.push_back(id.get<std::int32_t>());
    }
  }
  return ids;
}

Result<void> TargetSession::find_abilities(const std::function<bool()>& go_on) {
  const auto ids = tokenize(joined({kWords.begin(), kWords.end()}), false, go_on);
  if (!ids && ids.error().code == ErrorCode::cancelled) return tl::unexpected(ids.error());
  counts_tokens_ = ids && !ids->empty();
  if (counts_tokens_) {
    const std::set<std::int32_t> distinct(ids->begin(), ids->end());
    ids_.assign(distinct.begin(), distinct.end());
  } else {
    // These ids are above the special and single-byte tokens at the begin of a vocabulary, and below the end of small
    // vocabularies.
    constexpr std::int32_t kFirst = 1000, kCount = 19'000;
    ids_.resize(kCount);
    std::iota(ids_.begin(), ids_.end(), kFirst);
  }
  std::optional<engine::Error> refusal;
  for (const bool with_ids : {true, false}) {
    for (const bool with_more : {true, false}) {
      takes_ids_ = with_ids;
      takes_more_ = with_more;
      const Json prompt = with_ids ? Json({ids_.front(), ids_.back()}) : Json("the time");
      const auto answer = ask(call("POST", kCompletions, request(prompt, {}, 1, "probe")), go_on);
      if (answer) {
        names_tokens_ = has_token_ids(*answer);
        return {};
      }
      refusal = answer.error();
      // Statuses 400 and 422 refuse the fields of the request.
      const bool is_of_fields = refusal->code == ErrorCode::invalid_argument || refusal->code == ErrorCode::model_refused;
      if (!is_of_fields) return tl::unexpected(*refusal);
    }
  }
  return tl::unexpected(*refusal);
}

OrderedJson TargetSession::request(const Json& prompt, const engine::SamplingParams& sampling, std::int64_t output_tokens,
                                   const std::string& cache_salt) const {
  OrderedJson body = {{"model", target_.model}, {"prompt", prompt}, {"max_tokens", output_tokens}};
  body.update(sampling_json(sampling));
  if (sampling.seed) body["seed"] = *sampling.seed;
  if (takes_more_) body.update(OrderedJson{{"ignore_eos", true}, {"return_token_ids", true}, {"cache_salt", cache_salt}});
  return body;
}

http::Call TargetSession::completion(const Json& prompt, const engine::SamplingParams& sampling, std::int64_t output_tokens,
                                     const std::string& cache_salt) const {
  OrderedJson body = request(prompt, sampling, output_tokens, cache_salt);
  body["stream"] = true;
  body["stream_options"] = {{"include_usage", true}};
  return call("POST", kCompletions, body);
}

Result<Json> TargetSession::trimmed(std::vector<std::string_view> words, const PlannedRequest& request,
                                    const std::function<bool()>& go_on) {
  const std::int64_t n_tokens = request.prompt_tokens;
  for (int trim = 0; counts_tokens_ && trim < kTrims; ++trim) {
    LATHE_TRY(const auto ids, tokenize(joined(words), request.turn == 0, go_on));
    const auto n = static_cast<std::int64_t>(ids.size());
    if (n == n_tokens || (n > n_tokens && words.size() == 1)) break;
    if (n < n_tokens) {
      for (std::int64_t i = n; i < n_tokens; ++i) words.push_back(kWords[static_cast<std::size_t>(i) % kWords.size()]);
    } else {
      const double share = static_cast<double>(n_tokens) / static_cast<double>(n);
      const auto fewer = static_cast<std::size_t>(share * static_cast<double>(words.size()));
      words.resize(std::clamp<std::size_t>(fewer, 1, words.size() - 1));
    }
  }
  return Json(joined(words));
}

Result<std::vector<Json>> TargetSession::prompts_of(const SweepWorkload& workload,
                                                    const std::vector<PlannedRequest>& requests, std::uint64_t seed,
                                                    const std::function<bool()>& go_on) {
  const PromptDraw prompt{.workload = workload,
                          .seed = seed,
                          .run = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count())};
  std::vector<Json> prompts;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const PlannedRequest& request = requests[i];
    if (!request.text.empty()) {
      prompts.emplace_back(request.text);
    } else if (takes_ids_ && (request.n_turns == 1 || names_tokens_)) {
      prompts.emplace_back(prompt.draw<std::int32_t>(ids_, request, i));
    } else {
      LATHE_TRY(Json text, trimmed(prompt.draw<std::string_view>(kWords, request, i), request, go_on));
      prompts.push_back(std::move(text));
    }
  }
  return prompts;
}

}  // namespace lathe::app
