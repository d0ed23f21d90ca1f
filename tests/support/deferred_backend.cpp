// SPDX-License-Identifier: Apache-2.0
#include "tests/support/deferred_backend.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

namespace lathe::tests {

using kernels::AttentionBatch;
using kernels::AttentionForm;
using kernels::HalfInput;
using kernels::KvLayer;
using kernels::MlpWeights;
using kernels::Norm;
using kernels::PackedMatrix;
using kernels::QkvForm;
using kernels::RopeForm;
using kernels::TensorView;

namespace {

// Bytes before a buffer, which hold the backend that frees it; as many as the alignment of a buffer.
constexpr std::size_t kHeadBytes = 64;
constexpr int kHidden = 0xFF;                                          // NaN as f32, -1 as i32
constexpr float kUndefined = std::numeric_limits<float>::quiet_NaN();  // results for the host that are not there yet
constexpr std::int32_t kHiddenId = 1 << 30;
constexpr float kLargest = std::numeric_limits<float>::max();

/// The arrays of a batch and a form of attention, which the caller may change as soon as the operation has returned.
struct AttentionArrays {
  std::vector<std::int32_t> query_start, context_len, block_tables;
  std::vector<float> slopes, sinks;

  AttentionBatch batch(AttentionBatch like) const {
    like.query_start = query_start;
    like.context_len = context_len;
    like.block_tables = block_tables;
    return like;
  }
  AttentionForm form(AttentionForm like) const {
    like.slopes = slopes;
    like.sinks = sinks;
    return like;
  }
};

}  // namespace

kernels::Buffer DeferredBackend::allocate(std::size_t n_bytes, bool is_of_device) {
  if (is_lost()) return {};
  const std::size_t all = (kHeadBytes + n_bytes + kHeadBytes - 1) / kHeadBytes * kHeadBytes;
  auto* const head = static_cast<std::byte*>(std::aligned_alloc(kHeadBytes, all));
  if (head == nullptr) return {};
  std::memset(head, 0, all);
  DeferredBackend* const self = this;
  std::memcpy(head, &self, sizeof self);
  Memory& memory = buffers_[head + kHeadBytes];
  memory.n_bytes = n_bytes;
  memory.is_of_device = is_of_device;
  if (is_of_device) hide();
  n_bytes_ += static_cast<std::int64_t>(n_bytes);
  return {head + kHeadBytes, n_bytes, free_memory};
}

std::unique_ptr<kernels::PackedMatrix> DeferredBackend::make_packed(kernels::WeightFormat format, std::int64_t n,
                                                                    std::int64_t k) {
  if (is_lost()) return nullptr;
  auto matrix = inner_->make_packed(format, n, k);
  if (matrix != nullptr) n_bytes_ += static_cast<std::int64_t>(matrix->n_bytes());
  return matrix;
}

void DeferredBackend::free_memory(void* data, std::size_t) {
  auto* const begin = static_cast<std::byte*>(data);
  DeferredBackend* self = nullptr;
  std::memcpy(&self, begin - kHeadBytes, sizeof self);
  if (!self->operations_.empty()) {  // operations may still use it: freed in finish()
    self->violations_.emplace_back("memory was freed");
    self->buffers_.at(begin).is_freed = true;
    return;
  }
  self->buffers_.erase(begin);
  std::free(begin - kHeadBytes);
}

void DeferredBackend::hide() {
  for (auto& [data, memory] : buffers_) {
    if (!memory.kept.empty() || (operations_.empty() && !memory.is_of_device)) continue;
    memory.kept.assign(data, data + memory.n_bytes);
    std::memset(data, kHidden, memory.n_bytes);
  }
}

void DeferredBackend::reveal() {
  for (auto& [data, memory] : buffers_) {
    if (memory.kept.empty()) continue;  // allocated since, or without bytes
    if (std::any_of(data, data + memory.n_bytes, [](std::byte byte) { return byte != std::byte{kHidden}; })) {
      violations_.emplace_back("memory was written");
    }
    std::memcpy(data, memory.kept.data(), memory.n_bytes);
    memory.kept.clear();
  }
}

void DeferredBackend::defer(std::function<void()> operation) {
  const std::int64_t index = ++n_deferred_;
  operations_.push_back([this, index, operation = std::move(operation)] { run(index, operation); });
  if (operations_.size() == 1) hide();
}

/// Runs an operation that does not fail and that follows none that has failed.
void DeferredBackend::run(std::int64_t index, const std::function<void()>& operation) {
  if (error_) return;
  if (index == failing_) error_ = error_to_come_;
  else operation();
}

std::optional<kernels::OperationError> DeferredBackend::take_error() {
  if (is_lost()) return error_;
  return std::exchange(error_, std::nullopt);
}

void DeferredBackend::begin_step(std::span<const std::span<const std::int32_t>> arrays) {
  end_step();
  is_in_step_ = true;
  for (const auto array : arrays) note_array(std::as_bytes(array));
}

void DeferredBackend::end_step() {
  for (const StepArray& array : std::exchange(step_arrays_, {})) {
    if (std::memcmp(array.data, array.bytes.data(), array.bytes.size()) != 0)
      violations_.emplace_back("an array was changed within a step");
  }
  is_in_step_ = false;
}

void DeferredBackend::note_array(std::span<const std::byte> array) {
  if (!is_in_step_ || array.empty()) return;
  step_arrays_.push_back({.data = array.data(), .bytes = {array.begin(), array.end()}});
}

void DeferredBackend::finish() {
  end_step();
  if (operations_.empty()) return;
  ++n_waits_;
  reveal();
  for (const auto& operation : operations_) operation();
  operations_.clear();
  hide();
  std::erase_if(buffers_, [](const auto& buffer) {
    if (buffer.second.is_freed) std::free(buffer.first - kHeadBytes);
    return buffer.second.is_freed;
  });
}

template <class T>
std::vector<T> DeferredBackend::copy_of(std::span<const T> array, const char* name) {
  const auto* const begin = reinterpret_cast<const std::byte*>(array.data());
  note_array(std::as_bytes(array));
  for (const auto& [data, memory] : buffers_) {
    if (begin >= data && begin < data + memory.n_bytes) {
      violations_.push_back(std::string(name) + " are in backend memory");
      if (!memory.kept.empty()) {  // the indices that the operation would have taken
        const auto* const kept = reinterpret_cast<const T*>(memory.kept.data() + (begin - data));
        return {kept, kept + array.size()};
      }
    }
  }
  return {array.begin(), array.end()};
}

void DeferredBackend::embed(const TensorView& out, const TensorView& table, std::span<const std::int32_t> ids) {
  defer([=, this, own = copy_of(ids, "ids of embed")] { inner_->embed(out, table, own); });
}

void DeferredBackend::norm(const TensorView& out, const TensorView& x, const Norm& norm) {
  defer([=, this] { inner_->norm(out, x, norm); });
}

void DeferredBackend::add_norm(const TensorView& out, const TensorView& x, const TensorView& delta, const Norm& norm) {
  defer([=, this] { inner_->add_norm(out, x, delta, norm); });
}

void DeferredBackend::norm_heads(const TensorView& x, int n_heads, const Norm& norm) {
  defer([=, this] { inner_->norm_heads(x, n_heads, norm); });
}

void DeferredBackend::add(const TensorView& x, const TensorView& delta) {
  defer([=, this] { inner_->add(x, delta); });
}

void DeferredBackend::linear(const TensorView& out, const TensorView& x, const PackedMatrix& matrix,
                             const TensorView& bias) {
  defer([=, this, &matrix] { inner_->linear(out, x, matrix, bias); });
}

void DeferredBackend::scale(const TensorView& x, float factor) {
  defer([=, this] { inner_->scale(x, factor); });
}

void DeferredBackend::clamp(const TensorView& x, float limit) {
  defer([=, this] { inner_->clamp(x, limit); });
}

void DeferredBackend::soft_cap(const TensorView& x, float cap) {
  defer([=, this] { inner_->soft_cap(x, cap); });
}

void DeferredBackend::mlp(const TensorView& out, const HalfInput& in, const MlpWeights& weights) {
  defer([=, this] { inner_->mlp(out, in, weights); });
}

void DeferredBackend::rope(const TensorView& x, int n_heads, int head_dim, std::span<const std::int32_t> positions,
                           const RopeForm& form) {
  defer([=, this, own = copy_of(positions, "positions of rope")] { inner_->rope(x, n_heads, head_dim, own, form); });
}

void DeferredBackend::fill(const TensorView& x, float value) {
  defer([=, this] { inner_->fill(x, value); });
}

void DeferredBackend::add_rows(const TensorView& out, std::span<const std::int32_t> rows, const TensorView& x,
                               std::span<const float> factors) {
  defer([=, this, to = copy_of(rows, "rows of add_rows"), by = copy_of(factors, "factors of add_rows")] {
    inner_->add_rows(out, to, x, by);
  });
}

void DeferredBackend::gather_rows(const TensorView& out, const TensorView& x, std::span<const std::int32_t> rows) {
  defer([=, this, from = copy_of(rows, "rows of gather_rows")] { inner_->gather_rows(out, x, from); });
}

void DeferredBackend::route(const TensorView& chosen, const TensorView& logits, const kernels::RouterForm& form,
                            const TensorView& bias) {
  defer([=, this] { inner_->route(chosen, logits, form, bias); });
}

void DeferredBackend::mix_experts(const TensorView& out, const TensorView& x, const TensorView& chosen,
                                  const kernels::PackedExperts& experts) {
  defer([=, this, &experts] { inner_->mix_experts(out, x, chosen, experts); });
}

void DeferredBackend::scale_by_sigmoid(const TensorView& x, const TensorView& gate) {
  defer([=, this] { inner_->scale_by_sigmoid(x, gate); });
}

TensorView DeferredBackend::download(const TensorView& x, std::span<const std::int32_t> rows) {
  const auto to = std::make_shared<std::vector<float>>(static_cast<std::size_t>(x.n_elements()), kUndefined);
  defer([=, own = copy_of(rows, "rows of download")] {
    for (std::int64_t row = 0; row < x.dim(0); ++row) {
      const bool is_wanted = own.empty() || std::find(own.begin(), own.end(), row) != own.end();
      if (is_wanted) std::copy_n(x.row<float>(row), x.dim(1), to->begin() + row * x.dim(1));
    }
  });
  downloaded_ = to;
  return {to->data(), kernels::Dtype::f32, {x.dim(0), x.dim(1)}};
}

std::span<const std::int32_t> DeferredBackend::arg_max(const TensorView& x) {
  const auto ids = std::make_shared<std::vector<std::int32_t>>(static_cast<std::size_t>(x.dim(0)), kHiddenId);
  defer([=] {
    for (std::int64_t row = 0; row < x.dim(0); ++row) {
      const float* const begin = x.row<float>(row);
      const float* const end = begin + x.dim(1);
      const bool is_usable = std::none_of(begin, end, [](float number) { return !(number <= kLargest); });
      const float* const most = std::max_element(begin, end);
      (*ids)[static_cast<std::size_t>(row)] = is_usable && *most >= -kLargest ? static_cast<std::int32_t>(most - begin) : -1;
    }
  });
  best_ids_ = ids;
  return *ids;
}

void DeferredBackend::kv_write(const KvLayer& layer, const TensorView& k, const TensorView& v,
                               std::span<const std::int32_t> slots) {
  defer([=, this, own = copy_of(slots, "slots of kv_write")] { inner_->kv_write(layer, k, v, own); });
}

void DeferredBackend::attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer,
                                const AttentionBatch& batch, const AttentionForm& form) {
  const AttentionArrays arrays{copy_of(batch.query_start, "query_start"), copy_of(batch.context_len, "context_len"),
                               copy_of(batch.block_tables, "block_tables"), copy_of(form.slopes, "slopes"),
                               copy_of(form.sinks, "sinks")};
  defer([=, this] { inner_->attention(out, q, n_heads, layer, arrays.batch(batch), arrays.form(form)); });
}

void DeferredBackend::project_qkv(const TensorView& qkv, const HalfInput& in, const QkvForm& form,
                                  std::span<const std::int32_t> positions, const KvLayer& layer,
                                  std::span<const std::int32_t> slots) {
  defer([=, this, at = copy_of(positions, "positions of project_qkv"), to = copy_of(slots, "slots of project_qkv")] {
    inner_->project_qkv(qkv, in, form, at, layer, to);
  });
}

void DeferredBackend::attend(const TensorView& out, const TensorView& heads, const TensorView& q, int n_heads,
                             const KvLayer& layer, const AttentionBatch& batch, const AttentionForm& form,
                             const PackedMatrix& matrix, const TensorView& bias) {
  attention(heads, q, n_heads, layer, batch, form);
  linear(out, heads, matrix, bias);
}

void DeferredBackend::parallel_for(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) {
  finish();
  inner_->parallel_for(n, body);
}

}  // namespace lathe::tests
