// SPDX-License-Identifier: Apache-2.0
// TargetSession: a server of the OpenAI protocol that is measured from outside: what it understands, and prompts for it.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "app/api/sweep_plan.h"
#include "app/bench/sweep/run_record.h"
#include "app/server/http/client.h"
#include "engine/api/json.h"

namespace lathe::app {

/// Prompts and the rest of a request as JSON. Thread: one.
class TargetSession {
 public:
  /// Asks what the server has: its first model, /tokenize, and whether it takes token ids and vLLM's fields beyond OpenAI's
  /// (ignore_eos, cache_salt, return_token_ids). `go_on` is asked many times a second.
  /// Errors: invalid_argument of the URL; unavailable, deadline_exceeded; a refusal with the server's own words; cancelled.
  static engine::Result<std::unique_ptr<TargetSession>> open(const SweepTarget& target, http::ClientLimits limits,
                                                             const std::function<bool()>& go_on);

  http::Client& client() { return client_; }
  /// One prompt a request: its text, or so many tokens; of a later turn what is new. Where the
  /// server has no way to count them, about so many: its usage then says how many. No prompt begins like one of an earlier
  /// run, so that no prefix cache has it.
  engine::Result<std::vector<engine::Json>> prompts_of(const SweepWorkload& workload,
                                                       const std::vector<PlannedRequest>& requests, std::uint64_t seed,
                                                       const std::function<bool()>& go_on);
  /// A streamed completion.
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
  std::vector<std::int32_t> ids_;  ///< that prompts are drawn from
};

/// True if the answer says that something went wrong, whatever its status. Many servers send "error": null with each answer.
bool holds_error(const engine::Json& answer);
/// The words of an error's body, one line: of OpenAI's "error" object, "message" or "detail", or the body itself.
std::string error_text(const std::string& body);
/// The message of an answer with a status other than 200, with the status and the advice of its fields (Retry-After).
std::string refusal_text(const http::AnswerHead& head, const std::string& body);

}  // namespace lathe::app
