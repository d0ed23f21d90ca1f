// SPDX-License-Identifier: Apache-2.0
// SchedulerEvent: a decision of the scheduler with its reason in numbers, and the sentence that explains it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lathe::engine {

/// Kind of an event. n0 to n3 are SchedulerEvent::n.
enum class SchedulerEventKind : std::uint8_t {
  queued,       ///< n0 requests ahead
  constrained,  ///< the answer follows a grammar: n0 kind (ConstraintKind), n1 nodes, n2 us of compiling, n3 1: it was known
  waiting,      ///< not admitted: n0 blocks needed, n1 free, n2 requests of at most n3 running; once per reason
  waiting_reservation,  ///< not admitted: n0 contiguous blocks needed for a whole context, n1 free, n2 requests running
  waiting_batch,        ///< waits until the batch ends: n0 of its n1 answers are unfinished
  waiting_fill,         ///< waits until a batch begins, with n1 requests (n0 wait) or n2 ms after the first arrived
  admitted,             ///< n0 prompt tokens, n1 from the prefix cache, n2 in the first chunk; n2 = 0: read with its batch;
                        ///< n3 tokens whose K and V were found: more than n1 if no snapshot of recurrent states is nearer
  batched,              ///< n0 requests start together, prompts padded to n1 tokens, because of n2 (BatchCause), n3 ms
                        ///< after the first arrived
  chunked,              ///< n0 tokens this step, n1 budget, n2 decodes in the step, n3 tokens left
  paced,                ///< n0 tokens this step, so that n2 decodes wait at most n1 ms; n3 tokens left
  prefilled,            ///< first token generated (n1: 0) or prompt pooled (n1: 1); n0 prompt tokens computed
  preempted,            ///< n0 computed tokens lost, n1 blocks used (all); the last admitted, request n2 of n3 running
  resumed,              ///< n0 tokens from the prefix cache, n1 tokens to compute again; n2 as n3 of admitted
  jumped_ahead,         ///< n0 tokens forced by the constraint were appended to the answer, which then has n1
  evicted,              ///< n0 cached blocks evicted for this request
  finished,             ///< n0 tokens generated; n1: FinishReason, n2: StopCause; n3: dimensions of the vector, if it is one
  cancelled,            ///< n0 tokens generated
  failed                ///< n0 tokens generated
};

/// Why a batch of requests was started.
enum class BatchCause : std::uint8_t { free, full, delay };

struct SchedulerEvent {
  std::uint64_t sequence = 0;  ///< index of the event, increasing by one
  std::int64_t time_ns = 0;    ///< steady clock
  std::uint64_t step = 0;
  std::uint64_t request_id = 0;
  SchedulerEventKind kind = SchedulerEventKind::queued;
  std::array<std::int64_t, 4> n{};
};

/// The bold word before the sentence: "Preempted", "Admitted"...
std::string word_of(SchedulerEventKind kind);
/// The sentence that explains the event: "64 of 1,211 prompt tokens cached; first chunk 385."
std::string sentence_of(const SchedulerEvent& event);

}  // namespace lathe::engine
