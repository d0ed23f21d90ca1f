// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/sweep_text.h"

#include <QCoreApplication>
#include <QLocale>
#include <cmath>

namespace lathe::ui {
namespace {

QString tr(const char* text) { return QCoreApplication::translate("Sweep", text); }

struct MetricWords {
  std::string_view name;
  const char* words;
};
constexpr MetricWords kMetricWords[] = {
    {"output_tok_s", QT_TRANSLATE_NOOP("Sweep", "Output")},
    {"total_tok_s", QT_TRANSLATE_NOOP("Sweep", "Input and output")},
    {"request_s", QT_TRANSLATE_NOOP("Sweep", "Requests")},
    {"goodput_req_s", QT_TRANSLATE_NOOP("Sweep", "Goodput")},
    {"max_rate", QT_TRANSLATE_NOOP("Sweep", "Max rate")},
    {"ttft_ms_mean", QT_TRANSLATE_NOOP("Sweep", "TTFT mean")},
    {"ttft_ms_p50", QT_TRANSLATE_NOOP("Sweep", "TTFT p50")},
    {"ttft_ms_p99", QT_TRANSLATE_NOOP("Sweep", "TTFT p99")},
    {"itl_ms_mean", QT_TRANSLATE_NOOP("Sweep", "ITL mean")},
    {"itl_ms_p50", QT_TRANSLATE_NOOP("Sweep", "ITL p50")},
    {"itl_ms_p99", QT_TRANSLATE_NOOP("Sweep", "ITL p99")},
    {"tpot_ms_mean", QT_TRANSLATE_NOOP("Sweep", "TPOT mean")},
    {"e2e_ms_mean", QT_TRANSLATE_NOOP("Sweep", "E2E mean")},
    {"e2e_ms_p99", QT_TRANSLATE_NOOP("Sweep", "E2E p99")},
    {"kv_usage_peak", QT_TRANSLATE_NOOP("Sweep", "KV peak")},
    {"cached_share", QT_TRANSLATE_NOOP("Sweep", "Cached prompts")},
    {"preemptions", QT_TRANSLATE_NOOP("Sweep", "Preemptions")},
    {"padding", QT_TRANSLATE_NOOP("Sweep", "Padding")},
    {"kv_reserved", QT_TRANSLATE_NOOP("Sweep", "KV reserved")},
    {"kv_unfilled", QT_TRANSLATE_NOOP("Sweep", "KV unfilled")},
    {"answers", QT_TRANSLATE_NOOP("Sweep", "Answers")},
    {"prefill_tok_s", QT_TRANSLATE_NOOP("Sweep", "Prefill")},
    {"load_s", QT_TRANSLATE_NOOP("Sweep", "Load time")},
    {"weight_bytes", QT_TRANSLATE_NOOP("Sweep", "Weights")},
    {"memory_bytes", QT_TRANSLATE_NOOP("Sweep", "Memory")},
    {"perplexity", QT_TRANSLATE_NOOP("Sweep", "Perplexity")},
    {"perplexity_ci95", QT_TRANSLATE_NOOP("Sweep", "Perplexity CI")},
    {"kl_mean", QT_TRANSLATE_NOOP("Sweep", "KL mean")},
    {"kl_99", QT_TRANSLATE_NOOP("Sweep", "KL p99")},
    {"same_best", QT_TRANSLATE_NOOP("Sweep", "Same best")},
    {"quality_s", QT_TRANSLATE_NOOP("Sweep", "Quality time")},
    {"requests_cut", QT_TRANSLATE_NOOP("Sweep", "Cut requests")},
};

QString three_digits(double value) {
  const double size = std::abs(value);
  return QLocale().toString(value, 'f', size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : 2);
}

QString name_of_metric(std::size_t metric) {
  const std::string_view name = app::sweep_metrics()[metric].name;
  for (const MetricWords& one : kMetricWords) {
    if (one.name == name) return tr(one.words);
  }
  return setting_text(name);
}

QString unit_of(std::size_t metric) {
  const std::string_view unit = app::sweep_metrics()[metric].unit;
  if (unit == "share") return QStringLiteral("%");
  if (unit == "count" || unit == "ratio" || unit == app::kChecksumUnit) return {};
  if (unit == "bytes") return QStringLiteral("MiB");
  return QString::fromUtf8(unit.data(), static_cast<int>(unit.size()));
}

}  // namespace

QString setting_text(std::string_view name) {
  static const QStringList kCapitals{QStringLiteral("kv"),  QStringLiteral("isa"), QStringLiteral("itl"),
                                     QStringLiteral("gpu"), QStringLiteral("bnb"), QStringLiteral("eos")};
  QStringList words = QString::fromUtf8(name.data(), static_cast<int>(name.size())).split('_');
  for (QString& word : words)
    if (kCapitals.contains(word)) word = word.toUpper();
  if (!words[0].isEmpty()) words[0][0] = words[0][0].toUpper();
  return words.join(' ');
}

QString metric_text(std::size_t metric) {
  const QString unit = unit_of(metric);
  return unit.isEmpty() ? name_of_metric(metric) : QStringLiteral("%1, %2").arg(name_of_metric(metric), unit);
}

QString metric_column(std::size_t metric) {
  const QString unit = unit_of(metric);
  return unit.isEmpty() ? name_of_metric(metric) : QStringLiteral("%1 %2").arg(name_of_metric(metric), unit);
}

QString latency_text(std::size_t latency) {
  const std::string_view name = app::latencies()[latency].name;
  return QStringLiteral("%1, ms").arg(text_of(name.substr(0, name.find('_'))).toUpper());
}

QString ms_text(double ms) { return three_digits(ms); }

QString metric_value(std::size_t metric, double value) {
  if (app::sweep_metrics()[metric].unit == "share") value *= 100;
  if (app::sweep_metrics()[metric].unit == "bytes") value /= 1 << 20;
  const double size = std::abs(value);
  if (app::sweep_metrics()[metric].unit == "nats" && size < 1) return QLocale().toString(value, 'f', size == 0 ? 0 : 5);
  return three_digits(value);
}

QString time_text(double seconds) {
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 60) return tr("%1 s").arg(whole);
  if (whole < 3600) return tr("%1 min %2 s").arg(whole / 60).arg(whole % 60);
  return tr("%1 h %2 min").arg(whole / 3600).arg(whole / 60 % 60);
}

QString differing_text(const app::SweepPlan& plan, std::size_t cell) {
  QStringList values;
  const auto all = app::values_of(plan, cell);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (plan.variables[i].values.size() > 1) values << value_text(all[i].first, all[i].second);
  }
  return values.join(QStringLiteral(", "));
}

QString about_text(double seconds) {
  constexpr double kRough = 600;
  if (seconds < kRough || seconds >= 3570) return time_text(seconds);
  return tr("%1 min").arg(std::llround(seconds / 60));
}

QString error_counts(std::size_t failed, std::size_t skipped) {
  QStringList words;
  if (failed > 0) words << tr("%1 failed").arg(failed);
  if (skipped > 0) words << tr("%1 skipped").arg(skipped);
  return words.join(QStringLiteral(", "));
}

QString value_text(std::string_view setting, const std::string& value) {
  const QString word = QString::fromStdString(value);
  bool is_number = false;
  word.toDouble(&is_number);
  const bool stands_alone = !is_number && value != "true" && value != "false";
  return stands_alone ? word : QStringLiteral("%1 %2").arg(setting_text(setting).toLower(), word);
}

QString text_of(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

}  // namespace lathe::ui
