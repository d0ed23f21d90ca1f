// SPDX-License-Identifier: Apache-2.0
// Sentences that explain the scheduler's events to people.
#include "engine/api/scheduler_event.h"

#include <fmt/format.h>

#include "engine/api/request.h"

namespace lathe::engine {
namespace {

/// "1,216"
std::string grouped(std::int64_t value) {
  std::string digits = fmt::format("{}", value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

/// "1 token", "1,216 tokens"
std::string counted(std::int64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(n), noun, n == 1 ? "" : "s");
}

using Numbers = std::array<std::int64_t, 4>;

std::string queued(const Numbers& n) {
  return n[0] == 0 ? "No request ahead." : fmt::format("{} ahead.", counted(n[0], "request"));
}

std::string constrained(const Numbers& n) {
  static constexpr std::array<const char*, 6> kKinds = {"a JSON schema",     "a JSON object", "a regular expression",
                                                        "a list of choices", "a grammar",     "a structural tag"};
  const char* kind = kKinds[static_cast<std::size_t>(n[0]) % kKinds.size()];
  const std::string made = n[3] != 0 ? "already compiled" : fmt::format("compiled in {} ms", grouped((n[2] + 999) / 1000));
  return fmt::format("The answer follows {}: {}, {}.", kind, counted(n[1], "state"), made);
}

std::string waiting(const Numbers& n) {
  if (n[2] >= n[3]) return fmt::format("{} run, and max_num_seqs is {}.", counted(n[2], "request"), grouped(n[3]));
  if (n[0] + n[2] <= n[1]) return "Running requests used the token budget of the step.";
  std::string text = fmt::format("Needs {}, {} free", counted(n[0], "block"), grouped(n[1]));
  if (n[2] > 0) text += fmt::format(", {} kept for running requests", grouped(n[2]));
  return text + ".";
}

std::string waiting_reservation(const Numbers& n) {
  std::string text = fmt::format("Reserves {} in one piece, {} free", counted(n[0], "block"), grouped(n[1]));
  if (n[2] > 0) text += fmt::format("; {} hold reservations", counted(n[2], "request"));
  return text + ".";
}

std::string waiting_batch(const Numbers& n) {
  return fmt::format("No request can join the running batch: {} of its {} unfinished.", grouped(n[0]),
                     counted(n[1], "answer"));
}

std::string waiting_fill(const Numbers& n) {
  return fmt::format("A batch starts with {}, {} waiting now, or {} ms after the first one arrived.",
                     counted(n[1], "request"), grouped(n[0]), grouped(n[2]));
}

/// "; KV for 512 tokens cached, nearest snapshot at 384" where a hit was cut back to a snapshot of the recurrent states.
std::string cut_back(std::int64_t n_kv, std::int64_t n_found) {
  if (n_kv <= n_found) return {};
  const std::string cached = fmt::format("; KV for {} cached, ", counted(n_kv, "token"));
  return cached +
         (n_found > 0 ? fmt::format("nearest snapshot at {}", grouped(n_found)) : "but no snapshot of their states");
}

std::string admitted(const Numbers& n) {
  std::string text = fmt::format("{} of {} cached", grouped(n[1]), counted(n[0], "prompt token")) + cut_back(n[3], n[1]);
  if (n[2] > 0) text += fmt::format("; first chunk {}", grouped(n[2]));
  return text + ".";
}

std::string batched(const Numbers& n) {
  std::string why = "the engine was free";
  if (static_cast<BatchCause>(n[2]) == BatchCause::full) why = "the batch was full";
  if (static_cast<BatchCause>(n[2]) == BatchCause::delay) {
    why = fmt::format("{} ms had passed since the first one arrived", grouped(n[3]));
  }
  return fmt::format("{} together, because {}; prompts padded to {}.", counted(n[0], "request"), why,
                     counted(n[1], "token"));
}

std::string chunked(const Numbers& n) {
  std::string text = fmt::format("{} of a budget of {}", counted(n[0], "token"), grouped(n[1]));
  if (n[2] > 0) text += fmt::format(", together with {}", counted(n[2], "decode"));
  return text + fmt::format("; {} left.", grouped(n[3]));
}

std::string paced(const Numbers& n) {
  return fmt::format("{}, so that the wait of {} stays within {} ms; {} left.", counted(n[0], "token"),
                     counted(n[2], "answer"), grouped(n[1]), grouped(n[3]));
}

std::string preempted(const Numbers& n) {
  // Preemption happens only if no block is free, so the used blocks are the whole pool.
  return fmt::format("KV pool full ({0} / {0} blocks); preempted as the last of {1} admitted: {2} to recompute.",
                     grouped(n[1]), grouped(n[3]), counted(n[0], "token"));
}

std::string resumed(const Numbers& n) {
  return fmt::format("{} of {} from the prefix cache{}.", grouped(n[0]), counted(n[0] + n[1], "token"),
                     cut_back(n[2], n[0]));
}

std::string finished(const Numbers& n) {
  const auto reason = static_cast<FinishReason>(n[1]);
  if (reason == FinishReason::length) return fmt::format("Length: {}.", counted(n[0], "token"));
  if (n[3] > 0) return fmt::format("Vector: {}.", counted(n[3], "dimension"));
  const auto cause = static_cast<StopCause>(n[2]);
  const char* what = cause == StopCause::eos ? "eos" : cause == StopCause::token ? "stop token" : "stop string";
  return fmt::format("Stop: {} after {}.", what, counted(n[0], "token"));
}

}  // namespace

std::string word_of(SchedulerEventKind kind) {
  switch (kind) {
    case SchedulerEventKind::queued: return "Queued";
    case SchedulerEventKind::constrained: return "Constrained";
    case SchedulerEventKind::waiting:
    case SchedulerEventKind::waiting_reservation:
    case SchedulerEventKind::waiting_batch:
    case SchedulerEventKind::waiting_fill: return "Waited";
    case SchedulerEventKind::admitted: return "Admitted";
    case SchedulerEventKind::batched: return "Batched";
    case SchedulerEventKind::chunked:
    case SchedulerEventKind::paced: return "Chunk";
    case SchedulerEventKind::prefilled: return "Prefilled";
    case SchedulerEventKind::preempted: return "Preempted";
    case SchedulerEventKind::resumed: return "Resumed";
    case SchedulerEventKind::jumped_ahead: return "Jumped ahead";
    case SchedulerEventKind::evicted: return "Evicted";
    case SchedulerEventKind::finished: return "Finished";
    case SchedulerEventKind::cancelled: return "Cancelled";
    case SchedulerEventKind::failed: return "Failed";
  }
  return "?";
}

std::string sentence_of(const SchedulerEvent& event) {
  const Numbers& n = event.n;
  switch (event.kind) {
    case SchedulerEventKind::queued: return queued(n);
    case SchedulerEventKind::constrained: return constrained(n);
    case SchedulerEventKind::waiting: return waiting(n);
    case SchedulerEventKind::waiting_reservation: return waiting_reservation(n);
    case SchedulerEventKind::waiting_batch: return waiting_batch(n);
    case SchedulerEventKind::waiting_fill: return waiting_fill(n);
    case SchedulerEventKind::admitted: return admitted(n);
    case SchedulerEventKind::batched: return batched(n);
    case SchedulerEventKind::chunked: return chunked(n);
    case SchedulerEventKind::paced: return paced(n);
    case SchedulerEventKind::prefilled:
      return fmt::format("{}; {} computed.", n[1] == 0 ? "First token" : "Pooled", counted(n[0], "prompt token"));
    case SchedulerEventKind::preempted: return preempted(n);
    case SchedulerEventKind::resumed: return resumed(n);
    case SchedulerEventKind::jumped_ahead:
      return fmt::format("{} forced by the output format; the answer has {}.", counted(n[0], "token"), grouped(n[1]));
    case SchedulerEventKind::evicted: return fmt::format("{} evicted for this request.", counted(n[0], "cached block"));
    case SchedulerEventKind::finished: return finished(n);
    case SchedulerEventKind::cancelled: return fmt::format("By the client after {}.", counted(n[0], "token"));
    case SchedulerEventKind::failed: return fmt::format("Error after {}.", counted(n[0], "token"));
  }
  return {};
}

}  // namespace lathe::engine
