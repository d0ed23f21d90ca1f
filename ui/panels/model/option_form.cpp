// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/model/option_form.h"

#include <QAbstractItemView>
#include <QLocale>
#include <QSignalBlocker>
#include <QStandardItemModel>
#include <QThread>

#include "ui/models/counted.h"
#include "ui/models/load_text.h"
#include "ui/panels/fold_memory.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/elided_combo_box.h"
#include "ui/widgets/quiet_field.h"
#include "ui/widgets/switch.h"

namespace lathe::ui {
namespace {

constexpr int kOptionLabel = 104, kContextStep = 512;
constexpr std::int64_t kMostContext = 1 << 20;
constexpr std::int64_t kQuick[] = {2048, 4096, 8192, 16384};
constexpr const char* kRestOptions[] = {"kv_cache_dtype", "tool_call_parser", "reasoning_parser", "max_queue", "seed"};

/// Makes a combo box as narrow as the dock needs it: its longest text must not set the width of the form.
QComboBox* make_choice(QWidget* parent) {
  constexpr int kFewestLetters = 8;
  auto* choice = new Quiet<ElidedComboBox>(parent);
  choice->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  choice->setMinimumContentsLength(kFewestLetters);
  return choice;
}

const engine::OptionDescriptor* descriptor_of(const char* option) {
  for (const engine::OptionDescriptor& one : engine::engine_option_table())
    if (one.name == option) return &one;
  return nullptr;
}

/// "avx512_vnni" -> "AVX-512 VNNI"
QString isa_words_of(const QString& name) {
  if (name == QLatin1String("scalar")) return name;
  return name.toUpper()
      .replace(QLatin1String("AVX512"), QLatin1String("AVX-512"))
      .replace(QLatin1Char('_'), QLatin1Char(' '));
}

QString tip_of(const char* option) {
  const engine::OptionDescriptor* found = descriptor_of(option);
  QString flag = QLatin1String(option);
  flag.replace(QLatin1Char('_'), QLatin1Char('-'));
  if (found == nullptr) return flag;
  return QStringLiteral("%1\n--%2")
      .arg(QString::fromUtf8(found->help.data(), static_cast<qsizetype>(found->help.size())), flag);
}

}  // namespace

OptionForm::OptionForm(const PanelContext& context, QWidget* parent) : QWidget(parent), context_(context) {
  setObjectName(QStringLiteral("model.form"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(context.theme.px(10));
  make_basic();
  make_serving();
  make_rest();
  refresh();
}

QString OptionForm::value(const char* option) const {
  return QString::fromStdString(engine::get_option(context_.load.options(), option));
}

void OptionForm::write(const char* option, const QString& value) { context_.load.set_option(QLatin1String(option), value); }

std::int64_t OptionForm::trained_context() const {
  const std::optional<engine::ModelInfo>& info = context_.load.info();
  return info && info->max_position_embeddings > 0 ? info->max_position_embeddings : 4096;
}

FormRow* OptionForm::add_row(Section& section, const char* option, const QString& label, QWidget* control) {
  if (control->objectName().isEmpty()) control->setObjectName(QStringLiteral("model.") + QLatin1String(option));
  auto* row = new FormRow(context_.theme, QLatin1String(option), label, tip_of(option), control, kOptionLabel, &section);
  section.rows()->addWidget(row);
  rows_.push_back(row);
  return row;
}

FormRow* OptionForm::add_spin(Section& section, const char* option, const QString& label, const QString& special) {
  auto* spin = new Quiet<QSpinBox>(&section);
  const engine::OptionDescriptor* found = descriptor_of(option);
  const bool bounded = found != nullptr && found->min < found->max;
  spin->setRange(bounded ? static_cast<int>(found->min) : 0,
                 bounded ? static_cast<int>(std::min(found->max, 2e9)) : 2'000'000'000);
  spin->setGroupSeparatorShown(true);
  spin->setAlignment(Qt::AlignRight);
  spin->setKeyboardTracking(false);
  if (!special.isEmpty()) spin->setSpecialValueText(special);
  FormRow* row = add_row(section, option, label, spin);
  connect(spin, &QSpinBox::valueChanged, this, [this, option](int number) { write(option, QString::number(number)); });
  readers_.push_back([this, spin, option] {
    const QSignalBlocker quiet(spin);
    spin->setValue(value(option).toInt());
  });
  return row;
}

FormRow* OptionForm::add_switch(Section& section, const char* option, const QString& label) {
  auto* toggle = new Switch(context_.theme, SwitchSize::normal, &section);
  FormRow* row = add_row(section, option, label, toggle);
  static_cast<QHBoxLayout*>(row->layout())->addStretch(1);
  row->setFixedHeight(context_.theme.px(24));
  connect(toggle, &Switch::toggled, this,
          [this, option](bool on) { write(option, on ? QStringLiteral("true") : QStringLiteral("false")); });
  readers_.push_back([this, toggle, option] {
    const QSignalBlocker quiet(toggle);
    toggle->setChecked(value(option) == QLatin1String("true"));
    toggle->update();
  });
  return row;
}

FormRow* OptionForm::add_combo(Section& section, const char* option, const QString& label, const QStringList& words,
                               const QStringList& values) {
  QComboBox* combo = make_choice(&section);
  for (qsizetype i = 0; i < words.size(); ++i) combo->addItem(words[i], values[i]);
  FormRow* row = add_row(section, option, label, combo);
  connect(combo, &QComboBox::activated, this,
          [this, combo, option](int index) { write(option, combo->itemData(index).toString()); });
  readers_.push_back([this, combo, option] {
    const int found = combo->findData(value(option));
    if (found < 0) combo->addItem(value(option), value(option));
    combo->setCurrentIndex(combo->findData(value(option)));
  });
  return row;
}

/// Adds the choice of a parser. Parsers have the names of other systems, which are shown unchanged.
void OptionForm::add_parser(Section& section, const char* option, const QString& label) {
  QStringList words, values;
  for (const std::string_view name : engine::choices_of(engine::engine_option(option))) {
    values.append(QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())));
    words.append(name == "auto" ? tr("From the template") : name == "none" ? tr("None") : values.back());
  }
  add_combo(section, option, label, words, values);
}

FormRow* OptionForm::add_share(Section& section, const char* option, const QString& label, double least) {
  constexpr double kStep = 0.05;
  auto* control = new SliderSpin(context_.theme, QStringLiteral("model.") + QLatin1String(option), least, 1, kStep, 2,
                                 SliderScale::linear, &section);
  FormRow* row = add_row(section, option, label, control);
  connect(control, &SliderSpin::edited, this, [this, option](double share) { write(option, QString::number(share)); });
  readers_.push_back([this, control, option] { control->set_value(value(option).toDouble()); });
  return row;
}

void OptionForm::make_basic() {
  auto* section = new Section(context_.theme, QStringLiteral("model.section.basic"), tr("Basic"), this);
  remember_fold(*section, context_.state);
  layout()->addWidget(section);
  make_context(*section);
  make_weights(*section);
  make_quantization(*section);
  make_device(*section);
  make_compute(*section);
}

void OptionForm::make_context(Section& section) {
  const Theme& theme = context_.theme;
  auto* control = new SliderSpin(theme, QStringLiteral("model.max_model_len"), 16, kMostContext, 1, 0,
                                 SliderScale::logarithmic, &section);
  control->set_spin_width(theme.px(80));
  control->spin()->setSingleStep(kContextStep);
  FormRow* row = add_row(section, "max_model_len", tr("Context"), control);
  auto* quick = new QWidget(&section);
  auto* line = new QHBoxLayout(quick);
  line->setContentsMargins(theme.px(kOptionLabel + 4), 0, 0, 0);
  line->setSpacing(theme.px(4));
  std::vector<std::pair<QPushButton*, std::int64_t>> buttons;
  const auto add = [&](const QString& name, const QString& word, std::int64_t tokens) {
    QPushButton* button = make_button(theme, QStringLiteral("model.context.") + name, word, quick, ButtonLook::plain, true);
    button->setFont(theme.font(11, QFont::Medium));
    button->setProperty("chip", true);
    button->setCheckable(true);
    button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    button->setAccessibleName(tr("Context of %1 tokens").arg(word));
    line->addWidget(button);
    connect(button, &QPushButton::clicked, this,
            [this, tokens] { write("max_model_len", QString::number(tokens > 0 ? tokens : trained_context())); });
    buttons.emplace_back(button, tokens);
  };
  for (const std::int64_t tokens : kQuick) add(QString::number(tokens), tr("%1k").arg(tokens / 1024), tokens);
  add(QStringLiteral("max"), tr("Max"), 0);
  section.rows()->addWidget(quick);
  row->setToolTip(tip_of("max_model_len"));
  connect(control, &SliderSpin::edited, this,
          [this](double tokens) { write("max_model_len", QString::number(static_cast<qint64>(tokens))); });
  readers_.push_back([this, control, buttons] {
    const std::int64_t most = trained_context(), set = context_.load.options().max_model_len;
    const std::int64_t shown = set > 0 ? set : most;
    control->set_range(16, static_cast<double>(std::max(most, shown)));
    control->set_value(static_cast<double>(shown));
    for (const auto& [button, tokens] : buttons) {
      button->setChecked(shown == (tokens > 0 ? tokens : most) && tokens != most);  // where both are the same, Max is on
      button->setEnabled(tokens < most);
    }
  });
}

void OptionForm::make_weights(Section& section) {
  QComboBox* combo = make_choice(&section);
  for (const std::string_view dtype : engine::choices_of(engine::engine_option("dtype")))
    combo->addItem(dtype_text(std::string(dtype)), QString::fromUtf8(dtype.data(), static_cast<qsizetype>(dtype.size())));
  add_row(section, "dtype", tr("Weights"), combo);
  connect(combo, &QComboBox::activated, this,
          [this, combo](int index) { write("dtype", combo->itemData(index).toString()); });
  readers_.push_back([this, combo] {
    const std::optional<engine::ModelInfo>& info = context_.load.info();
    combo->setItemText(0, info ? tr("As stored (%1)").arg(stored_text(*info)) : tr("As stored"));
    combo->setCurrentIndex(std::max(0, combo->findData(value("dtype"))));
  });
}

void OptionForm::make_quantization(Section& section) {
  QStringList words{tr("None")}, values{QStringLiteral("none")};
  for (const std::string_view name : engine::choices_of(engine::engine_option("quantization"))) {
    if (name == "none") continue;
    words.append(quantization_text(std::string(name)));
    values.append(QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())));
  }
  add_combo(section, "quantization", tr("Quantize"), words, values);
  FormRow* book = add_combo(section, "bnb_4bit_quant_type", tr("Codes"), {QStringLiteral("NF4"), QStringLiteral("FP4")},
                            {QStringLiteral("nf4"), QStringLiteral("fp4")});
  FormRow* twice = add_switch(section, "bnb_4bit_use_double_quant", tr("Double quant"));
  QStringList compute_words, compute_values;
  for (const std::string_view name : engine::choices_of(engine::engine_option("bnb_4bit_compute_dtype"))) {
    compute_values.append(QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())));
    compute_words.append(name == "auto" ? tr("8-bit activations") : compute_values.back());
  }
  FormRow* compute = add_combo(section, "bnb_4bit_compute_dtype", tr("Compute in"), compute_words, compute_values);
  FormRow* zeros = add_switch(section, "quantization_zero_point", tr("Zero points"));
  FormRow* alpha = add_share(section, "smoothquant_alpha", tr("Alpha"));
  FormRow* head = add_switch(section, "keep_head", tr("Keep head"));
  readers_.push_back([this, book, twice, compute, zeros, alpha, head] {
    const QString chosen = value("quantization");
    const bool smooths = chosen == QLatin1String("smoothquant");
    alpha->setVisible(smooths);
    zeros->setVisible(chosen.contains(QLatin1String("_g")));  // int8_g32 to int4_g128
    book->setVisible(chosen == QLatin1String("bitsandbytes_4bit"));
    compute->setVisible(chosen == QLatin1String("bitsandbytes_4bit"));
    twice->setVisible(chosen == QLatin1String("bitsandbytes_4bit"));
    head->setVisible(chosen != QLatin1String("none") && !chosen.startsWith(QLatin1String("bitsandbytes")) && !smooths);
  });
}

void OptionForm::make_compute(Section& section) {
  const int cores = std::max(1, QThread::idealThreadCount());
  QStringList words{tr("Auto (one per core)")}, values{QStringLiteral("0")};
  for (int n = 1; n <= cores; ++n) {
    words.append(counted(static_cast<quint64>(n), tr("thread"), tr("threads")));
    values.append(QString::number(n));
  }
  add_combo(section, "threads", tr("Threads"), words, values);
  QStringList isa_words{tr("CPU, best")}, isa_values{QString()};
  for (const std::string_view choice : engine::choices_of(engine::engine_option("isa"))) {
    const QString name = QString::fromUtf8(choice.data(), static_cast<qsizetype>(choice.size()));
    isa_words.append(tr("CPU, %1").arg(isa_words_of(name)));
    isa_values.append(name);
  }
  FormRow* isa = add_combo(section, "isa", tr("Instructions"), isa_words, isa_values);
  readers_.push_back([this, isa] { isa->setVisible(value("device") == QLatin1String("cpu")); });
}

/// Adds the list of processors and cards. What cannot be chosen is shown with the reason.
void OptionForm::make_device(Section& section) {
  device_ = make_choice(&section);
  add_row(section, "device", tr("Device"), device_);
  show_devices({{.option = "cpu"}});
  connect(device_, &QComboBox::activated, this, [this](int index) {
    const QString chosen = device_->itemData(index).toString();
    if (chosen != QLatin1String("cpu")) write("isa", {});  // instruction sets are those of processors
    write("device", chosen);
  });
  readers_.push_back([this] { select_device(); });
}

void OptionForm::list_devices() {
  context_.background.run(
      this, [&workbench = context_.workbench] { return workbench.devices(); },
      [this](const std::vector<engine::DeviceInfo>& devices) { show_devices(devices); });
}

void OptionForm::show_devices(const std::vector<engine::DeviceInfo>& devices) {
  device_->clear();
  for (const engine::DeviceInfo& device : devices) {
    device_->addItem(device_text(device), QString::fromStdString(device.option));
    auto* const item = qobject_cast<QStandardItemModel*>(device_->model())->item(device_->count() - 1);
    item->setEnabled(device.why_not.empty());
    item->setToolTip(device_tip(device));
  }
  device_->view()->setMinimumWidth(device_->view()->sizeHintForColumn(0) + context_.theme.px(24));
  select_device();
}

/// Selects the device of the options, which may be one that is not there.
void OptionForm::select_device() {
  const std::string chosen = context_.load.options().device;
  for (int i = 0; i < device_->count(); ++i) {
    if (engine::is_same_device(device_->itemData(i).toString().toStdString(), chosen)) return device_->setCurrentIndex(i);
  }
  device_->addItem(QString::fromStdString(chosen), QString::fromStdString(chosen));
  device_->setCurrentIndex(device_->count() - 1);
}

void OptionForm::make_serving() {
  auto* section = new Section(context_.theme, QStringLiteral("model.section.serving"), tr("Serving"), this);
  remember_fold(*section, context_.state);
  layout()->addWidget(section);
  const QStringList sizes{QStringLiteral("8"), QStringLiteral("16"), QStringLiteral("32")};
  auto* blocks = new Segmented(context_.theme, sizes, section);
  blocks->setObjectName(QStringLiteral("model.block_size"));
  add_row(*section, "block_size", tr("Block size"), blocks);
  connect(blocks, &Segmented::chosen, this, [this, sizes](int index) { write("block_size", sizes[index]); });
  readers_.push_back([this, blocks, sizes] { blocks->set_current(static_cast<int>(sizes.indexOf(value("block_size")))); });
  make_kv_memory(*section);
  constexpr double kLeastShare = 0.05;
  FormRow* share = add_share(*section, "gpu_memory_utilization", tr("GPU share"), kLeastShare);
  readers_.push_back(
      [this, share] { share->setVisible(engine::why_idle(context_.load.options(), "gpu_memory_utilization").empty()); });
  make_policy(*section);
  add_spin(*section, "max_num_seqs", tr("Max sequences"), {});
  auto* const batch = add_spin(*section, "max_num_batched_tokens", tr("Batch tokens"), tr("Auto"))->findChild<QSpinBox*>();
  readers_.push_back([this, batch] {
    engine::EngineOptions automatic = context_.load.options();
    automatic.max_num_batched_tokens = 0;
    batch->setSpecialValueText(tr("Auto (%1)").arg(QLocale().toString(qlonglong{engine::batched_tokens(automatic)})));
  });
  add_switch(*section, "enable_chunked_prefill", tr("Chunked prefill"));
  FormRow* target = add_spin(*section, "target_itl_ms", tr("Target step, ms"), tr("None"));
  readers_.push_back([this, target] { target->setVisible(value("enable_chunked_prefill") == QLatin1String("true")); });
  add_switch(*section, "enable_prefix_caching", tr("Prefix caching"));
  make_snapshot_memory(*section);
}

/// Adds the budget of snapshots, in MiB, for models that have recurrent layers.
void OptionForm::make_snapshot_memory(Section& section) {
  constexpr const char* kOption = "state_snapshot_memory_bytes";
  auto* amount = new Quiet<QSpinBox>(&section);
  amount->setRange(0, 100'000'000);
  amount->setMinimumWidth(context_.theme.px(88));
  amount->setKeyboardTracking(false);
  amount->setGroupSeparatorShown(true);
  amount->setAlignment(Qt::AlignRight);
  amount->setSpecialValueText(tr("Auto"));
  FormRow* row = add_row(section, kOption, tr("Snapshots, MiB"), amount);
  connect(amount, &QSpinBox::valueChanged, this, [this](int mib) { write(kOption, QString::number(qint64{mib} << 20)); });
  const auto show_row = [this, row] {
    const engine::EngineOptions& options = context_.load.options();
    const std::optional<engine::FitEstimate>& fit = context_.load.fit();
    const bool has_states = options.state_snapshot_memory_bytes > 0 || (fit && fit->states > 0);
    row->setVisible(has_states && engine::why_idle(options, kOption).empty());
  };
  connect(&context_.load, &LoadChoice::fit_changed, this, show_row);
  readers_.push_back([this, amount, show_row] {
    const QSignalBlocker quiet(amount);
    amount->setValue(static_cast<int>(context_.load.options().state_snapshot_memory_bytes >> 20));
    show_row();
  });
}

void OptionForm::make_policy(Section& section) {
  QStringList words, values;
  for (const std::string_view name : engine::choices_of(engine::engine_option("policy"))) {
    values.append(QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())));
    words.append(values.back().left(1).toUpper() + values.back().mid(1));
  }
  add_combo(section, "policy", tr("Batching"), words, values);
  FormRow* size = add_spin(section, "preferred_batch_size", tr("Batch size"), tr("Max sequences"));
  FormRow* delay = add_spin(section, "max_batch_delay_ms", tr("Batch delay, ms"), {});
  readers_.push_back([this, size, delay] {
    const bool dynamic = value("policy") == QLatin1String("dynamic");
    size->setVisible(dynamic);
    delay->setVisible(dynamic);
  });
}

/// Adds one choice for two options of the engine: automatic, an amount in MiB, or a number of blocks.
void OptionForm::make_kv_memory(Section& section) {
  auto* kind = new Quiet<ElidedComboBox>(&section);
  kind->setObjectName(QStringLiteral("model.kv_memory"));
  kind->addItems({tr("Auto"), tr("MiB"), tr("Blocks")});
  FormRow* row = add_row(section, "kv_cache_memory_bytes", tr("KV memory"), kind);
  auto* amount = new Quiet<QSpinBox>(row);
  amount->setObjectName(QStringLiteral("model.kv_memory.amount"));
  amount->setAccessibleName(tr("Amount of KV memory"));
  amount->setRange(1, 100'000'000);
  amount->setMinimumWidth(context_.theme.px(72));  // the width for its range would exceed the dock's
  amount->setKeyboardTracking(false);
  amount->setGroupSeparatorShown(true);
  amount->setAlignment(Qt::AlignRight);
  row->add(amount);
  const auto store = [this, kind, amount] {
    const qint64 n = amount->value();
    write("kv_cache_memory_bytes", QString::number(kind->currentIndex() == 1 ? n << 20 : 0));
    write("num_gpu_blocks_override", QString::number(kind->currentIndex() == 2 ? n : 0));
  };
  connect(kind, &QComboBox::activated, this, [this, amount, store](int index) {
    const std::optional<engine::FitEstimate>& fit = context_.load.fit();
    const QSignalBlocker quiet(amount);
    if (index == 1) amount->setValue(fit ? static_cast<int>(std::max<std::int64_t>(1, fit->kv >> 20)) : 256);
    if (index == 2) amount->setValue(fit ? static_cast<int>(std::max<std::int64_t>(1, fit->n_blocks)) : 1024);
    store();
  });
  connect(amount, &QSpinBox::valueChanged, this, store);
  readers_.push_back([this, kind, amount] {
    const engine::EngineOptions& options = context_.load.options();
    const QSignalBlocker quiet(amount);
    const int index = options.num_gpu_blocks_override > 0 ? 2 : options.kv_cache_memory_bytes > 0 ? 1 : 0;
    kind->setCurrentIndex(index);
    amount->setVisible(index > 0);
    if (index == 1) amount->setValue(static_cast<int>(options.kv_cache_memory_bytes >> 20));
    if (index == 2) amount->setValue(static_cast<int>(options.num_gpu_blocks_override));
  });
}

void OptionForm::make_rest() {
  rest_ = new Section(context_.theme, QStringLiteral("model.section.rest"), tr("Cache type, queue, seed"), this);
  layout()->addWidget(rest_);
  QStringList words{tr("As compute")}, values{QStringLiteral("auto")};
  for (const std::string_view name : engine::choices_of(engine::engine_option("kv_cache_dtype"))) {
    if (name == "auto") continue;
    words.append(dtype_text(std::string(name)));
    values.append(QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())));
  }
  add_combo(*rest_, "kv_cache_dtype", tr("KV type"), words, values);
  add_parser(*rest_, "tool_call_parser", tr("Tool calls"));
  add_parser(*rest_, "reasoning_parser", tr("Reasoning"));
  add_spin(*rest_, "max_queue", tr("Queue limit"), {});
  add_spin(*rest_, "seed", tr("Seed"), {});
  rest_->set_open(false);
  remember_fold(*rest_, context_.state);
}

void OptionForm::refresh() {
  for (const std::function<void()>& read : readers_) read();
  const QStringList changed = context_.load.changed_options();
  for (FormRow* row : rows_) {
    const bool kv =
        row->name() == QLatin1String("kv_cache_memory_bytes") && changed.contains(QLatin1String("num_gpu_blocks_override"));
    row->set_changed(kv || changed.contains(row->name()));
  }
  const engine::EngineOptions defaults;
  bool all_default = true;
  for (const char* option : kRestOptions)
    all_default &= engine::get_option(context_.load.options(), option) == engine::get_option(defaults, option);
  rest_->set_fact(all_default ? tr("all default") : tr("changed"));
}

}  // namespace lathe::ui
