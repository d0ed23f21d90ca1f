// SPDX-License-Identifier: Apache-2.0
// Encodes a text again and again on one core and prints megabytes a second of the thread's own time: the best of some
// rounds.
//   tokenizer_bench TOKENIZER FILE [--rounds N] [--chunk BYTES]
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "engine/api/tokenizer.h"
#include "engine/base/text_file.h"

namespace {

using namespace lathe::engine;

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Seconds for the whole text, cut into chunks.
double encode_all(const Tokenizer& tokenizer, std::string_view text, std::size_t chunk, std::size_t& n_tokens) {
  n_tokens = 0;
  const double start = thread_seconds();
  for (std::size_t at = 0; at < text.size(); at += chunk) {
    const auto ids = tokenizer.encode(text.substr(at, chunk), false, false);
    if (!ids) return fmt::print(stderr, "{}\n", ids.error().message), 0;
    n_tokens += ids->size();
  }
  return thread_seconds() - start;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc % 2 == 0) {
    return fmt::print(stderr, "tokenizer_bench TOKENIZER FILE [--rounds N] [--chunk BYTES]\n"), 2;
  }
  int rounds = 7;
  std::size_t chunk = 64u << 10;
  for (int i = 3; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--rounds") rounds = std::stoi(value);
    if (flag == "--chunk") chunk = std::stoul(value);
  }
  const double load_start = thread_seconds();
  const auto tokenizer = open_tokenizer(argv[1]);
  const double load_seconds = thread_seconds() - load_start;
  const auto text = read_text_file(argv[2], 1u << 30);
  if (!tokenizer || !text) return fmt::print(stderr, "{}\n", (tokenizer ? text.error() : tokenizer.error()).message), 3;
  std::size_t n_tokens = 0;
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) best = std::min(best, encode_all(**tokenizer, *text, chunk, n_tokens));
  const auto n_bytes = static_cast<double>(text->size());
  fmt::print("{:<14} {:7.2f} MB/s, {:6.2f} Mtok/s, {:.2f} bytes a token, opened in {:.0f} ms\n", (*tokenizer)->kind(),
             n_bytes / best / 1e6, static_cast<double>(n_tokens) / best / 1e6, n_bytes / static_cast<double>(n_tokens),
             load_seconds * 1e3);
  return 0;
}
