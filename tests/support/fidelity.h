// SPDX-License-Identifier: Apache-2.0
// The fidelity matrix: the same requests alone and in company, in chunks, through preemption, from a cold and a warm cache.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/api/engine.h"

namespace lathe::tests {

/// A request and the answer that it must get.
struct FidelityRun {
  engine::GenerateRequest request;
  std::vector<std::int32_t> ids;
  std::vector<double> logprobs;         ///< of the answer's tokens; empty: not compared
  std::vector<double> prompt_logprobs;  ///< of the prompt's tokens from the second on; empty: not compared
};

/// One cell of the matrix.
struct FidelityCell {
  std::string isa;
  int n_requests = 1;
  int n_chunk = 512;   ///< max_num_batched_tokens
  bool tight = false;  ///< a pool so small that requests throw each other out, and no sharing between them
  std::string policy = "paged";
};

/// Runs of a reference_greedy.json, asked greedily with log probabilities.
std::vector<FidelityRun> read_reference_greedy(const std::string& path);

/// Adds the columns isa, n_requests, n_chunk and tight with a row for each cell. Requires: inside a _data function.
void add_fidelity_matrix();
/// The cell of the current row.
FidelityCell fetch_fidelity_cell();

/// An engine in float32 for one cell. Requires: the model loads; at most 200 tokens a request.
std::unique_ptr<engine::Engine> open_for(const std::string& model, const FidelityCell& cell);

struct FidelityReport {
  std::string mismatches;    ///< a line each; empty: all equal
  double largest_error = 0;  ///< of a log probability
  std::int64_t n_cached_tokens = 0;
  std::int64_t n_preemptions = 0;
};
/// Sends the runs, over and over until there are n_requests, all at once.
FidelityReport compare_runs(engine::Engine& engine, const std::vector<FidelityRun>& runs, const FidelityCell& cell);

}  // namespace lathe::tests
