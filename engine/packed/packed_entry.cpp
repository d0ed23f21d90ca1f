// SPDX-License-Identifier: Apache-2.0
#include "engine/packed/packed_entry.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace lathe::engine {
namespace {

constexpr std::array<char, 8> kMagic = {'L', 'A', 'T', 'H', 'E', 'P', 'C', 'K'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kPage = 4096;
// Pieces of 1 MiB between two checks for cancellation: some 10 ms of work.
constexpr std::size_t kPiecesAtATime = 64;

struct Head {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t n_parts = 0;
  ContentHash key;
  std::uint64_t n_bytes = 0;
};
struct Part {
  std::uint64_t n_bytes = 0;
  ContentHash hash;
};
static_assert(sizeof(Head) == 40 && sizeof(Part) == 24, "written as they lie in memory, without holes");

std::size_t data_begin(std::size_t n_parts) {
  const std::size_t n_header = sizeof(Head) + n_parts * sizeof(Part) + sizeof(ContentHash);
  return (n_header + kPage - 1) / kPage * kPage;
}

/// All bytes of the file before the parts.
std::vector<std::byte> header_of(const Head& head, std::span<const Part> parts) {
  std::vector<std::byte> header(data_begin(parts.size()));
  const std::size_t n_hashed = sizeof head + parts.size_bytes();
  std::memcpy(header.data(), &head, sizeof head);
  std::memcpy(header.data() + sizeof head, parts.data(), parts.size_bytes());
  const ContentHash hash = hash_of(std::span<const std::byte>(header).first(n_hashed));
  std::memcpy(header.data() + n_hashed, &hash, sizeof hash);
  return header;
}

/// Moves all of `bytes`. Returns 0 when done, -1 when the file ends early, else errno.
template <class Move>
int move_all(std::span<std::byte> bytes, std::size_t offset, const Move& move) {
  while (!bytes.empty()) {
    const ssize_t n = move(bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : -1;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::size_t>(n);
  }
  return 0;
}

/// Splits the image into pieces, which threads share.
class ImagePieces {
 public:
  explicit ImagePieces(const WeightImage& image) : image_(image) {
    std::size_t offset = data_begin(image.size());
    for (std::size_t part = 0; part < image.size(); ++part) {
      hashes_.emplace_back(image[part].size());
      const PieceHashes& hashes = hashes_[part];
      for (std::size_t i = 0; i < hashes.n_pieces(); ++i) pieces_.push_back({part, i, offset + hashes.begin_of(i)});
      offset += image[part].size();
    }
  }

  /// Calls move(bytes, offset), which returns 0 on success, for each piece, then hashes the piece. Returns 0 or the result
  /// of a failed move. Errors: cancelled.
  template <class Move>
  Result<int> run(kernels::Backend& backend, const PackedObserver& observer, const Move& move) {
    std::atomic<int> trouble{0};
    std::int64_t bytes_done = 0;
    for (std::size_t first = 0; first < pieces_.size() && trouble == 0; first += kPiecesAtATime) {
      const std::size_t n = std::min(kPiecesAtATime, pieces_.size() - first);
      backend.parallel_for(static_cast<std::int64_t>(n), [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end) && trouble == 0; ++i) {
          const int problem = run_piece(pieces_[first + i], move);
          if (problem != 0) trouble = problem;
        }
      });
      for (std::size_t i = 0; i < n; ++i) bytes_done += static_cast<std::int64_t>(bytes_of(pieces_[first + i]).size());
      if (observer && !observer(bytes_done)) return fail(ErrorCode::cancelled, "loading was cancelled");
    }
    return trouble.load();
  }

  std::vector<Part> parts() const {
    std::vector<Part> parts;
    for (std::size_t i = 0; i < image_.size(); ++i) parts.push_back({image_[i].size(), hashes_[i].all()});
    return parts;
  }

 private:
  struct Piece {
    std::size_t part, index, offset;
  };

  std::span<std::byte> bytes_of(const Piece& piece) const {
    const PieceHashes& hashes = hashes_[piece.part];
    return image_[piece.part].subspan(hashes.begin_of(piece.index), hashes.size_of(piece.index));
  }

  template <class Move>
  int run_piece(const Piece& piece, const Move& move) {
    const std::span<std::byte> bytes = bytes_of(piece);
    const int problem = move(bytes, piece.offset);
    if (problem == 0) hashes_[piece.part].take(piece.index, bytes);
    return problem;
  }

  const WeightImage& image_;
  std::vector<PieceHashes> hashes_;
  std::vector<Piece> pieces_;
};

tl::unexpected<Error> damaged(std::string message) { return fail(ErrorCode::model_refused, std::move(message)); }

/// Checks that the header is the one of this entry; returns the parts' sizes and hashes.
Result<std::vector<Part>> read_header(int file, const ContentHash& key, const WeightImage& image) {
  struct stat status{};
  if (::fstat(file, &status) != 0) return damaged(std::strerror(errno));
  if (status.st_size != entry_bytes(image)) {
    return damaged(fmt::format("it has {} bytes instead of {}", status.st_size, entry_bytes(image)));
  }
  std::vector<std::byte> header(data_begin(image.size()));
  const auto read = [&](void* to, std::size_t n, off_t at) { return ::pread(file, to, n, at); };
  if (move_all(header, 0, read) != 0) return damaged("its header cannot be read");
  Head head;
  std::vector<Part> parts(image.size());
  std::memcpy(&head, header.data(), sizeof head);
  std::memcpy(parts.data(), header.data() + sizeof head, parts.size() * sizeof(Part));
  if (head.magic != kMagic || head.version != kVersion) return damaged("it belongs to another version");
  if (head.key != key || header_of(head, parts) != header) return damaged("its header does not match");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].n_bytes != image[i].size()) return damaged("its parts have other sizes");
  }
  return parts;
}

}  // namespace

std::int64_t entry_bytes(const WeightImage& image) {
  std::size_t n_bytes = data_begin(image.size());
  for (const std::span<std::byte> part : image) n_bytes += part.size();
  return static_cast<std::int64_t>(n_bytes);
}

Result<void> write_entry(int file, const ContentHash& key, const WeightImage& image, kernels::Backend& backend,
                         const PackedObserver& observer) {
  ImagePieces pieces(image);
  const auto write = [&](void* from, std::size_t n, off_t at) { return ::pwrite(file, from, n, at); };
  LATHE_TRY(int problem, pieces.run(backend, observer, [&](std::span<std::byte> bytes, std::size_t offset) {
    return move_all(bytes, offset, write);
  }));
  if (problem == 0) {
    const std::vector<Part> parts = pieces.parts();
    Head head;
    head.n_parts = static_cast<std::uint32_t>(parts.size());
    head.key = key;
    head.n_bytes = static_cast<std::uint64_t>(entry_bytes(image));
    std::vector<std::byte> header = header_of(head, parts);
    problem = move_all(header, 0, write);
  }
  if (problem != 0) return fail(ErrorCode::resource_exhausted, std::strerror(problem));
  return {};
}

Result<void> read_entry(int file, const ContentHash& key, const WeightImage& image, kernels::Backend& backend,
                        const PackedObserver& observer) {
  LATHE_TRY(const std::vector<Part> want, read_header(file, key, image));
  ImagePieces pieces(image);
  const auto read = [&](void* to, std::size_t n, off_t at) { return ::pread(file, to, n, at); };
  LATHE_TRY(const int problem, pieces.run(backend, observer, [&](std::span<std::byte> bytes, std::size_t offset) {
    return move_all(bytes, offset, read);
  }));
  if (problem != 0) return damaged(problem > 0 ? std::strerror(problem) : "it ends too early");
  const std::vector<Part> got = pieces.parts();
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i].hash == want[i].hash) continue;
    return damaged(fmt::format("part {} of {} has other bytes than those that were written", i, got.size()));
  }
  return {};
}

}  // namespace lathe::engine
