// SPDX-License-Identifier: Apache-2.0
// TargetStream: one streamed answer of a server that is measured from outside, parsed as it arrives.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/bench/sweep/load/load_generator.h"
#include "app/bench/sweep/load/sse_reader.h"
#include "app/server/http/client.h"
#include "engine/api/json.h"

namespace lathe::app {

/// Writes times and tokens to its record. Every piece of an answer counts as a token unless the server names its tokens:
/// text, and the content, reasoning and tool calls of a chat's deltas.
class TargetStream {
 public:
  /// `n_prompt_tokens`: tokens of the prompt as planned, for servers without usage.
  TargetStream(SentRequest& record, RunClock::time_point start, std::int64_t n_prompt_tokens)
      : record_(record), start_(start), n_prompt_tokens_(n_prompt_tokens) {}

  void take_head(const http::AnswerHead& head);
  void take_piece(std::string_view bytes);
  void take_end(const std::optional<engine::Error>& problem);

  bool is_over() const { return is_over_; }
  /// Text of the answer, for servers that do not name its tokens.
  const std::string& text() const { return text_; }
  const std::vector<std::int32_t>& token_ids() const { return token_ids_; }
  const std::optional<engine::Error>& problem() const { return problem_; }

 private:
  double now() const { return std::chrono::duration<double>(RunClock::now() - start_).count(); }
  engine::Result<void> take_event(const SseEvent& event, double now);
  engine::Result<void> take_choice(const engine::Json& choice, double now);
  void take_text(const std::string& text);
  void take_usage(const engine::Json& usage);
  engine::Result<void> take_rest();
  engine::Result<void> check_whole();
  void count_pieces();

  SentRequest& record_;
  const RunClock::time_point start_;
  const std::int64_t n_prompt_tokens_;
  SseReader reader_;
  http::AnswerHead head_;
  std::string plain_body_;  ///< first bytes of an answer that is no stream, or not yet
  std::string text_;
  std::vector<std::int32_t> token_ids_;
  bool has_event_ = false, has_done_ = false, has_finish_ = false, has_usage_ = false, is_over_ = false;
  std::optional<engine::Error> problem_;
};

}  // namespace lathe::app
