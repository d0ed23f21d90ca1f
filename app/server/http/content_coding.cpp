// SPDX-License-Identifier: Apache-2.0
#include "app/server/http/content_coding.h"

#include <brotli/decode.h>
#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>

namespace lathe::app::http {
namespace {

using engine::ErrorCode;
using engine::Result;

constexpr std::size_t kMostCodings = 4;
constexpr std::size_t kDecodedPieceBytes = 64u << 10;
constexpr int kMostWindowLog = 23;  // 8 MiB: RFC 9659, 3

/// Collects decoded bytes up to a limit.
class Decoded {
 public:
  explicit Decoded(std::size_t max_bytes) : max_bytes_(max_bytes) {}
  char* piece() { return piece_.data(); }
  static constexpr std::size_t piece_bytes() { return kDecodedPieceBytes; }
  /// Appends the first `n` bytes of the piece.
  Result<void> take(std::size_t n) {
    if (n > max_bytes_ - text_.size()) {
      return engine::fail(ErrorCode::too_large,
                          fmt::format("the body has more than {} bytes when it is decoded", max_bytes_));
    }
    text_.append(piece_.data(), n);
    return {};
  }
  std::string text() { return std::move(text_); }

 private:
  const std::size_t max_bytes_;
  std::string text_;
  std::array<char, kDecodedPieceBytes> piece_{};
};

/// Returns the error of invalid data.
tl::unexpected<engine::Error> broken(std::string_view coding, std::string_view what) {
  return engine::fail(ErrorCode::invalid_argument, fmt::format("the body is not valid {} data: {}", coding, what));
}
constexpr std::string_view kCut = "it is cut short";
constexpr std::string_view kMore = "more bytes follow its end";

/// True if the data has the zlib wrapper, which "deflate" means; some clients send the bare deflate stream instead.
bool has_zlib_wrapper(std::string_view body) {
  if (body.size() < 2) return false;
  const unsigned first = static_cast<unsigned char>(body[0]), second = static_cast<unsigned char>(body[1]);
  return (first & 0x0fu) == Z_DEFLATED && (first * 256 + second) % 31 == 0;
}

Result<void> inflate_all(std::string_view coding, std::string_view body, int window_bits, Decoded& out) {
  z_stream stream{};
  if (inflateInit2(&stream, window_bits) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  for (int status = Z_OK; status != Z_STREAM_END;) {
    stream.next_out = reinterpret_cast<Bytef*>(out.piece());
    stream.avail_out = static_cast<uInt>(Decoded::piece_bytes());
    status = inflate(&stream, Z_NO_FLUSH);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    LATHE_TRY_VOID(out.take(Decoded::piece_bytes() - stream.avail_out));
    if (status == Z_BUF_ERROR || (status == Z_OK && stream.avail_in == 0 && stream.avail_out > 0))
      return broken(coding, kCut);
    if (status != Z_OK && status != Z_STREAM_END) {
      return broken(coding, stream.msg != nullptr ? stream.msg : "it needs a dictionary");
    }
    // A gzip file may have several members (RFC 1952, 2.2).
    if (status == Z_STREAM_END && coding == "gzip" && stream.avail_in > 0) {
      inflateReset(&stream);
      status = Z_OK;
    }
  }
  if (stream.avail_in > 0) return broken(coding, kMore);
  return {};
}

Result<void> decode_gzip(std::string_view body, Decoded& out) { return inflate_all("gzip", body, 16 + MAX_WBITS, out); }

Result<void> decode_deflate(std::string_view body, Decoded& out) {
  return inflate_all("deflate", body, has_zlib_wrapper(body) ? MAX_WBITS : -MAX_WBITS, out);
}

Result<void> decode_brotli(std::string_view body, Decoded& out) {
  const std::unique_ptr<BrotliDecoderState, void (*)(BrotliDecoderState*)> state(
      BrotliDecoderCreateInstance(nullptr, nullptr, nullptr), BrotliDecoderDestroyInstance);
  if (state == nullptr) throw std::bad_alloc();
  const auto* in = reinterpret_cast<const std::uint8_t*>(body.data());
  std::size_t n_in = body.size();
  for (auto result = BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT; result != BROTLI_DECODER_RESULT_SUCCESS;) {
    auto* piece = reinterpret_cast<std::uint8_t*>(out.piece());
    std::size_t n_free = Decoded::piece_bytes();
    result = BrotliDecoderDecompressStream(state.get(), &n_in, &in, &n_free, &piece, nullptr);
    LATHE_TRY_VOID(out.take(Decoded::piece_bytes() - n_free));
    if (result == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT) return broken("br", kCut);
    if (result == BROTLI_DECODER_RESULT_ERROR) {
      return broken("br", BrotliDecoderErrorString(BrotliDecoderGetErrorCode(state.get())));
    }
  }
  if (n_in > 0) return broken("br", kMore);
  return {};
}

Result<void> decode_zstd(std::string_view body, Decoded& out) {
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (context == nullptr) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kMostWindowLog);
  ZSTD_inBuffer in{body.data(), body.size(), 0};
  // A body is one frame or several (RFC 8878, 3). The result is 0 at the end of a frame.
  for (std::size_t result = 1; result != 0 || in.pos < in.size;) {
    ZSTD_outBuffer piece{out.piece(), Decoded::piece_bytes(), 0};
    result = ZSTD_decompressStream(context.get(), &piece, &in);
    if (ZSTD_isError(result) != 0) return broken("zstd", ZSTD_getErrorName(result));
    LATHE_TRY_VOID(out.take(piece.pos));
    if (result != 0 && in.pos == in.size && piece.pos < piece.size) return broken("zstd", kCut);
  }
  return {};
}

struct Coding {
  std::string_view name;
  Result<void> (*decode)(std::string_view body, Decoded& out);
};
constexpr std::array kCodings = {Coding{"gzip", decode_gzip}, Coding{"deflate", decode_deflate}, Coding{"br", decode_brotli},
                                 Coding{"zstd", decode_zstd}};

const Coding* coding_of(std::string_view name) {
  const auto found =
      std::find_if(kCodings.begin(), kCodings.end(), [&](const Coding& coding) { return coding.name == name; });
  return found == kCodings.end() ? nullptr : &*found;
}

/// Removes the next element from a list (RFC 9110, 5.6.1) and returns it in lower case.
std::string next_element(std::string_view& list) {
  std::string_view element = list.substr(0, list.find(','));
  list.remove_prefix(std::min(element.size() + 1, list.size()));
  while (!element.empty() && (element.front() == ' ' || element.front() == '\t')) element.remove_prefix(1);
  while (!element.empty() && (element.back() == ' ' || element.back() == '\t')) element.remove_suffix(1);
  std::string name(element);
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

}  // namespace

Result<std::vector<std::string>> content_codings(const RequestHead& head) {
  std::vector<std::string> codings;
  for (std::string_view list : head.values("Content-Encoding")) {
    while (!list.empty()) {
      std::string name = next_element(list);
      if (name.empty() || name == "identity") continue;
      if (name == "x-gzip") name = "gzip";
      if (coding_of(name) == nullptr) {
        return engine::fail(ErrorCode::invalid_argument,
                            fmt::format("the Content-Encoding \"{}\" is not supported; send {} or the body without encoding",
                                        name, kContentCodings));
      }
      codings.push_back(std::move(name));
    }
  }
  if (codings.size() > kMostCodings) {
    return engine::fail(ErrorCode::invalid_argument, fmt::format("the body has {} content codings; at most {} are accepted",
                                                                 codings.size(), kMostCodings));
  }
  return codings;
}

Result<std::string> decode_content(std::string body, const std::vector<std::string>& codings, std::size_t max_bytes) {
  for (auto name = codings.rbegin(); name != codings.rend(); ++name) {
    const auto decoded = std::make_unique<Decoded>(max_bytes);
    LATHE_TRY_VOID(coding_of(*name)->decode(body, *decoded));
    body = decoded->text();
  }
  return body;
}

}  // namespace lathe::app::http
