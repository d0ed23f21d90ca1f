// SPDX-License-Identifier: Apache-2.0
// Answers of Ollama: one JSON object, or one on each line of a stream.
#pragma once

#include <memory>

#include "app/server/generate/answer_stream.h"
#include "app/server/generate/collected_answer.h"

namespace lathe::app::ollama {

/// Writes the objects of an answer: those of /api/chat have a "message", those of /api/generate a "response".
class AnswerObjects {
 public:
  AnswerObjects(const AnswerPlan& plan, bool is_chat, std::int64_t n_top_logprobs)
      : plan_(plan), is_chat_(is_chat), n_top_logprobs_(n_top_logprobs) {}

  /// Returns an object with the given parts of the answer; no part: with empty text.
  engine::OrderedJson object(const std::vector<engine::AnswerDelta>& parts) const;
  void add_logprobs(const engine::TokenEvent& event, engine::OrderedJson& to) const;
  /// Adds the members of the last object: its reason, counts and durations.
  void add_end(const engine::TokenEvent& event, engine::OrderedJson& to) const;

 private:
  const AnswerPlan& plan_;
  bool is_chat_;
  std::int64_t n_top_logprobs_;
};

/// Returns the object that answers a request without messages or prompt, which only asks to load the model, or to unload it.
engine::OrderedJson loaded_object(const std::string& model, bool is_chat, bool unloads);

class WholeObject final : public CollectedAnswer {
 public:
  WholeObject(AnswerPlan plan, std::unique_ptr<GenerationSet> set, bool is_chat);

 private:
  engine::OrderedJson json() override;
  std::string error_body(const engine::Error& error, int http_status) override;

  AnswerObjects objects_;
};

class ObjectStream final : public AnswerStream {
 public:
  ObjectStream(AnswerPlan plan, std::unique_ptr<GenerationSet> set, bool is_chat);

  std::string content_type() const override { return "application/x-ndjson"; }

 private:
  void open(std::string&) override {}
  void add(std::size_t member, engine::TokenEvent& event, std::string& out) override;
  void fail(const engine::Error& error, std::string& out) override;
  void finish(std::string& out) override;

  AnswerObjects objects_;
  AnswerReader reader_;
  engine::TokenEvent last_;  ///< the last event: its usage, its timings and its reason
};

}  // namespace lathe::app::ollama
