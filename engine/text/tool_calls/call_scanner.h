// SPDX-License-Identifier: Apache-2.0
// CallScanner: separates tool calls from the content around them, byte by byte and token by token.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/text/tool_calls/block_extent.h"
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/code_tracker.h"
#include "engine/text/tool_calls/delta_list.h"
#include "engine/text/tool_calls/marker_matcher.h"
#include "engine/text/tool_calls/marker_progress.h"
#include "engine/text/tool_calls/tag_block.h"

namespace lathe::engine {

class CallScanner {
 public:
  /// `format` may be null: then everything is content. Requires: `tokens` and `out` outlive this object.
  CallScanner(const CallFormat* format, ArgumentTypes types, const MarkerTokens& tokens, DeltaList& out);

  void push(char byte);
  void push_token(std::string_view text);
  /// `cut`: see AnswerParser::finish.
  void finish(bool cut);
  /// A marker of the reasoning comes now that is no text.
  void pass_other_marker() { code_.end_closed_fence(); }
  /// A reasoning comes now: all that is held back before it is content, or a call.
  void interrupt();
  bool in_block_or_fence() const { return in_block_ || code_.marker_in_fence(); }
  /// Whether markers of others that are spelled count here: neither in a block of calls nor in code.
  bool in_plain_text() const { return !in_block_or_fence() && code_.open_span() == 0; }

 private:
  /// A part of the text behind a backtick on its line.
  struct Quoted {
    enum class Kind : std::uint8_t { text, wraps, block };
    Kind kind = Kind::text;
    std::string text{};
    std::vector<ToolCall> calls{};  ///< of a block
  };

  void push_plain(std::string_view text);
  void push_outside(char byte);
  void pass_marker(std::string_view marker);
  void pass_wraps(std::string_view wraps);
  void open_block(std::string_view beginning);
  void open_bare_block(std::string_view tag);
  void push_inside(char byte);
  void push_inside_token(std::string_view text);
  void take_state(BlockExtent::State state);
  void close_block();
  void close_open_block(bool cut);
  void give_up_block();
  void give_up_bare_block();
  std::string take_text_behind_calls();
  std::size_t size_of_last_token(std::size_t size) const;
  void push_again(std::string_view text, std::size_t token_size);
  void emit(std::vector<ToolCall> calls);

  bool is_undecided() const { return !quoted_.empty(); }
  void push_undecided(char byte);
  void add_undecided(Quoted::Kind kind, std::string_view text);
  void decide(bool is_code);

  bool is_bare_tag(std::string_view marker) const;
  bool may_begin_name(char byte) const;
  void note_spelled_begin(char byte);
  void keep_break();
  void add_border(std::string_view text);
  void add_content(std::string_view text);
  void release_border();

  const CallFormat* format_;
  ArgumentTypes types_;
  const MarkerTokens& tokens_;
  DeltaList& out_;
  MarkerMatcher markers_;
  CodeTracker code_;
  BlockExtent extent_;
  std::optional<TagBlock> tags_;
  std::string plain_;   ///< bytes that the matcher released, before they are examined
  std::string border_;  ///< blanks and wraps that are content unless a call is next to them
  bool border_has_wrap_ = false;
  std::string break_;  ///< blanks beside the calls since the last content, which separate the next content from it
  std::string block_;  ///< all bytes of the open block
  std::vector<TokenSpan> block_tokens_;
  std::size_t body_at_ = 0;
  MarkerProgress spelled_begin_;
  /// Parts since the first call after an open backtick: they are calls unless the code span closes.
  std::vector<Quoted> quoted_;
  std::size_t quoted_bytes_ = 0;
  std::size_t span_ = 0;   ///< backticks that opened the code span before the block
  std::size_t ticks_ = 0;  ///< backticks of the current run after the block
  bool in_block_ = false;
  bool is_bare_ = false;         ///< the block has no begin marker
  bool behind_spelled_ = false;  ///< only blanks since a begin marker that is spelled where it is a token
  bool has_content_ = false;
  bool at_begin_ = true;      ///< at the beginning of the answer, or of a text after a call
  bool behind_call_ = false;  ///< only border since the last call
};

}  // namespace lathe::engine
