// SPDX-License-Identifier: Apache-2.0
// Text that remembers which of its bytes a template wrote and which came from a request.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::engine::jinja {

/// Who wrote a byte. Where an operation cannot keep them apart the higher one wins.
enum class Source : std::uint8_t {
  model,         ///< the template or the checkpoint: may spell control tokens
  request,       ///< messages and variables: never may
  final_message  ///< the request's last message: where continue_final_message cuts
};

/// Invariant: runs cover the text, neighbours differ, none is empty.
class MarkedText {
 public:
  struct Run {
    std::size_t end = 0;  ///< offset behind its last byte
    Source source = Source::model;
  };

  MarkedText() = default;
  MarkedText(std::string_view text, Source source) { append(text, source); }

  const std::string& text() const { return text_; }
  const std::vector<Run>& runs() const { return runs_; }
  std::size_t size() const { return text_.size(); }
  bool empty() const { return text_.empty(); }
  Source source_at(std::size_t offset) const;

  void append(std::string_view text, Source source);
  void append(const MarkedText& other) { append_part(other, 0, other.size()); }
  /// Requires: begin <= end <= other.size().
  void append_part(const MarkedText& other, std::size_t begin, std::size_t end);
  MarkedText part(std::size_t begin, std::size_t end) const;

 private:
  std::string text_;
  std::vector<Run> runs_;
};

}  // namespace lathe::engine::jinja
