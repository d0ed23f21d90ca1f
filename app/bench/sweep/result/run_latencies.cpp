// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/result/run_latencies.h"

namespace lathe::app {

double ttft_ms(const SentRequest& request) {
  return request.token_times.empty() ? 0 : 1e3 * (request.token_times.front() - request.scheduled);
}

double e2e_ms(const SentRequest& request) { return 1e3 * (request.end - request.scheduled); }

double tpot_ms(const SentRequest& request) {
  const std::int64_t n = request.usage.n_completion_tokens;
  return n < 2 || request.token_times.empty()
             ? 0
             : 1e3 * (request.token_times.back() - request.token_times.front()) / static_cast<double>(n - 1);
}

std::vector<double> all_itl_ms(const RunRecord& run) {
  std::vector<double> samples;
  for (const SentRequest& request : run.requests) {
    const std::vector<double>& times = request.token_times;
    for (std::size_t begin = 0, end = 0, before = 0; begin < times.size(); before = begin, begin = end) {
      while (end < times.size() && times[end] == times[begin]) ++end;
      const auto n = static_cast<double>(end - begin);
      if (begin > 0) samples.insert(samples.end(), end - begin, 1e3 * (times[begin] - times[before]) / n);
    }
  }
  return samples;
}

}  // namespace lathe::app
