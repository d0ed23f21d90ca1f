// SPDX-License-Identifier: Apache-2.0
// Text to token ids and back. Immutable: every call may come from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"

namespace lathe::engine {

/// A piece of text and whether control tokens may be read out of it. Text of a user never may.
struct TextSpan {
  std::string text;
  bool parse_special = false;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::string_view kind() const = 0;  ///< "sentencepiece", "bpe"
  virtual std::int32_t vocab_size() const = 0;
  virtual std::optional<std::int32_t> bos_id() const = 0;
  virtual const std::vector<std::int32_t>& eos_ids() const = 0;
  /// Whether the checkpoint puts BOS before a plain prompt (add_bos_token).
  virtual bool adds_bos() const = 0;
  virtual bool is_special(std::int32_t id) const = 0;
  /// The id of a piece or added token by its exact text.
  virtual std::optional<std::int32_t> id_of(std::string_view piece) const = 0;
  /// The bytes that the token adds to a text, after others; control tokens give their name.
  virtual std::string piece(std::int32_t id) const = 0;

  /// The most bytes of a text that one of its ids may stand for; 0: no bound is known. With it a text can be seen to be too
  /// long for a context without being encoded.
  virtual std::size_t max_bytes_per_token() const { return 0; }

  /// Ids of a text. add_special puts BOS/EOS as the checkpoint's post-processor does.
  /// Errors: too_large when the text is, or when the tokenizer's own rules take too long on it.
  virtual Result<std::vector<std::int32_t>> encode(std::string_view text, bool add_special, bool parse_special) const = 0;
  /// Ids of spans joined as if they were one text, special tokens read only where a span allows it. Adds nothing.
  /// Errors: as encode.
  virtual Result<std::vector<std::int32_t>> encode_spans(std::span<const TextSpan> spans) const = 0;
  /// The text of ids; a broken UTF-8 tail becomes U+FFFD.
  virtual std::string decode(std::span<const std::int32_t> ids, bool skip_special) const = 0;
  /// Raw bytes of one more token in a running text: what incremental decoding adds up. `first` = nothing came before.
  virtual std::string decode_bytes(std::int32_t id, bool first) const = 0;
};

/// Opens tokenizer.model or tokenizer.json of a folder, or one such file. Files are read as a ModelFolder reads them: a link
/// out of the folder is refused. Errors: model_refused, not_found.
Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& path);

}  // namespace lathe::engine
