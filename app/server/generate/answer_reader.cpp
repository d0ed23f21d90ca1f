// SPDX-License-Identifier: Apache-2.0
#include "app/server/generate/answer_reader.h"

#include <iterator>
#include <utility>

#include "kernels/api/check.h"

namespace lathe::app {

using engine::AnswerDelta;

AnswerReader::AnswerReader(const ChoiceReading& reading, const engine::SamplingParams& sampling, IdSource& ids)
    : reading_(reading), ids_(ids) {
  if (!reading.answer) return;
  auto made = engine::make_answer_parser(*reading.answer, engine::stops_of(sampling));
  LATHE_CHECK(made.has_value());
  parser_ = std::move(*made);
}

std::vector<AnswerDelta> AnswerReader::read(const engine::TokenEvent& event) {
  if (!parser_) {
    if (event.text.empty()) return {};
    return {AnswerDelta{AnswerDelta::Kind::content, event.text, {}}};
  }
  std::vector<AnswerDelta> deltas = parser_->feed(event.text, event.marks);
  if (event.finished) {
    std::vector<AnswerDelta> rest = parser_->finish(event.finish_reason != engine::FinishReason::stop);
    deltas.insert(deltas.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  }
  std::vector<AnswerDelta> kept;
  for (AnswerDelta& delta : deltas) {
    if (delta.kind == AnswerDelta::Kind::reasoning && !reading_.include_reasoning) continue;
    if (delta.kind == AnswerDelta::Kind::call) {
      if (n_calls_ > 0 && !reading_.parallel_tool_calls) continue;
      delta.call.id = engine::call_id(reading_.answer->formats, delta.call, n_calls_, ids_.next());
      ++n_calls_;
    }
    kept.push_back(std::move(delta));
  }
  return kept;
}

std::vector<AnswerDelta> AnswerReader::read_whole(const engine::TokenEvent& event) {
  std::vector<AnswerDelta> parts;
  for (AnswerDelta& delta : read(event)) {
    const bool goes_on = !parts.empty() && delta.kind == parts.back().kind && delta.kind != AnswerDelta::Kind::call;
    if (goes_on) parts.back().text += delta.text;
    else parts.push_back(std::move(delta));
  }
  return parts;
}

std::string_view AnswerReader::finish_reason(engine::FinishReason reason) const {
  return n_calls_ > 0 && reason == engine::FinishReason::stop ? "tool_calls" : engine::name_of(reason);
}

}  // namespace lathe::app
