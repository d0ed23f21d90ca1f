// SPDX-License-Identifier: GPL-3.0-or-later
// LoadChoice: the model that is chosen, the settings it would be loaded with, and whether it would fit.
#pragma once

#include <QObject>
#include <QStringList>
#include <QTimer>
#include <optional>
#include <vector>

#include "app/api/workbench.h"
#include "engine/api/checkpoint.h"
#include "engine/api/fit_fixes.h"
#include "ui/bridge/background.h"
#include "ui/bridge/bridge.h"

namespace lathe::ui {

/// The memory of the loaded model: estimated before the load, and measured after it.
struct MeasuredFit {
  engine::FitEstimate estimate;  ///< parts as estimated before the load; free and returned bytes and verdict as of now
  engine::MemoryUse use;
};

/// Thread: GUI; reading headers and estimating run in the background. Options are saved per model at every change.
class LoadChoice : public QObject {
  Q_OBJECT
 public:
  LoadChoice(app::Workbench& workbench, Bridge& bridge, Background& background, QObject* parent = nullptr);

  /// Path of the chosen model; empty: none.
  const std::string& path() const { return options_.model; }
  /// Takes a folder (or a file in it) or a GGUF file as the model to load next, with the options saved for it.
  void choose(const std::string& path);
  /// Reads the chosen model's files again: they may have been repaired.
  void look_again();
  void forget();  ///< returns to the list of sources
  /// Shows the reason why `name` cannot be chosen.
  void refuse(const std::string& name, engine::Error why);

  const engine::EngineOptions& options() const { return options_; }
  void set_option(const QString& name, const QString& value);
  void reset_to_defaults();
  void revert();  ///< sets the options of the loaded model

  /// Metadata of the chosen model, once its headers are read.
  const std::optional<engine::ModelInfo>& info() const { return info_; }
  const std::optional<engine::Error>& info_error() const { return info_error_; }
  const std::optional<engine::FitEstimate>& fit() const { return fit_; }
  /// Changes with which the model would fit; empty while it fits.
  const std::vector<engine::FitFix>& fixes() const { return fixes_; }
  /// The reason why there is no estimate: the options contradict each other.
  const std::optional<engine::Error>& fit_error() const { return fit_error_; }

  /// Memory that unloading the present model gives back on the chosen device. Units: bytes, rounded to 16 MiB.
  std::int64_t returned_bytes() const;
  /// None unless the chosen model with these settings is the loaded one and the system reports the memory that it took.
  std::optional<MeasuredFit> measured() const;

  /// True if the chosen model is the loaded one.
  bool is_loaded() const;
  /// Names of the options that differ from those of the loaded model; empty if another model is chosen.
  QStringList changed_options() const;

  /// Loads the chosen model. `check_fit` false: for this load, even if it does not seem to fit. Errors: those that are known
  /// before the load begins; later ones show in the model's status.
  engine::Result<void> load(bool check_fit = true, app::Ending ending = app::Ending::cut);
  /// True if a load of the chosen model is known to be refused: its files cannot be used, or its options contradict each
  /// other.
  bool is_unusable() const { return info_error_ || fit_error_; }
  bool wont_fit() const { return fit_ && fit_->verdict == engine::FitVerdict::wont_fit; }

 Q_SIGNALS:
  void changed();  ///< path, options or info
  void fit_changed();

 private:
  void remember_loaded();
  void clear();
  void restore_saved();
  void keep();
  void follow_options();
  void inspect();
  void estimate();

  app::Workbench& workbench_;
  Bridge& bridge_;
  Background& background_;
  engine::EngineOptions options_;
  std::optional<engine::ModelInfo> info_;
  std::optional<engine::Error> info_error_, fit_error_;
  std::optional<engine::FitEstimate> fit_;
  std::vector<engine::FitFix> fixes_;
  std::string inspected_tokenizer_;  ///< the option with which info_ was read
  QTimer debounce_;
  std::uint64_t remembered_ = 0;  ///< number of the engine whose model is the last one
  std::uint64_t inspection_ = 0, estimation_ = 0;
};

}  // namespace lathe::ui
