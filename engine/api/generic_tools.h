// SPDX-License-Identifier: Apache-2.0
// Generic tools: the form of tools for models whose chat template shows no format of calls. Texts of the messages explain
// the tools and hold calls and results, and answers have calls in one format of the table.
#pragma once

#include <string_view>
#include <vector>

#include "engine/api/chat.h"
#include "engine/api/engine.h"
#include "engine/api/result.h"

namespace lathe::engine {

/// Name of the format of generic calls. Its markers are text for any vocabulary, so the text around calls is free, JSON
/// included; the format "json" would read every answer that is JSON as a call.
inline constexpr std::string_view kGenericCallFormat = "hermes";

/// Returns whether tools take the generic form: the model has a chat template, which is to say the format of calls
/// (tool_call_parser is auto), and shows none.
bool has_generic_tools(const Engine& engine);

/// Returns how the answer to a chat with generic tools is read: for calls in the generic format, for reasoning as without
/// tools.
AnswerReading generic_reading(const LoadedModel& model, const Tokenizer& tokenizer);

/// Returns whether a chat needs render_generic_tools(): it has tools, calls or results.
bool needs_generic_tools(const std::vector<ChatMessage>& messages, const ChatRenderOptions& options);

/// Renders a chat with texts in place of tools, calls and results. The text that explains the tools follows the system
/// message; it is one if there is none; and it precedes the text of the first user if the template refuses or leaves out a
/// system message. Calls follow the text of the assistant. Results are messages of the user; those next to each other, and
/// the user's own message behind them, are one, so that roles alternate wherever they did without tools. Errors: those of
/// ChatTemplate::render().
Result<std::vector<TextSpan>> render_generic_tools(const ChatTemplate& chat_template, std::vector<ChatMessage> messages,
                                                   ChatRenderOptions options);

}  // namespace lathe::engine
