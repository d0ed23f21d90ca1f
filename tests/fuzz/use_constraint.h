// SPDX-License-Identifier: Apache-2.0
// use_constraint(): walks through answers of a constraint that was accepted, as an engine does.
#pragma once

#include <string>
#include <string_view>

namespace lathe::fuzz {

/// Compiles {"member": text} within limits that an input of a few hundred bytes can reach. Aborts if the mask allows a token
/// that does not follow, a forced token is not allowed, taking a token back changes the mask, or, with `is_spellable`, an
/// answer gets stuck: every byte is a token.
void use_constraint(std::string_view member, std::string_view text, bool is_spellable = true);

}  // namespace lathe::fuzz
