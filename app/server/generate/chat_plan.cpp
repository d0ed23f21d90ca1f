// SPDX-License-Identifier: Apache-2.0
#include "app/server/generate/chat_plan.h"

#include "app/server/generate/tool_fields.h"
#include "engine/api/generic_tools.h"

namespace lathe::app {
namespace {

/// Reads OpenRouter's {"reasoning": {"exclude": true}}.
bool excludes_reasoning(RequestFields& body) {
  const engine::Json* reasoning = body.object("reasoning");
  if (reasoning == nullptr) return false;
  RequestFields reader(*reasoning, "reasoning");
  const bool excludes = reader.flag("exclude").value_or(false);
  body.take_over(reader);
  return excludes;
}

/// Reads how the answer is parsed: for tool calls if the request has tools, for reasoning always.
engine::AnswerReading read_reading(RequestFields& body, const engine::Engine& engine, const ToolDemand& demand,
                                   AnswerPlan& plan) {
  const engine::LoadedModel& model = engine.model();
  const bool has_tools = body.has("tools");
  engine::AnswerReading reading;
  if (demand.is_generic) reading = engine::generic_reading(model, engine.tokenizer());
  else if (has_tools) reading = {model.answer_formats_with_tools, model.answer_markers_with_tools};
  else reading = {model.answer_formats, model.answer_markers};
  if (!demand.may_call) reading.formats.tool_calls.clear();
  if (!body.flag("separate_reasoning").value_or(true)) reading.formats.reasoning.clear();
  reading = engine::answer_reading(reading.formats, reading.markers);
  if (const engine::Json* tools = body.any("tools")) reading.tools = *tools;
  reading.constrains_calls = demand.may_call && demand.is_constrained;
  plan.reading.parallel_tool_calls = body.flag("parallel_tool_calls").value_or(true);
  plan.reading.include_reasoning = body.flag("include_reasoning").value_or(!excludes_reasoning(body));
  return reading;
}

}  // namespace

engine::Result<void> plan_chat(RequestFields& body, engine::OrderedJson tools, const MessageReader& read_messages,
                               const engine::Engine& engine, AnswerPlan& plan) {
  plan.chat = true;
  ToolDemand demand = read_tool_choice(body, tools, engine);
  engine::AnswerReading reading = read_reading(body, engine, demand, plan);
  LATHE_TRY_VOID(body.verdict());
  const StructuredFields& constraint = plan.fields.structured;
  if (reading.constrains_calls && demand.calls.is_required && !constraint.json.empty())
    body.warn(constraint.given_path, constraint.given_path + " was ignored: the answer must be a call of a tool");
  if (reading.constrains_calls) LATHE_TRY_VOID(constrain_calls(plan.fields.structured, std::move(demand.calls), reading));
  plan.has_generic_tools = demand.is_generic;
  // A text that asks for calls would ask for what is not read.
  if (!demand.may_call && engine::has_generic_tools(engine)) tools = nullptr;
  LATHE_TRY(const std::vector<engine::TextSpan> spans, read_chat_prompt(body, std::move(tools), read_messages, engine));
  std::size_t n_bytes = 0;
  for (const engine::TextSpan& span : spans) n_bytes += span.text.size();
  reading.goes_on = body.flag("continue_final_message").value_or(false);
  reading.prompt = engine::prompt_end(spans, reading.goes_on);
  if (!reading.formats.empty()) plan.reading.answer = std::make_shared<const engine::AnswerReading>(std::move(reading));
  LATHE_TRY_VOID(check_text_size(n_bytes, engine));
  LATHE_TRY(std::vector<std::int32_t> prompt, engine.tokenizer().encode_spans(spans));
  LATHE_TRY(const std::int64_t max_tokens,
            fit_to_context(plan.fields, engine.model().default_max_tokens, prompt.size(), engine.model()));
  plan.prompts.push_back({.ids = std::move(prompt), .text = {}, .offsets = {}, .max_tokens = max_tokens});
  return {};
}

}  // namespace lathe::app
