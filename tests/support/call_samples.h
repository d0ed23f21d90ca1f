// SPDX-License-Identifier: Apache-2.0
// Calls in each format of tool calls, from which the tests of formats, markers and hostile texts take theirs. A new format
// is a row here.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::tests {

struct CallSample {
  const char* format;
  std::string call;      ///< a call of f with s = "x", with \x01 before markers that are tokens of the family's models
  std::string expected;  ///< the line that AnswerParts makes of it
  std::vector<std::string> tokens;  ///< those markers; none: the format has no markers, or is Harmony
  std::string opening;              ///< the beginning of a call, up to its arguments
  /// A call whose string or value is not closed before the marker that ends the block; empty: the format has no such marker.
  std::string unclosed{};

  /// The call as a text without tokens.
  std::string spelled() const {
    std::string text = call;
    std::erase(text, '\1');
    return text;
  }
};

// Arguments as the answer has them, and as a parser writes them that reads tags.
inline constexpr const char *kRawCall = R"(T:f {"s":"\u0078"})", *kReadCall = R"(T:f {"s": "x"})";

inline const std::vector<CallSample> kCallSamples = {
    {.format = "hermes",
     .call = "\1<tool_call>{\"name\":\"f\",\"arguments\":{\"s\":\"\\u0078\"}}\1</tool_call>",
     .expected = kRawCall,
     .tokens = {"<tool_call>", "</tool_call>"},
     .opening = "<tool_call>{\"name\": \"f\", \"arguments\": ",
     .unclosed = "\1<tool_call>{\"name\":\"f\",\"arguments\":{\"s\":\"x}}\1</tool_call>"},
    {.format = "llama3_json",
     .call = "\1<|python_tag|>{\"name\":\"f\",\"parameters\":{\"s\":\"\\u0078\"}}",
     .expected = kRawCall,
     .tokens = {"<|python_tag|>"},
     .opening = "{\"name\": \"f\", \"parameters\": "},
    {.format = "json",
     .call = "[{\"name\":\"f\",\"arguments\":{\"s\":\"\\u0078\"}}]",
     .expected = kRawCall,
     .tokens = {},
     .opening = "[{\"name\": \"f\", \"arguments\": "},
    {.format = "pythonic",
     .call = "\1<|python_start|>[f(s='\\u0078')]\1<|python_end|>",
     .expected = kReadCall,
     .tokens = {"<|python_start|>", "<|python_end|>"},
     .opening = "[f(x=",
     .unclosed = "\1<|python_start|>[f(s='x)]\1<|python_end|>"},
    {.format = "mistral",
     .call = "\1[TOOL_CALLS]f\1[ARGS]{\"s\":\"\\u0078\"}",
     .expected = kRawCall,
     .tokens = {"[TOOL_CALLS]", "[ARGS]"},
     .opening = "[TOOL_CALLS]f[ARGS]"},
    {.format = "qwen3_coder",
     .call = "\1<tool_call>\n<function=f>\n<parameter=s>\nx\n</parameter>\n</function>\n\1</tool_call>",
     .expected = kReadCall,
     .tokens = {"<tool_call>", "</tool_call>"},
     .opening = "<tool_call><function=f><parameter=x>",
     .unclosed = "\1<tool_call><function=f><parameter=s>x</function>\1</tool_call>"},
    {.format = "deepseek_v3",
     .call = "\1<｜tool▁calls▁begin｜>\1<｜tool▁call▁begin｜>f\1<｜tool▁sep｜>{\"s\":\"\\u0078\"}\1<｜tool▁call▁end｜>\1<"
             "｜tool▁calls▁end｜>",
     .expected = kRawCall,
     .tokens = {"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>",
                "<｜tool▁calls▁end｜>"},
     .opening = "<｜tool▁call▁begin｜>f<｜tool▁sep｜>",
     .unclosed = "\1<｜tool▁call▁begin｜>f\1<｜tool▁sep｜>{\"s\":\"x}\1<｜tool▁call▁end｜>"},
    {.format = "granite",
     .call = "\1<|tool_call|>[{\"name\":\"f\",\"arguments\":{\"s\":\"\\u0078\"}}]",
     .expected = kRawCall,
     .tokens = {"<|tool_call|>"},
     .opening = "<|tool_call|>[{\"name\": \"f\", \"arguments\": "},
    {.format = "gemma4",
     .call = "\1<|tool_call>call:f{s:\1<|\"|>x\1<|\"|>}\1<tool_call|>",
     .expected = kReadCall,
     .tokens = {"<|tool_call>", "<tool_call|>", "<|\"|>"},
     .opening = "<|tool_call>call:f{x:",
     .unclosed = "\1<|tool_call>call:f{s:\1<|\"|>x}\1<tool_call|>"},
    {.format = "functiongemma",
     .call = "\1<start_function_call>call:f{s:\1<escape>x\1<escape>}\1<end_function_call>",
     .expected = kReadCall,
     .tokens = {"<start_function_call>", "<end_function_call>", "<escape>"},
     .opening = "<start_function_call>call:f{x:",
     .unclosed = "\1<start_function_call>call:f{s:\1<escape>x}\1<end_function_call>"},
    {.format = "glm45",
     .call = "\1<tool_call>f\n\1<arg_key>s\1</arg_key>\n\1<arg_value>x\1</arg_value>\n\1</tool_call>",
     .expected = kReadCall,
     .tokens = {"<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"},
     .opening = "<tool_call>f<arg_key>x</arg_key><arg_value>",
     .unclosed = "\1<tool_call>f\1<arg_key>s\1</arg_key>\1<arg_value>x\1</tool_call>"},
    {.format = "kimi_k2",
     .call =
         "\1<|tool_calls_section_begin|>\1<|tool_call_begin|>functions.f:0\1<|tool_call_argument_begin|>{\"s\":\"\\u0078\"}"
         "\1<|tool_call_end|>\1<|tool_calls_section_end|>",
     .expected = std::string(kRawCall) + " functions.f:0",
     .tokens = {"<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>",
                "<|tool_calls_section_end|>"},
     .opening = "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>",
     .unclosed = "\1<|tool_call_begin|>functions.f:0\1<|tool_call_argument_begin|>{\"s\":\"x}\1<|tool_call_end|>"
                 "\1<|tool_calls_section_end|>"},
    {.format = "minimax",
     .call = "\1<tool_calls>\n{\"name\":\"f\",\"arguments\":{\"s\":\"\\u0078\"}}\n\1</tool_calls>",
     .expected = kRawCall,
     .tokens = {"<tool_calls>", "</tool_calls>"},
     .opening = "<tool_calls>{\"name\": \"f\", \"arguments\": ",
     .unclosed = "\1<tool_calls>{\"name\":\"f\",\"arguments\":{\"s\":\"x}}\1</tool_calls>"},
    {.format = "minimax_m2",
     .call = "\1<minimax:tool_call>\n<invoke name=\"f\">\n<parameter "
             "name=\"s\">x</parameter>\n</invoke>\n\1</minimax:tool_call>",
     .expected = kReadCall,
     .tokens = {"<minimax:tool_call>", "</minimax:tool_call>"},
     .opening = "<minimax:tool_call><invoke name=\"f\"><parameter name=\"x\">",
     .unclosed = "\1<minimax:tool_call><invoke name=\"f\"><parameter name=\"s\">x</invoke>\1</minimax:tool_call>"},
    {.format = "openai",
     .call = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"s\":\"\\u0078\"}<|call|>",
     .expected = kRawCall,
     .tokens = {},
     .opening = "<|channel|>commentary to=functions.f<|message|>"},
};

/// The row of a format. Requires: there is one, which formats_test checks.
inline const CallSample& sample_of(std::string_view format) {
  return *std::find_if(kCallSamples.begin(), kCallSamples.end(),
                       [&](const CallSample& row) { return row.format == format; });
}

}  // namespace lathe::tests
