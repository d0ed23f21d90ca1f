// SPDX-License-Identifier: Apache-2.0
// Collects what an answer turned out to be, in deltas of whole characters.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "engine/api/answer_parser.h"
#include "engine/base/utf8.h"

namespace lathe::engine {

class DeltaList {
 public:
  void add(AnswerDelta::Kind kind, std::string_view text) {
    if (text.empty()) return;
    if (deltas_.empty() || deltas_.back().kind != kind) deltas_.push_back({kind, {}, {}});
    deltas_.back().text += text;
  }
  void add(ToolCall call) { deltas_.push_back({AnswerDelta::Kind::call, {}, std::move(call)}); }

  /// What has come, but for the bytes that begin a character whose rest may still come.
  std::vector<AnswerDelta> take() {
    std::vector<AnswerDelta> taken = std::exchange(deltas_, {});
    if (taken.empty()) return taken;
    std::string& text = taken.back().text;
    if (const std::size_t tail = incomplete_utf8_tail(text); tail > 0) {
      add(taken.back().kind, std::string_view(text).substr(text.size() - tail));
      text.resize(text.size() - tail);
      if (text.empty()) taken.pop_back();
    }
    return taken;
  }
  std::vector<AnswerDelta> take_all() { return std::exchange(deltas_, {}); }

 private:
  std::vector<AnswerDelta> deltas_;
};

}  // namespace lathe::engine
