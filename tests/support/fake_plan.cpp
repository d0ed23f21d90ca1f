// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_plan.h"

#include <algorithm>

#include "engine/api/answer_parser.h"
#include "kernels/api/check.h"
#include "tests/support/byte_tokenizer.h"

namespace lathe::tests {
namespace {

using engine::StopCause;

FakePlan cut(FakePlan plan, std::size_t limit) {
  if (plan.ids.size() <= limit) return plan;
  plan.ids.resize(limit);
  plan.visible.resize(std::min(plan.visible.size(), limit));
  plan.reason = engine::FinishReason::length;
  plan.stop_cause = StopCause::none;
  plan.stop_reason.clear();
  return plan;
}

FakePlan read_plan(std::string_view text, const engine::GenerateRequest& request) {
  FakePlan plan;
  const auto parser = engine::make_answer_parser(*request.reading, engine::stops_of(request.sampling));
  LATHE_CHECK(parser.has_value());
  const auto& markers = request.reading->markers;
  while (!text.empty() && (*parser)->stop() < 0) {
    const auto marker =
        std::find_if(markers.begin(), markers.end(), [&](const auto& m) { return text.starts_with(m.text); });
    const bool is_marker = marker != markers.end();
    plan.ids.push_back(is_marker ? marker->id : static_cast<unsigned char>(text.front()));
    plan.visible.emplace_back(text.substr(0, is_marker ? marker->text.size() : 1));
    text.remove_prefix(plan.visible.back().size());
    const std::vector<engine::TextMark> marks(is_marker ? 1 : 0, {0, plan.ids.back()});
    (*parser)->watch(plan.visible.back(), marks);
  }
  plan.stop_reason = "eos";
  if (const int stop = (*parser)->stop(); stop >= 0) {
    plan.stop_cause = StopCause::text;
    plan.stop_reason = request.sampling.stop[static_cast<std::size_t>(stop)];
  } else if (!request.sampling.ignore_eos) {
    plan.ids.push_back(ByteTokenizer::kEos);
  }
  return plan;
}

}  // namespace

FakePlan plan_answer(std::string text, const engine::GenerateRequest& request, std::size_t limit) {
  const engine::SamplingParams& sampling = request.sampling;
  FakePlan plan;
  if (sampling.ignore_eos && !text.empty()) {
    for (const std::string once = text; text.size() < limit;) text += once;
  }
  if (request.reading && sampling.stop_token_ids.empty()) return cut(read_plan(text, request), limit);
  std::size_t end = text.size();
  plan.stop_reason = "eos";
  for (const std::string& stop : sampling.stop) {
    const std::size_t at = text.find(stop);
    if (at == text.npos || at + stop.size() > end) continue;
    end = at + stop.size();
    plan.stop_cause = StopCause::text;
    plan.stop_reason = stop;
  }
  const auto& stop_ids = sampling.stop_token_ids;
  for (std::size_t i = 0; i < end; ++i) {
    const std::int32_t id = static_cast<unsigned char>(text[i]);
    if (std::find(stop_ids.begin(), stop_ids.end(), id) == stop_ids.end()) continue;
    end = i + 1;
    plan.stop_cause = StopCause::token;
    plan.stop_reason = std::to_string(id);
  }
  for (std::size_t i = 0; i < end; ++i) plan.visible.emplace_back(1, text[i]);
  const std::size_t n_cut = plan.stop_cause == StopCause::token ? 1 : plan.stop_reason.size();
  if (plan.stop_cause != StopCause::eos && !sampling.include_stop_str_in_output) plan.visible.resize(end - n_cut);
  for (std::size_t i = 0; i < end; ++i) plan.ids.push_back(static_cast<unsigned char>(text[i]));
  if (plan.stop_cause == StopCause::eos && !sampling.ignore_eos) plan.ids.push_back(ByteTokenizer::kEos);
  return cut(std::move(plan), limit);
}

}  // namespace lathe::tests
