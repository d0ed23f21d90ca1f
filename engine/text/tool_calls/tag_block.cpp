// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/tag_block.h"

#include <array>

#include "engine/text/tool_calls/markup.h"
#include "engine/text/tool_calls/named_values.h"

namespace lathe::engine {
namespace {

constexpr std::size_t kMaxNameBytes = 256, kMaxKeyBytes = 1024;

std::string_view without_line_breaks(std::string_view value) {
  if (value.starts_with("\n")) value.remove_prefix(1);
  if (value.ends_with("\n")) value.remove_suffix(1);
  return value;
}

std::string_view without_quotes(std::string_view name) {
  return name.size() >= 2 && name.front() == '"' && name.back() == '"' ? name.substr(1, name.size() - 2) : name;
}

}  // namespace

TagBlock::TagBlock(const CallFormat& format, const MarkerTokens& tokens, const ArgumentTypes* offered)
    : form_(*format.tags), end_(format.end), tokens_(tokens), offered_(offered) {}

BlockExtent::State TagBlock::state() const {
  if (step_ == Step::broken) return BlockExtent::State::broken;
  return step_ == Step::ended ? BlockExtent::State::ended : BlockExtent::State::open;
}

BlockExtent::State TagBlock::push(char byte) {
  push_byte(byte);
  if (end_progress_.push(byte, end_, tokens_) && step_ != Step::ended) has_passed_end_ = true;
  return state();
}

BlockExtent::State TagBlock::push_token(std::string_view text) {
  pass_token(text);
  end_progress_.reset();
  if (text == end_ && step_ != Step::ended) has_passed_end_ = true;
  return state();
}

void TagBlock::push_byte(char byte) {
  ++n_bytes_;
  switch (step_) {
    case Step::name: push_name(byte); break;
    case Step::key: push_key(byte); break;
    case Step::value: match_value_end(byte); break;
    case Step::before_call:
      if (form_.call_open.empty() && held_.empty() && !is_blank(byte)) {
        begin_ = n_bytes_ - 1;
        step_ = Step::name;
        push_name(byte);
        break;
      }
      [[fallthrough]];
    case Step::in_call:
    case Step::before_value:
    case Step::behind_value:
    case Step::behind_call: expect(byte); break;
    case Step::ended:
    case Step::broken: break;
  }
}

void TagBlock::pass_token(std::string_view text) {
  const bool ends_name = step_ == Step::name && form_.call_open.empty();
  if (ends_name) end_name(n_bytes_, Step::in_call);
  n_bytes_ += text.size();
  progress_.reset();
  switch (step_) {
    case Step::value:
      if (text == form_.value_close) {
        value_ = {begin_, n_bytes_ - text.size()};
        may_go_on_ = true;
        step_ = Step::behind_value;
      }
      break;
    case Step::key:
      if (text != form_.key_close) give_up();
      else begin_value();
      break;
    case Step::name: give_up(); break;
    default:
      if (step_ == Step::behind_value && held_.empty() && text == end_ && !is_expected(text)) {
        // The model omitted the tag that closes the call: the end token directly after a value ends both.
        confirm_value();
        n_whole_ = calls_.size();
        end_of_calls_ = n_bytes_;
        step_ = Step::ended;
      } else if (held_.empty() && is_expected(text)) {
        pass(text);
      } else {
        mismatch();
        if (step_ == Step::value && text == form_.value_close) {
          n_bytes_ -= text.size();
          pass_token(text);
        }
      }
  }
}

/// Returns whether the tag may come next.
bool TagBlock::is_expected(std::string_view tag) const {
  if (tag.empty()) return false;
  switch (step_) {
    case Step::before_call: return tag == form_.call_open;
    case Step::before_value: return tag == form_.value_open;
    case Step::behind_call: return tag == form_.call_open || tag == end_;
    default: return tag == form_.key_open || tag == (form_.call_close.empty() ? end_ : form_.call_close);
  }
}

/// Reads a byte between tags: a blank, or part of a tag that is found in the text.
void TagBlock::expect(char byte) {
  if (held_.empty() && is_blank(byte)) return match_value_end(byte);
  held_ += byte;
  const std::array tags = {form_.call_open, form_.key_open, form_.value_open, form_.call_close, end_};
  bool may_become = false;
  for (const std::string_view tag : tags) {
    if (!is_expected(tag) || tokens_.is_token(tag) || !tag.starts_with(held_)) continue;
    if (tag.size() == held_.size()) return pass(tag);
    may_become = true;
  }
  if (!may_become) mismatch();
  match_value_end(byte);
}

void TagBlock::mismatch() {
  held_.clear();
  if (offered_ != nullptr && step_ == Step::behind_call) {
    confirm_value();
    n_whole_ = calls_.size();
  }
  if (may_go_on_) step_ = Step::value;
  else give_up();
}

/// Ends the block because no call can follow: before what follows its calls where it needs no end marker.
void TagBlock::give_up() { step_ = offered_ != nullptr && n_whole_ > 0 ? Step::ended : Step::broken; }

void TagBlock::pass(std::string_view tag) {
  held_.clear();
  const bool ends = step_ == Step::behind_call || form_.call_close.empty();
  if (tag == form_.call_close && !tag.empty()) {
    step_ = Step::behind_call;
    end_of_calls_ = n_bytes_;
    return;
  }
  confirm_value();
  if (tag == form_.value_open && !tag.empty()) return begin_value();
  if (ends && tag != form_.key_open) n_whole_ = calls_.size();
  if (tag == form_.key_open) step_ = Step::key;
  else if (tag == end_) step_ = Step::ended;
  else step_ = Step::name;
  if (tag == end_) end_of_calls_ = n_bytes_;
  name_.clear();
  begin_ = n_bytes_;
  progress_.reset();
}

/// Records the end of the last value, which the tags after it have proved.
void TagBlock::confirm_value() {
  if (may_go_on_) calls_.back().arguments.back().value = value_;
  may_go_on_ = false;
}

void TagBlock::push_name(char byte) {
  name_ += byte;
  const bool is_word = form_.name_close.empty();
  if (!is_word && progress_.push(byte, form_.name_close, tokens_))
    return end_name(n_bytes_ - form_.name_close.size(), Step::in_call);
  if (is_word && (is_blank(byte) || byte == '<')) {
    end_name(n_bytes_ - 1, Step::in_call);
    if (step_ == Step::in_call) expect(byte);
    return;
  }
  const bool names_other = is_word && offered_ != nullptr && !offered_->may_name_tool(name_);
  const bool is_odd = names_other || byte == '<' || byte == '{' || byte == '}' || byte == '`' || byte == '\n';
  if (is_odd || n_bytes_ - begin_ > kMaxNameBytes) give_up();
}

void TagBlock::end_name(std::size_t end, Step next) {
  const std::string_view name = trimmed(std::string_view(name_).substr(0, end - begin_));
  const bool counts = offered_ == nullptr || offered_->names_tool(form_.names_have_quotes ? without_quotes(name) : name);
  if (end == begin_ || !counts) return give_up();
  calls_.push_back({{begin_, end}, {}});
  step_ = next;
}

void TagBlock::push_key(char byte) {
  if (progress_.push(byte, form_.key_close, tokens_)) begin_value();
  else if (n_bytes_ - begin_ > kMaxKeyBytes) give_up();
}

void TagBlock::begin_value() {
  if (step_ == Step::key) {
    calls_.back().arguments.push_back({{begin_, n_bytes_ - form_.key_close.size()}, {}});
    step_ = form_.value_open.empty() ? Step::value : Step::before_value;
  } else {
    step_ = Step::value;
  }
  begin_ = n_bytes_;
  progress_.reset();
}

/// Searches the tag that closes a value, also after a possible one, because the value may continue.
void TagBlock::match_value_end(char byte) {
  if (step_ != Step::value && !may_go_on_) return;
  if (!progress_.push(byte, form_.value_close, tokens_)) return;
  value_ = {begin_, n_bytes_ - form_.value_close.size()};
  may_go_on_ = true;
  held_.clear();
  step_ = Step::behind_value;
}

ToolCall TagBlock::call_of(const Call& call, std::string_view body, const ArgumentTypes& types) const {
  const auto name_of = [&](const Range& range) {
    const std::string_view name = trimmed(range.of(body));
    return form_.names_have_quotes ? without_quotes(name) : name;
  };
  NamedValues values(name_of(call.name), types);
  for (const Argument& argument : call.arguments) {
    const std::string_view value = argument.value.of(body);
    values.add(name_of(argument.key), form_.value_has_lines ? without_line_breaks(value) : value);
  }
  return values.call();
}

/// A name that no tag opens is a word of a text unless an argument follows it.
bool TagBlock::has_begun_call() const { return !calls_.empty() && (!form_.call_open.empty() || step_ != Step::in_call); }

std::vector<ToolCall> TagBlock::calls(std::string_view body, const ArgumentTypes& types, bool cut) {
  const bool end_begun = held_.size() > 1 && end_.starts_with(held_);
  // A block of one call without its end marker is complete if the answer ended by itself after an argument.
  const bool has_end = step_ == Step::behind_value ? end_begun || (held_.empty() && !cut) : end_begun;
  const bool ends_one = form_.call_close.empty() && (step_ == Step::behind_value || step_ == Step::in_call) && has_end;
  if (step_ == Step::behind_call || ends_one) {
    confirm_value();
    n_whole_ = calls_.size();
  }
  std::vector<ToolCall> calls;
  for (std::size_t i = 0; i < n_whole_; ++i) calls.push_back(call_of(calls_[i], body, types));
  return calls;
}

}  // namespace lathe::engine
