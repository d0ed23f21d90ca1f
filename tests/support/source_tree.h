// SPDX-License-Identifier: Apache-2.0
// The repository as the architecture tests read it: files, includes, comments.
#pragma once

#include <string>
#include <vector>

namespace lathe::tests {

struct Include {
  std::string path;
  bool quoted = false;
  int line = 0;
};

struct SourceFile {
  std::string path;  ///< from the repository root: "engine/text/bpe.cpp"
  std::string text;
  std::vector<Include> includes;

  bool is_header() const { return path.ends_with(".h"); }
  int n_lines() const;
  std::string folder() const { return path.substr(0, path.rfind('/')); }
  std::string level() const { return path.substr(0, path.find('/')); }
};

struct Comment {
  std::string text;  ///< without slashes and surrounding blanks
  int line = 0;
};

/// All .h, .cpp, .inc, .cu and .cuh files below these top-level folders, sorted by path.
std::vector<SourceFile> read_sources(const std::vector<std::string>& folders);

/// Comments that have a line of their own, one entry a line, without the licence.
std::vector<Comment> comments_of(const SourceFile& file);

/// One line each, for the message of a failed test.
std::string join(const std::vector<std::string>& lines);

/// The text with comments and literals replaced by blanks, lines kept.
std::string without_comments(const std::string& text);

}  // namespace lathe::tests
