// SPDX-License-Identifier: GPL-3.0-or-later
// SamplingChoice: the sampling parameters that the Sampling dock shows and the next request uses.
#pragma once

#include <QObject>
#include <QSet>
#include <QStringList>
#include <optional>

#include "app/api/settings.h"
#include "engine/api/sampling_field.h"

namespace lathe::ui {

/// Values of the dock's rows, and the rows that are off. A row that is off keeps its value for when it is switched on again.
struct SamplingValues {
  /// The values of a new profile: the initial values of the rows. This is the preset Balanced.
  explicit SamplingValues(engine::SamplingTable table = engine::sampling_fields());

  engine::SamplingParams params;
  QSet<QString> off;  ///< vLLM's names; "seed": each request draws its own

  bool operator==(const SamplingValues&) const = default;
};

/// vLLM's name of a parameter.
QString name_of(const engine::SamplingField& field);

/// Thread: GUI. Saved in the settings at every change.
class SamplingChoice : public QObject {
  Q_OBJECT
 public:
  /// Requires: `table`, the parameters that have rows, outlives this object.
  explicit SamplingChoice(app::Settings& settings, QObject* parent = nullptr,
                          engine::SamplingTable table = engine::sampling_fields());
  engine::SamplingTable table() const { return table_; }

  const SamplingValues& values() const { return values_; }
  void set_values(const SamplingValues& values);
  /// The values as the engine takes them: parameters that are off or have no row have the default of SamplingParams.
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
  const engine::SamplingTable table_;
  SamplingValues values_;
  QString chosen_;  ///< the preset that the user chose last; "Model": none
  std::optional<SamplingValues> recommended_;
  std::optional<std::uint64_t> last_seed_;
};

}  // namespace lathe::ui
