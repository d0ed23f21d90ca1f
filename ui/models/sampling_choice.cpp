// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/sampling_choice.h"

#include <QRandomGenerator>
#include <utility>

namespace lathe::ui {
namespace {

using engine::Json;
using engine::SamplingField;
using engine::SamplingSection;
using engine::SamplingTable;

constexpr const char* kPresets = "sampling/presets";
constexpr const char* kModel = "Model";
constexpr const char* kFixedSeed = "fixed_seed";
constexpr quint32 kSeeds = 0x80000000U;  // the field for a fixed seed takes seeds below this

bool has_row(const SamplingField& field) { return field.control.section != SamplingSection::none; }

/// True if presets set the parameter.
bool says_how_to_draw(const SamplingField& field) {
  return field.control.section == SamplingSection::randomness || field.control.section == SamplingSection::repetition;
}

void set_on(SamplingValues& values, const QString& name, bool on) {
  if (on) values.off.remove(name);
  else values.off.insert(name);
}

Json json_of(const SamplingValues& values, SamplingTable table) {
  Json json = Json::object();
  for (const SamplingField& field : table)
    if (has_row(field)) json[std::string(field.option.name)] = engine::encode_json(field, values.params);
  json["off"] = Json::array();
  for (const QString& name : values.off) json["off"].push_back(name.toStdString());
  return json;
}

/// Names in the list of rows that are off; none: there is no such list.
std::optional<QSet<QString>> off_names(const Json& json) {
  const auto off = json.find("off");
  if (off == json.end() || !off->is_array()) return std::nullopt;
  QSet<QString> names;
  for (const Json& name : *off)
    if (name.is_string()) names.insert(QString::fromStdString(name.get<std::string>()));
  return names;
}

/// Reads the values of each row that the file has with the right type: a hand-edited file must not crash the window.
SamplingValues values_of(const Json& json, SamplingTable table) {
  SamplingValues values(table);
  if (!json.is_object()) return values;
  const std::optional<QSet<QString>> off = off_names(json);
  for (const SamplingField& field : table) {
    const auto found = json.find(field.option.name);
    if (!has_row(field) || found == json.end()) continue;
    [[maybe_unused]] const auto decoded = engine::decode_json(field, *found, values.params);
    if (off && field.control.can_be_off) set_on(values, name_of(field), !off->contains(name_of(field)));
  }
  // Files of older versions have a switch of its own for the seed.
  if (const auto fixed = json.find(kFixedSeed); fixed != json.end() && fixed->is_boolean())
    set_on(values, QStringLiteral("seed"), fixed->get<bool>());
  return values;
}

SamplingValues greedy(SamplingTable table) {
  SamplingValues values(table);
  values.params.temperature = 0;
  return values;
}

SamplingValues creative(SamplingTable table) {
  SamplingValues values(table);
  values.params.temperature = 1.1;
  values.params.top_k = 100;
  values.params.top_p = 0.98;
  values.params.min_p = 0.03;
  return values;
}

/// The recommendation as values of the dock; none: the parameters say nothing about how tokens are drawn. Neutral values
/// become rows that are off.
std::optional<SamplingValues> recommended_values(const engine::SamplingParams& params, SamplingTable table) {
  SamplingValues values(table);
  bool any = false;
  for (const SamplingField& field : table) {
    if (!says_how_to_draw(field)) continue;
    const bool recommends = !engine::is_neutral(field, params);
    any |= recommends;
    if (recommends || !field.control.can_be_off) engine::copy_value(field, params, values.params);
    if (field.control.can_be_off) set_on(values, name_of(field), recommends);
  }
  return any ? std::optional(values) : std::nullopt;
}

/// Combines a preset, which says how tokens are drawn, with the length limit, stop strings, seed and logprobs of `other`.
SamplingValues with_length_of(SamplingValues preset, const SamplingValues& other, SamplingTable table) {
  for (const SamplingField& field : table) {
    if (!has_row(field) || says_how_to_draw(field)) continue;
    engine::copy_value(field, other.params, preset.params);
    set_on(preset, name_of(field), !other.off.contains(name_of(field)));
  }
  return preset;
}

}  // namespace

SamplingValues::SamplingValues(engine::SamplingTable table) {
  for (const SamplingField& field : table) {
    if (has_row(field) && engine::has_number(field)) engine::set_number(field, field.control.initial, params);
    if (field.control.starts_off) off.insert(name_of(field));
  }
}

QString name_of(const SamplingField& field) {
  return QString::fromUtf8(field.option.name.data(), static_cast<qsizetype>(field.option.name.size()));
}

SamplingChoice::SamplingChoice(app::Settings& settings, QObject* parent, SamplingTable table)
    : QObject(parent), settings_(settings), table_(table), values_(values_of(settings.get("sampling/current"), table)) {
  const Json chosen = settings.get("sampling/preset");
  chosen_ = chosen.is_string() ? QString::fromStdString(chosen.get<std::string>()) : QLatin1String(kModel);
}

void SamplingChoice::set_values(const SamplingValues& values) {
  if (values == values_) return;
  const bool draws_alike = with_length_of(values, values_, table_) == values_;
  values_ = values;
  if (!draws_alike) chosen_ = preset();
  keep();
  Q_EMIT changed();
}

void SamplingChoice::set_recommended(const engine::SamplingParams& recommended) {
  recommended_ = recommended_values(recommended, table_);
  if (chosen_ == QLatin1String(kModel))
    values_ = with_length_of(recommended_.value_or(SamplingValues(table_)), values_, table_);
  Q_EMIT changed();
}

void SamplingChoice::keep() {
  settings_.set("sampling/current", json_of(values_, table_));
  settings_.set("sampling/preset", chosen_.toStdString());
}

engine::SamplingParams SamplingChoice::params() const {
  engine::SamplingParams params;
  for (const SamplingField& field : table_) {
    if (has_row(field) && !values_.off.contains(name_of(field))) engine::copy_value(field, values_.params, params);
  }
  return params;
}

engine::SamplingParams SamplingChoice::draw_params() {
  engine::SamplingParams p = params();
  if (!p.seed) p.seed = QRandomGenerator::global()->bounded(kSeeds);
  last_seed_ = p.seed;
  Q_EMIT changed();
  return p;
}

std::optional<SamplingValues> SamplingChoice::preset_values(const QString& name) const {
  if (name == QLatin1String(kModel)) return recommended_;
  if (name == QLatin1String("Greedy")) return greedy(table_);
  if (name == QLatin1String("Balanced")) return SamplingValues(table_);
  if (name == QLatin1String("Creative")) return creative(table_);
  const Json own = settings_.get(kPresets);
  if (!own.is_object() || !own.contains(name.toStdString())) return std::nullopt;
  return values_of(own[name.toStdString()], table_);
}

QStringList SamplingChoice::presets() const {
  QStringList names;
  if (recommended_) names.append(QLatin1String(kModel));
  names += {QStringLiteral("Greedy"), QStringLiteral("Balanced"), QStringLiteral("Creative")};
  const Json own = settings_.get(kPresets);
  if (own.is_object())
    for (const auto& [name, values] : own.items()) names.append(QString::fromStdString(name));
  names.append(QStringLiteral("Custom"));
  return names;
}

bool SamplingChoice::is_own(const QString& name) const {
  const Json own = settings_.get(kPresets);
  return own.is_object() && own.contains(name.toStdString());
}

QString SamplingChoice::preset() const {
  for (const QString& name : QStringList(chosen_) + presets()) {
    const std::optional<SamplingValues> values = preset_values(name);
    if (values && with_length_of(*values, values_, table_) == values_) return name;
  }
  return QStringLiteral("Custom");
}

void SamplingChoice::choose_preset(const QString& name) {
  const std::optional<SamplingValues> values = preset_values(name);
  if (!values) return;
  chosen_ = name;
  values_ = with_length_of(*values, values_, table_);
  keep();
  Q_EMIT changed();
}

QString SamplingChoice::save_preset(const QString& name) {
  const QString word = name.trimmed();
  if (word.isEmpty()) return tr("A preset needs a name.");
  if (QStringList{kModel, "Greedy", "Balanced", "Creative", "Custom"}.contains(word, Qt::CaseInsensitive))
    return tr("%1 is a built-in preset; choose another name.").arg(word);
  Json own = settings_.get(kPresets);
  if (!own.is_object()) own = Json::object();
  own[word.toStdString()] = json_of(values_, table_);
  settings_.set(kPresets, own);
  chosen_ = word;
  keep();
  Q_EMIT changed();
  return {};
}

void SamplingChoice::remove_preset(const QString& name) {
  Json own = settings_.get(kPresets);
  if (!own.is_object() || own.erase(name.toStdString()) == 0) return;
  settings_.set(kPresets, own);
  chosen_ = preset();
  keep();
  Q_EMIT changed();
}

}  // namespace lathe::ui
