// SPDX-License-Identifier: Apache-2.0
#include "tests/support/compressed.h"

#include <zlib.h>
#include <zstd.h>

#include <charconv>

#include "kernels/api/check.h"

namespace lathe::tests {
namespace {

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace

std::string deflated(std::string_view text, Wrapper wrapper) {
  z_stream stream{};
  LATHE_CHECK(deflateInit2(&stream, 6, Z_DEFLATED, static_cast<int>(wrapper), 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  LATHE_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd_frame(std::string_view text, int window_log) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  if (window_log > 0) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  }
  std::string out(ZSTD_compressBound(text.size()), '\0');
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  // Piece by piece, for with the whole text at hand the window shrinks to it.
  while (in.pos < in.size) LATHE_CHECK(ZSTD_isError(ZSTD_compressStream2(context, &to, &in, ZSTD_e_continue)) == 0);
  LATHE_CHECK(ZSTD_compressStream2(context, &to, &in, ZSTD_e_end) == 0);
  ZSTD_freeCCtx(context);
  out.resize(to.pos);
  return out;
}

std::string brotli_stored(std::string_view text) {
  const unsigned head = static_cast<unsigned>(text.size() - 1) << 4 | 1u << 20;
  std::string out;
  for (const int shift : {0, 8, 16}) out += static_cast<char>(head >> shift & 0xff);
  return out.append(text).append("\x03");
}

std::string brotli_kept() { return bytes_of("8b0e807b2270726f6d7074223a226162222c226d61785f746f6b656e73223a327d03"); }

std::string brotli_bomb() {
  return bytes_of(
      "cbffff3ff82700e2b14020f7fe8fffff7ff04f00c4611180eefd1fffffffe09f0088c30200ddfb3ffeffffc13f0110870500"
      "baf77ffcffff837f02200e0b0074effff8ffff07ff04401c1600e8defff1ffff0ffe0980382c00d0bdffe3ffff1ffc130071"
      "5800a07bff37");
}

}  // namespace lathe::tests
