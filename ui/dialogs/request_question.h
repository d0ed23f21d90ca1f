// SPDX-License-Identifier: GPL-3.0-or-later
// RequestQuestion: asks what becomes of running requests before their model is unloaded.
#pragma once

#include <QString>
#include <QWidget>
#include <functional>

#include "app/api/model_slot.h"

namespace lathe::ui {

struct RequestQuestion {
  int n_requests = 0;
  QString title;  ///< "Reload the model"
  QString cut;    ///< button that ends them: "Cut them and reload"
};

/// Opens the question over the window of `parent` and returns at once. `then` is called with the answer, and not at all if
/// the user cancels. Without requests it is called immediately, without a question.
void ask_about_requests(const RequestQuestion& question, QWidget* parent, std::function<void(app::Ending)> then);

}  // namespace lathe::ui
