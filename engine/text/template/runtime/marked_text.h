// SPDX-License-Identifier: Apache-2.0
// MarkedText: a text that records which of its bytes a template wrote and which came from a request.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::engine::jinja {

/// Origin of a byte. Where an operation cannot separate origins, the highest one is used.
enum class Source : std::uint8_t {
  model,         ///< the template or the checkpoint: may spell control tokens
  request,       ///< messages and variables: may never spell control tokens
  final_message  ///< the request's last message: continue_final_message cuts after it
};

/// Invariant: runs cover the text, adjacent runs differ, and no run is empty.
class MarkedText {
 public:
  struct Run {
    std::size_t end = 0;  ///< offset after its last byte
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
