// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/vocabulary.h"

#include <algorithm>
#include <string>
#include <utility>

namespace lathe::engine::grammar {
namespace {

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const std::size_t n = std::min(a.size(), b.size());
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n), b.begin()).first -
                                  a.begin());
}

}  // namespace

std::string bytes_of_token(std::int32_t id) {
  const auto digit = [&](int shift) { return static_cast<char>(id >> shift & 0x7F); };
  return {kTokenByte, digit(14), digit(7), digit(0)};
}

std::int32_t token_of_bytes(std::string_view bytes) {
  return static_cast<std::int32_t>(bytes[1]) << 14 | static_cast<std::int32_t>(bytes[2]) << 7 |
         static_cast<std::int32_t>(bytes[3]);
}

Vocabulary::Vocabulary(const Tokenizer& tokenizer, std::int64_t n_logits, std::span<const std::int32_t> markers)
    : n_logits_(static_cast<std::size_t>(n_logits)), has_own_(static_cast<std::size_t>(tokenizer.vocab_size())) {
  for (const std::int32_t id : markers) has_own_[static_cast<std::size_t>(id)] = true;
  std::vector<std::pair<std::string, std::int32_t>> tokens;
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const auto at = static_cast<std::size_t>(id);
    has_own_[at] = (has_own_[at] || tokenizer.is_special(id)) && at < (std::size_t{1} << 21) && at < n_logits_;
    if (has_own_[at]) tokens.emplace_back(bytes_of_token(id), id);
    if (tokenizer.is_special(id)) continue;
    std::string text = tokenizer.decode_bytes(id, false);
    const bool is_text = !text.empty() && text.size() <= UINT16_MAX && text.find(kTokenByte) == text.npos;
    if (is_text) tokens.emplace_back(std::move(text), id);
  }
  // As bytes, not as characters of a signed type.
  std::sort(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) {
    return std::lexicographical_compare(
               a.first.begin(), a.first.end(), b.first.begin(), b.first.end(),
               [](char x, char y) { return static_cast<unsigned char>(x) < static_cast<unsigned char>(y); }) ||
           (a.first == b.first && a.second < b.second);
  });
  order_.assign(static_cast<std::size_t>(tokenizer.vocab_size()), -1);
  for (auto& [text, id] : tokens) {
    if (text.front() != kTokenByte) order_[static_cast<std::size_t>(id)] = static_cast<std::int32_t>(ids_.size());
    begins_.push_back(static_cast<std::uint32_t>(bytes_.size()));
    ids_.push_back(id);
    bytes_ += text;
    longest_ = std::max(longest_, text.size());
  }
  begins_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  make_nodes();
}

void Vocabulary::make_nodes() {
  std::vector<std::uint32_t> open;  // nodes from the root to the current one
  const auto close_to = [&](std::size_t depth) {
    for (; open.size() > depth; open.pop_back()) nodes_[open.back()].end = static_cast<std::uint32_t>(nodes_.size());
  };
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    const std::string_view bytes = text(i);
    const std::size_t shared = i == 0 ? 0 : common_prefix(text(i - 1), bytes);
    close_to(shared);
    for (std::size_t depth = shared; depth < bytes.size(); ++depth) {
      open.push_back(static_cast<std::uint32_t>(nodes_.size()));
      nodes_.push_back({.first_token = static_cast<std::uint32_t>(i),
                        .depth = static_cast<std::uint16_t>(depth + 1),
                        .byte = static_cast<std::uint8_t>(bytes[depth])});
    }
  }
  close_to(0);
  nodes_.push_back({.end = 0, .first_token = static_cast<std::uint32_t>(ids_.size())});
}

std::string_view Vocabulary::text_of(std::int32_t id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= order_.size()) return {};
  const std::int32_t token = order_[static_cast<std::size_t>(id)];
  return token < 0 ? std::string_view() : text(static_cast<std::size_t>(token));
}

}  // namespace lathe::engine::grammar
