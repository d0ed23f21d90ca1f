// SPDX-License-Identifier: Apache-2.0
// The rules of ARCHITECTURE.md about includes and tables: R1 to R5 and R7.
#include <QTest>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "tests/support/shared_data.h"
#include "tests/support/source_tree.h"
#include "tests/support/test_class.h"

namespace includes_test {

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

/// A LATHE_TABLE and the folder whose files (or folders) define its entries.
struct DropIn {
  std::string folder;
  std::string table;
  bool has_other_files = false;  ///< the folder also has files that define no entry
};
const std::vector<DropIn> kDropIns{
    {"engine/model/architectures", "engine/model/architectures.cpp"},
    {"engine/load", "engine/load/loaders.cpp", true},
    {"engine/load/quantized", "engine/load/quantization_schemes.cpp"},
    {"engine/schedule/policies", "engine/schedule/policies.cpp"},
    {"engine/sample/stages", "engine/sample/stages.cpp"},
    {"engine/text/tool_calls/formats", "engine/text/tool_calls/call_formats.cpp"},
    {"app/server/dialects", "app/server/dialects.cpp"},
    {"app/cli/commands", "app/cli/commands.cpp"},
    {"app/bench/sweep/export/formats", "app/bench/sweep/export/export_formats.cpp"},
    {"ui/panels", "ui/panels/panels.cpp"},
    {"tests/fuzz", "tests/fuzz/targets.cpp", true},
};

/// The type and the entries of one LATHE_TABLE.
struct Listed {
  std::string type;
  std::set<std::string> entries;
};

/// The LATHE_TABLE of a file; nothing if it has none, several, or one whose entries have no line each.
std::optional<Listed> listed_in(const std::string& text) {
  static const std::regex table(R"(\nLATHE_TABLE\((\w+), \w+,\n((?:  \w+,\n)+)\);\n)"), word(R"(\w+)");
  std::smatch found;
  if (!std::regex_search(text, found, table) || text.find("\nLATHE_TABLE", text.find("\nLATHE_TABLE") + 1) != text.npos)
    return std::nullopt;
  Listed listed{found[1], {}};
  const std::string lines = found[2];
  for (std::sregex_iterator it(lines.begin(), lines.end(), word), end; it != end; ++it) listed.entries.insert(it->str());
  return listed;
}

/// Names of the constants of a type in a file whose line begins with `how`: "extern constexpr", which defines one, or
/// "extern const", which declares one.
std::set<std::string> constants_in(const SourceFile& file, const std::string& how, const std::string& type) {
  std::set<std::string> names;
  if (file.text.find(how + " " + type) == std::string::npos) return names;  // a regex takes seconds for all files
  const std::regex line("(?:^|\n)" + how + " " + type + " (k\\w+)");
  for (std::sregex_iterator it(file.text.begin(), file.text.end(), line), end; it != end; ++it) names.insert((*it)[1].str());
  return names;
}

/// A folder of rows in place: each of its files or folders that begins with `prefix` is named in a row of the table.
struct RowTable {
  std::string folder, prefix, table;
  std::set<std::string> others{};  ///< folders that hold no entry
};
const std::vector<RowTable> kRowTables{
    {"kernels/formats", "", "kernels/formats/formats.cpp", {"codes"}},
    {"kernels/cpu/isa", "ops_", "kernels/cpu/isa/isas.cpp"},
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

const SourceFile* find_file(const std::vector<SourceFile>& files, const std::string& path) {
  const auto found = std::find_if(files.begin(), files.end(), [&](const SourceFile& f) { return f.path == path; });
  return found == files.end() ? nullptr : &*found;
}

/// The folders of a folder, and the .cpp files that are directly in it, without ".cpp".
std::set<std::string> parts_of(const std::string& folder, const std::vector<SourceFile>& files) {
  std::set<std::string> parts;
  for (const SourceFile& file : files) {
    if (!file.path.starts_with(folder + "/")) continue;
    const std::string rest = file.path.substr(folder.size() + 1);
    const std::size_t slash = rest.find('/');
    if (slash != std::string::npos) parts.insert(rest.substr(0, slash));
    else if (rest.ends_with(".cpp")) parts.insert(rest.substr(0, rest.size() - 4));
  }
  return parts;
}

/// Ways in which a table and its folder break R7, one line each.
std::vector<std::string> faults_of(const DropIn& drop_in, const std::vector<SourceFile>& files) {
  const SourceFile* const table = find_file(files, drop_in.table);
  const std::optional<Listed> listed = table == nullptr ? std::nullopt : listed_in(table->text);
  if (!listed) return {drop_in.table + " has no LATHE_TABLE with one line for each entry"};
  std::vector<std::string> faults;
  std::set<std::string> defined, parts;
  for (const SourceFile& file : files) {
    const std::set<std::string> here = constants_in(file, "extern constexpr", listed->type);
    for (const std::string& name : constants_in(file, "extern const", listed->type))
      if (!here.contains(name)) faults.push_back(file.path + " declares " + name + ", which only its table names");
    if (!file.path.starts_with(drop_in.folder + "/") || here.empty()) continue;
    defined.insert(here.begin(), here.end());
    const std::string rest = file.path.substr(drop_in.folder.size() + 1);
    parts.insert(rest.substr(0, std::min(rest.find('/'), rest.size() - 4)));
  }
  for (const std::string& name : defined)
    if (!listed->entries.contains(name)) faults.push_back(name + " is not in " + drop_in.table);
  for (const std::string& name : listed->entries)
    if (!defined.contains(name)) faults.push_back(name + " is not defined in " + drop_in.folder);
  std::set<std::string> all = parts_of(drop_in.folder, files);
  all.erase(std::filesystem::path(drop_in.table).stem().string());
  for (const std::string& part : all) {
    if (!drop_in.has_other_files && !parts.contains(part))
      faults.push_back(drop_in.folder + "/" + part + " defines no " + listed->type);
  }
  return faults;
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
  void R7_entries_are_in_their_tables();
  void R7_sees_what_is_missing();
  void R7_rows_in_place_name_their_files();
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

void IncludesTest::R7_entries_are_in_their_tables() {
  std::vector<SourceFile> files = sources();
  for (SourceFile& file : read_sources({"tests/fuzz"})) files.push_back(std::move(file));
  for (const DropIn& drop_in : kDropIns) {
    const auto faults = faults_of(drop_in, files);
    QVERIFY2(faults.empty(), join(faults).c_str());
  }
  for (const SourceFile& file : files) {
    const bool is_known =
        std::any_of(kDropIns.begin(), kDropIns.end(), [&](const DropIn& d) { return d.table == file.path; });
    QVERIFY2(is_known || file.text.find("\nLATHE_TABLE") == std::string::npos, (file.path + " is not in kDropIns").c_str());
  }
}

/// A table is wrong with a line less, with a line more, with two entries on a line, and with a file that defines no entry.
void IncludesTest::R7_sees_what_is_missing() {
  const DropIn policies{"engine/schedule/policies", "engine/schedule/policies.cpp"};
  const auto faults_with = [&](const std::string& line, const std::string& instead) {
    std::vector<SourceFile> files = sources();
    for (SourceFile& file : files) {
      const std::size_t at = file.path == policies.table ? file.text.find(line) : std::string::npos;
      if (at != std::string::npos) file.text.replace(at, line.size(), instead);
    }
    return faults_of(policies, files);
  };
  QVERIFY(faults_with("", "").empty());
  QCOMPARE(faults_with("  kStaticPolicy,\n", ""),
           std::vector<std::string>{"kStaticPolicy is not in engine/schedule/policies.cpp"});
  QCOMPARE(faults_with("  kStaticPolicy,\n", "  kStaticPolicy,\n  kNoPolicy,\n"),
           std::vector<std::string>{"kNoPolicy is not defined in engine/schedule/policies"});
  QCOMPARE(faults_with("  kStaticPolicy,\n", "  kStaticPolicy, kNoPolicy,\n").size(), std::size_t(1));

  std::vector<SourceFile> files = sources();
  files.push_back({.path = "engine/schedule/policies/first_fit.cpp", .text = "\n", .includes = {}});
  QCOMPARE(faults_of(policies, files),
           std::vector<std::string>{"engine/schedule/policies/first_fit defines no PolicyDescriptor"});
  files.back().text = "\nextern constexpr PolicyDescriptor kFirstFitPolicy{\n";
  QCOMPARE(faults_of(policies, files), std::vector<std::string>{"kFirstFitPolicy is not in engine/schedule/policies.cpp"});
  files.back() = {
      .path = "engine/schedule/more.h", .text = "\nextern const PolicyDescriptor kPagedPolicy;\n", .includes = {}};
  QCOMPARE(faults_of(policies, files).size(), std::size_t(1));
}

void IncludesTest::R7_rows_in_place_name_their_files() {
  std::vector<std::string> missing;
  for (const RowTable& rows : kRowTables) {
    const SourceFile* const table = find_file(sources(), rows.table);
    QVERIFY2(table != nullptr, rows.table.c_str());
    const std::string text = plain(table->text);
    int n_found = 0;
    for (const std::string& part : parts_of(rows.folder, sources())) {
      const bool is_folder = find_file(sources(), rows.folder + "/" + part + ".cpp") == nullptr;
      if (!part.starts_with(rows.prefix) || is_folder != rows.prefix.empty() || rows.others.contains(part)) continue;
      ++n_found;
      if (text.find(plain(part.substr(rows.prefix.size()))) == std::string::npos)
        missing.push_back(rows.folder + "/" + part + " is not in " + rows.table);
    }
    QVERIFY2(n_found > 1, rows.folder.c_str());
  }
  QVERIFY2(missing.empty(), join(missing).c_str());
}

LATHE_TEST(IncludesTest)

}  // namespace includes_test
#include "includes_test.moc"
