// SPDX-License-Identifier: Apache-2.0
#include "app/api/sweep_export.h"
#include "engine/api/table.h"

namespace lathe::app {

// THE TABLE of export formats: one file in formats/ and one line here for each. The order is that of the flags in the help and
// of the menu; when several printed formats are asked for, the command line prints the first.
LATHE_TABLE(ExportFormat, kFormats,
  kJsonExport,
  kCsvExport,
  kMarkdownExport,
  kHtmlExport,
  kSvgExport,
);

std::span<const ExportFormat* const> export_formats() { return kFormats; }

}  // namespace lathe::app
