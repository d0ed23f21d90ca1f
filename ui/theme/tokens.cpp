// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/theme/tokens.h"

namespace lathe::ui {
namespace {

QColor c(unsigned rgb) { return QColor::fromRgb(rgb); }

Tokens make_light() {
  Tokens t;
  t.chrome = c(0xECEEF2), t.dock = c(0xF6F7F9), t.page = c(0xFFFFFF), t.raised = c(0xFFFFFF), t.sunken = c(0xF1F3F6);
  t.hover = c(0xE4E7ED), t.pressed = c(0xD8DCE4), t.border = c(0xDEE2E8), t.strong = c(0xB9C0CB);
  t.text = c(0x1A1D23), t.text2 = c(0x4A5260), t.text3 = c(0x5F6775), t.disabled = c(0x9BA2AE);
  t.accent = c(0x4450C4), t.accent_hover = c(0x3741A8), t.on_accent = c(0xFFFFFF);
  t.accent_text = c(0x3D49B8), t.focus = c(0x4450C4), t.tint = c(0xE8EAFB), t.tint_border = c(0xC5CAF3);
  t.success = {c(0x17703D), c(0x2E9E5B), c(0xE3F3E9), c(0xE3F3E9)};
  t.warning = {c(0x855300), c(0xE09F1F), c(0xFCF2DC), c(0xEBD19A)};
  t.error = {c(0xB3262B), c(0xD64045), c(0xFCEAEA), c(0xF0BFC0)};
  t.role_user = c(0x3D49B8), t.role_assistant = c(0x0B6B60), t.role_system = c(0x6B4796), t.role_tool = c(0x85500F);
  t.user_ground = c(0xF3F4FC);
  t.series = {c(0x1F6FC0), c(0xB8430A), c(0x00A07A), c(0x6A2C86), c(0xC08A00), c(0x3F4652)};
  t.queued = c(0x8A919E), t.prefill = c(0x2F7FC4), t.decode = c(0x2A9C78), t.preempted = c(0xD1551B),
  t.swapped = c(0x9A4394);
  t.kv = {c(0x4C8FCB), c(0xE08A4B), c(0x4FAF8D), c(0xB77CB4), c(0xCDA23B), c(0x7E8FD8), c(0xD67F86), c(0x6FA9B5)};
  t.kv_cached = c(0xBAC1CC), t.kv_free = c(0xE3E6EB);
  t.heat = {c(0xF3F4FB), c(0xD3D8F5), c(0xA7B0EA), c(0x7782DA), c(0x4C55BE), c(0x2E3190)};
  t.less_likely = c(0xC8500F), t.more_likely = c(0x2F7FC4);
  t.code_keyword = c(0x7A3BA3), t.code_string = c(0x0B6B60), t.code_number = c(0xA8480A), t.code_comment = c(0x616978),
  t.code_call = c(0x2451A3);
  return t;
}

Tokens make_dark() {
  Tokens t;
  t.dark = true;
  t.chrome = c(0x121317), t.dock = c(0x1B1C21), t.page = c(0x16171B), t.raised = c(0x26282E), t.sunken = c(0x1F2126);
  t.hover = c(0x2A2C33), t.pressed = c(0x33363E), t.border = c(0x2C2E35), t.strong = c(0x474B55);
  t.text = c(0xE7E8EB), t.text2 = c(0xB0B4BD), t.text3 = c(0x8F95A1), t.disabled = c(0x5E636E);
  t.accent = c(0x5A67E0), t.accent_hover = c(0x4C58CC), t.on_accent = c(0xFFFFFF);
  t.accent_text = c(0xA3ACFF), t.focus = c(0x8B96FF), t.tint = c(0x272B4A), t.tint_border = c(0x3D4478);
  t.success = {c(0x5CCB8C), c(0x3FAE72), c(0x17301F), c(0x17301F)};
  t.warning = {c(0xE6B450), c(0xD9A036), c(0x332912), c(0x57461C)};
  t.error = {c(0xFF8A8A), c(0xE2575B), c(0x3A1C1E), c(0x643033)};
  t.role_user = c(0xA3ACFF), t.role_assistant = c(0x5CC8B8), t.role_system = c(0xC9A6EE), t.role_tool = c(0xE0AC66);
  t.user_ground = c(0x1E2030);
  t.series = {c(0x7CC4FA), c(0xE8702C), c(0x35B58C), c(0xB060C8), c(0xF6DD85), c(0x8A919E)};
  t.queued = c(0x6C7382), t.prefill = c(0x4A97DA), t.decode = c(0x36A883), t.preempted = c(0xEE7A3D),
  t.swapped = c(0xC583C0);
  t.kv = {c(0x4F93D2), c(0xDB8648), c(0x45A985), c(0xB678B2), c(0xC29A38), c(0x7F8CDC), c(0xCF7078), c(0x5FA0AE)};
  t.kv_cached = c(0x4E535F), t.kv_free = c(0x2B2D34);
  t.heat = {c(0x1E2030), c(0x2F3463), c(0x474F9C), c(0x6872CE), c(0x97A1EE), c(0xD0D5FF)};
  t.less_likely = c(0xF08C4A), t.more_likely = c(0x5AAEF0);
  t.code_keyword = c(0xD0A3F2), t.code_string = c(0x6FD0B8), t.code_number = c(0xF0A675), t.code_comment = c(0x8F95A1),
  t.code_call = c(0x8DB8F7);
  return t;
}

}  // namespace

const Tokens& light_tokens() {
  static const Tokens tokens = make_light();
  return tokens;
}

const Tokens& dark_tokens() {
  static const Tokens tokens = make_dark();
  return tokens;
}

QColor mixed(const QColor& over, const QColor& ground, double share) {
  const auto part = [share](int a, int b) { return static_cast<int>(a * share + b * (1 - share) + 0.5); };
  return QColor(part(over.red(), ground.red()), part(over.green(), ground.green()), part(over.blue(), ground.blue()));
}

}  // namespace lathe::ui
