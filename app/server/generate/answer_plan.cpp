// SPDX-License-Identifier: Apache-2.0
#include "app/server/generate/answer_plan.h"

#include <fmt/format.h>

#include "app/server/field_warnings.h"
#include "engine/api/utf8.h"

namespace lathe::app {

using engine::ErrorCode;

std::int64_t AnswerPlan::n_prompt_tokens() const {
  std::int64_t n = 0;
  for (const PromptPlan& prompt : prompts) n += static_cast<std::int64_t>(prompt.ids.size());
  return n;
}

std::vector<http::Field> answer_fields(const AnswerPlan& plan) {
  std::vector<http::Field> fields = warning_fields(plan.warnings);
  if (plan.has_generic_tools) fields.push_back({"x-lathe-tools", "generic"});
  return fields;
}

namespace {

std::string escaped_bytes(std::string_view bytes) {
  std::string out = "bytes:";
  for (const char byte : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return out;
}

}  // namespace

TokenNames::TokenNames(const AnswerPlan& plan)
    : lease_(plan.models->lease()),
      as_ids_(plan.fields.tokens_as_ids),
      skips_special_(plan.fields.sampling.skip_special_tokens) {
  if (lease_ && lease_->model().name != plan.loaded_model) lease_ = EngineLease();
}

std::string TokenNames::text_of(std::int32_t id) const {
  return lease_ && !as_ids_ ? engine::repaired_utf8(lease_->tokenizer().piece(id)) : "token_id:" + std::to_string(id);
}

std::string TokenNames::name_of(std::int32_t id, bool is_first) const {
  if (!lease_ || as_ids_) return text_of(id);
  const engine::Tokenizer& tokenizer = lease_->tokenizer();
  const std::string piece = is_first ? tokenizer.decode_bytes(id, true) : tokenizer.piece(id);
  std::string text = engine::repaired_utf8(piece);
  // A token whose text begins with the mark "bytes:" is escaped too, so that the mark is never plain text.
  return text == piece && !piece.starts_with("bytes:") ? text : escaped_bytes(piece);
}

std::optional<std::string> TokenNames::bytes_of(std::int32_t id) const {
  if (!lease_) return std::nullopt;
  const engine::Tokenizer& tokenizer = lease_->tokenizer();
  return skips_special_ && tokenizer.is_special(id) ? std::string() : tokenizer.decode_bytes(id, false);
}

engine::Error failure_of(const engine::TokenEvent& event, bool server_stops) {
  if (server_stops) return {ErrorCode::unavailable, "the server is stopping; the answer is incomplete", {}};
  if (event.error && event.error->code != ErrorCode::internal) return *event.error;
  if (event.finish_reason == engine::FinishReason::error)
    return {ErrorCode::internal, "the engine failed on this request; the server's log says more", {}};
  return {ErrorCode::unavailable, "the request was ended because it was cancelled or the model is being unloaded", {}};
}

}  // namespace lathe::app
