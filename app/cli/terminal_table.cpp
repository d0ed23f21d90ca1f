// SPDX-License-Identifier: Apache-2.0
#include "app/cli/terminal_table.h"

#include <algorithm>
#include <numeric>

#include "app/cli/wrapped_text.h"

namespace lathe::app {
namespace {

constexpr std::size_t kGap = 2;

std::vector<std::size_t> natural_widths(const std::vector<TableRow>& rows) {
  std::vector<std::size_t> widths;
  for (const TableRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  return widths;
}

/// Returns the minimum width of each column: its longest word, which is not split.
std::vector<std::size_t> least_widths(const std::vector<TableRow>& rows, std::size_t n_columns) {
  std::vector<std::size_t> widths(n_columns, 1);
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      for (const std::string& word : wrap(row[i], 0)) widths[i] = std::max(widths[i], columns_of(word));
    }
  }
  return widths;
}

/// Keeps the width of narrow columns and divides the rest evenly among wide ones, but no column gets narrower than `least`.
std::vector<std::size_t> fit(std::vector<std::size_t> widths, const std::vector<std::size_t>& least, std::size_t width) {
  if (widths.empty()) return widths;
  const std::size_t gaps = kGap * (widths.size() - 1), space = std::max(width, gaps + widths.size()) - gaps;
  std::vector<std::size_t> order(widths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return widths[a] < widths[b]; });
  std::size_t left = space;
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::size_t& column = widths[order[i]];
    column = std::min(column, std::max(least[order[i]], left / (order.size() - i)));
    left -= std::min(left, column);
  }
  return widths;
}

void append_row(std::string& out, const TableRow& row, const std::vector<std::size_t>& widths) {
  std::vector<std::vector<std::string>> cells;
  std::size_t n_lines = 1;
  for (std::size_t i = 0; i < row.size(); ++i) {
    cells.push_back(wrap(row[i], widths[i]));
    n_lines = std::max(n_lines, cells.back().size());
  }
  for (std::size_t line = 0; line < n_lines; ++line) {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string cell = line < cells[i].size() ? cells[i][line] : std::string();
      const std::size_t n = columns_of(cell), fill = widths[i] > n ? widths[i] - n : 0;
      text += cell + std::string(i + 1 < cells.size() ? fill + kGap : 0, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  }
}

}  // namespace

std::string terminal_table(const std::vector<TableRow>& rows, std::size_t n_head, std::size_t width) {
  const std::vector<std::size_t> natural = natural_widths(rows);
  const std::vector<std::size_t> widths = fit(natural, least_widths(rows, natural.size()), width);
  const bool wrapped = widths != natural;
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_head = i < n_head;
    const bool is_empty = std::all_of(rows[i].begin(), rows[i].end(), [](const std::string& cell) { return cell.empty(); });
    if (is_head && is_empty) continue;
    append_row(out, rows[i], widths);
    if (is_head) {
      TableRow rule;
      for (const std::size_t column : widths) rule.emplace_back(column, '-');
      append_row(out, rule, widths);
    } else if (wrapped && i + 1 < rows.size()) {
      out += '\n';  // else rows of several lines would run into each other
    }
  }
  return out;
}

}  // namespace lathe::app
