// SPDX-License-Identifier: GPL-3.0-or-later
// SamplingChoice: what the Sampling dock shows and the next request uses.
#pragma once

#include <QObject>
#include <QSet>
#include <QStringList>
#include <optional>

#include "app/api/settings.h"
#include "engine/api/sampling_params.h"

namespace lathe::ui {

/// Every row has a value; a row that is off keeps it for when it is switched on again.
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
  QSet<QString> off{"repetition_penalty", "presence_penalty", "frequency_penalty", "logprobs"};  ///< by vLLM's names

  bool operator==(const SamplingValues&) const = default;
};

/// Thread: GUI. Kept in the settings at every change.
class SamplingChoice : public QObject {
  Q_OBJECT
 public:
  explicit SamplingChoice(app::Settings& settings, QObject* parent = nullptr);

  const SamplingValues& values() const { return values_; }
  void set_values(const SamplingValues& values);
  /// As the engine takes it: rows that are off at their neutral value.
  engine::SamplingParams params() const;
  /// The same for a request that begins now: with a seed that was just drawn, unless it is fixed.
  engine::SamplingParams draw_params();
  /// The seed of the last request, so that its reply can be had again.
  std::optional<std::uint64_t> last_seed() const { return last_seed_; }

  /// What the loaded model's checkpoint recommends; one that recommends nothing has the defaults of SamplingParams. It holds
  /// until the user chooses something else.
  void set_recommended(const engine::SamplingParams& recommended);

  /// "Model" when the model recommends something, "Greedy", "Balanced", "Creative", then the user's own, then "Custom".
  QStringList presets() const;
  QString preset() const;  ///< "Custom" when the values equal none
  void choose_preset(const QString& name);
  /// What is wrong with the name; empty: saved.
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
  QString chosen_;  ///< the preset that the user chose last; "Model" when none
  std::optional<SamplingValues> recommended_;
  std::optional<std::uint64_t> last_seed_;
};

}  // namespace lathe::ui
