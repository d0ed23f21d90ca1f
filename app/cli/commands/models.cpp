// SPDX-License-Identifier: Apache-2.0
// lathe models: lists the models that can be opened by name, from headers only.
#include <fmt/format.h>

#include <cstring>

#include "app/cli/model_command.h"
#include "app/log/printable.h"

namespace lathe::app {

extern const Command kModelsCommand;

namespace {

using engine::OrderedJson;

constexpr std::size_t kModelWidth = 36;

struct ListedModel {
  LibraryEntry entry;
  ModelFacts facts;
};

OrderedJson json_of(const ListedModel& model) {
  OrderedJson json = {{"name", model.entry.name},
                      {"path", model.entry.path},
                      {"recent", model.entry.recent},
                      {"demo", model.entry.is_demo},
                      {"file_bytes", model.entry.stamp.n_bytes}};
  if (model.facts.error) {
    json["error"] = model.facts.error->message;
    json["where"] = model.facts.error->where;
    return json;
  }
  const engine::ModelInfo& info = *model.facts.info;
  json["file_bytes"] = info.file_bytes;
  json["architecture"] = info.architecture;
  json["file_format"] = info.file_format;
  json["n_parameters"] = info.n_parameters;
  json["stored_dtype"] = info.stored_dtype;
  json["quantization"] = info.kept_quantization();
  json["max_position_embeddings"] = info.max_position_embeddings;
  json["fit"] = engine::name_of(model.facts.verdict);
  return json;
}

std::string line_of(const ListedModel& model) {
  const std::string name = printable(model.entry.name, 200);
  if (model.facts.error) {
    const std::string where = model.facts.error->where.empty() ? "" : fmt::format(" ({})", model.facts.error->where);
    return fmt::format("{:<{}}  cannot be opened: {}\n", name, kModelWidth,
                       printable(model.facts.error->message + where, 400));
  }
  const engine::ModelInfo& info = *model.facts.info;
  const std::string& kept = info.kept_quantization();
  return fmt::format("{:<{}}  {:<24} {:>9.1f} M  {:<10} {:>10.1f}  {:>8}  {}\n", name, kModelWidth,
                     printable(info.architecture, 64), static_cast<double>(info.n_parameters) / 1e6,
                     kept.empty() ? info.stored_dtype : kept, static_cast<double>(info.file_bytes) / kMiB,
                     info.max_position_embeddings, engine::name_of(model.facts.verdict));
}

std::string searched_text(const Library& library) {
  std::string words;
  for (const WatchedFolder& folder : library.folders()) {
    words += fmt::format("  {}{}{}\n", printable(folder.path), folder.kind.empty() ? "" : fmt::format(" ({})", folder.kind),
                         folder.is_there ? "" : ": does not exist");
  }
  return words.empty() ? "No folder is searched.\n" : "Searched:\n" + words;
}

class ModelsCommand {
 public:
  explicit ModelsCommand(Terminal& terminal)
      : terminal_(terminal), parser_(std::string(kModelsCommand.help), program_name(kModelsCommand)) {
    parser_.add_option("TEXT", text_, "List only models whose name contains this text.");
    parser_.add_flag("--json", json_, "Print one JSON array on stdout.");
    parser_.add_option("--profile-dir", profile_dir_,
                       "Folder for settings and other files; default: the folders of the user.");
    parser_.add_flag("-q,--quiet", quiet_, "Print no progress on stderr.");
  }

  int run(const std::vector<std::string>& arguments) {
    if (const auto code = parse(parser_, arguments, terminal_)) return *code;
    WorkbenchOptions options;
    options.profile_dir = profile_dir_;
    options.keep_history = false;
    options.log.level = LogLevel::error;
    const auto workbench = Workbench::create(std::move(options));
    if (!workbench) return report(terminal_, parser_, workbench.error());
    const Library& library = (*workbench)->library();
    const std::vector<ListedModel> models = find(library);
    progress({});
    if (stopped()) return report(terminal_, parser_, {engine::ErrorCode::cancelled, "interrupted", {}});
    if (json_) print_json(models);
    else print_table(models, library);
    return kExitDone;
  }

 private:
  bool stopped() { return signals_.wait(std::chrono::milliseconds(0)); }

  std::vector<ListedModel> find(const Library& library) {
    std::vector<ListedModel> models;
    const auto entries = library.entries([this](const ScanProgress& at) {
      progress(fmt::format("{} models in {} folders: {}", at.n_models, at.n_folders, at.folder));
      return !stopped();
    });
    for (const LibraryEntry& entry : entries) {
      if (strcasestr(entry.name.c_str(), text_.c_str()) == nullptr) continue;
      if (stopped()) break;
      progress("Reading headers: " + entry.name);
      models.push_back({entry, look_at_model(entry.path)});
    }
    return models;
  }

  void print_json(const std::vector<ListedModel>& models) {
    OrderedJson json = OrderedJson::array();
    for (const ListedModel& model : models) json.push_back(json_of(model));
    terminal_.out << engine::dump_json(json, 2) << '\n';
  }

  void print_table(const std::vector<ListedModel>& models, const Library& library) {
    if (models.empty()) {
      terminal_.err << (text_.empty() ? "No models found. "
                                      : fmt::format("No model has '{}' in its name. ", printable(text_, 64)))
                    << searched_text(library);
      return;
    }
    terminal_.out << fmt::format("{:<{}}  {:<24} {:>11}  {:<10} {:>10}  {:>8}  {}\n", "name", kModelWidth, "architecture",
                                 "parameters", "weights", "MiB", "context", "fit");
    for (const ListedModel& model : models) terminal_.out << line_of(model);
  }

  void progress(const std::string& line) {
    if (!quiet_ && terminal_.err_is_terminal) terminal_.err << "\r\x1b[K" << printable(line, 100) << std::flush;
  }

  StopSignals signals_;
  Terminal& terminal_;
  CLI::App parser_;
  std::string text_, profile_dir_;
  bool json_ = false, quiet_ = false;
};

int models(const std::vector<std::string>& arguments, Terminal& terminal) { return ModelsCommand(terminal).run(arguments); }

}  // namespace

extern constexpr Command kModelsCommand = {
    .name = "models", .help = "List the models that were found, by the names that --model accepts.", .run = models};

}  // namespace lathe::app
