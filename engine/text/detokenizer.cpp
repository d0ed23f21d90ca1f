// SPDX-License-Identifier: Apache-2.0
#include "engine/text/detokenizer.h"

#include <algorithm>
#include <utility>

#include "engine/base/utf8.h"

namespace lathe::engine {
namespace {

std::int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

}  // namespace

Detokenizer::Detokenizer(const Tokenizer& tokenizer, std::span<const std::string> stop, bool include_stop, bool skip_special)
    : tokenizer_(&tokenizer), stop_(stop), include_stop_(include_stop), skip_special_(skip_special) {}

int Detokenizer::push(std::int32_t id, std::string& delta, bool may_stop) {
  if (stopped_ || (skip_special_ && tokenizer_->is_special(id))) return -1;
  bytes_ += tokenizer_->decode_bytes(id, false);
  const std::size_t n_complete = bytes_.size() - incomplete_utf8_tail(bytes_);
  if (n_complete == 0) return -1;
  const std::string_view complete(bytes_.data(), n_complete);
  const std::size_t n_held = held_.size();
  held_ += is_valid_utf8(complete) ? std::string(complete) : repaired_utf8(complete);
  n_characters_ += count_characters(std::string_view(held_).substr(n_held));
  bytes_.erase(0, n_complete);

  if (!may_stop) {
    delta += std::exchange(held_, {});
    return -1;
  }
  const int matched = cut_at_stop();
  if (matched >= 0) {
    delta += held_;
    held_.clear();
    bytes_.clear();
    stopped_ = true;
    return matched;
  }
  const std::size_t n_sure = held_.size() - n_undecided();
  delta.append(held_, 0, n_sure);
  held_.erase(0, n_sure);
  return -1;
}

/// Cuts held_ at the stop string that ends first; its index, or -1.
int Detokenizer::cut_at_stop() {
  int matched = -1;
  std::size_t match_begin = 0, match_end = 0;
  for (std::size_t i = 0; i < stop_.size(); ++i) {
    const std::size_t begin = held_.find(stop_[i]);
    if (begin == std::string::npos) continue;
    const std::size_t end = begin + stop_[i].size();
    if (matched >= 0 && (end > match_end || (end == match_end && begin >= match_begin))) continue;
    matched = static_cast<int>(i);
    match_begin = begin;
    match_end = end;
  }
  if (matched < 0) return matched;
  const std::size_t n_kept = include_stop_ ? match_end : match_begin;
  n_characters_ -= count_characters(std::string_view(held_).substr(n_kept));
  held_.resize(n_kept);
  return matched;
}

/// Bytes at the end of held_ that begin some stop string.
std::size_t Detokenizer::n_undecided() const {
  std::size_t longest = 0;
  for (const std::string& stop : stop_) {
    for (std::size_t n = std::min(stop.size() - 1, held_.size()); n > longest; --n) {
      if (std::string_view(held_).ends_with(std::string_view(stop).substr(0, n))) longest = n;
    }
  }
  return longest;
}

void Detokenizer::flush(std::string& delta) {
  if (stopped_) return;
  const std::string rest = repaired_utf8(bytes_);
  n_characters_ += count_characters(rest);
  delta += held_;
  delta += rest;
  held_.clear();
  bytes_.clear();
  stopped_ = true;
}

}  // namespace lathe::engine
