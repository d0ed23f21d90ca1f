// SPDX-License-Identifier: Apache-2.0
#include "app/api/sweep_trial.h"

#include <fmt/format.h>

#include "app/bench/sweep/result/run_record.h"

namespace lathe::app {
namespace {

using engine::Json;
using engine::OrderedJson;
using engine::Result;

struct TrialNumber {
  const char* name;
  double SweepTrial::* value;
};
constexpr TrialNumber kNumbers[] = {{"request_s", &SweepTrial::request_s},
                                    {"goodput_req_s", &SweepTrial::goodput_req_s},
                                    {"ttft_ms_p99", &SweepTrial::ttft_ms_p99},
                                    {"itl_ms_p99", &SweepTrial::itl_ms_p99}};

}  // namespace

std::string text_of_trial(double rate) {
  return rate > 0 ? fmt::format("trying {:g} req/s", rate) : std::string("trying one request at a time");
}

OrderedJson to_json(std::span<const SweepTrial> trials) {
  OrderedJson list = OrderedJson::array();
  for (const SweepTrial& trial : trials) {
    OrderedJson json = {{"rate", trial.rate > 0 ? OrderedJson(trial.rate) : OrderedJson()}, {"held", trial.failure.empty()}};
    if (!trial.failure.empty()) json["why"] = trial.failure;
    json["requests"] = trial.requests;
    for (const TrialNumber& number : kNumbers) json[number.name] = trial.*number.value;
    list.push_back(std::move(json));
  }
  return list;
}

Result<std::vector<SweepTrial>> sweep_trials_from(const Json& json) {
  const auto refuse = [] {
    return engine::fail(engine::ErrorCode::invalid_argument, "must be a list of objects with rate, held and requests",
                        "trials");
  };
  if (!json.is_array()) return refuse();
  std::vector<SweepTrial> trials;
  for (const Json& one : json) {
    if (!one.is_object() || !one.contains("held") || !one["held"].is_boolean() || !one.contains("requests") ||
        !one["requests"].is_number_integer())
      return refuse();
    const auto number = [&](const char* name, double missing) {
      return one.contains(name) && one[name].is_number() ? one[name].get<double>() : missing;
    };
    SweepTrial& trial = trials.emplace_back();
    trial.rate = number("rate", 0);
    trial.requests = one["requests"].get<std::int64_t>();
    if (!one["held"].get<bool>()) {
      if (!one.contains("why") || !one["why"].is_string() || one["why"].get_ref<const std::string&>().empty())
        return refuse();
      trial.failure = one["why"].get<std::string>();
    }
    for (const TrialNumber& of : kNumbers) trial.*of.value = number(of.name, kUnseen);
  }
  return trials;
}

}  // namespace lathe::app
