// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/load_choice.h"

#include <QCryptographicHash>
#include <QFileInfo>
#include "app/api/returned_memory.h"

namespace lathe::ui {
namespace {

using engine::EngineOptions;
using engine::Json;
using engine::Result;

constexpr int kDebounceMs = 150;

/// The key under which the settings of a model are saved: a hash of its path, since hashing gigabytes of weights would take
/// too long.
std::string settings_key(const std::string& path) {
  const QByteArray hash = QCryptographicHash::hash(QByteArray::fromStdString(path), QCryptographicHash::Sha1).toHex();
  return "model/" + hash.left(16).toStdString();
}

struct Estimated {
  Result<engine::FitEstimate> fit;
  std::vector<engine::FitFix> fixes;
};

}  // namespace

LoadChoice::LoadChoice(app::Workbench& workbench, Bridge& bridge, Background& background, QObject* parent)
    : QObject(parent), workbench_(workbench), bridge_(bridge), background_(background) {
  debounce_.setSingleShot(true);
  debounce_.setInterval(kDebounceMs);
  connect(&debounce_, &QTimer::timeout, this, &LoadChoice::follow_options);
  connect(&bridge, &Bridge::model_changed, this, [this] {
    const app::ModelStatus& status = bridge_.model_status();
    remember_loaded();
    // An argument of the program or a request to the server may have loaded a model.
    if (path().empty() && !status.path.empty()) return choose(status.path);
    if (!bridge_.is_loading()) debounce_.start();
    Q_EMIT changed();
  });
}

/// Remembers the loaded model for the list and for the next start: a model that failed to load is not opened again.
void LoadChoice::remember_loaded() {
  const app::ModelStatus& status = bridge_.model_status();
  if (status.state != app::ModelState::ready || status.n_engines == remembered_) return;
  remembered_ = status.n_engines;
  workbench_.library().opened(status.path);
}

void LoadChoice::clear() {
  options_ = EngineOptions{};
  info_.reset();
  info_error_.reset();
  fit_.reset();
  fit_error_.reset();
  fixes_.clear();
  ++inspection_, ++estimation_;
}

void LoadChoice::choose(const std::string& path) {
  const QFileInfo file(QString::fromStdString(path));
  clear();
  options_.model = file.isFile() && !engine::is_gguf_file(path) ? file.absolutePath().toStdString() : path;
  restore_saved();
  inspect();
  Q_EMIT changed();
  Q_EMIT fit_changed();
}

void LoadChoice::look_again() {
  info_.reset();
  info_error_.reset();
  fit_.reset();
  fit_error_.reset();
  fixes_.clear();
  inspect();
  Q_EMIT changed();
  Q_EMIT fit_changed();
}

void LoadChoice::forget() {
  clear();
  Q_EMIT changed();
  Q_EMIT fit_changed();
}

void LoadChoice::refuse(const std::string& name, engine::Error why) {
  clear();
  options_.model = name;
  info_error_ = std::move(why);
  Q_EMIT changed();
  Q_EMIT fit_changed();
}

void LoadChoice::restore_saved() {
  const Json saved = workbench_.settings().get(settings_key(path()));
  if (!saved.is_object()) return;
  for (const engine::OptionDescriptor& option : engine::engine_option_table()) {
    const auto found = saved.find(std::string(option.name));
    if (option.name == "model" || found == saved.end() || !found->is_string()) continue;
    // A value that an older version allowed and this one does not is left at its default.
    static_cast<void>(engine::set_option(options_, option.name, found->get<std::string>()));
  }
}

void LoadChoice::keep() {
  if (path().empty()) return;
  const EngineOptions defaults;
  Json saved = Json::object();
  for (const engine::OptionDescriptor& option : engine::engine_option_table()) {
    if (option.name == "model") continue;
    const std::string value = engine::get_option(options_, option.name);
    if (value != engine::get_option(defaults, option.name)) saved[std::string(option.name)] = value;
  }
  workbench_.settings().set(settings_key(path()), saved);
}

void LoadChoice::set_option(const QString& name, const QString& value) {
  const EngineOptions before = options_;
  const Result<void> done = engine::set_option(options_, name.toStdString(), value.toStdString());
  if (!done || options_ == before) return;
  keep();
  debounce_.start();
  Q_EMIT changed();
}

void LoadChoice::reset_to_defaults() {
  EngineOptions defaults;
  defaults.model = options_.model;
  if (defaults == options_) return;
  options_ = defaults;
  keep();
  debounce_.start();
  Q_EMIT changed();
}

void LoadChoice::revert() {
  if (!is_loaded()) return;
  EngineOptions loaded = bridge_.loaded()->options;
  loaded.check_fit = true;  // check_fit belongs to a single load
  if (options_ == loaded) return;
  options_ = loaded;
  keep();
  debounce_.start();
  Q_EMIT changed();
}

bool LoadChoice::is_loaded() const {
  return bridge_.loaded() && !path().empty() && bridge_.loaded()->options.model == path();
}

QStringList LoadChoice::changed_options() const {
  QStringList names;
  if (!is_loaded()) return names;
  for (const engine::OptionDescriptor& option : engine::engine_option_table()) {
    if (engine::get_option(options_, option.name) != engine::get_option(bridge_.loaded()->options, option.name))
      names.append(QString::fromUtf8(option.name.data(), static_cast<qsizetype>(option.name.size())));
  }
  return names;
}

engine::Result<void> LoadChoice::load(bool check_fit, app::Ending ending) {
  if (path().empty()) return engine::fail(engine::ErrorCode::invalid_argument, "Choose a model first.", "model");
  LATHE_TRY_VOID(engine::validate(options_));
  EngineOptions options = options_;
  options.check_fit = check_fit;
  LATHE_TRY_VOID(workbench_.models().load(options, ending));
  bridge_.refresh();
  return {};
}

void LoadChoice::follow_options() {
  if (options_.tokenizer != inspected_tokenizer_) inspect();
  else estimate();
}

void LoadChoice::inspect() {
  if (path().empty()) return;
  const std::uint64_t number = ++inspection_;
  inspected_tokenizer_ = options_.tokenizer;
  background_.run(
      this,
      [path = path(), tokenizer = options_.tokenizer] {
        auto info = engine::inspect_checkpoint(path);
        if (!info) return info;
        if (auto warning = engine::tokenizer_warning(*info, tokenizer)) info->warnings.push_back(std::move(*warning));
        return info;
      },
      [this, number](Result<engine::ModelInfo> info) {
        if (number != inspection_) return;
        if (info) {
          info_ = std::move(*info);
          estimate();
        } else {
          info_error_ = std::move(info.error());
        }
        Q_EMIT changed();
      });
}

std::int64_t LoadChoice::returned_bytes() const {
  return bridge_.loaded() ? app::returned_bytes(*bridge_.loaded(), options_.device) : 0;
}

std::optional<MeasuredFit> LoadChoice::measured() const {
  if (!fit_ || !is_loaded() || !bridge_.loaded()->measured || !changed_options().isEmpty()) return {};
  MeasuredFit measured{bridge_.loaded()->estimate, bridge_.loaded()->measured->use};
  measured.estimate.free = fit_->free;
  measured.estimate.returned = fit_->returned;
  measured.estimate.verdict = fit_->verdict;
  return measured;
}

void LoadChoice::estimate() {
  if (!info_) return;
  const std::uint64_t number = ++estimation_;
  background_.run(
      this,
      [info = *info_, options = options_, returned = returned_bytes()] {
        Estimated estimated{engine::estimate_fit(info, options, returned), {}};
        if (estimated.fit && estimated.fit->verdict == engine::FitVerdict::wont_fit) {
          if (auto fixes = engine::find_fixes(info, options, returned)) estimated.fixes = std::move(*fixes);
        }
        return estimated;
      },
      [this, number](Estimated estimated) {
        if (number != estimation_) return;
        fit_.reset();
        fit_error_.reset();
        fixes_ = std::move(estimated.fixes);
        if (estimated.fit) fit_ = *estimated.fit;
        else fit_error_ = std::move(estimated.fit.error());
        Q_EMIT fit_changed();
      });
}

}  // namespace lathe::ui
