// SPDX-License-Identifier: Apache-2.0
#include "engine/load/files/stand_in.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "engine/base/utf8.h"

namespace lathe::engine {
namespace {

constexpr std::string_view kFetch = "download the file again";
constexpr std::size_t kExcerpt = 80;
constexpr std::size_t kTarMagicAt = 257;
/// An error text of a server is smaller than this; a weights file that happens to begin with letters is larger.
constexpr std::uint64_t kMaxErrorText = 64 << 10;

struct Signature {
  std::string_view bytes;
  std::string_view words;
};

// THE TABLE of stand-ins for any file.
constexpr std::array kSignatures = {
    Signature{"\x1F\x8B", "is a gzip archive; unpack it first (gunzip)"},
    Signature{"PK\x03\x04", "is a ZIP archive; unpack it first, or, if it is a PyTorch file, save the model as safetensors"},
    Signature{"\xFD\x37zXZ", "is an xz archive; unpack it first (unxz)"},
    Signature{"\x28\xB5\x2F\xFD", "is a Zstandard archive; unpack it first (unzstd)"},
    Signature{"BZh", "is a bzip2 archive; unpack it first (bunzip2)"},
    Signature{"7z\xBC\xAF\x27\x1C", "is a 7z archive; unpack it first"},
    Signature{"\x04\x22\x4D\x18", "is an LZ4 archive; unpack it first (unlz4)"},
    Signature{"\xFF\xFE", "is in UTF-16; save it as UTF-8"},
    Signature{"\xFE\xFF", "is in UTF-16; save it as UTF-8"},
};

// THE TABLE of stand-ins for weights alone.
constexpr std::array kOtherWeights = {
    Signature{"GGUF", "is a GGUF file; rename it so that its name ends in .gguf, and open it under that name"},
    Signature{"tjgg", "is a GGML file, from before GGUF; convert the model again with a current converter"},
    Signature{"fmgg", "is a GGML file, from before GGUF; convert the model again with a current converter"},
    Signature{"lmgg", "is a GGML file, from before GGUF; convert the model again with a current converter"},
    Signature{"\x80\x02", "is a pickle file, which can run code and is never opened; save the model as safetensors"},
    Signature{"\x80\x04", "is a pickle file, which can run code and is never opened; save the model as safetensors"},
    Signature{"\x89HDF\r\n", "is an HDF5 file; save the model as safetensors"},
    Signature{"\x93NUMPY", "is a NumPy file; save the model as safetensors"},
};

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text;
}

/// Compares ignoring case. Requires: `prefix` in lower case.
bool begins_in_any_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), text.begin(), [](char wanted, char there) {
           return wanted == std::tolower(static_cast<unsigned char>(there));
         });
}

std::string excerpt(std::string_view text) { return printable_excerpt(text, kExcerpt); }

/// Recognises pointers: "version https://git-lfs.github.com/spec/v1", then lines of keys, such as "size 4096"; or a
/// git-annex path.
std::optional<std::string> pointer(std::string_view begin) {
  constexpr std::string_view kSize = "\nsize ";
  if (begin.starts_with("version https://git-lfs") || begin.starts_with("version https://hawser")) {
    std::string of_size;
    if (const std::size_t at = begin.find(kSize); at != std::string_view::npos) {
      const std::string_view digits = begin.substr(at + kSize.size());
      of_size =
          fmt::format(" of {} bytes", digits.substr(0, std::min(digits.find_first_not_of("0123456789"), std::size_t{20})));
    }
    return fmt::format("is a Git LFS pointer to a file{}, not the file itself; fetch it with `git lfs pull`, or {}", of_size,
                       kFetch);
  }
  if (begin.starts_with("/annex/objects/") || (begin.starts_with("../") && begin.find(".git/annex/") < kExcerpt)) {
    return fmt::format("is a git-annex pointer, not the file itself; fetch it with `git annex get`, or {}", kFetch);
  }
  return std::nullopt;
}

std::optional<std::string> page(std::string_view begin) {
  const std::string_view text = without_blanks(begin);
  for (const std::string_view tag : {"<!doctype html", "<html", "<head>", "<body"}) {
    if (!begins_in_any_case(text, tag)) continue;
    return fmt::format(
        "is an HTML page, such as a sign-in page or an error page of a server; {} (a gated model needs a token)", kFetch);
  }
  if (begins_in_any_case(text, "<?xml") || begins_in_any_case(text, "<error>")) {
    return fmt::format("is an XML text, such as the error of a server ({}); {}", excerpt(text), kFetch);
  }
  return std::nullopt;
}

bool is_zeros(std::string_view begin) { return begin.find_first_not_of('\0') == std::string_view::npos; }

std::optional<std::string> signature(std::string_view begin, std::span<const Signature> table) {
  for (const Signature& known : table) {
    if (begin.starts_with(known.bytes)) return std::string(known.words);
  }
  return std::nullopt;
}

bool is_text(std::string_view begin) {
  begin.remove_suffix(incomplete_utf8_tail(begin));
  const auto is_control = [](unsigned char c) { return c < 0x20 && c != '\n' && c != '\r' && c != '\t'; };
  return is_valid_utf8(begin) && std::none_of(begin.begin(), begin.end(), is_control);
}

bool is_utf16_without_mark(std::string_view begin) {
  constexpr std::string_view kLittle("{\0", 2), kBig("\0{", 2);
  return begin.starts_with(kLittle) || begin.starts_with(kBig);
}

std::string_view begin_of(std::span<const std::byte> file) {
  return {reinterpret_cast<const char*>(file.data()), std::min(file.size(), kStandInBytes)};
}

/// Begins with eight bytes of header length and a JSON object.
bool is_safetensors(std::string_view begin) {
  return begin.size() > 8 && begin[8] == '{' && begin.substr(5, 3).find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace

std::optional<std::string> stand_in_for_text(std::string_view begin) {
  begin = begin.substr(0, kStandInBytes);
  if (auto words = pointer(begin)) return words;
  if (auto words = page(begin)) return words;
  if (auto words = signature(begin, kSignatures)) return words;
  if (is_utf16_without_mark(begin)) return "is in UTF-16; save it as UTF-8";
  if (begin.size() >= kExcerpt && is_zeros(begin)) {
    return fmt::format("begins with {} zero bytes, as a partly downloaded or partly written file does; {}", begin.size(),
                       kFetch);
  }
  return std::nullopt;
}

std::optional<std::string> stand_in_for_weights(std::string_view begin, std::uint64_t n_bytes) {
  begin = begin.substr(0, kStandInBytes);
  if (n_bytes == 0) return fmt::format("is empty (0 bytes): its download or writing never began; {}", kFetch);
  if (auto words = stand_in_for_text(begin)) return words;
  if (auto words = signature(begin, kOtherWeights)) return words;
  if (is_safetensors(begin))
    return "is a safetensors file; rename it so that its name ends in .safetensors, in a folder with config.json";
  if (begin.size() > kTarMagicAt && begin.substr(kTarMagicAt).starts_with("ustar"))
    return "is a tar archive; unpack it first (tar -xf)";
  if (n_bytes > kMaxErrorText || !is_text(begin)) return std::nullopt;
  const std::string_view text = without_blanks(begin);
  return fmt::format("is {} of {} bytes, such as the error of a server ({}); {}",
                     text.starts_with('{') || text.starts_with('[') ? "a JSON text" : "a text", n_bytes, excerpt(text),
                     kFetch);
}

Error explained_safetensors(Error error, std::span<const std::byte> file, const std::string& name) {
  const std::string_view begin = begin_of(file);
  if (is_safetensors(begin)) return error;
  auto words = stand_in_for_weights(begin, file.size());
  return words ? Error{error.code, std::move(*words), name} : error;
}

Error explained_gguf(Error error, std::span<const std::byte> file, const std::string& name) {
  const std::string_view begin = begin_of(file);
  if (begin.starts_with("GGUF")) return error;
  auto words = stand_in_for_weights(begin, file.size());
  return words ? Error{error.code, "is not a GGUF file: it " + std::move(*words), name} : error;
}

}  // namespace lathe::engine
