// SPDX-License-Identifier: Apache-2.0
// The rules of ARCHITECTURE.md about includes and tables: R1 to R5 and R7.
#include <QTest>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "tests/support/shared_data.h"
#include "tests/support/source_tree.h"

namespace {

using lathe::tests::Include;
using lathe::tests::join;
using lathe::tests::read_sources;
using lathe::tests::source_path;
using lathe::tests::SourceFile;

const std::vector<std::string> kLevels{"kernels", "engine", "app", "ui"};

const std::vector<SourceFile>& sources() {
  static const std::vector<SourceFile> files = read_sources(kLevels);
  return files;
}

std::string level_of(const std::string& path) { return path.substr(0, path.find('/')); }

/// 0 for kernels to 3 for ui; -1 for what is no level.
int height_of(const std::string& level) {
  const auto found = std::find(kLevels.begin(), kLevels.end(), level);
  return found == kLevels.end() ? -1 : static_cast<int>(found - kLevels.begin());
}

/// "file:line includes path" for every include that `offends`.
std::vector<std::string> offenders(const std::function<bool(const SourceFile&, const Include&)>& offends) {
  std::vector<std::string> lines;
  for (const SourceFile& file : sources()) {
    for (const Include& include : file.includes) {
      if (offends(file, include))
        lines.push_back(file.path + ":" + std::to_string(include.line) + " includes " + include.path);
    }
  }
  return lines;
}

/// A library's headers and the only places that may include them.
struct Confined {
  std::function<bool(const std::string&)> is_header;
  std::vector<std::string> places;  ///< prefixes of paths
};

const std::vector<Confined>& confined_libraries() {
  static const std::vector<Confined> libraries{
      {[](const std::string& h) { return h.size() > 1 && h[0] == 'Q' && std::isupper(h[1]) != 0; }, {"ui/"}},
      {[](const std::string& h) { return h.starts_with("qcustomplot"); }, {"ui/"}},
      {[](const std::string& h) { return h.starts_with("cuda") || h.starts_with("cublas"); }, {"kernels/cuda/"}},
      {[](const std::string& h) { return h.starts_with("boost/"); }, {"app/server/http/"}},
      {[](const std::string& h) { return h == "zlib.h" || h == "zstd.h" || h.starts_with("brotli/"); },
       {"app/server/http/content_coding.cpp"}},
      {[](const std::string& h) { return h.starts_with("grpc") || h.starts_with("google/"); }, {"app/grpc_gateway/"}},
      {[](const std::string& h) { return h.starts_with("nlohmann/"); }, {"engine/api/json.h"}},
      {[](const std::string& h) { return h.starts_with("sentencepiece"); }, {"engine/text/sentencepiece_tokenizer.cpp"}},
      {[](const std::string& h) { return h == "mpi.h" || h == "nccl.h"; }, {"engine/comm/", "kernels/cuda/"}},
  };
  return libraries;
}

bool leaves_its_place(const SourceFile& file, const Include& include) {
  if (include.quoted) return false;
  return std::any_of(confined_libraries().begin(), confined_libraries().end(), [&](const Confined& library) {
    return library.is_header(include.path) &&
           std::none_of(library.places.begin(), library.places.end(),
                        [&](const std::string& place) { return file.path.starts_with(place); });
  });
}

/// A folder whose every file (or folder) is a line of one table.
struct DropIn {
  std::string folder;
  std::string table;
};
const std::vector<DropIn> kDropIns{
    {"engine/model/architectures", "engine/model/families.inc"},
    {"engine/load/quantized", "engine/load/quantization_schemes.cpp"},
    {"engine/schedule/policies", "engine/schedule/policies.cpp"},
    {"engine/sample/stages", "engine/sample/stages.cpp"},
    {"engine/text/tool_calls/formats", "engine/text/tool_calls/call_formats.cpp"},
    {"app/server/dialects", "app/server/dialects.cpp"},
    {"app/cli/commands", "app/cli/commands.cpp"},
    {"ui/panels", "ui/panels/panels.cpp"},
};

/// Letters and digits in lower case, so that "first_fit" is found in "kFirstFit".
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

std::string text_of(const std::string& path) {
  const auto found = std::find_if(sources().begin(), sources().end(), [&](const SourceFile& f) { return f.path == path; });
  return found == sources().end() ? std::string() : found->text;
}

/// The folders of a drop-in folder, and the .cpp files that lie in it directly.
std::set<std::string> entries_of(const DropIn& drop_in) {
  std::set<std::string> entries;
  for (const SourceFile& file : sources()) {
    if (!file.path.starts_with(drop_in.folder + "/") || file.path == drop_in.table) continue;
    const std::string rest = file.path.substr(drop_in.folder.size() + 1);
    const std::size_t slash = rest.find('/');
    if (slash != std::string::npos) {
      entries.insert(rest.substr(0, slash));
    } else if (rest.ends_with(".cpp")) {
      entries.insert(rest.substr(0, rest.size() - 4));
    }
  }
  return entries;
}

using FolderGraph = std::map<std::string, std::set<std::string>>;

/// Depth-first: true when `folder` leads back to one that is still open; `cycle` then names the way.
bool leads_back(const FolderGraph& graph, const std::string& folder, std::map<std::string, int>& state, std::string& cycle) {
  state[folder] = 1;
  const auto edges = graph.find(folder);
  if (edges != graph.end()) {
    for (const std::string& next : edges->second) {
      if (state[next] == 1 || (state[next] == 0 && leads_back(graph, next, state, cycle))) {
        cycle = folder + " -> " + (cycle.empty() ? next : cycle);
        return true;
      }
    }
  }
  state[folder] = 2;
  return false;
}

}  // namespace

class IncludesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void the_scanner_sees_every_level();
  void R1_includes_go_down_only();
  void R2_levels_meet_in_api_headers_only();
  void R3_libraries_stay_where_they_belong();
  void R4_no_folder_cycle();
  void R5_one_include_root();
  void R7_drop_in_folders_are_in_their_tables();
};

void IncludesTest::the_scanner_sees_every_level() {
  for (const std::string& level : kLevels) {
    QVERIFY2(std::any_of(sources().begin(), sources().end(), [&](const SourceFile& f) { return f.level() == level; }),
             level.c_str());
  }
}

void IncludesTest::R1_includes_go_down_only() {
  const auto lines = offenders([](const SourceFile& file, const Include& include) {
    return include.quoted && height_of(level_of(include.path)) > height_of(file.level());
  });
  QVERIFY2(lines.empty(), join(lines).c_str());
}

void IncludesTest::R2_levels_meet_in_api_headers_only() {
  const auto lines = offenders([](const SourceFile& file, const Include& include) {
    const std::string level = level_of(include.path);
    return include.quoted && height_of(level) >= 0 && level != file.level() && !include.path.starts_with(level + "/api/");
  });
  QVERIFY2(lines.empty(), join(lines).c_str());
}

void IncludesTest::R3_libraries_stay_where_they_belong() {
  const auto lines = offenders(leaves_its_place);
  QVERIFY2(lines.empty(), join(lines).c_str());
}

void IncludesTest::R4_no_folder_cycle() {
  FolderGraph graph;
  for (const SourceFile& file : sources()) {
    for (const Include& include : file.includes) {
      const std::string folder = include.path.substr(0, include.path.rfind('/'));
      if (include.quoted && height_of(level_of(include.path)) >= 0 && folder != file.folder())
        graph[file.folder()].insert(folder);
    }
  }
  std::map<std::string, int> state;
  for (const auto& [folder, edges] : graph) {
    std::string cycle;
    QVERIFY2(state[folder] != 0 || !leads_back(graph, folder, state, cycle), cycle.c_str());
  }
}

void IncludesTest::R5_one_include_root() {
  const auto lines = offenders([](const SourceFile&, const Include& include) {
    if (!include.quoted || include.path.ends_with(".moc")) return false;
    return include.path.find("..") != std::string::npos || !std::filesystem::exists(source_path(include.path));
  });
  QVERIFY2(lines.empty(), join(lines).c_str());
}

void IncludesTest::R7_drop_in_folders_are_in_their_tables() {
  std::vector<std::string> missing;
  for (const DropIn& drop_in : kDropIns) {
    const std::string table = plain(text_of(drop_in.table));
    const std::set<std::string> entries = entries_of(drop_in);
    QVERIFY2(!entries.empty(), (drop_in.folder + " is empty").c_str());
    for (const std::string& entry : entries) {
      if (table.find(plain(entry)) == std::string::npos)
        missing.push_back(drop_in.folder + "/" + entry + " is not in " + drop_in.table);
    }
  }
  QVERIFY2(missing.empty(), join(missing).c_str());
}

QTEST_GUILESS_MAIN(IncludesTest)
#include "includes_test.moc"
