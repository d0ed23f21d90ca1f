// SPDX-License-Identifier: Apache-2.0
// Reads user messages from a dataset file: single prompts, or conversations of several turns.
#pragma once

#include <string>
#include <vector>

#include "engine/api/result.h"

namespace lathe::app {

/// Messages of the user, one per turn of a conversation; the answers in between are generated. Invariant: neither the list
/// nor a message is empty.
using UserTurns = std::vector<std::string>;

/// Reads the items of a list (.json) or of JSONL (.jsonl), or the lines of a text. An item has a string "text" or "prompt",
/// a list of strings "turns" (MT-bench), or a list of objects: "messages" with "role" and "content" (OpenAI), or
/// "conversations" with "from" and "value" (ShareGPT), of which only the user's messages are read. An item of a list may
/// also be a string. Items without a user message are left out. Errors: those of read_text_file; invalid_argument naming
/// item or line, and if no item is left.
engine::Result<std::vector<UserTurns>> read_conversations(const std::string& path);

}  // namespace lathe::app
