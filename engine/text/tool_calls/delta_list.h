// SPDX-License-Identifier: Apache-2.0
// DeltaList: collects the deltas of an answer as whole UTF-8 characters; ends the content at a stop string.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/api/answer_parser.h"
#include "engine/base/utf8.h"
#include "engine/text/stop_matcher.h"
#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {

class DeltaList {
 public:
  explicit DeltaList(const AnswerStops& stops) : stops_(stops.strings, stops.include), stops_hold_(stops.hold) {}

  void add(AnswerDelta::Kind kind, std::string_view text) {
    if (text.empty() || stop_ >= 0) return;
    if (kind == AnswerDelta::Kind::content) return add_content(text);
    release_content();
    behind_reasoning_ = true;
    append(kind, text);
  }
  void add(ToolCall call) {
    if (stop_ >= 0) return;
    release_content();
    behind_reasoning_ = false;
    if (!only_watched_) deltas_.push_back({AnswerDelta::Kind::call, {}, std::move(call)});
  }
  void hold_stops() { stops_hold_ = true; }
  int stop() const { return stop_; }
  /// Keeps no deltas from now on: the caller needs only stop().
  void only_watch() { only_watched_ = true; }

  /// Returns the deltas so far, except for the bytes of a character whose rest may still come.
  std::vector<AnswerDelta> take() {
    std::vector<AnswerDelta> taken = std::exchange(deltas_, {});
    if (taken.empty()) return taken;
    std::string& text = taken.back().text;
    if (const std::size_t tail = incomplete_utf8_tail(text); tail > 0) {
      append(taken.back().kind, std::string_view(text).substr(text.size() - tail));
      text.resize(text.size() - tail);
      if (text.empty()) taken.pop_back();
    }
    return taken;
  }
  std::vector<AnswerDelta> take_all() {
    release_content();
    return std::exchange(deltas_, {});
  }

 private:
  void append(AnswerDelta::Kind kind, std::string_view text) {
    if (text.empty() || only_watched_) return;
    if (deltas_.empty() || deltas_.back().kind != kind) deltas_.push_back({kind, {}, {}});
    deltas_.back().text += text;
  }

  /// Adds content. Blanks between the reasoning and the answer belong to the format: stop strings are not searched in them.
  void add_content(std::string_view text) {
    if (behind_reasoning_ || stops_.empty() || !stops_hold_) {
      const auto first = std::find_if_not(text.begin(), text.end(), is_blank);
      const bool passes_all = stops_.empty() || !stops_hold_;
      const std::size_t n_passed = passes_all ? text.size() : static_cast<std::size_t>(first - text.begin());
      append(AnswerDelta::Kind::content, text.substr(0, n_passed));
      behind_reasoning_ = behind_reasoning_ && first == text.end();
      text.remove_prefix(n_passed);
      if (text.empty()) return;
    }
    sure_.clear();
    stop_ = stops_.push(text, sure_);
    append(AnswerDelta::Kind::content, sure_);
  }
  void release_content() {
    if (stops_.empty()) return;
    sure_.clear();
    stops_.release(sure_);
    append(AnswerDelta::Kind::content, sure_);
  }

  std::vector<AnswerDelta> deltas_;
  StopMatcher stops_;
  bool stops_hold_ = true;
  bool behind_reasoning_ = false;  ///< only blanks since the reasoning
  bool only_watched_ = false;
  int stop_ = -1;
  std::string sure_;  ///< content that cannot be part of a stop string
};

}  // namespace lathe::engine
