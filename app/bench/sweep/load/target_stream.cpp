// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/load/target_stream.h"

#include <fmt/format.h>

#include "app/bench/sweep/load/target_session.h"
#include "app/log/printable.h"
#include "app/server/error_status.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Json;
using engine::Result;

constexpr std::size_t kMostErrorBody = 64u << 10;

tl::unexpected<engine::Error> broken(std::string message) {
  return engine::fail(ErrorCode::unavailable, std::move(message));
}

/// Returns a string member; empty: there is none.
std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n')) text.remove_suffix(1);
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t' || text.front() == '\n')) text.remove_prefix(1);
  return text;
}

}  // namespace

void TargetStream::take_head(const http::AnswerHead& head) {
  head_ = head;
  const std::string coding(head.value("Content-Encoding"));
  if (head.status == 200 && !coding.empty() && coding != "identity") {
    problem_ = engine::Error{
        ErrorCode::unsupported,
        fmt::format("the server compresses its answers ({}), which was not requested: tokens in them have no times",
                    printable(coding, 40)),
        {}};
  }
}

void TargetStream::take_piece(std::string_view bytes) {
  if (problem_) return;
  if (head_.status != 200) {
    if (plain_body_.size() < kMostErrorBody) plain_body_ += bytes;
    return;
  }
  if (!has_event_ && plain_body_.size() < kMostErrorBody) plain_body_ += bytes;
  const double at = now();
  const auto events = reader_.add(bytes);
  if (!events) {
    problem_ = events.error();
    return;
  }
  for (const SseEvent& event : *events) {
    if (const Result<void> taken = take_event(event, at); !taken) {
      problem_ = taken.error();
      return;
    }
  }
}

void TargetStream::take_end(const std::optional<engine::Error>& problem) {
  is_over_ = true;
  if (problem_) return;
  // After [DONE] the answer is complete, however the connection ended.
  if (problem && !has_done_) {
    problem_ = problem;
  } else if (head_.status != 200) {
    problem_ = engine::Error{code_of(head_.status), refusal_text(head_, plain_body_), {}};
  } else if (const Result<void> rest = take_rest(); !rest) {
    problem_ = rest.error();
  } else if (const Result<void> whole = check_whole(); !whole) {
    problem_ = whole.error();
  }
}

Result<void> TargetStream::take_event(const SseEvent& event, double now) {
  const std::string_view data = trimmed(event.data);
  if (data.empty()) return {};
  has_event_ = true;
  if (data == "[DONE]") {
    has_done_ = true;
    return {};
  }
  const auto json = engine::parse_json(data, "event");
  const bool is_object = json && json->is_object();
  if (event.type == "error" || (is_object && holds_error(*json))) {
    return engine::fail(ErrorCode::internal, "the server sent an error in its stream: " + error_text(std::string(data)));
  }
  if (!is_object) return broken(fmt::format("an event of the stream is not a JSON object: {}", printable(data, 80)));
  if (const auto choices = json->find("choices"); choices != json->end() && choices->is_array()) {
    for (const Json& choice : *choices) {
      if (choice.is_object()) LATHE_TRY_VOID(take_choice(choice, now));
    }
  }
  if (const auto usage = json->find("usage"); usage != json->end() && usage->is_object()) take_usage(*usage);
  return {};
}

Result<void> TargetStream::take_choice(const Json& choice, double now) {
  std::string text = text_of(choice, "text");
  bool has_piece = !text.empty();
  if (const auto delta = choice.find("delta"); delta != choice.end() && delta->is_object()) {
    for (const char* name : {"content", "reasoning_content", "reasoning"}) {
      const std::string piece = text_of(*delta, name);
      // Some servers send reasoning under both names.
      if (text.empty()) text = piece;
      has_piece = has_piece || !piece.empty();
    }
    const auto calls = delta->find("tool_calls");
    has_piece = has_piece || (calls != delta->end() && calls->is_array() && !calls->empty());
  }
  const auto ids = choice.find("token_ids");
  const bool names_tokens = ids != choice.end() && ids->is_array();
  const std::size_t n = names_tokens ? ids->size() : has_piece ? 1 : 0;
  record_.token_times.insert(record_.token_times.end(), n, now);
  for (std::size_t i = 0; names_tokens && i < n; ++i) {
    if ((*ids)[i].is_number_integer()) token_ids_.push_back((*ids)[i].get<std::int32_t>());
  }
  take_text(text);
  const std::string reason = text_of(choice, "finish_reason");
  has_finish_ = has_finish_ || !reason.empty();
  if (reason == "error" || reason == "abort") {
    return broken(fmt::format("the server ended an answer with finish_reason \"{}\"", reason));
  }
  return {};
}

void TargetStream::take_text(const std::string& text) {
  text_ += text;
  for (const char c : text) record_.answer = (record_.answer ^ static_cast<unsigned char>(c)) * kFnvPrime;
}

void TargetStream::take_usage(const Json& usage) {
  const auto count = [](const Json& from, const char* name) {
    const auto found = from.find(name);
    return found != from.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
  };
  record_.usage.n_prompt_tokens = count(usage, "prompt_tokens");
  record_.usage.n_completion_tokens = count(usage, "completion_tokens");
  const auto details = usage.find("prompt_tokens_details");
  record_.knows_cached = details != usage.end() && details->is_object();
  if (record_.knows_cached) record_.usage.n_cached_tokens = count(*details, "cached_tokens");
  has_usage_ = true;
}

/// Takes the last event if its empty line is missing; an event that is no complete JSON was cut off.
Result<void> TargetStream::take_rest() {
  if (reader_.is_at_end()) return {};
  const SseEvent event = reader_.rest();
  const std::string_view data = trimmed(event.data);
  const bool is_whole = data.empty() || data == "[DONE]" || engine::parse_json(data, "event").has_value();
  if (is_whole) return take_event(event, now());
  if (has_done_) return {};
  return broken("the stream was cut off in the middle of an event");
}

/// Checks that the answer is complete: servers may omit [DONE], a finish_reason or the usage, but one of the first two must
/// come.
Result<void> TargetStream::check_whole() {
  if (!has_event_) {
    const auto body = engine::parse_json(plain_body_, "body");
    if (body && body->is_object() && holds_error(*body))
      return engine::fail(ErrorCode::internal, "the server answered 200 with an error: " + error_text(plain_body_));
    return broken("no server-sent events came: the server does not stream");
  }
  if (!has_done_ && !has_finish_) {
    return broken("the stream was cut off: it had neither a finish_reason nor [DONE]");
  }
  if (record_.token_times.empty()) return broken("an answer had no token");
  if (!has_usage_) count_pieces();
  record_.end = record_.token_times.back();
  return {};
}

void TargetStream::count_pieces() {
  record_.usage.n_prompt_tokens = n_prompt_tokens_;
  record_.usage.n_completion_tokens = static_cast<std::int64_t>(record_.token_times.size());
  record_.knows_cached = false;
  record_.has_usage = false;
}

}  // namespace lathe::app
