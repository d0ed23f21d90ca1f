// SPDX-License-Identifier: Apache-2.0
// FakePlan: the whole answer of a FakeEngine, decided when the request arrives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/api/request.h"

namespace lathe::tests {

struct FakePlan {
  std::vector<std::int32_t> ids;
  std::vector<std::string> visible;  ///< text of each of the first ids
  engine::FinishReason reason = engine::FinishReason::stop;
  engine::StopCause stop_cause = engine::StopCause::eos;
  std::string stop_reason;
};

/// The text as one token a byte, of at most `limit` tokens. For a request with a reading the markers of its vocabulary are
/// tokens, and stop strings hold for the content.
FakePlan plan_answer(std::string text, const engine::GenerateRequest& request, std::size_t limit);

}  // namespace lathe::tests
