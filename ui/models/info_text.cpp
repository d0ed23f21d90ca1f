// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/info_text.h"

#include <QCoreApplication>
#include <QLocale>
#include <QStringList>

#include "ui/models/load_text.h"

namespace lathe::ui {
namespace {

QString translated_info(const char* text) { return QCoreApplication::translate("InfoText", text); }

QString info_number(std::int64_t value) { return QLocale().toString(qlonglong(value)); }

QString tensors_of(const engine::ModelInfo& info) {
  QStringList parts;
  for (const auto& [dtype, n] : info.tensors_by_dtype)
    parts.append(QStringLiteral("%1 %2").arg(info_number(n), QString::fromStdString(dtype)));
  return parts.join(QStringLiteral(", "));
}

QString end_tokens_of(const engine::ModelInfo& info) {
  QStringList ids;
  for (const std::int32_t id : info.eos_ids) ids.append(QString::number(id));
  return ids.isEmpty() ? translated_info("none") : ids.join(QStringLiteral(", "));
}

QString chat_templates_of(const engine::ModelInfo& info) {
  if (info.chat_templates.size() < 2) return info.has_chat_template ? translated_info("yes") : translated_info("no");
  QStringList names;
  for (const std::string& name : info.chat_templates) names.append(QString::fromStdString(name));
  return names.join(QStringLiteral(", "));
}

QString rope_of(const engine::ModelInfo& info) {
  if (info.rope_theta <= 0) return translated_info("none");
  return translated_info("theta %1, scaling %2")
      .arg(QLocale().toString(info.rope_theta, 'g', 6), QString::fromStdString(info.rope_scaling));
}

}  // namespace

InfoRows info_rows(const engine::ModelInfo& info) {
  InfoRows rows{{translated_info("Architecture"), QString::fromStdString(info.architecture)},
                {translated_info("Files"),
                 QStringLiteral("%1, %2").arg(QString::fromStdString(info.file_format), bytes_text(info.file_bytes))},
                {translated_info("Parameters"), info_number(info.n_parameters)},
                {translated_info("Tensors"), tensors_of(info)}};
  if (!info.quantization_scheme.empty())
    rows.emplace_back(translated_info("Quantized"), QString::fromStdString(info.quantization_scheme));
  rows.emplace_back(translated_info("Layers"), info_number(info.n_layers));
  rows.emplace_back(translated_info("Hidden"),
                    translated_info("%1, MLP %2").arg(info_number(info.hidden_size), info_number(info.intermediate_size)));
  rows.emplace_back(translated_info("Heads"),
                    translated_info("%1 of %2 dimensions, %3 for keys and values")
                        .arg(info_number(info.n_heads), info_number(info.head_dim), info_number(info.n_kv_heads)));
  rows.emplace_back(translated_info("Context"), translated_info("%1 tokens").arg(info_number(info.max_position_embeddings)));
  rows.emplace_back(translated_info("RoPE"), rope_of(info));
  rows.emplace_back(
      translated_info("Vocabulary"),
      translated_info("%1, %2 embeddings")
          .arg(info_number(info.vocab_size), info.tied_embeddings ? translated_info("tied") : translated_info("separate")));
  rows.emplace_back(translated_info("Tokenizer"),
                    info.tokenizer.empty() ? translated_info("none") : QString::fromStdString(info.tokenizer));
  rows.emplace_back(translated_info("BOS"), info.bos_id ? QString::number(*info.bos_id) : translated_info("none"));
  rows.emplace_back(translated_info("EOS"), end_tokens_of(info));
  rows.emplace_back(translated_info("Chat template"), chat_templates_of(info));
  for (const std::string& warning : info.warnings)
    rows.emplace_back(translated_info("Warning"), QString::fromStdString(warning));
  rows.emplace_back(translated_info("Path"), QString::fromStdString(info.path));
  return rows;
}

QString info_text(const InfoRows& rows) {
  QString text;
  for (const auto& [name, value] : rows) text += QStringLiteral("%1: %2\n").arg(name, value);
  return text;
}

}  // namespace lathe::ui
