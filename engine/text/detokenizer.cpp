// SPDX-License-Identifier: Apache-2.0
#include "engine/text/detokenizer.h"

#include <algorithm>

#include "engine/base/utf8.h"

namespace lathe::engine {
namespace {

std::int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

}  // namespace

Detokenizer::Detokenizer(const Tokenizer& tokenizer, std::span<const std::string> stop, bool include_stop, bool skip_special,
                         std::span<const AnswerMarker> watched)
    : tokenizer_(&tokenizer), stops_(stop, include_stop), watched_(watched), skip_special_(skip_special) {}

bool Detokenizer::is_watched(std::int32_t id) const {
  const auto found = std::lower_bound(watched_.begin(), watched_.end(), id,
                                      [](const AnswerMarker& marker, std::int32_t wanted) { return marker.id < wanted; });
  return found != watched_.end() && found->id == id;
}

std::int64_t Detokenizer::n_characters() const { return n_given_ + count_characters(stops_.held()); }

int Detokenizer::push(std::int32_t id, std::string& delta, bool may_stop, std::vector<TextMark>* marks) {
  const std::size_t n_before = delta.size();
  const int matched = add(id, delta, may_stop, marks);
  n_given_ += count_characters(std::string_view(delta).substr(n_before));
  return matched;
}

int Detokenizer::add(std::int32_t id, std::string& delta, bool may_stop, std::vector<TextMark>* marks) {
  if (stopped_) return -1;
  if (!watched_.empty() && is_watched(id)) {
    delta += repaired_utf8(bytes_);  // an incomplete character cannot continue after a marker
    bytes_.clear();
    marks->push_back({delta.size(), id});
    delta += tokenizer_->decode_bytes(id, false);
    return -1;
  }
  if (skip_special_ && tokenizer_->is_special(id)) return -1;
  bytes_ += tokenizer_->decode_bytes(id, false);
  const std::size_t n_complete = bytes_.size() - incomplete_utf8_tail(bytes_);
  if (n_complete == 0) return -1;
  std::string_view complete(bytes_.data(), n_complete);
  std::string repaired;
  if (!is_valid_utf8(complete)) complete = repaired = repaired_utf8(complete);
  int matched = -1;
  if (may_stop) {
    matched = stops_.push(complete, delta);
  } else {
    delta += complete;
  }
  bytes_.erase(0, n_complete);
  if (matched >= 0) {
    bytes_.clear();
    stopped_ = true;
  }
  return matched;
}

void Detokenizer::flush(std::string& delta) {
  if (stopped_) return;
  const std::size_t n_before = delta.size();
  stops_.release(delta);
  delta += repaired_utf8(bytes_);
  n_given_ += count_characters(std::string_view(delta).substr(n_before));
  bytes_.clear();
  stopped_ = true;
}

}  // namespace lathe::engine
