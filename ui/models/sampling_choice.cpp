// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/sampling_choice.h"

#include <QRandomGenerator>
#include <utility>

namespace lathe::ui {
namespace {

using engine::Json;

constexpr const char* kPresets = "sampling/presets";
constexpr const char* kModel = "Model";
constexpr quint32 kSeeds = 0x80000000U;  // the field for a fixed seed takes seeds below this

Json json_of(const SamplingValues& v) {
  Json off = Json::array();
  for (const QString& name : v.off) off.push_back(name.toStdString());
  return {{"temperature", v.temperature},
          {"top_k", v.top_k},
          {"top_p", v.top_p},
          {"min_p", v.min_p},
          {"repetition_penalty", v.repetition_penalty},
          {"presence_penalty", v.presence_penalty},
          {"frequency_penalty", v.frequency_penalty},
          {"max_tokens", v.max_tokens},
          {"logprobs", v.logprobs},
          {"fixed_seed", v.fixed_seed},
          {"seed", v.seed},
          {"stop", v.stop},
          {"off", off}};
}

/// Takes the value if it has the type of `into`: a hand-edited file must not crash the window.
template <class T>
void take(const Json& json, const char* key, T& into) {
  const auto found = json.find(key);
  if (found == json.end()) return;
  if constexpr (std::is_same_v<T, bool>) {
    if (found->is_boolean()) into = found->get<bool>();
  } else if constexpr (std::is_same_v<T, double>) {
    if (found->is_number()) into = found->get<double>();
  } else {
    if (found->is_number_integer()) into = found->get<T>();
  }
}

void take_lists(const Json& json, SamplingValues& v) {
  if (const auto stop = json.find("stop"); stop != json.end() && stop->is_array()) {
    for (const Json& one : *stop)
      if (one.is_string()) v.stop.push_back(one.get<std::string>());
  }
  if (const auto off = json.find("off"); off != json.end() && off->is_array()) {
    v.off.clear();
    for (const Json& one : *off)
      if (one.is_string()) v.off.insert(QString::fromStdString(one.get<std::string>()));
  }
}

SamplingValues values_of(const Json& json) {
  SamplingValues v;
  if (!json.is_object()) return v;
  take(json, "temperature", v.temperature);
  take(json, "top_k", v.top_k);
  take(json, "top_p", v.top_p);
  take(json, "min_p", v.min_p);
  take(json, "repetition_penalty", v.repetition_penalty);
  take(json, "presence_penalty", v.presence_penalty);
  take(json, "frequency_penalty", v.frequency_penalty);
  take(json, "max_tokens", v.max_tokens);
  take(json, "logprobs", v.logprobs);
  take(json, "fixed_seed", v.fixed_seed);
  take(json, "seed", v.seed);
  take_lists(json, v);
  return v;
}

SamplingValues greedy() {
  SamplingValues v;
  v.temperature = 0;
  return v;
}

SamplingValues creative() {
  SamplingValues v;
  v.temperature = 1.1;
  v.top_k = 100;
  v.top_p = 0.98;
  v.min_p = 0.03;
  return v;
}

/// The recommendation as values of the dock; none: the parameters say nothing about how tokens are drawn. Neutral values
/// become rows that are off.
std::optional<SamplingValues> recommended_values(const engine::SamplingParams& params) {
  SamplingValues v;
  v.temperature = params.temperature;
  bool any = params.temperature != engine::SamplingParams().temperature;
  const auto row = [&v, &any](const char* name, auto& value, auto recommended, bool on) {
    any |= on;
    if (on) value = recommended, v.off.remove(QLatin1String(name));
    else v.off.insert(QLatin1String(name));
  };
  row("top_k", v.top_k, params.top_k, params.top_k > 0);
  row("top_p", v.top_p, params.top_p, params.top_p < 1);
  row("min_p", v.min_p, params.min_p, params.min_p > 0);
  row("repetition_penalty", v.repetition_penalty, params.repetition_penalty, params.repetition_penalty != 1);
  row("presence_penalty", v.presence_penalty, params.presence_penalty, params.presence_penalty != 0);
  row("frequency_penalty", v.frequency_penalty, params.frequency_penalty, params.frequency_penalty != 0);
  return any ? std::optional(v) : std::nullopt;
}

/// Combines a preset, which says how tokens are drawn, with the length limit, stop strings, seed and logprobs of `other`.
SamplingValues with_length_of(SamplingValues preset, const SamplingValues& other) {
  preset.max_tokens = other.max_tokens;
  preset.stop = other.stop;
  preset.fixed_seed = other.fixed_seed;
  preset.seed = other.seed;
  preset.logprobs = other.logprobs;
  if (other.off.contains("logprobs")) preset.off.insert("logprobs");
  else preset.off.remove("logprobs");
  return preset;
}

}  // namespace

SamplingChoice::SamplingChoice(app::Settings& settings, QObject* parent)
    : QObject(parent), settings_(settings), values_(values_of(settings.get("sampling/current"))) {
  const Json chosen = settings.get("sampling/preset");
  chosen_ = chosen.is_string() ? QString::fromStdString(chosen.get<std::string>()) : QLatin1String(kModel);
}

void SamplingChoice::set_values(const SamplingValues& values) {
  if (values == values_) return;
  const bool draws_alike = with_length_of(values, values_) == values_;
  values_ = values;
  if (!draws_alike) chosen_ = preset();
  keep();
  Q_EMIT changed();
}

void SamplingChoice::set_recommended(const engine::SamplingParams& recommended) {
  recommended_ = recommended_values(recommended);
  if (chosen_ == QLatin1String(kModel)) values_ = with_length_of(recommended_.value_or(SamplingValues{}), values_);
  Q_EMIT changed();
}

void SamplingChoice::keep() {
  settings_.set("sampling/current", json_of(values_));
  settings_.set("sampling/preset", chosen_.toStdString());
}

engine::SamplingParams SamplingChoice::params() const {
  const auto on = [this](const char* name) { return !values_.off.contains(QLatin1String(name)); };
  engine::SamplingParams p;
  p.temperature = values_.temperature;
  p.top_k = on("top_k") ? values_.top_k : 0;
  p.top_p = on("top_p") ? values_.top_p : 1.0;
  p.min_p = on("min_p") ? values_.min_p : 0.0;
  if (on("repetition_penalty")) p.repetition_penalty = values_.repetition_penalty;
  if (on("presence_penalty")) p.presence_penalty = values_.presence_penalty;
  if (on("frequency_penalty")) p.frequency_penalty = values_.frequency_penalty;
  if (on("logprobs")) p.logprobs = values_.logprobs;
  if (values_.fixed_seed) p.seed = values_.seed;
  p.max_tokens = values_.max_tokens;
  p.stop = values_.stop;
  return p;
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
  if (name == QLatin1String("Greedy")) return greedy();
  if (name == QLatin1String("Balanced")) return SamplingValues{};
  if (name == QLatin1String("Creative")) return creative();
  const Json own = settings_.get(kPresets);
  if (!own.is_object() || !own.contains(name.toStdString())) return std::nullopt;
  return values_of(own[name.toStdString()]);
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
    if (values && with_length_of(*values, values_) == values_) return name;
  }
  return QStringLiteral("Custom");
}

void SamplingChoice::choose_preset(const QString& name) {
  const std::optional<SamplingValues> values = preset_values(name);
  if (!values) return;
  chosen_ = name;
  values_ = with_length_of(*values, values_);
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
  own[word.toStdString()] = json_of(values_);
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
