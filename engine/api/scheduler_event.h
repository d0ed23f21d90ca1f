// SPDX-License-Identifier: Apache-2.0
// Why-events: each decision of the scheduler with its numbers, and the sentence that says it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lathe::engine {

enum class SchedulerEventKind : std::uint8_t {
  queued,               ///< n0 requests ahead
  waiting,              ///< not admitted: n0 blocks needed, n1 free, n2 running of n3 max_num_seqs; each reason once
  waiting_reservation,  ///< n0 blocks in one piece are needed for a whole context, n1 free, n2 requests hold theirs
  waiting_batch,        ///< until the batch ends: n0 of its n1 answers are unfinished
  waiting_fill,         ///< until a batch begins: n0 requests wait, n1 start one, as do n2 ms since the first arrived
  admitted,             ///< n0 prompt tokens, n1 from the prefix cache, n2 first chunk; 0: read with its batch
  batched,              ///< n0 requests start together, prompts padded to n1 tokens, because of n2 (BatchCause), n3 ms
                        ///< after the first arrived
  chunked,              ///< n0 tokens this step, n1 budget, n2 decodes in the step, n3 tokens left
  paced,                ///< n0 tokens this step: more would take longer than n1 ms beside n2 decodes; n3 tokens left
  prefilled,            ///< first token; n0 prompt tokens computed
  preempted,            ///< n0 computed tokens lost, n1 blocks used (all), n2 of n3 victim's place (last admitted)
  resumed,              ///< n0 tokens from the prefix cache, n1 to compute again
  evicted,              ///< n0 cached blocks evicted for this request
  finished,             ///< n0 tokens generated; reason in n1 (FinishReason), what stopped it in n2 (StopCause)
  cancelled,            ///< n0 tokens generated
  failed                ///< n0 tokens generated
};

/// Why a batch of requests was started.
enum class BatchCause : std::uint8_t { free, full, delay };

struct SchedulerEvent {
  std::uint64_t sequence = 0;  ///< number of the event, rising by one
  std::int64_t time_ns = 0;    ///< steady clock
  std::uint64_t step = 0;
  std::uint64_t request_id = 0;
  SchedulerEventKind kind = SchedulerEventKind::queued;
  std::array<std::int64_t, 4> n{};
};

/// "Preempted", "Admitted"...: the bold word of the sentence.
std::string word_of(SchedulerEventKind kind);
/// "64 of 1,211 prompt tokens cached; first chunk 385."
std::string sentence_of(const SchedulerEvent& event);

}  // namespace lathe::engine
