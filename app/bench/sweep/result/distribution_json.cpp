// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/result/distribution_json.h"

#include <fmt/format.h>

#include <algorithm>

namespace lathe::app {
namespace {

using engine::Json;
using engine::OrderedJson;
using engine::Result;

bool is_count(const Json& json) { return json.is_number_unsigned() && json.get<std::uint64_t>() <= UINT32_MAX; }

Result<LatencyDistribution> distribution_from(const Json& json, const std::string& where) {
  const auto refuse = [&](std::string message) {
    return engine::fail(engine::ErrorCode::invalid_argument, std::move(message), where);
  };
  if (!json.is_object() || !json.contains("n") || !is_count(json["n"]) || !json.contains("values") ||
      !json["values"].is_array())
    return refuse("must have n, a whole number, and values, a list");
  LatencyDistribution distribution{.n = json["n"].get<std::size_t>(), .values = {}};
  for (const Json& value : json["values"]) {
    if (!value.is_number() || value.get<double>() < 0) return refuse("has a value that is not a latency");
    distribution.values.push_back(value.get<double>());
  }
  const std::size_t wanted = std::min(distribution.n, LatencyDistribution::most_values);
  if (distribution.values.size() != wanted)
    return refuse(
        fmt::format("has {} values, but {} latencies must have {}", distribution.values.size(), distribution.n, wanted));
  if (!std::is_sorted(distribution.values.begin(), distribution.values.end()))
    return refuse("has values that are not in ascending order");
  return distribution;
}

}  // namespace

OrderedJson journal_json(const std::vector<LatencyDistribution>& distributions) {
  OrderedJson json = OrderedJson::object();
  for (std::size_t i = 0; i < distributions.size(); ++i) {
    if (distributions[i].n == 0) continue;
    json[latencies()[i].name] = {{"n", distributions[i].n}, {"values", distributions[i].values}};
  }
  return json;
}

Result<std::vector<LatencyDistribution>> distributions_from(const Json& json) {
  if (!json.is_object())
    return engine::fail(engine::ErrorCode::invalid_argument, "must be an object of latencies", "distributions");
  std::vector<LatencyDistribution> distributions;
  for (const Latency& latency : latencies()) {
    const std::string name(latency.name);
    LatencyDistribution& distribution = distributions.emplace_back();
    if (!json.contains(name)) continue;
    LATHE_TRY(distribution, distribution_from(json[name], "distributions." + name));
  }
  return distributions;
}

}  // namespace lathe::app
