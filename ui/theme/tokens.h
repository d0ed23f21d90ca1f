// SPDX-License-Identifier: GPL-3.0-or-later
// Tokens: every colour of the window, once for light and once for dark.
#pragma once

#include <QColor>
#include <array>

namespace lathe::ui {

/// Colours of one state: success, warning or error.
struct StateColors {
  QColor text, fill, tint, border;
};

struct Tokens {
  bool dark = false;
  QColor chrome, dock, page, raised, sunken, hover, pressed, border, strong;
  QColor text, text2, text3, disabled;
  QColor accent, accent_hover, on_accent, accent_text, focus, tint, tint_border;
  StateColors success, warning, error;
  QColor role_user, role_assistant, role_system, role_tool, user_ground;
  std::array<QColor, 6> series;                        ///< chart lines
  QColor queued, prefill, decode, preempted, swapped;  ///< colours of the phases in every view
  std::array<QColor, 8> kv;                            ///< requests in the KV map
  QColor kv_cached, kv_free;
  std::array<QColor, 6> heat;  ///< from low to high values
  QColor less_likely, more_likely;
  QColor code_keyword, code_string, code_number, code_comment, code_call;
};

const Tokens& light_tokens();
const Tokens& dark_tokens();

/// The colour of `over` painted on `ground` with opacity `share`.
QColor mixed(const QColor& over, const QColor& ground, double share);

}  // namespace lathe::ui
