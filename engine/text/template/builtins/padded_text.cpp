// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/builtins/padded_text.h"

#include <algorithm>

#include "engine/base/utf8.h"
#include "engine/text/template/builtins/operators.h"

namespace lathe::engine::jinja {
namespace {

/// Returns the size of the first n characters, or of all if there are fewer. Units: bytes.
std::size_t bytes_of_characters(std::string_view text, std::int64_t n) {
  std::size_t at = 0;
  for (; n > 0 && at < text.size(); --n) at += read_utf8(text, at).size;
  return at;
}

void append_times(Runtime& runtime, MarkedText& out, const MarkedText& fill, std::int64_t n) {
  if (n <= 0) return;
  const std::size_t times = std::min(static_cast<std::size_t>(n), runtime.limits().max_text_bytes + 1);
  runtime.charge_growth(out.size(), times * fill.size());
  for (std::size_t i = 0; i < times; ++i) out.append(fill);
}

}  // namespace

MarkedText padded(Runtime& runtime, const MarkedText& text, std::int64_t width, const MarkedText& fill, Align align) {
  if (n_characters(fill.text()) != 1) throw Failure("the fill must be one character");
  runtime.charge_text(text.size());
  // The clamp prevents an overflow: the smallest integer minus a length has no value.
  const std::int64_t n = std::max<std::int64_t>(0, std::max<std::int64_t>(0, width) - n_characters(text.text()));
  const std::int64_t before = align == Align::left     ? 0
                              : align == Align::right  ? n
                              : align == Align::middle ? n / 2
                                                       : n / 2 + (n & width & 1);
  MarkedText out;
  append_times(runtime, out, fill, before);
  runtime.charge_growth(out.size(), text.size());
  out.append(text);
  append_times(runtime, out, fill, n - before);
  return out;
}

MarkedText zero_filled(Runtime& runtime, const MarkedText& text, std::int64_t width) {
  const bool has_sign = text.text().starts_with('-') || text.text().starts_with('+');
  const std::size_t n_sign = has_sign ? 1 : 0;
  MarkedText out = text.part(0, n_sign);
  out.append(padded(runtime, text.part(n_sign, text.size()),
                    std::max<std::int64_t>(0, width) - static_cast<std::int64_t>(n_sign), MarkedText("0", Source::model),
                    Align::right));
  return out;
}

MarkedText truncated(Runtime& runtime, const MarkedText& text, std::int64_t length, bool in_words, const MarkedText& end,
                     std::int64_t leeway) {
  const std::int64_t n_end = n_characters(end.text());
  if (length < n_end) throw Failure("truncate: the length must not be less than that of its end");
  if (leeway < 0) throw Failure("truncate: the leeway must not be negative");
  runtime.charge_text(text.size());
  if (n_characters(text.text()) - leeway <= length) return text;
  std::size_t kept = bytes_of_characters(text.text(), length - n_end);
  if (!in_words) {
    const std::size_t blank = kept == 0 ? std::string::npos : text.text().rfind(' ', kept - 1);
    if (blank != std::string::npos) kept = blank;
  }
  MarkedText out = text.part(0, kept);
  out.append(end);
  return out;
}

}  // namespace lathe::engine::jinja
