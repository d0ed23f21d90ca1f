// SPDX-License-Identifier: Apache-2.0
// Model families that are known and not read, each with the part that is missing, so that a refusal can say it.
#pragma once

#include <string>
#include <string_view>

namespace lathe::engine {

struct UnreadFamily {
  std::string_view model_type;  ///< "zamba2"; the text of a larger model has the same with "_text" behind it
  std::string_view gguf;        ///< general.architecture of its GGUF files; empty: there are none
  std::string_view missing;     ///< what the family has and Lathe has not: "recurrent layers (gated delta net)"
};

/// By `model_type`, of a whole model or of its text; null if no row has it.
const UnreadFamily* find_unread_family(std::string_view model_type);
/// By the name of a class: "Zamba2ForConditionalGeneration".
const UnreadFamily* find_unread_class(std::string_view name);
/// By general.architecture.
const UnreadFamily* find_unread_gguf(std::string_view architecture);

/// One sentence: "Zamba2ForConditionalGeneration is not read: it needs recurrent layers (Mamba 2)".
std::string refusal_of(const UnreadFamily& family, std::string_view name);

}  // namespace lathe::engine
