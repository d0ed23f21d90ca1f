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
#include "kernels/api/operation_error.h"
#include "kernels/api/router.h"
#include "kernels/api/tensor.h"

namespace lathe::kernels {

/// Memory of a device. Owns: its bytes, 64-byte aligned, zeroed. Empty (data() == nullptr) if the device has no memory left.
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

/// Format in which a packed weight matrix is stored. The table of formats is kernels/formats/formats.cpp.
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
  nf4,         ///< bitsandbytes' 4-bit NormalFloat codes in blocks of 64
  nf4_nested,  ///< nf4 with 8-bit scales: bitsandbytes' double quantization
  fp4,
  fp4_nested,
  int8_channel,     ///< 8-bit codes, a scale for each output; activations in 8 bits, a scale for each token
  llm_int8,         ///< int8_channel as in bitsandbytes: large activations are multiplied without rounding
  fp8_channel,      ///< e4m3 with a scale for each output; activations in e4m3, a scale for each token
  fp8_weight_only,  ///< weights as in fp8_channel; activations are not rounded
  int8_g32_asym,    ///< 8-bit codes, a scale and a zero point for each 32 weights along k
  int8_g64_asym,
  int8_g128_asym,
  int4_g32_asym,
  int4_g64_asym,
  int4_g128_asym,
  nf4_weight_only,  ///< weights as in nf4; activations are not rounded
  nf4_nested_weight_only,
  fp4_weight_only,
  fp4_nested_weight_only,
  mxfp4,              ///< 4-bit floats (e2m1), a scale for each 32 weights along k
  mxfp4_weight_only,  ///< weights as in mxfp4; activations are not rounded
  int8_g16,           ///< 8-bit codes, a scale in f32 for each 16 weights along k: GGUF's Q6_K
  int4_g32_min,       ///< 4-bit codes, a scale and a minimum in f32 for each 32 weights: GGUF's Q4_K, Q4_1
  int8_g32_min,       ///< 8-bit codes, as int4_g32_min otherwise: GGUF's Q5_K, Q5_1
  int4_g16_min,       ///< 4-bit codes, a scale and a minimum in f32 for each 16 weights: GGUF's Q2_K, Q3_K
  int8_g16_min,       ///< holds each of the four formats above without loss, for matrices fused from several types
  iq4,                ///< 4-bit codes for 16 integers, a scale in f32 for each 32 weights: GGUF's IQ4_NL, IQ4_XS
  fp8_g128            ///< e4m3 with a scale in f32 for each 128 weights along k; activations are not rounded: block FP8
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

  /// Input permutation: column i of the matrix multiplies x[order[i]]; empty: identity. Operations pack x in this order and
  /// leave x itself unchanged.
  std::span<const std::int32_t> input_order() const { return input_order_; }
  /// Sets input_order(). The caller owns the array [k] in backend memory (allocate()), keeps it longer than the matrix, and
  /// may fill it later.
  /// Requires: each input once; a format that does not round activations by whole rows (rounds_whole_rows()).
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

/// Rotary position embedding (RoPE): pairs of the first 2 r elements of each head are rotated by the angles of the row's
/// position.
struct RopeForm {
  TensorView cos{};  ///< [n_positions, r] f32; without data nothing is rotated
  TensorView sin{};  ///< [n_positions, r] f32
  RopeStyle style = RopeStyle::half;
};

/// The geometry of a paged KV cache. One block holds `block_size` tokens of one layer, all its KV heads, K and V.
struct KvShape {
  int n_layers = 0;
  int n_kv_heads = 0;
  int head_dim = 0;
  int block_size = 16;
  int n_blocks = 0;
  Dtype dtype = Dtype::f32;  ///< one of kKvDtypes; i8 has a scale for each head of each token
};

/// One layer of a paged KV cache. Layout inside a block belongs to the backend.
struct KvLayer {
  void* data = nullptr;
  KvShape shape;
};

/// The rows of one step, grouped by sequence: rows [query_start[i], query_start[i+1]) are the last tokens of a context of
/// context_len[i] tokens, whose blocks are block_tables[i * max_blocks ...]. Row r of sequence i has position
/// context_len[i] - (query_start[i+1] - r) and attends to positions 0 to its own.
/// Invariant: a row's result does not depend on which other rows or sequences are in the batch.
struct AttentionBatch {
  int n_seqs = 0;
  std::span<const std::int32_t> query_start;   ///< n_seqs + 1
  std::span<const std::int32_t> context_len;   ///< n_seqs
  std::span<const std::int32_t> block_tables;  ///< n_seqs x max_blocks
  int max_blocks = 0;
};

/// Score function of attention: for each visible token s = scale * q k^T of a head, soft-capped, plus the head's ALiBi slope
/// times the distance; then softmax over the scores and the head's sink.
struct AttentionForm {
  float scale = 1;
  int window = 0;      ///< tokens that a row attends to, its own included; 0: all
  float soft_cap = 0;  ///< s = cap * tanh(s / cap); 0: none
  std::span<const float>
      slopes{};  ///< [n_heads] or none (ALiBi): slope * (j - i) is added for token j in row i. Source: Press et al. 2022
  std::span<const float> sinks{};  ///< [n_heads] or none: a score that is in the softmax's denominator and has no value in V
  bool is_causal = true;  ///< a row attends to its own token and earlier ones; false: to its whole context (encoders)
  /// Scale of ALiBi slopes rounded to bf16; 0: slopes are not rounded. Otherwise the score gets
  /// rounded_slope_scale * (r(slope * r(j)) - r(slope * r(i))), where r rounds to bf16.
  float rounded_slope_scale = 0;
};

enum class NormKind : std::uint8_t {
  rms,   ///< x / sqrt(mean(x^2) + eps) * weight. Source: Zhang and Sennrich 2019
  layer  ///< (x - mean(x)) / sqrt(variance(x) + eps) * weight + bias. Source: Ba, Kiros and Hinton 2016
};

/// Normalisation of rows of n elements. weight, bias: [n] f32; bias may be without data.
struct Norm {
  NormKind kind = NormKind::rms;
  TensorView weight{};
  TensorView bias{};
  float eps = 0;
};

enum class Activation : std::uint8_t {
  silu,          ///< x / (1 + exp(-x))
  gelu,          ///< x * Phi(x), Phi the distribution function of the normal distribution
  gelu_tanh,     ///< gelu with Phi approximated by tanh: "gelu_new", "gelu_pytorch_tanh"
  relu,          ///< max(x, 0)
  clamped_silu,  ///< y / (1 + exp(-1.702 y)), y = min(x, 7); it gates clamp(up, -7, 7) + 1: gpt-oss
  relu_squared   ///< max(x, 0)^2. Source: So et al. 2021
};

/// Input of half a layer (attention or MLP): first x += delta, then the rows of x or their normalised copies.
struct HalfInput {
  TensorView x;                ///< [M, H] f32
  TensorView delta{};          ///< [M, H] f32: x += delta, in place. Without data: nothing is added
  std::optional<Norm> norm{};  ///< none: x is read without a norm
  TensorView normed{};         ///< [M, H] f32: receives the normalised rows. Requires: data if `norm` is set
};

/// Norms of the heads of Q and K (QK norm), after the product and before RoPE.
struct HeadNorms {
  Norm q{};                 ///< weights [d] for all heads, or [n_heads d]
  Norm k{};                 ///< weights [d] for all KV heads, or [n_kv_heads d]
  bool is_of_rows = false;  ///< all heads of a row are normalised as one; weights [n_heads d]
};

/// Projection to Q, K and V: x W^T + b, then clamp, QK norm and RoPE.
struct QkvForm {
  const PackedMatrix& matrix;  ///< [(n_heads + 2 n_kv_heads) d, H]: rows of Q, then K, then V
  TensorView bias{};           ///< as linear()
  int n_heads = 0;
  float clamp = 0;                   ///< limit of clamp(); 0: no clamp
  std::optional<HeadNorms> norms{};  ///< none: Q and K are not normalised
  RopeForm q_rope{};
  RopeForm k_rope{};
};

/// Weights of an MLP: up [I, H], down [H, I], and for a gated MLP gate [I, H]; biases f32, [I], [I] and [H], or without
/// data. Requires: gate has the format and the input order of up.
struct MlpWeights {
  Activation activation = Activation::silu;
  const PackedMatrix* gate = nullptr;  ///< null: the MLP is not gated
  const PackedMatrix& up;
  const PackedMatrix& down;
  TensorView gate_bias{};
  TensorView up_bias{};
  TensorView down_bias{};
};

/// The experts of one layer in the form of their backend, which has whole mixtures as operations. Refers to their matrices
/// and biases, which are kept longer. Made by Backend::make_experts.
class PackedExperts {
 public:
  virtual ~PackedExperts() = default;
};

/// Formats and sizes of a model's steps, which determine the work memory of operations.
struct StepShape {
  WeightFormat format = WeightFormat::f32;         ///< format of the layers' matrices
  WeightFormat expert_format = WeightFormat::f32;  ///< format of the experts; equals `format` for models without experts
  WeightFormat head_format = WeightFormat::f32;    ///< format of the LM head
  std::vector<WeightFormat> other_formats{};       ///< formats of layers and matrices that have formats of their own
  std::int64_t n_rows = 0;                         ///< most rows of a step
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;  ///< intermediate size of the largest MLP
  std::int64_t q_size = 0;             ///< n_heads * head_dim
  std::int64_t head_dim = 0;
  std::int64_t group = 1;         ///< query heads of each KV head
  std::int64_t n_experts = 0;     ///< 0: no layer has experts
  std::int64_t top_k = 0;         ///< experts of each row
  std::int64_t expert_size = 0;   ///< intermediate size of one expert
  bool has_input_orders = false;  ///< some matrices of the layers have an input_order()
};

struct BackendInfo {
  std::string name;    ///< "cpu" or "cuda"
  std::string isa;     ///< "scalar", "avx2", "avx2_vnni", "avx512", "avx512_vnni", "avx512_bf16" or "avx512_amx"; "sm_90"
  std::string device;  ///< model name of the processor or of the GPU
  int n_threads = 1;   ///< host threads
  /// Products with weights that are not f32 or f16 round these weights and the activations to bf16.
  bool multiplies_bf16 = false;
};

/// One device with its operations.
/// Thread: operations are called from one thread at a time, and run in the order of their calls. The caller may change host
/// arrays (spans) as soon as an operation has returned, except within a step (begin_step()), but may read, write or free
/// backend memory only after finish() or parallel_for(), and before the next operation.
/// Requires: the spans that an operation takes are in host memory, not in memory of allocate().
/// Errors: an operation that cannot be done, and all that follow it, leave their outputs undefined until take_error(), which
/// the caller reads once for many operations. pack_rows() counts as an operation.
/// Numerics: activations and results are f32; every form of linear() adds along k in one order, whatever the number of rows,
/// so a row's result is bitwise the same in any batch (batch invariance).
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const BackendInfo& info() const = 0;

  virtual Buffer allocate(std::size_t n_bytes) = 0;
  /// Memory that operations alone read and write: the host accesses it through download(), and never directly.
  virtual Buffer allocate_on_device(std::size_t n_bytes) { return allocate(n_bytes); }
  /// Units: free bytes of the device. nullopt: the backend uses the memory of the host.
  virtual std::optional<std::int64_t> free_bytes() const { return std::nullopt; }
  /// Units: bytes of the device's memory, free or not. nullopt: the backend uses the memory of the host.
  virtual std::optional<std::int64_t> total_bytes() const { return std::nullopt; }
  /// Ceilings of the device, measured now. nullopt: the backend runs on the host's processors.
  virtual std::optional<Ceilings> measure_ceilings() { return std::nullopt; }

  /// Returns when all operations are done: the host may read their results and overwrite their inputs.
  virtual void finish() {}
  /// Begins a step, which ends with the next finish() or parallel_for(). Until then the caller leaves the arrays (spans)
  /// that operations take unchanged, so that a device copies and checks each of them once. `arrays`: those of the step's
  /// operations that are known beforehand, any of them. Without a step every array may change from one operation to the
  /// next.
  virtual void begin_step(std::span<const std::span<const std::int32_t>> /*arrays*/) {}
  /// After finish(): the first error of the operations since the last call; none: all of them were done. Later operations
  /// are done again, unless the device is lost: then every call returns that error.
  virtual std::optional<OperationError> take_error() { return std::nullopt; }

  // ---- weights
  /// Units: bytes that make_packed(format, n, k) will occupy. The fit estimate calls this, and so does make_packed.
  virtual std::size_t packed_bytes(WeightFormat format, std::int64_t n, std::int64_t k) const = 0;
  /// Makes a matrix to be filled by pack_rows(); null when no memory is left.
  virtual std::unique_ptr<PackedMatrix> make_packed(WeightFormat format, std::int64_t n, std::int64_t k) = 0;
  /// Packs source [rows, k] (f32, f16 or bf16) into rows [row_begin, row_begin + rows) of the matrix. Rows may come in any
  /// order and from several sources: that is how Q, K and V become one matrix. bitsandbytes formats have blocks and means
  /// that span a whole tensor: there each source counts as one tensor. A source of u8 [rows, coded_row_bytes()] holds codes
  /// and scales, which are kept unchanged, in rows of write_coded_row (coded_rows.h); for int8_g32 and int4_g32 these rows
  /// are GGUF's blocks Q8_0 and Q4_0. The rows are packed when it returns.
  virtual void pack_rows(PackedMatrix& matrix, std::int64_t row_begin, const TensorView& source) = 0;

  // ---- work memory of operations, in addition to their arguments
  /// Units: bytes that reserve() allocates. The fit estimate calls this.
  virtual std::size_t work_bytes(const StepShape& shape) const = 0;
  /// Allocates the work memory, so that steps allocate none. False: no memory is left. An operation larger than `shape`
  /// allocates more when it runs.
  virtual bool reserve(const StepShape& shape) = 0;
  /// Units: bytes of work memory that are allocated now.
  virtual std::size_t work_bytes_held() const = 0;

  // ---- operations. Shapes: M rows of the step, H hidden size.
  /// out [M, H] f32 = table[ids]; table [V, H] of any floating type.
  virtual void embed(const TensorView& out, const TensorView& table, std::span<const std::int32_t> ids) = 0;
  /// out = the normalised rows of x. x, out [M, H] f32; out may be x.
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
  /// x = min(max(x, -limit), limit), elementwise.
  virtual void clamp(const TensorView& x, float limit) = 0;
  /// x = cap * tanh(x / cap), elementwise.
  virtual void soft_cap(const TensorView& x, float cap) = 0;
  /// x [M, g w] = x / (1 + exp(-gate)), gate [M, g]: each gate scales w consecutive columns.
  virtual void scale_by_sigmoid(const TensorView& x, const TensorView& gate) = 0;
  /// out [M, H] = (act(x [M, H] * gate^T) * (x * up^T)) * down^T, or without a gate act(x * up^T) * down^T, for the rows x
  /// of `in`; each product has the same bits as linear().
  virtual void mlp(const TensorView& out, const HalfInput& in, const MlpWeights& weights) = 0;
  /// Rotates each head of x [M, n_heads * head_dim] (rows may be strided) in place.
  virtual void rope(const TensorView& x, int n_heads, int head_dim, std::span<const std::int32_t> positions,
                    const RopeForm& form) = 0;
  /// x [M, n] = value, elementwise.
  virtual void fill(const TensorView& x, float value) = 0;
  /// out[rows[i]] += factors[i] * x[i]. Requires: no row twice.
  virtual void add_rows(const TensorView& out, std::span<const std::int32_t> rows, const TensorView& x,
                        std::span<const float> factors) = 0;
  /// out[i] = x[rows[i]].
  virtual void gather_rows(const TensorView& out, const TensorView& x, std::span<const std::int32_t> rows) = 0;

  // ---- mixtures of experts, without the host. A backend without them gives no PackedExperts: the caller then chooses
  // experts on the host, and calls mlp() for each of them
  /// Makes the experts of a layer, of which each row has top_k, from their MLPs, which may be packed later. The few bytes
  /// that they take are in no estimate. Null: the backend has no such operations, or none for experts of this form; an input
  /// order is one.
  virtual std::unique_ptr<PackedExperts> make_experts(std::span<const MlpWeights> /*experts*/, std::int64_t /*top_k*/) {
    return nullptr;
  }
  /// chosen [M, 2 top_k] receives top_k elements of type Chosen a row, those of choose_experts() for the row's logits
  /// [M, n_experts], which are kept or overwritten. bias [n_experts] f32, or without data. This and the next
  /// operation require a backend whose make_experts() gives experts.
  virtual void route(const TensorView& /*chosen*/, const TensorView& /*logits*/, const RouterForm& /*form*/,
                     const TensorView& /*bias*/) {
    LATHE_CHECK(false);
  }
  /// out [M, H] = sum of weight * mlp(x) over the row's chosen experts, by ascending expert: a row has the bits of mlp()
  /// and add_rows() for one expert after another. x [M, H]; chosen as route() writes it.
  virtual void mix_experts(const TensorView& /*out*/, const TensorView& /*x*/, const TensorView& /*chosen*/,
                           const PackedExperts& /*experts*/) {
    LATHE_CHECK(false);
  }

  // ---- results for the host
  /// An operation: x [M, n] f32 in memory that the host may read and change after finish(), until the next download() or
  /// operation on x: on processors x itself. `rows`: ascending indices of the rows that are wanted, and the others are
  /// undefined; empty: all rows. Requires: rows without gaps between them.
  virtual TensorView download(const TensorView& x, std::span<const std::int32_t> /*rows*/) { return x; }
  /// An operation: the index of the largest element of each row of x [M, n] f32, the lowest of equal ones; -1 if an element
  /// is NaN or +infinity, or none is above -infinity. The host may read it after finish(), until the next arg_max(). Empty:
  /// the backend leaves the search to the host, which reads x anyway.
  virtual std::span<const std::int32_t> arg_max(const TensorView& /*x*/) { return {}; }

  // ---- the KV cache
  /// Units: bytes of one layer of the cache with that shape. The fit estimate calls this, and so does the cache.
  virtual std::size_t kv_layer_bytes(const KvShape& shape) const = 0;
  /// Writes k, v [M, n_kv_heads * head_dim] (rows may be strided); slot = block * block_size + offset.
  virtual void kv_write(const KvLayer& layer, const TensorView& k, const TensorView& v,
                        std::span<const std::int32_t> slots) = 0;
  /// out [M, n_heads * head_dim] = softmax(scores) v over the paged cache. q rows may be strided.
  virtual void attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer,
                         const AttentionBatch& batch, const AttentionForm& form) = 0;

  // ---- halves of a layer in one operation each, so that threads synchronise less often: with mlp() a pre-norm layer is
  // three operations
  /// qkv [M, (n_heads + 2 n_kv_heads) d] = Q, K and V of the rows of `in`; K and V are written to the cache as by
  /// kv_write().
  virtual void project_qkv(const TensorView& qkv, const HalfInput& in, const QkvForm& form,
                           std::span<const std::int32_t> positions, const KvLayer& layer,
                           std::span<const std::int32_t> slots) = 0;
  /// out [M, n] = attention(q) * matrix^T (+ bias). heads [M, n_heads d] is space for the result of attention, undefined
  /// afterwards.
  virtual void attend(const TensorView& out, const TensorView& heads, const TensorView& q, int n_heads, const KvLayer& layer,
                      const AttentionBatch& batch, const AttentionForm& form, const PackedMatrix& matrix,
                      const TensorView& bias) = 0;

  /// Runs body(begin, end) over [0, n) on the backend's threads, after all operations have finished. For host work between
  /// operations (sampling rows).
  virtual void parallel_for(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) = 0;
};

struct CpuBackendOptions {
  int n_threads = 0;       ///< 0: one for each physical core
  std::string_view isa{};  ///< one of cpu_isas(); empty: LATHE_ISA or else the best one of this machine
};

struct LoadedBackend {
  std::unique_ptr<Backend> backend;  ///< null: loading failed
  std::string why_not;               ///< if backend is null, the missing thing: the driver, the module, a device
};
/// Loads the backend of a CUDA device from the module liblathe_cuda.so, which is searched for in the program's folder and in
/// ../lib/lathe. `device`: index in list_cuda_devices(). `n_threads`: host threads that round weights; 0: one for each
/// physical core.
LoadedBackend load_cuda_backend(int device, int n_threads);

/// Null when `isa` names an instruction set that this machine lacks.
std::unique_ptr<Backend> make_cpu_backend(const CpuBackendOptions& options);
/// The scalar reference that tests compare with: slow, written to be read, one thread.
std::unique_ptr<Backend> make_reference_backend();
/// Instruction sets that this machine runs, "scalar" first, best last.
std::vector<std::string> cpu_isas();
/// Instruction sets that have kernels, in the same order, also those that this machine lacks.
std::vector<std::string_view> all_cpu_isas();

}  // namespace lathe::kernels
