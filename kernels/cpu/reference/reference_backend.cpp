// SPDX-License-Identifier: Apache-2.0
// ReferenceBackend: a Backend of the reference operations. Its packed matrix is the plain matrix in the format's element
// type; in coded formats it holds the decoded weights.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/host_memory.h"
#include "kernels/cpu/reference/reference_ops.h"
#include "kernels/cpu/reference/reference_recurrent.h"
#include "kernels/formats/element.h"
#include "kernels/formats/format.h"
#include "kernels/formats/tensor_codes.h"

namespace lathe::kernels {
namespace {

class PlainMatrix final : public PackedMatrix {
 public:
  PlainMatrix(WeightFormat format, std::int64_t n, std::int64_t k, Buffer buffer)
      : format_(format), n_(n), k_(k), buffer_(std::move(buffer)) {}
  std::int64_t n() const override { return n_; }
  std::int64_t k() const override { return k_; }
  WeightFormat format() const override { return format_; }
  std::size_t n_bytes() const override { return buffer_.n_bytes(); }
  TensorView view() const { return {buffer_.data(), descriptor_of(format_).element, {n_, k_}}; }

 private:
  WeightFormat format_;
  std::int64_t n_;
  std::int64_t k_;
  Buffer buffer_;
};

class PlainExperts final : public PackedExperts {
 public:
  explicit PlainExperts(std::span<const MlpWeights> experts) : experts_(experts.begin(), experts.end()) {}
  const MlpWeights& operator[](std::int32_t expert) const { return experts_[static_cast<std::size_t>(expert)]; }

 private:
  std::vector<MlpWeights> experts_;
};

class ReferenceBackend final : public Backend, public RecurrentBackend {
 public:
  const BackendInfo& info() const override { return info_; }
  Buffer allocate(std::size_t n_bytes) override { return allocate_host(n_bytes); }

  std::size_t packed_bytes(WeightFormat format, std::int64_t n, std::int64_t k) const override {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(k) * size_of(descriptor_of(format).element);
  }
  std::unique_ptr<PackedMatrix> make_packed(WeightFormat format, std::int64_t n, std::int64_t k) override {
    Buffer buffer = allocate_host(packed_bytes(format, n, k));
    if (!buffer) return nullptr;
    return std::make_unique<PlainMatrix>(format, n, k, std::move(buffer));
  }
  void pack_rows(PackedMatrix& matrix, std::int64_t row_begin, const TensorView& source) override {
    const TensorView target = static_cast<PlainMatrix&>(matrix).view();
    const FormatDescriptor& format = descriptor_of(matrix.format());
    LATHE_CHECK(row_begin >= 0 && row_begin + source.dim(0) <= matrix.n());
    LATHE_CHECK(weights_of_row(format.codes, source) == matrix.k());
    if (format.is_coded()) {
      const TensorCodes codes(format.codes, source, [](std::int64_t n, const auto& body) { body(0, n); });
      for (std::int64_t r = 0; r < source.dim(0); ++r) {
        codes.decoded_row(r, {target.row<float>(row_begin + r), static_cast<std::size_t>(matrix.k())});
      }
      return;
    }
    for (std::int64_t r = 0; r < source.dim(0); ++r) {
      for (std::int64_t i = 0; i < matrix.k(); ++i) {
        const float value = load_element(source.data, source.dtype, r * source.strides[0] + i);
        store_element(target.data, target.dtype, (row_begin + r) * matrix.k() + i, value);
      }
    }
  }

  std::size_t work_bytes(const StepShape&) const override { return 0; }
  bool reserve(const StepShape&) override { return true; }
  std::size_t work_bytes_held() const override { return 0; }

  void embed(const TensorView& out, const TensorView& table, std::span<const std::int32_t> ids) override {
    reference::embed(out, table, ids);
  }
  void norm(const TensorView& out, const TensorView& x, const Norm& norm) override { reference::norm(out, x, norm); }
  void add_norm(const TensorView& out, const TensorView& x, const TensorView& delta, const Norm& norm) override {
    reference::add(x, delta);
    reference::norm(out, x, norm);
  }
  void norm_heads(const TensorView& x, int n_heads, const Norm& norm) override { reference::norm_heads(x, n_heads, norm); }
  void scale(const TensorView& x, float factor) override { reference::scale(x, factor); }
  void clamp(const TensorView& x, float limit) override { reference::clamp(x, limit); }
  void soft_cap(const TensorView& x, float cap) override { reference::soft_cap(x, cap); }
  void add(const TensorView& x, const TensorView& delta) override { reference::add(x, delta); }
  void linear(const TensorView& out, const TensorView& x, const PackedMatrix& matrix, const TensorView& bias) override {
    const TensorView weights = static_cast<const PlainMatrix&>(matrix).view();
    const std::span<const std::int32_t> order = matrix.input_order();
    if (order.empty()) return reference::linear(out, x, weights, bias);
    const Buffer memory = allocate_host(static_cast<std::size_t>(x.n_elements()) * sizeof(float));
    LATHE_CHECK(memory);
    const TensorView ordered(memory.data(), Dtype::f32, {x.dim(0), x.dim(1)});
    reference::gather_columns(ordered, x, order);
    reference::linear(out, ordered, weights, bias);
  }
  void mlp(const TensorView& out, const HalfInput& in, const MlpWeights& weights) override {
    const TensorView x = prepared_rows(in);
    const std::int64_t m = x.dim(0), inner = weights.up.n();
    const Buffer memory = allocate_host(static_cast<std::size_t>(2 * m * inner) * sizeof(float));
    LATHE_CHECK(memory);
    const TensorView up(memory.data(), Dtype::f32, {m, inner});
    const TensorView gate(up.as<float>() + m * inner, Dtype::f32, {m, inner});
    linear(up, x, weights.up, weights.up_bias);
    if (weights.gate == nullptr) {
      reference::activate(up, weights.activation);
    } else {
      linear(gate, x, *weights.gate, weights.gate_bias);
      reference::activate(gate, weights.activation);
      reference::prepare_gated(up, weights.activation);
      reference::multiply(up, gate);
    }
    linear(out, up, weights.down, weights.down_bias);
  }
  void rope(const TensorView& x, int n_heads, int head_dim, std::span<const std::int32_t> positions,
            const RopeForm& form) override {
    const auto rotary_dim = static_cast<int>(2 * form.cos.dim(1));
    reference::rope(x, n_heads, head_dim, rotary_dim, positions, form.cos, form.sin, form.style);
  }
  void fill(const TensorView& x, float value) override {
    for (std::int64_t m = 0; m < x.dim(0); ++m) std::fill_n(x.row<float>(m), x.dim(1), value);
  }
  void add_rows(const TensorView& out, std::span<const std::int32_t> rows, const TensorView& x,
                std::span<const float> factors) override {
    reference::add_rows(out, rows, x, factors);
  }
  void gather_rows(const TensorView& out, const TensorView& x, std::span<const std::int32_t> rows) override {
    reference::gather_rows(out, x, rows);
  }

  std::unique_ptr<PackedExperts> make_experts(std::span<const MlpWeights> experts, std::int64_t) override {
    return std::make_unique<PlainExperts>(experts);
  }
  void route(const TensorView& chosen, const TensorView& logits, const RouterForm& form, const TensorView& bias) override {
    const auto n = static_cast<std::size_t>(form.n_experts), top_k = static_cast<std::size_t>(form.top_k);
    const auto* const added = bias.as<const float>();
    for (std::int64_t m = 0; m < logits.dim(0); ++m) {
      const float* const begin = logits.row<float>(m);
      std::vector<float> own(begin, begin + n);
      choose_experts(form, own, added != nullptr ? std::span(added, n) : std::span<const float>(),
                     {reinterpret_cast<Chosen*>(chosen.row<float>(m)), top_k});
    }
  }
  void mix_experts(const TensorView& out, const TensorView& x, const TensorView& chosen,
                   const PackedExperts& experts) override {
    const Buffer memory = allocate_host(static_cast<std::size_t>(x.dim(1)) * sizeof(float));
    LATHE_CHECK(memory);
    const TensorView one(memory.data(), Dtype::f32, {1, out.dim(1)});
    fill(out, 0);
    for (std::int64_t m = 0; m < x.dim(0); ++m) {
      const auto* const begin = reinterpret_cast<const Chosen*>(chosen.row<float>(m));
      std::vector<Chosen> sorted(begin, begin + chosen.dim(1) / 2);
      std::ranges::stable_sort(sorted, {}, &Chosen::expert);
      for (const Chosen& of : sorted) {
        const std::int32_t row[] = {static_cast<std::int32_t>(m)};
        mlp(one, {.x = x.rows(m, 1)}, static_cast<const PlainExperts&>(experts)[of.expert]);
        add_rows(out, row, one, {&of.weight, 1});
      }
    }
  }
  void scale_by_sigmoid(const TensorView& x, const TensorView& gate) override { reference::scale_by_sigmoid(x, gate); }

  std::size_t kv_layer_bytes(const KvShape& shape) const override { return reference::kv_layer_bytes(shape); }
  void kv_write(const KvLayer& layer, const TensorView& k, const TensorView& v,
                std::span<const std::int32_t> slots) override {
    reference::kv_write(layer, k, v, slots);
  }
  void attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer, const AttentionBatch& batch,
                 const AttentionForm& form) override {
    reference::attention(out, q, n_heads, layer, batch, form);
  }
  void project_qkv(const TensorView& qkv, const HalfInput& in, const QkvForm& form, std::span<const std::int32_t> positions,
                   const KvLayer& layer, std::span<const std::int32_t> slots) override {
    const std::int64_t head_dim = layer.shape.head_dim, q_size = form.n_heads * head_dim;
    const std::int64_t kv_size = layer.shape.n_kv_heads * head_dim;
    const TensorView q = qkv.columns(0, q_size), k = qkv.columns(q_size, kv_size),
                     v = qkv.columns(q_size + kv_size, kv_size);
    linear(qkv, prepared_rows(in), form.matrix, form.bias);
    if (form.clamp > 0) clamp(qkv, form.clamp);
    for (const bool is_query : {true, false}) {
      const TensorView& x = is_query ? q : k;
      const int n_heads = is_query ? form.n_heads : layer.shape.n_kv_heads;
      const RopeForm& turn = is_query ? form.q_rope : form.k_rope;
      if (form.norms) {
        const Norm& of_heads = is_query ? form.norms->q : form.norms->k;
        form.norms->is_of_rows ? norm(x, x, of_heads) : norm_heads(x, n_heads, of_heads);
      }
      if (turn.cos.data != nullptr) rope(x, n_heads, static_cast<int>(head_dim), positions, turn);
    }
    kv_write(layer, k, v, slots);
  }
  void attend(const TensorView& out, const TensorView& heads, const TensorView& q, int n_heads, const KvLayer& layer,
              const AttentionBatch& batch, const AttentionForm& form, const PackedMatrix& matrix,
              const TensorView& bias) override {
    attention(heads, q, n_heads, layer, batch, form);
    linear(out, heads, matrix, bias);
  }
  void parallel_for(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) override {
    if (n > 0) body(0, n);
  }
  RecurrentOperations& recurrent() override { return recurrent_; }
  const RecurrentOperations& recurrent() const override { return recurrent_; }

 private:
  TensorView prepared_rows(const HalfInput& in) {
    if (in.delta.data != nullptr) add(in.x, in.delta);
    if (!in.norm) return in.x;
    norm(in.normed, in.x, *in.norm);
    return in.normed;
  }

  ReferenceRecurrent recurrent_;
  BackendInfo info_{.name = "reference", .isa = "scalar", .device = "one thread", .n_threads = 1};
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace lathe::kernels
