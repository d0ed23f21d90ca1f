// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/load_text.h"

#include <QCoreApplication>
#include <QLocale>
#include <algorithm>
#include <cmath>

#include "ui/models/counted.h"
#include "ui/models/durations.h"

namespace lathe::ui {
namespace {

QString translated_load(const char* text) { return QCoreApplication::translate("LoadText", text); }

struct Unit {
  double size;
  const char* name;
};

constexpr Unit kUnits[] = {{1024.0 * 1024 * 1024, "GiB"}, {1024.0 * 1024, "MiB"}, {1024.0, "KiB"}, {1.0, "B"}};

const Unit& unit_of(double bytes) {
  for (const Unit& unit : kUnits)
    if (bytes >= unit.size * 0.9995) return unit;
  return kUnits[3];
}

QString in_unit(double bytes, const Unit& unit) {
  const double value = bytes / unit.size;
  return QLocale().toString(value, 'f', unit.size == 1 || value >= 99.95 ? 0 : 1);
}

/// "int8_g32" -> "INT8 g32": the codes, and how many of them share a scale. Several formats are named by their codes only:
/// "INT8 + INT4".
QString format_text(const std::string& quantization) {
  if (quantization == "llm_int8") return QStringLiteral("LLM.int8");
  const QStringList formats = QString::fromStdString(quantization).split(QStringLiteral(" + "));
  QStringList words;
  for (const QString& format : formats) words << format.section(QLatin1Char('_'), 0, 0).toUpper();
  words.removeDuplicates();
  const QString sharing = formats.front().section(QLatin1Char('_'), 1);
  const bool has_scales = sharing == QLatin1String("channel") || (sharing.startsWith('g') && sharing.at(1).isDigit());
  if (formats.size() == 1 && has_scales) words << QString(sharing).replace('_', ' ');
  return words.join(formats.size() == 1 ? QStringLiteral(" ") : QStringLiteral(" + "));
}

}  // namespace

QString bytes_text(std::int64_t bytes) {
  const Unit& unit = unit_of(static_cast<double>(bytes));
  return in_unit(static_cast<double>(bytes), unit) + QLatin1Char(' ') + QLatin1String(unit.name);
}

QString count_text(std::int64_t count) {
  const QLocale locale;
  const auto n = static_cast<double>(count);
  if (n >= 1e9) return locale.toString(n / 1e9, 'f', n >= 1e10 ? 1 : 2) + QStringLiteral(" B");
  if (n >= 1e6) return locale.toString(n / 1e6, 'f', n >= 1e7 ? 0 : 1) + QStringLiteral(" M");
  if (n >= 1e3) return locale.toString(n / 1e3, 'f', 0) + QStringLiteral(" K");
  return locale.toString(static_cast<qlonglong>(count));
}

QString dtype_text(const std::string& dtype) {
  if (dtype == "bfloat16" || dtype == "BF16") return QStringLiteral("BF16");
  if (dtype == "float16" || dtype == "F16") return QStringLiteral("FP16");
  if (dtype == "float32" || dtype == "F32") return QStringLiteral("FP32");
  return QString::fromStdString(dtype).toUpper().replace(QLatin1Char('_'), QLatin1Char(' '));
}

QString quantization_text(const std::string& quantization) {
  const QString name = QString::fromStdString(quantization);
  if (name == QLatin1String("bitsandbytes_4bit")) return translated_load("bitsandbytes 4-bit");
  if (name == QLatin1String("bitsandbytes_8bit")) return translated_load("bitsandbytes 8-bit");
  if (name == QLatin1String("dynamic_int8")) return translated_load("Dynamic INT8");
  if (name == QLatin1String("smoothquant")) return QStringLiteral("SmoothQuant");
  if (name == QLatin1String("fp8")) return QStringLiteral("FP8");
  if (name == QLatin1String("fp8_weight_only")) return translated_load("FP8, weights only");
  if (!name.contains(QLatin1String("_g"))) return name;
  return translated_load("%1, groups of %2")
      .arg(name.section(QLatin1String("_g"), 0, 0).toUpper(), name.section(QLatin1String("_g"), 1));
}

QString stored_text(const engine::ModelInfo& info) {
  return info.kept_quantization().empty() ? dtype_text(info.stored_dtype) : format_text(info.kept_quantization());
}

QString weights_text(const engine::LoadedModel& model) {
  const std::string& quantization = model.running_quantization();
  if (quantization == "none") return dtype_text(model.dtype);
  if (quantization == "bitsandbytes_4bit") return QString::fromStdString(model.options.bnb_4bit_quant_type).toUpper();
  if (quantization == "bitsandbytes_8bit") return QStringLiteral("LLM.int8");
  if (quantization == "dynamic_int8") return QStringLiteral("INT8");
  if (quantization == "smoothquant") return QStringLiteral("SmoothQuant");
  return format_text(quantization);
}

QString loaded_text(const engine::LoadedModel& model) {
  const bool was_cached = model.packed_cache == engine::PackedCacheUse::hit;
  return (was_cached ? translated_load("Loaded as %1 in %2 from the cache") : translated_load("Loaded as %1 in %2"))
      .arg(weights_text(model), duration_text(model.load_ms));
}

QString device_text(const engine::DeviceInfo& device) {
  const QString option = QString::fromStdString(device.option), name = QString::fromStdString(device.name);
  QString text = option == QLatin1String("cpu") ? translated_load("Processor")
                 : name.isEmpty()               ? option.toUpper()
                                                : QStringLiteral("%1 %2").arg(option, name);
  if (!device.why_not.empty()) return translated_load("%1, not available").arg(text);
  if (device.total_bytes == 0) return text;
  const Unit& unit = unit_of(static_cast<double>(device.total_bytes));
  const QString total = in_unit(static_cast<double>(device.total_bytes), unit);
  if (!device.free_bytes) return translated_load("%1, %2 %3").arg(text, total, QLatin1String(unit.name));
  return translated_load("%1, %2 of %3 %4 free")
      .arg(text, in_unit(static_cast<double>(*device.free_bytes), unit), total, QLatin1String(unit.name));
}

QString device_tip(const engine::DeviceInfo& device) {
  QStringList lines;
  if (!device.name.empty()) lines.append(QString::fromStdString(device.name));
  if (!device.compute_capability.empty())
    lines.append(translated_load("Compute capability %1").arg(QString::fromStdString(device.compute_capability)));
  if (!device.why_not.empty()) lines.append(QString::fromStdString(device.why_not));
  return lines.join(QLatin1Char('\n'));
}

QString family_text(const std::string& architecture) {
  QString family = QString::fromStdString(architecture).toLower();
  for (const char* tail : {"forcausallm", "lmheadmodel", "model"})
    if (family.endsWith(QLatin1String(tail))) family.chop(static_cast<qsizetype>(qstrlen(tail)));
  return family;
}

QString model_line(const engine::ModelInfo& info) {
  const QStringList parts{family_text(info.architecture), count_text(info.n_parameters),
                          (info.file_format == "gguf" ? translated_load("%1 GGUF, %2") : translated_load("%1 folder, %2"))
                              .arg(stored_text(info), bytes_text(info.file_bytes))};
  return parts.join(QStringLiteral(" · "));
}

QString fix_text(const engine::FitFix& fix) {
  const QString value = QString::fromStdString(fix.value);
  if (fix.option == "max_model_len") return translated_load("Context %1").arg(value);
  if (fix.option == "max_num_seqs")
    return counted(value.toULongLong(), translated_load("sequence"), translated_load("sequences"));
  if (fix.option == "kv_cache_memory_bytes" || fix.option == "num_gpu_blocks_override") {
    if (fix.value == "0") return translated_load("KV memory Auto");
    return fix.option == "num_gpu_blocks_override" ? translated_load("KV memory %1 blocks").arg(value)
                                                   : translated_load("KV memory %1").arg(bytes_text(value.toLongLong()));
  }
  if (fix.option == "state_snapshot_memory_bytes") return translated_load("Snapshots Auto");
  if (fix.option == "dtype") return translated_load("Use %1").arg(dtype_text(fix.value));
  if (fix.option == "quantization") return translated_load("Quantize to %1").arg(quantization_text(fix.value));
  return QStringLiteral("%1 %2").arg(QString::fromStdString(fix.option), value);
}

int load_percent(const engine::LoadProgress& progress) {
  if (progress.bytes_total <= 0) return 0;
  const double share = static_cast<double>(progress.bytes_done) / static_cast<double>(progress.bytes_total);
  return static_cast<int>(std::clamp(share, 0.0, 1.0) * 100);
}

QString load_state_text(const app::ModelStatus& status) {
  if (!status.next.empty()) return translated_load("Checking files and memory");
  if (status.n_finishing > 0)
    return translated_load("Waiting for %1")
        .arg(counted(static_cast<quint64>(status.n_finishing), translated_load("request"), translated_load("requests")));
  return load_speed_text(status.progress);
}

QString load_speed_text(const engine::LoadProgress& progress) {
  if (progress.bytes_total <= 0) return translated_load("Reading headers");
  const Unit& unit = unit_of(static_cast<double>(progress.bytes_total));
  QStringList parts{translated_load("%1 of %2 %3")
                        .arg(in_unit(static_cast<double>(progress.bytes_done), unit),
                             in_unit(static_cast<double>(progress.bytes_total), unit), QLatin1String(unit.name))};
  if (progress.seconds > 0.05 && progress.bytes_done > 0) {
    const double rate = static_cast<double>(progress.bytes_done) / progress.seconds;
    parts.append(translated_load("%1/s").arg(bytes_text(static_cast<std::int64_t>(rate))));
    const double left = static_cast<double>(progress.bytes_total - progress.bytes_done) / rate;
    parts.append(left < 1 ? translated_load("under 1 s left")
                          : translated_load("%1 s left").arg(QLocale().toString(std::ceil(left), 'f', 0)));
  }
  return parts.join(QStringLiteral(", "));
}

}  // namespace lathe::ui
