// SPDX-License-Identifier: Apache-2.0
// CUDA operations: functions that launch kernels in a stream. Pointers refer to memory that the device reads.
// Shapes and equations: kernels/api/backend.h, at the operation of the same name.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/api/backend.h"
#include "kernels/cuda/layout/attention_tiling.h"
#include "kernels/cuda/layout/matrix_layout.h"

struct CUstream_st;

namespace lathe::kernels::cuda {

using Stream = CUstream_st*;

/// Rows of f32 elements, `stride` elements apart.
struct Rows {
  float* data = nullptr;
  std::int64_t stride = 0;
  std::int64_t n_rows = 0, n_columns = 0;
};

/// A weight matrix in device memory, and the values of its codes.
struct StoredMatrix {
  MatrixLayout layout;
  const void* weights = nullptr;
  const void* scales = nullptr;
  const std::int32_t* order = nullptr;  ///< PackedMatrix::input_order(), on the device
  float off = 0;                        ///< without a codebook, the value of a code is code - off
  bool has_book = false;                ///< the value of a 4-bit code is book[code]
  float book[16] = {};                  ///< codebook
};

/// Activations x prepared for a product: bf16 in the layout of x_place() or, in blocks, of x_block_place(), or f32
/// [n_rows][padded_k].
struct PreparedX {
  void* data = nullptr;
  std::int64_t n_rows = 0;
  std::int64_t padded_k = 0;
  bool is_bf16 = true;
  bool in_blocks = false;
};
/// Units: bytes of PreparedX::data.
constexpr std::int64_t prepared_bytes(std::int64_t n_rows, std::int64_t padded_k, bool is_bf16) {
  return round_up(n_rows, kRowTile) * padded_k * (is_bf16 ? 2 : 4);
}

// ---- products
/// to[row][i] = x[row][order[i]], padded with zeros; `order` null: x[row][i].
void prepare(Stream stream, const PreparedX& to, const Rows& x, const std::int32_t* order);
/// Prepares the input of an MLP's `down`: act(gate) * up, or act(up) if gate has no data. `order` as in prepare().
void prepare_activated(Stream stream, const PreparedX& to, const Rows& gate, const Rows& up, Activation activation,
                       const std::int32_t* order);
/// out = x matrix^T + bias. Requires: a matrix in tiles, at most kMaxFewRows rows.
void multiply_few(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias);
/// Gate and up of an MLP.
struct GatedMatrices {
  StoredMatrix gate, up;
  const float* gate_bias = nullptr;  ///< null: no bias
  const float* up_bias = nullptr;
  Activation activation = Activation::silu;
};
/// True if multiply_gated() takes the two matrices: both in tiles, of one shape and format.
bool are_gated_together(const StoredMatrix& gate, const StoredMatrix& up);
/// Prepares the input of an MLP's `down`, act(x gate^T + gate_bias) * (x up^T + up_bias), with the bits of multiply_few()
/// and prepare_activated(). Requires: are_gated_together(), at most kMaxGatedRows rows, no input order of down.
void multiply_gated(Stream stream, const PreparedX& to, const PreparedX& x, const GatedMatrices& in);
/// With more rows the sums of two matrices do not fit into registers: two products are faster.
inline constexpr std::int64_t kMaxGatedRows = kRowTile;
/// Most rows of a call of multiply_few(), which reads the weights again for each 32 of them, codes for each 16.
inline constexpr std::int64_t kMaxFewRows = 128;
/// Rows up to which multiply_few() is faster than multiply_many(). The products of a layer of Llama 3 8B take on an H200, in
/// us, in bf16 133 for 32 rows and 263 for 64 by multiply_few(), and 167 for 64 by multiply_many(); in int4_g32 163 and 321,
/// and 229.
inline constexpr std::int64_t kMostFewRows = 32;
/// True if the device has wgmma, which takes x in blocks, and the module the code for it.
bool has_wgmma();
/// True if a product with so many rows takes x in blocks, for multiply_many(). Its sums have the bits of multiply_few().
bool takes_blocks(std::int64_t n_rows, const MatrixLayout& layout);
/// Memory that products with many rows use besides their arguments.
struct ManyScratch {
  float* unit_sums = nullptr;    ///< unit_sums_bytes(); unused without needs_unit_sums()
  void* handed = nullptr;        ///< 0 at first
  std::size_t handed_bytes = 0;  ///< of `handed`; with less than handed_bytes() tiles may not be split
};
/// True if products need the sums of x over units.
constexpr bool needs_unit_sums(const MatrixLayout& layout) {
  return layout.scales == ScaleKind::zero || layout.scales == ScaleKind::minimum;
}
/// Units: bytes.
constexpr std::int64_t unit_sums_bytes(std::int64_t n_rows, const MatrixLayout& layout) {
  return needs_unit_sums(layout) ? round_up(n_rows, kRowTile) * layout.n_units() * std::int64_t{sizeof(float)} : 0;
}
/// Units: bytes of the totals that blocks of threads hand to each other, and of the words that tell it.
std::size_t handed_bytes();
inline constexpr std::size_t kTurnBytes = 16 << 10;
inline constexpr int kHandedOutputs = 128, kHandedRows = 128;  ///< most of a block
/// Sums of x over units of k, in the layout of unit_sum_place(). Requires: x in blocks.
void sum_units(Stream stream, float* to, const PreparedX& x, std::int64_t unit);
/// out = x matrix^T + bias for any number of rows. Requires: a matrix in tiles, x in blocks, has_wgmma().
void multiply_many(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias,
                   const ManyScratch& scratch);
/// As multiply_many(), for a matrix of bf16, with x in the layout of x_place().
void multiply_many_mma(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias);
/// out = x matrix^T + bias. Requires: a matrix in rows, x in f32.
void multiply_plain(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias);

// ---- packing
/// Packs rows of f32, f16 or bf16 [n_rows, k] into rows [row_begin, row_begin + n_rows) of a matrix without codes.
void pack_floats(Stream stream, const StoredMatrix& to, std::int64_t row_begin, const void* source, Dtype dtype,
                 std::int64_t n_rows);
/// Packs rows of codes [n_rows, k] and their scales [n_rows, n_groups][2]: the scale, then the zero point or minimum.
void pack_codes(Stream stream, const StoredMatrix& to, std::int64_t row_begin, const std::uint8_t* codes,
                const float* scales, std::int64_t n_rows, std::int64_t n_groups);

// ---- rows
struct NormRows {
  NormKind kind = NormKind::rms;
  const float* weight = nullptr;
  const float* bias = nullptr;  ///< null: no bias
  float eps = 0;
};
/// x += delta if delta has data; out = norm(x); if `prepared` has data, it receives norm(x) prepared for a product.
void norm(Stream stream, const Rows& out, const Rows& x, const Rows& delta, const NormRows& norm, const PreparedX& prepared);
void norm_heads(Stream stream, const Rows& x, int n_heads, const NormRows& norm, bool has_own_weights);
void add(Stream stream, const Rows& x, const Rows& delta);
void scale(Stream stream, const Rows& x, float factor);
/// x[row][c] /= 1 + exp(-gate[row][c / w]); x [n_rows, g w], gate [n_rows, g].
void scale_by_sigmoid(Stream stream, const Rows& x, const Rows& gate);
void clamp(Stream stream, const Rows& x, float limit);
void soft_cap(Stream stream, const Rows& x, float cap);
void fill(Stream stream, const Rows& x, float value);
/// Requires: ids within the table [V, H], whose rows are `stride` elements apart.
void embed(Stream stream, const Rows& out, const void* table, Dtype dtype, std::int64_t stride, const std::int32_t* ids);
void gather_rows(Stream stream, const Rows& out, const Rows& x, const std::int32_t* rows);
void add_rows(Stream stream, const Rows& out, const Rows& x, const std::int32_t* rows, const float* factors);
/// ids[row] = the lowest index of the row's largest element; -1: an element is NaN or +infinity, or none is above -infinity.
/// `ids` may be page-locked memory of the host.
void arg_max(Stream stream, std::int32_t* ids, const Rows& x);

// ---- heads of Q, K and V
/// RopeForm; `cos` without columns: nothing is rotated.
struct RopeRows {
  Rows cos, sin;
  RopeStyle style = RopeStyle::half;
};
void rope(Stream stream, const Rows& x, int n_heads, int head_dim, const std::int32_t* positions, const RopeRows& rope);

/// A norm of each head by itself; without weights there is none.
struct HeadNorm {
  NormRows rows;
  bool has_own_weights = false;  ///< each head has weights of its own
};
/// The results of the product in project_qkv(), and what is still to be done with them.
struct QkvHeads {
  Rows qkv;
  int n_heads = 0, n_kv_heads = 0, head_dim = 0;
  float clamp = 0;  ///< 0: none
  HeadNorm q_norm{}, k_norm{};
  RopeRows q_rope{}, k_rope{};
};
/// Clamps and normalises heads, rotates them by the angles of `rope_rows`, and writes K and V to the cache: the same bits as
/// clamp(), norm_heads(), rope() and kv_write(). `rope_rows` may be null if nothing is rotated. Requires: copies, not
/// kernels, have written rope_rows and slots.
void finish_qkv(Stream stream, const QkvHeads& heads, const std::int32_t* rope_rows, const KvLayer& layer,
                const std::int32_t* slots);

// ---- the KV cache: K [block][kv_head][token][head_dim], V in the same order, and for i8 after them the scales of K and of
// V, one for each head of each token
void kv_write(Stream stream, const KvLayer& layer, const Rows& k, const Rows& v, const std::int32_t* slots);

/// Rows of a step and the tokens that they attend to.
struct AttentionRows {
  const AttentionTile* tiles = nullptr;
  int n_tiles = 0;
  int n_queries = kManyQueries;
  int n_splits = 1;
  int n_parts = 1;  ///< parts of the longest context
  const std::int32_t* block_tables = nullptr;
  int max_blocks = 0;
  const float* slopes = nullptr;  ///< null: no ALiBi
  const float* sinks = nullptr;   ///< null: no sinks
  float rounded_slope_scale = 0;
  float scale = 1;
  int window = 0;
  float soft_cap = 0;
  bool is_causal = true;
};
/// `partials`: space for partial_floats() (attention_tiling.h); unused if n_splits is 1.
void attention(Stream stream, const Rows& out, const Rows& q, int n_heads, const KvLayer& layer, const AttentionRows& rows,
               float* partials);

// ---- ceilings: each launches work and returns its bytes or operations
double read_all(Stream stream, const void* data, std::size_t n_bytes, float* sink, int n_processors);
double multiply_f32(Stream stream, float* sink, int n_processors);
double multiply_bf16(Stream stream, float* sink, int n_processors);
double multiply_int8(Stream stream, float* sink, int n_processors);

}  // namespace lathe::kernels::cuda
