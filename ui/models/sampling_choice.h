// SPDX-License-Identifier: GPL-3.0-or-later
// SamplingChoice: the sampling parameters that the Sampling dock shows and the next request uses.
#pragma once

#include <QObject>
#include <QSet>
#include <QStringList>
#include <optional>

#include "app/api/settings.h"
#include "engine/api/sampling_params.h"

namespace lathe::ui {

/// Values of the dock's rows. A row that is switched off keeps its value for when it is switched on again.
struct SamplingValues {
  double temperature = 0.8;
  std::int64_t top_k = 40;
  double top_p = 0.95, min_p = 0.05;
  double repetition_penalty = 1.1, presence_penalty = 0.5, frequency_penalty = 0.5;
  std::int64_t max_tokens = 512;
  std::int64_t logprobs = 5;
  bool fixed_seed = false;
  std::uint64_t seed = 1;
  std::vector<std::string> stop;
  /// rows that are switched off, by vLLM's names
  QSet<QString> off{"repetition_penalty", "presence_penalty", "frequency_penalty", "logprobs"};

  bool operator==(const SamplingValues&) const = default;
};

/// Thread: GUI. Saved in the settings at every change.
class SamplingChoice : public QObject {
  Q_OBJECT
 public:
  explicit SamplingChoice(app::Settings& settings, QObject* parent = nullptr);

  const SamplingValues& values() const { return values_; }
  void set_values(const SamplingValues& values);
  /// The values as the engine takes them: rows that are switched off have their neutral value.
  engine::SamplingParams params() const;
  /// The values for a request that begins now: params() with a newly drawn seed, unless the seed is fixed.
  engine::SamplingParams draw_params();
  /// The seed of the last request, with which its reply can be repeated.
  std::optional<std::uint64_t> last_seed() const { return last_seed_; }

  /// Sets the recommendation of the loaded model's checkpoint; one that recommends nothing gets the defaults of
  /// SamplingValues. It holds until the user chooses another preset or value.
  void set_recommended(const engine::SamplingParams& recommended);

  /// "Model" if the model recommends something, "Greedy", "Balanced", "Creative", then the user's presets, then "Custom".
  QStringList presets() const;
  QString preset() const;  ///< "Custom" if the values equal no preset
  void choose_preset(const QString& name);
  /// Saves the values under a name. Returns the problem with the name; empty: saved.
  QString save_preset(const QString& name);
  void remove_preset(const QString& name);
  bool is_own(const QString& name) const;

 Q_SIGNALS:
  void changed();

 private:
  std::optional<SamplingValues> preset_values(const QString& name) const;
  void keep();

  app::Settings& settings_;
  SamplingValues values_;
  QString chosen_;  ///< the preset that the user chose last; "Model": none
  std::optional<SamplingValues> recommended_;
  std::optional<std::uint64_t> last_seed_;
};

}  // namespace lathe::ui
