// SPDX-License-Identifier: Apache-2.0
// Tokenizer: converts text to token ids and back. Immutable. Thread: any.
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

/// A piece of a prompt's text.
struct TextSpan {
  std::string text;
  bool parse_special = false;  ///< control tokens are recognised in the text; always false for a user's text
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::string_view kind() const = 0;  ///< "sentencepiece", "bpe", "bytes"
  virtual std::int32_t vocab_size() const = 0;
  virtual std::optional<std::int32_t> bos_id() const = 0;
  virtual const std::vector<std::int32_t>& eos_ids() const = 0;
  /// True if the checkpoint puts BOS before a plain prompt (add_bos_token).
  virtual bool adds_bos() const = 0;
  virtual bool is_special(std::int32_t id) const = 0;
  /// The id of a piece or added token by its exact text.
  virtual std::optional<std::int32_t> id_of(std::string_view piece) const = 0;
  /// The bytes that a token adds to a text when it is not the first; for a control token its name.
  virtual std::string piece(std::int32_t id) const = 0;

  /// Most bytes of text that one id may represent; 0: no bound is known. With this bound a text that is too long for a
  /// context is rejected without encoding it.
  virtual std::size_t max_bytes_per_token() const { return 0; }

  /// Ids of a text. add_special adds BOS and EOS as the checkpoint's post-processor does.
  /// Errors: too_large when the text is too long, or when the tokenizer's rules take too long on it.
  virtual Result<std::vector<std::int32_t>> encode(std::string_view text, bool add_special, bool parse_special) const = 0;
  /// Ids of the joined text of spans; special tokens are recognised only in spans that allow it. Adds no BOS or EOS.
  /// Errors: as encode.
  virtual Result<std::vector<std::int32_t>> encode_spans(std::span<const TextSpan> spans) const = 0;
  /// The text of ids; invalid UTF-8 becomes U+FFFD.
  virtual std::string decode(std::span<const std::int32_t> ids, bool skip_special) const = 0;
  /// Raw bytes of the next token of a text, for incremental decoding. `first`: no token came before.
  virtual std::string decode_bytes(std::int32_t id, bool first) const = 0;
};

/// Opens tokenizer.model or tokenizer.json of a folder, or one such file; for a shape a tokenizer of bytes. A link that
/// leads out of the folder is refused, as in a ModelFolder. Errors: model_refused, not_found.
Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& path);

}  // namespace lathe::engine
