// SPDX-License-Identifier: Apache-2.0
// Manual: the pages of resources/manual, embedded in the program; `lathe help` prints them and the window shows them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::app {

/// One page in Markdown: a title, a paragraph with the task that the page is for, then sections.
struct ManualPage {
  std::string_view name;  ///< "policies": the topic of `lathe help`, the file resources/manual/policies.md
  std::string_view text;

  std::string_view title() const;  ///< text of the first-level heading
  std::string task() const;        ///< the first sentence under the title, on one line
};

/// All pages, in the order in which they are listed.
std::span<const ManualPage> manual_pages();
/// The page of that name; null: there is none.
const ManualPage* find_manual_page(std::string_view name);

/// A part of a page from one heading to the next one. The first section of a page begins at its title.
struct ManualSection {
  const ManualPage* page = nullptr;
  std::string_view heading;  ///< heading without Markdown marks
  std::string_view text;     ///< text with the line of the heading
  std::string slug;          ///< anchor for links, which GitHub derives from the heading: "kv-cache"
};
std::vector<ManualSection> sections_of(const ManualPage& page);
/// The slug of a heading: "`--top-k` and KV cache" -> "--top-k-and-kv-cache".
std::string slug_of(std::string_view heading);

/// Names that a line defines: options of "- `--max-num-seqs N` (16): ..." as {"max_num_seqs"} ("no_" is left out), the route
/// of a heading "### POST /tokenize" as {"POST /tokenize"}. Markdown marks may be missing. Empty: the line defines no name.
std::vector<std::string> defined_names(std::string_view line);

/// The name of an option in tables: "--no-warm-up" -> "warm_up". Requires: `flag` begins with two dashes.
std::string option_name(std::string_view flag);

/// Definition of a name in the manual.
struct ManualEntry {
  const ManualPage* page = nullptr;
  std::string name;     ///< "max_num_seqs", "POST /tokenize"
  std::string heading;  ///< heading of the definition's section
};
/// All definitions of all pages, in their order.
const std::vector<ManualEntry>& manual_entries();
/// The definition of an option (with underscores) or route; of several the one on page `prefer`, else the first; null: none.
const ManualEntry* find_manual_entry(std::string_view name, std::string_view prefer = {});

/// A section that contains every word of a search.
struct ManualHit {
  ManualSection section;
  std::string excerpt;  ///< the line with the first word, without Markdown marks
};
/// Finds sections that contain all words. Words are separated by spaces; ASCII letters match in either case. Sections with a
/// word in the heading come first.
std::vector<ManualHit> search_manual(std::string_view words);

}  // namespace lathe::app
