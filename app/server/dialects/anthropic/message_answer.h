// SPDX-License-Identifier: Apache-2.0
// Answers of the Messages API: one message of typed blocks, whole or as events.
#pragma once

#include <memory>

#include "app/server/generate/answer_stream.h"
#include "app/server/generate/collected_answer.h"

namespace lathe::app::anthropic {

class WholeMessage final : public CollectedAnswer {
 public:
  using CollectedAnswer::CollectedAnswer;

 private:
  engine::OrderedJson json() override;
  std::string error_body(const engine::Error& error, int http_status) override;
};

/// Events in their order: message_start; for each block content_block_start, content_block_delta, content_block_stop;
/// message_delta; message_stop.
class StreamedMessage final : public AnswerStream {
 public:
  StreamedMessage(AnswerPlan plan, std::unique_ptr<GenerationSet> set);

  std::string filler() const override { return "event: ping\ndata: {\"type\": \"ping\"}\n\n"; }

 private:
  void open(std::string& out) override;
  void add(std::size_t member, engine::TokenEvent& event, std::string& out) override;
  void fail(const engine::Error& error, std::string& out) override;
  void finish(std::string& out) override;

  void add_delta(const engine::AnswerDelta& delta, std::string& out);
  void begin_block(engine::AnswerDelta::Kind kind, engine::OrderedJson block, std::string& out);
  void write_delta(engine::OrderedJson delta, std::string& out) const;
  void end_block(std::string& out);

  AnswerReader reader_;
  std::optional<engine::AnswerDelta::Kind> open_block_;
  std::size_t n_blocks_ = 0;  ///< blocks that have ended
  engine::TokenEvent last_;   ///< the last event: its usage and its reason
};

}  // namespace lathe::app::anthropic
