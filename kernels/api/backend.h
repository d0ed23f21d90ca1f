// SPDX-License-Identifier: Apache-2.0
// Backend: memory, packed weights, and the operations of a decoder on one device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/ceilings.h"
#include "kernels/api/tensor.h"

namespace lathe::kernels {

/// Memory of a device. Owns: its bytes, 64-byte aligned, zeroed. Empty (data() == nullptr) when the device has none left.
class Buffer {
 public:
  using Free = void (*)(void*, std::size_t);
  Buffer() = default;
  Buffer(void* data, std::size_t n_bytes, Free free) : data_(data), n_bytes_(n_bytes), free_(free) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) free_(data_, n_bytes_);
  }
  void* data() const { return data_; }
  std::size_t n_bytes() const { return n_bytes_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(n_bytes_, other.n_bytes_);
    std::swap(free_, other.free_);
  }
  void* data_ = nullptr;
  std::size_t n_bytes_ = 0;
  Free free_ = nullptr;
};

/// What a weight matrix is stored as after packing. The table of formats is kernels/formats/formats.cpp.
enum class WeightFormat : std::uint8_t {
  f32,
  f16,
  bf16,
  int8_g32,  ///< 8-bit codes, a scale for each 32 weights along k
  int8_g64,
  int8_g128,
  int4_g32,
  int4_g64,
  int4_g128,
  nf4,         ///< bitsandbytes' codes of 4 bits in blocks of 64
  nf4_nested,  ///< the same with scales in 8 bits: double quantization
  fp4,
  fp4_nested,
  int8_channel,     ///< 8-bit codes, a scale for each output; activations in 8 bits, a scale for each token
  llm_int8,         ///< the same as bitsandbytes has it, with large activations multiplied as they are
  fp8_channel,      ///< e4m3 with a scale for each output; activations in e4m3, a scale for each token
  fp8_weight_only,  ///< the same weights; activations as they are
  int8_g32_asym,    ///< 8-bit codes, a scale and a zero point for each 32 weights along k
  int8_g64_asym,
  int8_g128_asym,
  int4_g32_asym,
  int4_g64_asym,
  int4_g128_asym,
  nf4_weight_only,  ///< the same as nf4; activations as they are
  nf4_nested_weight_only,
  fp4_weight_only,
  fp4_nested_weight_only,
  mxfp4,              ///< numbers of 4 bits with an exponent (e2m1), a scale for each 32 weights along k
  mxfp4_weight_only,  ///< the same weights; activations as they are
  int8_g16,           ///< 8-bit codes, a scale in f32 for each 16 weights along k: GGUF's Q6_K
  int4_g32_min,       ///< 4-bit codes, a scale and a minimum in f32 for each 32 weights: Q4_K, Q4_1
  int8_g32_min,       ///< Q5_K, Q5_1
  int4_g16_min,       ///< Q2_K, Q3_K
  int8_g16_min,       ///< what several of those have in common
  iq4,                ///< 4-bit codes for 16 whole numbers, a scale in f32 for each 32 weights: IQ4_NL, IQ4_XS
  fp8_g128            ///< e4m3 with a scale in f32 for each 128 weights along k, activations as they are: blocks of FP8
};

/// A weight matrix [n, k] (n outputs, k inputs) in the layout of its backend. Made by Backend::make_packed.
class PackedMatrix {
 public:
  virtual ~PackedMatrix() = default;
  virtual std::int64_t n() const = 0;
  virtual std::int64_t k() const = 0;
  virtual WeightFormat format() const = 0;
  /// Units: bytes that the matrix occupies, padding included.
  virtual std::size_t n_bytes() const = 0;

  /// The input that each of its columns meets: column i that of x[order[i]]. Empty: x[i]. What is packed of x is in that
  /// order, x itself stays as it is.
  std::span<const std::int32_t> input_order() const { return input_order_; }
  /// The order belongs to the caller: [k] in memory of the backend (allocate()) that outlives the matrix. Its numbers may
  /// come later. Requires: each input once; a format that rounds activations by themselves or in blocks, not by rows.
  void set_input_order(std::span<const std::int32_t> order) {
    LATHE_CHECK(std::ssize(order) == k());
    input_order_ = order;
  }

 private:
  std::span<const std::int32_t> input_order_;
};

enum class RopeStyle : std::uint8_t {
  half,        ///< rotates (x[i], x[i + d/2]): Llama as Hugging Face stores it, NeoX
  interleaved  ///< rotates (x[2i], x[2i + 1]): GPT-J
};

/// How heads are turned: pairs of the first 2 r numbers of a head by the angles of their row's position.
struct RopeForm {
  TensorView cos{};  ///< [n_positions, r] f32; without data nothing is turned
  TensorView sin{};  ///< the same
  RopeStyle style = RopeStyle::half;
};

/// The geometry of a paged KV cache. One block holds `block_size` tokens of one layer, all its KV heads, K and V.
struct KvShape {
  int n_layers = 0;
  int n_kv_heads = 0;
  int head_dim = 0;
  int block_size = 16;
  int n_blocks = 0;
  Dtype dtype = Dtype::f32;  ///< f32, f16, bf16, i8 with a scale for each head of each token, f8_e4m3 or f8_e5m2
};

/// One layer of a paged KV cache. Layout inside a block belongs to the backend.
struct KvLayer {
  void* data = nullptr;
  KvShape shape;
};

/// The rows of one step, grouped by sequence: rows [query_start[i], query_start[i+1]) are the last tokens of a context of
/// context_len[i] tokens, whose blocks are block_tables[i * max_blocks ...]. Row r of sequence i stands at position
/// context_len[i] - (query_start[i+1] - r) and sees positions 0..itself.
/// Invariant: a row's result does not depend on which other rows or sequences are in the batch.
struct AttentionBatch {
  int n_seqs = 0;
  std::span<const std::int32_t> query_start;   ///< n_seqs + 1
  std::span<const std::int32_t> context_len;   ///< n_seqs
  std::span<const std::int32_t> block_tables;  ///< n_seqs x max_blocks
  int max_blocks = 0;
};

/// What attention does with the scores q k^T of a head: s = scale * q k^T, soft-capped, plus the head's slope times the
/// distance, where the token is visible; then softmax over them and the sink.
struct AttentionForm {
  float scale = 1;
  int window = 0;      ///< tokens that a row sees, itself included; 0: all
  float soft_cap = 0;  ///< s = cap * tanh(s / cap); 0: none
  std::span<const float>
      slopes{};  ///< [n_heads] or none: slope * (j - i) is added for token j seen from row i. Press et al. 2022
  std::span<const float> sinks{};  ///< [n_heads] or none: a score that takes weight and gives nothing
  bool is_causal = true;           ///< a row sees itself and what is before it; else all of its context, as encoders do
  /// Scale of slopes that are rounded, 0 if they are not: this times r(slope * r(j)) - r(slope * r(i)) is added, where r
  /// rounds to bf16.
  float rounded_slope_scale = 0;
};

enum class NormKind : std::uint8_t {
  rms,   ///< x / sqrt(mean(x^2) + eps) * weight. Source: Zhang and Sennrich 2019
  layer  ///< (x - mean(x)) / sqrt(variance(x) + eps) * weight + bias. Source: Ba, Kiros and Hinton 2016
};

/// How rows of n numbers are normalised. weight, bias: [n] f32; bias may be without data.
struct Norm {
  NormKind kind = NormKind::rms;
  TensorView weight{};
  TensorView bias{};
  float eps = 0;
};

enum class Activation : std::uint8_t {
  silu,         ///< x / (1 + exp(-x))
  gelu,         ///< x * Phi(x), Phi the distribution function of the normal distribution
  gelu_tanh,    ///< the same with Phi by tanh: "gelu_new", "gelu_pytorch_tanh"
  relu,         ///< max(x, 0)
  clamped_silu  ///< y / (1 + exp(-1.702 y)), y = min(x, 7); what it gates is clamp(up, -7, 7) + 1: gpt-oss
};

/// What a half of a layer reads: the rows of x, or the normalised rows of x, to which delta has been added before.
struct HalfInput {
  TensorView x;                ///< [M, H] f32
  TensorView delta{};          ///< [M, H] f32: x += delta, in place. Without data: nothing is added
  std::optional<Norm> norm{};  ///< none: x is read as it is
  TensorView normed{};         ///< [M, H] f32: gets the normalised rows. Requires: data where there is a norm
};

/// Norms of the heads of Q and K, after the product and before they are turned.
struct HeadNorms {
  Norm q{};                 ///< weights [d] for all heads, or [n_heads d]
  Norm k{};                 ///< the same of the KV heads
  bool is_of_rows = false;  ///< all heads of a row are normalised as one; weights [n_heads d]
};

/// How Q, K and V are made: x W^T + b, clamped, normalised, turned.
struct QkvForm {
  const PackedMatrix& matrix;  ///< [(n_heads + 2 n_kv_heads) d, H]: rows of Q, then K, then V
  TensorView bias{};           ///< as linear()
  int n_heads = 0;
  float clamp = 0;                   ///< as clamp(); 0: none
  std::optional<HeadNorms> norms{};  ///< none: they stay as they are
  RopeForm q_rope{};
  RopeForm k_rope{};
};

/// An MLP: up [I, H], down [H, I], and gate [I, H] where it is gated, in the format of up and its order of inputs; biases
/// f32, [I], [I] and [H], or without data.
struct MlpWeights {
  Activation activation = Activation::silu;
  const PackedMatrix* gate = nullptr;  ///< null: none
  const PackedMatrix& up;
  const PackedMatrix& down;
  TensorView gate_bias{};
  TensorView up_bias{};
  TensorView down_bias{};
};

/// What the operations of a model's steps need to know to find their work memory.
struct StepShape {
  WeightFormat format = WeightFormat::f32;         ///< of the layers
  WeightFormat expert_format = WeightFormat::f32;  ///< of their experts; without them the same
  WeightFormat head_format = WeightFormat::f32;    ///< of the product that gives logits
  std::vector<WeightFormat> other_formats{};       ///< that single matrices of the layers have
  std::int64_t n_rows = 0;                         ///< at most
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;  ///< of the MLP
  std::int64_t q_size = 0;             ///< all query heads
  std::int64_t head_dim = 0;
  std::int64_t group = 1;         ///< query heads of a KV head
  bool has_input_orders = false;  ///< matrices of the layers have orders of their own
};

struct BackendInfo {
  std::string name;    ///< "cpu" or "cuda"
  std::string isa;     ///< "scalar", "avx2", "avx2_vnni", "avx512", "avx512_vnni", "avx512_bf16" or "avx512_amx"; "sm_90"
  std::string device;  ///< model name of the processor
  int n_threads = 1;   ///< of the host
  /// Weights that are not f32 or f16 meet activations rounded to bf16, and are rounded to bf16 themselves.
  bool multiplies_bf16 = false;
};

/// One device. Thread: operations are called from one thread at a time, and done in the order of their calls. Arrays of the
/// host (spans) may change when the operation has returned; memory of the backend, which the host reads and writes too, is
/// the device's until finish().
/// Numerics: activations and results are f32; every form of linear() adds along k in one order, whatever the number of rows,
/// so a row's result is bitwise the same in any batch (batch invariance).
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const BackendInfo& info() const = 0;

  virtual Buffer allocate(std::size_t n_bytes) = 0;
  /// Units: bytes that the device has left. Nothing: it is the memory of the host.
  virtual std::optional<std::int64_t> free_bytes() const { return std::nullopt; }
  /// What the device can do at most, measured now. Nothing: it is the host's processors.
  virtual std::optional<Ceilings> measure_ceilings() { return std::nullopt; }

  /// Returns when all operations are done: the host may read their results, and write what they read.
  virtual void finish() {}

  // ---- weights
  /// Units: bytes that make_packed(format, n, k) will occupy. The fit estimate calls this, and so does make_packed.
  virtual std::size_t packed_bytes(WeightFormat format, std::int64_t n, std::int64_t k) const = 0;
  /// Null when there is no memory left.
  virtual std::unique_ptr<PackedMatrix> make_packed(WeightFormat format, std::int64_t n, std::int64_t k) = 0;
  /// Packs source [rows, k] (f32, f16 or bf16) into rows [row_begin, row_begin + rows) of the matrix. Rows may come in any
  /// order and from several sources: that is how Q, K and V become one matrix. Formats of bitsandbytes have blocks and means
  /// that go through a whole tensor: a source is one there. A source of u8 [rows, bytes of a row] has codes and scales
  /// already, and both are kept: rows as write_coded_row (coded_rows.h) makes them; for int8_g32 and int4_g32 those are
  /// GGUF's blocks Q8_0 and Q4_0.
  virtual void pack_rows(PackedMatrix& matrix, std::int64_t row_begin, const TensorView& source) = 0;

  // ---- work memory of operations, beside their arguments
  /// Units: bytes that reserve() takes. The fit estimate calls this.
  virtual std::size_t work_bytes(const StepShape& shape) const = 0;
  /// Takes the memory, so that steps take none. False when there is none left. Larger operations take more when they come.
  virtual bool reserve(const StepShape& shape) = 0;
  /// Units: bytes that are taken now.
  virtual std::size_t work_bytes_held() const = 0;

  // ---- operations. Shapes: M rows of the step, H hidden size.
  /// out [M, H] f32 = table[ids]; table [V, H] of any floating type.
  virtual void embed(const TensorView& out, const TensorView& table, std::span<const std::int32_t> ids) = 0;
  /// out = the normalised rows of x. x, out [M, H] f32; they may be the same.
  virtual void norm(const TensorView& out, const TensorView& x, const Norm& norm) = 0;
  /// x += delta; out = norm(x). The residual stream x [M, H] is updated in place.
  virtual void add_norm(const TensorView& out, const TensorView& x, const TensorView& delta, const Norm& norm) = 0;
  /// Normalises each head of x [M, n_heads * d] (rows may be strided) by itself, in place. weight and bias: [d] for all
  /// heads, or [n_heads * d].
  virtual void norm_heads(const TensorView& x, int n_heads, const Norm& norm) = 0;
  /// x += delta, elementwise.
  virtual void add(const TensorView& x, const TensorView& delta) = 0;
  /// out [M, n] = x [M, k] * matrix^T (+ bias [n] f32 unless bias.data is null).
  virtual void linear(const TensorView& out, const TensorView& x, const PackedMatrix& matrix, const TensorView& bias) = 0;
  /// x = x * factor, elementwise.
  virtual void scale(const TensorView& x, float factor) = 0;
  /// x within [-limit, limit], elementwise.
  virtual void clamp(const TensorView& x, float limit) = 0;
  /// x = cap * tanh(x / cap), elementwise.
  virtual void soft_cap(const TensorView& x, float cap) = 0;
  /// out [M, H] = (act(x [M, H] * gate^T) * (x * up^T)) * down^T, or without a gate act(x * up^T) * down^T, of the rows x
  /// that `in` gives; each product as linear() would give it.
  virtual void mlp(const TensorView& out, const HalfInput& in, const MlpWeights& weights) = 0;
  /// Turns each head of x [M, n_heads * head_dim] (rows may be strided) in place.
  virtual void rope(const TensorView& x, int n_heads, int head_dim, std::span<const std::int32_t> positions,
                    const RopeForm& form) = 0;
  /// All numbers of x [M, n].
  virtual void fill(const TensorView& x, float value) = 0;
  /// out[rows[i]] += factors[i] * x[i]. Requires: no row twice.
  virtual void add_rows(const TensorView& out, std::span<const std::int32_t> rows, const TensorView& x,
                        std::span<const float> factors) = 0;
  /// out[i] = x[rows[i]].
  virtual void gather_rows(const TensorView& out, const TensorView& x, std::span<const std::int32_t> rows) = 0;

  // ---- the KV cache
  /// Units: bytes of one layer of the cache with that shape. The fit estimate calls this, and so does the cache.
  virtual std::size_t kv_layer_bytes(const KvShape& shape) const = 0;
  /// Writes k, v [M, n_kv_heads * head_dim] (rows may be strided); slot = block * block_size + offset.
  virtual void kv_write(const KvLayer& layer, const TensorView& k, const TensorView& v,
                        std::span<const std::int32_t> slots) = 0;
  /// out [M, n_heads * head_dim] = softmax(scores) v over the paged cache. q rows may be strided.
  virtual void attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer,
                         const AttentionBatch& batch, const AttentionForm& form) = 0;

  // ---- halves of a layer in one operation each, so that threads meet less often: with mlp() a layer whose norms stand
  // before its halves is three operations
  /// qkv [M, (n_heads + 2 n_kv_heads) d] = Q, K and V of the rows that `in` gives; K and V are written as kv_write() does.
  virtual void project_qkv(const TensorView& qkv, const HalfInput& in, const QkvForm& form,
                           std::span<const std::int32_t> positions, const KvLayer& layer,
                           std::span<const std::int32_t> slots) = 0;
  /// heads = attention(q), out [M, n] = heads * matrix^T (+ bias).
  virtual void attend(const TensorView& out, const TensorView& heads, const TensorView& q, int n_heads, const KvLayer& layer,
                      const AttentionBatch& batch, const AttentionForm& form, const PackedMatrix& matrix,
                      const TensorView& bias) = 0;

  /// Runs body(begin, end) over [0, n) on the backend's threads. For host work between operations (sampling rows): they are
  /// done before.
  virtual void parallel_for(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) = 0;
};

struct CpuBackendOptions {
  int n_threads = 0;       ///< 0: one a physical core
  std::string_view isa{};  ///< empty: the best that the machine has, or LATHE_ISA; one of cpu_isas()
};

struct LoadedBackend {
  std::unique_ptr<Backend> backend;  ///< null: there is none
  std::string why_not;               ///< what is missing then: the driver, the module, a device
};
/// The first CUDA device, by the module liblathe_cuda.so, which is looked for beside the program and in ../lib/lathe.
/// `n_threads` of the host round weights; 0: one a physical core.
LoadedBackend load_cuda_backend(int n_threads);

/// Null when `isa` names an instruction set that this machine lacks.
std::unique_ptr<Backend> make_cpu_backend(const CpuBackendOptions& options);
/// The scalar oracle: slow, written to be read, one thread.
std::unique_ptr<Backend> make_reference_backend();
/// Instruction sets that this machine runs, "scalar" first, best last.
std::vector<std::string> cpu_isas();

}  // namespace lathe::kernels
