// SPDX-License-Identifier: Apache-2.0
#include "app/cli/terminal_markdown.h"

#include <md4c.h>

#include <algorithm>
#include <vector>

#include "app/cli/terminal_table.h"
#include "app/cli/wrapped_text.h"

namespace lathe::app {
namespace {

constexpr std::size_t kLeastWidth = 40, kIndent = 2, kCodeIndent = 4;
constexpr std::string_view kBold = "\x1b[1m", kNotBold = "\x1b[22m", kCode = "\x1b[36m", kNotCode = "\x1b[39m";

/// Receives the callbacks of md4c and writes lines.
class TerminalWriter {
 public:
  TerminalWriter(std::size_t width, bool styled) : width_(std::max(width, kLeastWidth)), styled_(styled) {}

  void enter_block(MD_BLOCKTYPE type, void* detail) {
    switch (type) {
      case MD_BLOCK_UL: begin_list(0); break;
      case MD_BLOCK_OL: begin_list(static_cast<const MD_BLOCK_OL_DETAIL*>(detail)->start); break;
      case MD_BLOCK_LI: begin_item(); break;
      case MD_BLOCK_H:
        begin_block();
        style(kBold);
        break;
      case MD_BLOCK_P:
        if (mark_.empty()) begin_block();
        break;
      case MD_BLOCK_CODE: begin_block(); break;
      case MD_BLOCK_TABLE:
        begin_block();
        rows_.clear();
        n_head_ = static_cast<const MD_BLOCK_TABLE_DETAIL*>(detail)->head_row_count;
        break;
      case MD_BLOCK_TR: rows_.emplace_back(); break;
      default: break;
    }
  }

  void leave_block(MD_BLOCKTYPE type) {
    switch (type) {
      case MD_BLOCK_UL:
      case MD_BLOCK_OL: numbers_.pop_back(); break;
      case MD_BLOCK_LI:
      case MD_BLOCK_P: flush(); break;
      case MD_BLOCK_H:
        style(kNotBold);
        flush();
        break;
      case MD_BLOCK_CODE: write_code(); break;
      case MD_BLOCK_TH:
      case MD_BLOCK_TD:
        if (!rows_.empty()) rows_.back().push_back(std::move(text_));
        text_.clear();
        break;
      case MD_BLOCK_TABLE: out_ += terminal_table(rows_, n_head_, width_); break;
      default: break;
    }
  }

  void enter_span(MD_SPANTYPE type, void* detail) {
    if (type == MD_SPAN_A) link_ = topic_of(static_cast<const MD_SPAN_A_DETAIL*>(detail)->href);
    if (type == MD_SPAN_STRONG) style(kBold);
    if (type == MD_SPAN_CODE) style(kCode);
  }
  void leave_span(MD_SPANTYPE type) {
    if (type == MD_SPAN_A && !link_.empty()) text_ += " (lathe help " + link_ + ")";
    if (type == MD_SPAN_STRONG) style(kNotBold);
    if (type == MD_SPAN_CODE) style(kNotCode);
  }

  void text(MD_TEXTTYPE type, std::string_view words) {
    if (type == MD_TEXT_BR) text_ += '\n';
    else if (type == MD_TEXT_SOFTBR) text_ += ' ';
    else text_ += words;
  }

  std::string take() { return std::move(out_); }

 private:
  /// Returns "serving" for "serving.md#kv-cache"; empty: the link leads to no other page.
  static std::string topic_of(const MD_ATTRIBUTE& href) {
    const std::string_view target(href.text, href.size);
    const std::size_t end = target.find(".md");
    return end == target.npos || target.find('/') != target.npos ? std::string() : std::string(target.substr(0, end));
  }

  void style(std::string_view sequence) {
    if (styled_) text_ += sequence;
  }

  void begin_block() {
    flush();
    if (!out_.empty()) out_ += '\n';
  }

  /// `number`: number of the first item; 0: a bullet list.
  void begin_list(unsigned number) {
    if (numbers_.empty()) begin_block();
    else flush();
    numbers_.push_back(number);
  }

  void begin_item() {
    const bool is_ordered = !numbers_.empty() && numbers_.back() > 0;
    mark_ = is_ordered ? std::to_string(numbers_.back()++) + " " : "- ";
  }

  /// Writes the collected text after the mark of its list item.
  void flush() {
    if (text_.empty()) return;
    const std::string indent(kIndent * std::max<std::size_t>(numbers_.size(), 1) - kIndent, ' ');
    const std::string hang = indent + std::string(numbers_.empty() ? 0 : kIndent, ' ');
    bool first = true;
    for (const std::string& line : wrap(text_, width_ - hang.size())) {
      out_ += (first && !mark_.empty() ? indent + mark_ : hang) + line + '\n';
      first = false;
    }
    mark_.clear();
    text_.clear();
  }

  /// Writes lines of code without wrapping.
  void write_code() {
    for (std::size_t start = 0; start < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', start), text_.size());
      if (end > start) out_ += std::string(kCodeIndent, ' ') + text_.substr(start, end - start);
      out_ += '\n';
      start = end + 1;
    }
    text_.clear();
  }

  const std::size_t width_;
  const bool styled_;
  std::string out_, text_, mark_, link_;
  std::vector<TableRow> rows_;
  std::vector<unsigned> numbers_;  ///< number of the next item of each open list
  std::size_t n_head_ = 0;
};

TerminalWriter& writer(void* data) { return *static_cast<TerminalWriter*>(data); }

}  // namespace

std::string terminal_markdown(std::string_view markdown, std::size_t width, bool styled) {
  MD_PARSER parser{};
  parser.flags = MD_DIALECT_GITHUB | MD_FLAG_NOHTML;
  parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* data) { return writer(data).enter_block(type, detail), 0; };
  parser.leave_block = [](MD_BLOCKTYPE type, void*, void* data) { return writer(data).leave_block(type), 0; };
  parser.enter_span = [](MD_SPANTYPE type, void* detail, void* data) { return writer(data).enter_span(type, detail), 0; };
  parser.leave_span = [](MD_SPANTYPE type, void*, void* data) { return writer(data).leave_span(type), 0; };
  parser.text = [](MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size, void* data) {
    return writer(data).text(type, std::string_view(text, size)), 0;
  };
  TerminalWriter into(width, styled);
  md_parse(markdown.data(), static_cast<MD_SIZE>(markdown.size()), &parser, &into);
  return into.take();
}

}  // namespace lathe::app
