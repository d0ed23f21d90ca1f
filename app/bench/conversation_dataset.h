// SPDX-License-Identifier: Apache-2.0
// What users say, out of a file: prompts, or conversations of several turns.
#pragma once

#include <string>
#include <vector>

#include "engine/api/result.h"

namespace lathe::app {

/// What the user says in each turn; the answers are the model's own. Never empty, nor is a turn.
using UserTurns = std::vector<std::string>;

/// The items of a list (.json) or of JSONL (.jsonl), or the lines of a text. An item has a string "text" or "prompt", a list
/// of strings "turns" (MT-bench), or a list of objects: "messages" with "role" and "content" (OpenAI), "conversations" with
/// "from" and "value" (ShareGPT), of which those of the user are taken; of a list it may be a string. Items in which a user
/// says nothing are left out. Errors: those of read_text_file; invalid_argument naming item or line, and when none is left.
engine::Result<std::vector<UserTurns>> read_conversations(const std::string& path);

}  // namespace lathe::app
