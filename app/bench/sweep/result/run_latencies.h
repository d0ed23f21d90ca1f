// SPDX-License-Identifier: Apache-2.0
// Computes the latencies of a run's requests. Units: milliseconds.
#pragma once

#include <vector>

#include "app/bench/sweep/result/run_record.h"

namespace lathe::app {

/// Time to first token, from the scheduled send time; 0: no token came.
double ttft_ms(const SentRequest& request);
/// End-to-end time, from the scheduled send time to the end.
double e2e_ms(const SentRequest& request);
/// Mean time per output token after the first; 0: there is none. On servers that do not name their tokens the last piece of
/// text may hold more than one token.
double tpot_ms(const SentRequest& request);
/// Inter-token latencies of all requests. Tokens that came together (in one read of a stream) share the gap before them
/// evenly: gaps of zero between them would make the median zero. Tokens that came with the first token have no gap.
std::vector<double> all_itl_ms(const RunRecord& run);

}  // namespace lathe::app
