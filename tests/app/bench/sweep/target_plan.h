// SPDX-License-Identifier: Apache-2.0
// Plans of sweeps of a server, and a server that gives a scripted answer to each completion.
#pragma once

#include <QtGlobal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/bench/sweep/load/sweep.h"
#include "tests/support/scripted_server.h"

namespace lathe::tests {

inline app::SweepPlan plan_for(const std::string& url, std::vector<app::SweepVariable> variables = {}) {
  app::SweepPlan plan;
  plan.target.url = url;
  plan.sampling.temperature = 0;
  plan.workload = {.prompt_tokens = 12, .output_tokens = 5, .requests = 3, .load = "concurrency", .concurrency = 2};
  plan.variables = std::move(variables);
  plan.repeats = 2;
  return plan;
}

inline app::SweepReport swept(const app::SweepPlan& plan, const app::SweepObserver& observer = {}) {
  auto journal = app::SweepJournal::open("", plan, false);
  auto report = app::run_sweep(plan, *journal, {}, observer);
  if (!report) qFatal("%s", report.error().message.c_str());
  return *report;
}

inline std::string token(const std::string& text) { return R"({"choices":[{"index":0,"text":")" + text + R"("}]})"; }
inline const std::string kUsage = R"({"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":2}})";

/// A server whose completions stream these bytes; the rest is in order. It names no tokens and cannot count them.
inline ScriptedServer::Script streams(const std::string& answer) {
  return [answer](const ScriptedRequest& request) -> std::optional<std::string> {
    if (request.path == "/v1/models") return http_answer(200, R"({"data":[{"id":"scripted"}]})");
    if (request.path == "/tokenize") return http_answer(404, R"({"detail":"Not Found"})");
    if (request.body.find("\"stream\":true") == std::string::npos) return http_answer(200, R"({"choices":[]})");
    return answer;
  };
}

inline std::string failure_of(const std::string& url) { return swept(plan_for(url)).cells.at(0).error; }

}  // namespace lathe::tests
