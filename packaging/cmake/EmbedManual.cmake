# SPDX-License-Identifier: Apache-2.0
# cmake -DFOLDER=resources/manual -DPAGES=models|serving -DOUTPUT=file.cpp -P EmbedManual.cmake
# Writes the pages as string literals, in the order of PAGES.
string(REPLACE "|" ";" pages "${PAGES}")
set(rows "")
foreach(page IN LISTS pages)
  file(READ "${FOLDER}/${page}.md" text)
  string(APPEND rows "    {\"${page}\", R\"lathe_manual(${text})lathe_manual\"},\n")
endforeach()
list(LENGTH pages count)
file(WRITE "${OUTPUT}" "// Made by packaging/cmake/EmbedManual.cmake.
#include <array>

#include \"app/manual/embedded_pages.h\"

namespace lathe::app {
namespace {

constexpr std::array<ManualPage, ${count}> kPages = {{
${rows}}};

}  // namespace

constinit const std::span<const ManualPage> kEmbeddedPages(kPages);

}  // namespace lathe::app
")
