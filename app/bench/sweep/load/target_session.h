// SPDX-License-Identifier: Apache-2.0
// TargetSession: a server of the OpenAI protocol that is measured from outside: detects its capabilities and makes prompts
// for it.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "app/api/sweep_plan.h"
#include "app/bench/sweep/result/run_record.h"
#include "app/server/http/client.h"
#include "engine/api/json.h"

namespace lathe::app {

/// Builds the prompts and the other fields of requests as JSON. Thread: one.
class TargetSession {
 public:
  /// Probes the server: its first model, /tokenize, and whether it accepts token ids and vLLM's fields beyond OpenAI's
  /// (ignore_eos, cache_salt, return_token_ids). `go_on` is called many times a second. Errors: invalid_argument of the URL;
  /// unavailable, deadline_exceeded; a refusal, with the server's message; cancelled.
  static engine::Result<std::unique_ptr<TargetSession>> open(const SweepTarget& target, http::ClientLimits limits,
                                                             const std::function<bool()>& go_on);

  http::Client& client() { return client_; }
  /// Returns one prompt per request: its text, or prompt_tokens tokens; for a later turn only the new part. If the server
  /// cannot count tokens, prompts have about that many, and its usage reports the number. Each prompt begins with tokens
  /// that no earlier run used, so that no prefix cache has it.
  engine::Result<std::vector<engine::Json>> prompts_of(const SweepWorkload& workload,
                                                       const std::vector<PlannedRequest>& requests, std::uint64_t seed,
                                                       const std::function<bool()>& go_on);
  /// Builds the call of a streamed completion.
  http::Call completion(const engine::Json& prompt, const engine::SamplingParams& sampling, std::int64_t output_tokens,
                        const std::string& cache_salt) const;

 private:
  TargetSession(const SweepTarget& target, http::ServerUrl url, http::ClientLimits limits);
  engine::Result<engine::Json> ask(http::Call call, const std::function<bool()>& go_on);
  engine::Result<void> find_model(const std::function<bool()>& go_on);
  engine::Result<void> find_abilities(const std::function<bool()>& go_on);
  engine::Result<std::vector<std::int32_t>> tokenize(const std::string& text, bool as_prompt,
                                                     const std::function<bool()>& go_on);
  engine::Result<engine::Json> trimmed(std::vector<std::string_view> words, const PlannedRequest& request,
                                       const std::function<bool()>& go_on);
  engine::OrderedJson request(const engine::Json& prompt, const engine::SamplingParams& sampling, std::int64_t output_tokens,
                              const std::string& cache_salt) const;
  http::Call call(const char* method, const char* path, const engine::OrderedJson& body = {}) const;

  SweepTarget target_;
  http::Client client_;
  bool takes_ids_ = true, takes_more_ = true, counts_tokens_ = false, names_tokens_ = false;
  std::vector<std::int32_t> ids_;  ///< vocabulary that prompts are drawn from
};

/// True if the answer says that something went wrong, whatever its status. Many servers send "error": null with each answer.
bool holds_error(const engine::Json& answer);
/// The words of an error's body, one line: of OpenAI's "error" object, "message" or "detail", or the body itself.
std::string error_text(const std::string& body);
/// Describes an answer with a status other than 200: status, message and the advice of its fields (Location, Retry-After).
std::string refusal_text(const http::AnswerHead& head, const std::string& body);

}  // namespace lathe::app
