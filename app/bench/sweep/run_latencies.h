// SPDX-License-Identifier: Apache-2.0
// Latencies of the requests of a run. Units: milliseconds.
#pragma once

#include <vector>

#include "app/bench/sweep/run_record.h"

namespace lathe::app {

/// From the scheduled send time; 0: no token came.
double ttft_ms(const SentRequest& request);
/// From the scheduled send time to the end.
double e2e_ms(const SentRequest& request);
/// A token after the first; 0: there is none. The last piece of a text may hold more than one.
double tpot_ms(const SentRequest& request);
/// Gaps between tokens of a request, of all of them. Tokens that came together (in one read of a stream) share the gap
/// before them evenly: gaps of nothing between them would make the median nothing. What came with the first has no gap.
std::vector<double> all_itl_ms(const RunRecord& run);

}  // namespace lathe::app
