// SPDX-License-Identifier: Apache-2.0
#include "engine/load/files/weight_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>

#include "engine/load/files/downloads.h"

namespace lathe::engine {
namespace {

constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::string_view kEnding = ".safetensors";
constexpr std::size_t kMaxNamedTensors = 4;
constexpr int kMaxWeightFiles = 99'999;  // per set: names have five digits

tl::unexpected<Error> refuse_index(std::string message, std::string_view field) {
  return fail(ErrorCode::model_refused, std::move(message), fmt::format("{}: {:.200}", kIndexFile, field));
}

/// Excludes files of adapters, files with other tensor names, and files of training.
bool is_of_no_model(std::string_view name) {
  return name.starts_with("adapter_model") || name.starts_with("consolidated") || name.starts_with("training_") ||
         name.starts_with("optimizer");
}

std::vector<std::string> weight_files_in(const ModelFolder& folder) {
  std::vector<std::string> names = folder.files();
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(kEnding) || is_of_no_model(name); });
  return names;
}

bool contains(const std::vector<std::string>& sorted, std::string_view name) {
  return std::binary_search(sorted.begin(), sorted.end(), name);
}

/// "a, b and 7 more".
std::string list_of(const std::vector<std::string>& names) {
  const std::size_t n = std::min(names.size(), kMaxNamedTensors);
  std::string words = fmt::format("{:.100}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(n), ", "));
  if (names.size() > n) words += fmt::format(" and {} more", names.size() - n);
  return words;
}

/// A name "model-00002-of-00003.safetensors".
struct NumberedName {
  std::string before;
  int number = 0, n_files = 0;
};

std::optional<NumberedName> numbered_name(std::string_view name) {
  constexpr std::size_t kNumberDigits = 5, kNumber = std::string_view("-00001-of-00001").size();
  if (name.size() <= kNumber + kEnding.size()) return std::nullopt;
  const std::string_view number = name.substr(name.size() - kEnding.size() - kNumber, kNumber);
  const auto value = [&](std::size_t at) {
    int n = 0;
    const char* const begin = number.data() + at;
    const auto [end, error] = std::from_chars(begin, begin + kNumberDigits, n);
    return error == std::errc() && end == begin + kNumberDigits ? n : 0;
  };
  NumberedName parsed{.before = std::string(name.substr(0, name.size() - kEnding.size() - kNumber)),
                      .number = value(1),
                      .n_files = value(kNumber - kNumberDigits)};
  const bool is_one = number[0] == '-' && number.substr(1 + kNumberDigits, 4) == "-of-" && parsed.number > 0;
  return is_one && parsed.number <= parsed.n_files ? std::optional(std::move(parsed)) : std::nullopt;
}

/// The existing files of one numbered set.
struct FileSet {
  std::string before;
  int n_files = 0;
  std::vector<std::string> there;

  bool is_whole() const { return std::ssize(there) == n_files; }
  std::vector<std::string> missing() const {
    std::vector<std::string> names;
    for (int number = 1; number <= std::min(n_files, kMaxWeightFiles); ++number) {
      std::string name = fmt::format("{}-{:05}-of-{:05}{}", before, number, n_files, kEnding);
      if (!contains(there, name)) names.push_back(std::move(name));
    }
    return names;
  }
};

std::vector<FileSet> sets_among(const std::vector<std::string>& names) {
  std::map<std::pair<std::string, int>, FileSet> sets;
  for (const std::string& name : names) {
    const auto number = numbered_name(name);
    if (!number) continue;
    FileSet& set = sets[{number->before, number->n_files}];
    set.before = number->before;
    set.n_files = number->n_files;
    set.there.push_back(name);
  }
  std::vector<FileSet> all;
  for (auto& [key, set] : sets) all.push_back(std::move(set));
  return all;
}

/// File of each tensor, with checked file names. Errors: model_refused.
Result<std::map<std::string, std::string>> read_weight_map(const Json& index) {
  const auto found = index.find("weight_map");
  if (found == index.end() || !found->is_object()) return refuse_index("must be an object", "weight_map");
  std::map<std::string, std::string> weight_map;
  for (const auto& [tensor, shard] : found->items()) {
    const std::string field = "weight_map." + tensor;
    if (!shard.is_string()) return refuse_index("must be a file name", field);
    const auto& name = shard.get_ref<const std::string&>();
    if (const auto unsafe = unsafe_file_name(name)) return refuse_index(*unsafe, field);
    weight_map.emplace(tensor, std::filesystem::path(name).lexically_normal().string());
  }
  if (weight_map.empty()) return refuse_index("names no tensor", "weight_map");
  return weight_map;
}

/// The content of an index, and which of its files do not exist.
struct Index {
  std::map<std::string, std::string> weight_map;
  Json total_size;
  std::vector<std::string> names, missing;
};

Result<Index> read_index(const ModelFolder& folder) {
  LATHE_TRY(const Json json, folder.read_json(kIndexFile));
  Index index;
  LATHE_TRY(index.weight_map, read_weight_map(json));
  if (const auto metadata = json.find("metadata"); metadata != json.end() && metadata->is_object()) {
    index.total_size = metadata->value("total_size", Json());
  }
  std::set<std::string> names;
  for (const auto& [tensor, name] : index.weight_map) names.insert(name);
  index.names.assign(names.begin(), names.end());
  for (const std::string& name : index.names) {
    if (!folder.has(name)) index.missing.push_back(name);
  }
  return index;
}

/// Implements find_weight_files(). An absent index is no error.
class WeightFinder {
 public:
  explicit WeightFinder(const ModelFolder& folder) : folder_(folder), there_(weight_files_in(folder)) {}

  Result<WeightFiles> find() {
    if (folder_.has(kIndexFile)) index_.emplace(read_index(folder_));
    const bool is_single = contains(there_, kSingleFile);
    if (is_whole_index() && (!is_single || contains((**index_).names, kSingleFile))) return by_index();
    if (is_single) return without_index({std::string(kSingleFile)});
    if (const auto unsafe = unsafe_index()) return tl::unexpected(*unsafe);
    std::vector<FileSet> sets = sets_among(there_);
    const auto whole = std::find_if(sets.begin(), sets.end(), [](const FileSet& set) { return set.is_whole(); });
    if (whole != sets.end() && std::none_of(whole + 1, sets.end(), [](const FileSet& set) { return set.is_whole(); })) {
      return is_in_index(whole->there) ? by_index() : without_index(whole->there);
    }
    if (index_) return *index_ ? by_index() : Result<WeightFiles>(tl::unexpected(index_->error()));
    return without_numbers(sets);
  }

 private:
  bool is_whole_index() const { return index_ && *index_ && (**index_).missing.empty(); }

  bool is_in_index(const std::vector<std::string>& names) const {
    return index_ && *index_ && std::includes((**index_).names.begin(), (**index_).names.end(), names.begin(), names.end());
  }

  /// Takes the files of the index. Missing files are recorded, since the model may not need their tensors.
  Result<WeightFiles> by_index() {
    Index& index = **index_;
    WeightFiles files{
        .names = {}, .weight_map = std::move(index.weight_map), .missing = {}, .total_size = {}, .warnings = {}};
    std::set_difference(index.names.begin(), index.names.end(), index.missing.begin(), index.missing.end(),
                        std::back_inserter(files.names));
    if (index.missing.empty()) files.total_size = std::move(index.total_size);
    const std::string fault = fault_of_missing();
    for (const std::string& name : index.missing) {
      files.missing.emplace(name, Error{ErrorCode::model_refused, fault, name});
    }
    if (files.names.empty()) return tl::unexpected(files.missing.begin()->second);
    return files;
  }

  std::string fault_of_missing() const {
    const Index& index = **index_;
    const std::string of_downloads = downloads_text(folder_.path());
    const std::size_t n = index.names.size() - index.missing.size();
    return fmt::format("file is missing; {} of the {} files that {} names {} present{}", n, index.names.size(), kIndexFile,
                       n == 1 ? "is" : "are", of_downloads.empty() ? "; download the model again" : of_downloads);
  }

  /// The error of an index with unsafe file names. No file of its folder is loaded then, since the index was made to be
  /// followed.
  std::optional<Error> unsafe_index() const {
    if (!index_ || *index_ || index_->error().where.find("weight_map.") == std::string::npos) return std::nullopt;
    return index_->error();
  }

  std::string fault_of_index() const {
    if (!*index_) return index_->error().message;
    const std::vector<std::string>& missing = (**index_).missing;
    return missing.empty()
               ? fmt::format("it names other files ({})", list_of((**index_).names))
               : fmt::format("it names {}, which {} missing", list_of(missing), missing.size() > 1 ? "are" : "is");
  }

  Result<WeightFiles> without_index(std::vector<std::string> names) const {
    WeightFiles files{.names = std::move(names), .weight_map = {}, .missing = {}, .total_size = {}, .warnings = {}};
    if (index_) {
      files.warnings.push_back(fmt::format("{} is ignored: {:.300}; these files are read instead: {}", kIndexFile,
                                           fault_of_index(), list_of(files.names)));
    }
    return files;
  }

  Result<WeightFiles> without_numbers(const std::vector<FileSet>& sets) const {
    if (there_.size() == 1 && sets.empty()) {
      WeightFiles files{.names = there_, .weight_map = {}, .missing = {}, .total_size = {}, .warnings = {}};
      files.warnings.push_back(
          fmt::format("{:.200} is read as {}: the folder has no other weights", there_.front(), kSingleFile));
      return files;
    }
    if (sets.size() == 1 && sets.front().there.size() == there_.size()) {
      const std::vector<std::string> missing = sets.front().missing();
      const std::string of_downloads = downloads_text(folder_.path());
      return fail(ErrorCode::model_refused,
                  fmt::format("file is missing{}; {} of {} files {} present{}",
                              missing.size() > 1 ? fmt::format(", as {} {}", missing.size() > 2 ? "are" : "is",
                                                               list_of({missing.begin() + 1, missing.end()}))
                                                 : "",
                              there_.size(), sets.front().n_files, there_.size() == 1 ? "is" : "are",
                              of_downloads.empty() ? "; download the model again" : of_downloads),
                  missing.front());
    }
    return fail(ErrorCode::model_refused,
                fmt::format("the folder has {} weight files and no {} that says which of them belong to the model: {}; keep "
                            "the files of one model, or download the index",
                            there_.size(), kIndexFile, list_of(there_)),
                folder_.name());
  }

  const ModelFolder& folder_;
  const std::vector<std::string> there_;
  std::optional<Result<Index>> index_;  ///< none: the folder has no index
};

}  // namespace

bool has_weight_files(const ModelFolder& folder) { return folder.has(kIndexFile) || !weight_files_in(folder).empty(); }

Result<WeightFiles> find_weight_files(const ModelFolder& folder) { return WeightFinder(folder).find(); }

}  // namespace lathe::engine
