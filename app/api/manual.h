// SPDX-License-Identifier: Apache-2.0
// Manual: the pages of resources/manual, embedded in the program; `lathe help` prints them and the window shows them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::app {

/// One page. A page is Markdown: a title, a paragraph with the task that the page is for, then sections.
struct ManualPage {
  std::string_view name;  ///< "policies": the topic of `lathe help`, the file resources/manual/policies.md
  std::string_view text;

  std::string_view title() const;  ///< of its heading of the first level
  std::string task() const;        ///< the first sentence under the title, on one line
};

/// Every page, in the order in which they are listed.
std::span<const ManualPage> manual_pages();
/// Null: there is no page of that name.
const ManualPage* find_manual_page(std::string_view name);

/// A part of a page from one heading to the next one. The first section of a page begins at its title.
struct ManualSection {
  const ManualPage* page = nullptr;
  std::string_view heading;  ///< without marks
  std::string_view text;     ///< with the line of the heading
  std::string slug;          ///< that links name: "kv-cache", as GitHub makes it of the heading
};
std::vector<ManualSection> sections_of(const ManualPage& page);
/// "`--top-k` and KV cache" -> "--top-k-and-kv-cache"
std::string slug_of(std::string_view heading);

/// Names that a line defines: options of "- `--max-num-seqs N` (16): ..." as {"max_num_seqs"} ("no_" is left out), the route
/// of a heading "### POST /tokenize" as {"POST /tokenize"}. Marks of Markdown may be missing. Empty: the line defines
/// nothing.
std::vector<std::string> defined_names(std::string_view line);

/// The name of an option as tables have it: "--no-warm-up" -> "warm_up". Requires: it begins with two dashes.
std::string option_name(std::string_view flag);

/// Where a name is defined.
struct ManualEntry {
  const ManualPage* page = nullptr;
  std::string name;     ///< "max_num_seqs", "POST /tokenize"
  std::string heading;  ///< of its section
};
/// Every definition of every page, in their order.
const std::vector<ManualEntry>& manual_entries();
/// The definition of an option (with underscores) or route; of several the one on page `prefer`, else the first. Null: none.
const ManualEntry* find_manual_entry(std::string_view name, std::string_view prefer = {});

/// A section that has every word of a search.
struct ManualHit {
  ManualSection section;
  std::string excerpt;  ///< the line with the first word, without marks
};
/// Words are separated by blanks; letters of ASCII match in either case. Sections whose heading has a word come first.
std::vector<ManualHit> search_manual(std::string_view words);

}  // namespace lathe::app
