// SPDX-License-Identifier: Apache-2.0
#include "engine/text/byte_tokenizer.h"

#include <fmt/format.h>

#include <charconv>

#include "engine/text/tokenizer_base.h"
#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

constexpr std::int32_t kByteTokens = 256;

class ByteTokenizer final : public TokenizerBase {
 public:
  using TokenizerBase::TokenizerBase;

  std::string_view kind() const override { return "bytes"; }

  std::optional<std::int32_t> id_of(std::string_view piece) const override {
    if (piece.size() == 1) return static_cast<unsigned char>(piece.front());
    std::int32_t id = 0;
    if (!piece.starts_with(' ')) return std::nullopt;
    const char* const end = piece.data() + piece.size();
    const auto [rest, error] = std::from_chars(piece.data() + 1, end, id);
    return error == std::errc() && rest == end && id >= kByteTokens && id < vocab_size() ? std::optional(id) : std::nullopt;
  }

  std::string decode_bytes(std::int32_t id, bool) const override {
    if (id < 0 || id >= vocab_size()) return {};
    return id < kByteTokens ? std::string(1, static_cast<char>(id)) : fmt::format(" {}", id);
  }

 protected:
  Result<void> encode_plain(const PlainPart& part, EncodeBudget&, std::vector<std::int32_t>& ids) const override {
    for (const char byte : part.text) ids.push_back(static_cast<unsigned char>(byte));
    return {};
  }
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer(std::int32_t vocab_size) {
  LATHE_CHECK(vocab_size >= kByteTokens);
  TokenizerParts parts;
  parts.special.resize(static_cast<std::size_t>(vocab_size), false);
  parts.max_bytes_per_token = 1;
  return std::make_unique<ByteTokenizer>(std::move(parts));
}

}  // namespace lathe::engine
