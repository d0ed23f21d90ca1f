// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/info_text.h"

#include <QCoreApplication>
#include <QLocale>
#include <QStringList>

#include "ui/models/load_text.h"

namespace lathe::ui {
namespace {

QString translated(const char* text) { return QCoreApplication::translate("InfoText", text); }

QString number(std::int64_t value) { return QLocale().toString(qlonglong(value)); }

QString tensors_of(const engine::ModelInfo& info) {
  QStringList parts;
  for (const auto& [dtype, n] : info.tensors_by_dtype)
    parts.append(QStringLiteral("%1 %2").arg(number(n), QString::fromStdString(dtype)));
  return parts.join(QStringLiteral(", "));
}

QString end_tokens_of(const engine::ModelInfo& info) {
  QStringList ids;
  for (const std::int32_t id : info.eos_ids) ids.append(QString::number(id));
  return ids.isEmpty() ? translated("none") : ids.join(QStringLiteral(", "));
}

QString chat_templates_of(const engine::ModelInfo& info) {
  if (info.chat_templates.size() < 2) return info.has_chat_template ? translated("yes") : translated("no");
  QStringList names;
  for (const std::string& name : info.chat_templates) names.append(QString::fromStdString(name));
  return names.join(QStringLiteral(", "));
}

QString rope_of(const engine::ModelInfo& info) {
  if (info.rope_theta <= 0) return translated("none");
  return translated("theta %1, scaling %2")
      .arg(QLocale().toString(info.rope_theta, 'g', 6), QString::fromStdString(info.rope_scaling));
}

}  // namespace

InfoRows info_rows(const engine::ModelInfo& info) {
  InfoRows rows{{translated("Architecture"), QString::fromStdString(info.architecture)},
                {translated("Files"),
                 QStringLiteral("%1, %2").arg(QString::fromStdString(info.file_format), bytes_text(info.file_bytes))},
                {translated("Parameters"), number(info.n_parameters)},
                {translated("Tensors"), tensors_of(info)}};
  if (!info.quantization_scheme.empty())
    rows.emplace_back(translated("Quantized"), QString::fromStdString(info.quantization_scheme));
  rows.emplace_back(translated("Layers"), number(info.n_layers));
  rows.emplace_back(translated("Hidden"),
                    translated("%1, MLP %2").arg(number(info.hidden_size), number(info.intermediate_size)));
  rows.emplace_back(translated("Heads"), translated("%1 of %2, %3 for keys and values")
                                             .arg(number(info.n_heads), number(info.head_dim), number(info.n_kv_heads)));
  rows.emplace_back(translated("Context"), translated("%1 tokens").arg(number(info.max_position_embeddings)));
  rows.emplace_back(translated("RoPE"), rope_of(info));
  rows.emplace_back(translated("Vocabulary"),
                    translated("%1, %2 embeddings")
                        .arg(number(info.vocab_size), info.tied_embeddings ? translated("tied") : translated("separate")));
  rows.emplace_back(translated("Tokenizer"),
                    info.tokenizer.empty() ? translated("none") : QString::fromStdString(info.tokenizer));
  rows.emplace_back(translated("BOS"), info.bos_id ? QString::number(*info.bos_id) : translated("none"));
  rows.emplace_back(translated("EOS"), end_tokens_of(info));
  rows.emplace_back(translated("Chat template"), chat_templates_of(info));
  for (const std::string& warning : info.warnings) rows.emplace_back(translated("Warning"), QString::fromStdString(warning));
  rows.emplace_back(translated("Path"), QString::fromStdString(info.path));
  return rows;
}

QString info_text(const InfoRows& rows) {
  QString text;
  for (const auto& [name, value] : rows) text += QStringLiteral("%1: %2\n").arg(name, value);
  return text;
}

}  // namespace lathe::ui
