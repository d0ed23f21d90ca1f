// SPDX-License-Identifier: Apache-2.0
// OpTable: the operations of one instruction set, as functions on raw pointers that work on a part of the rows or columns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/table/by_format.h"
#include "kernels/cpu/table/row_tiling.h"
#include "kernels/formats/codes/coded.h"

// Requires: only data here: a function defined in this header would be compiled for several instruction sets under one name.
namespace lathe::kernels {

/// Adjacent output columns in a panel of packed weights: one AVX-512 vector, two AVX2 vectors.
inline constexpr int kPanelColumns = 16;
/// Weights of two consecutive k for all columns of a panel.
inline constexpr int kPairWeights = 2 * kPanelColumns;

/// Most panels that a tile covers.
inline constexpr int kMaxPanels = 4;
/// Most pairs of k that several tiles take at a time: four panels of them in bf16 are 32 KB, the size of the smallest L1
/// cache.
inline constexpr int kBlockPairs = 128;
/// Largest scratch that LinearOps::multiply needs: weights of a block, and scales of a stretch of codes.
inline constexpr std::int64_t kLinearScratchFloats = std::int64_t{kMaxPanels} * kBlockPairs * kPairWeights + 2048;

/// Bytes after the packed rows that a tile may read as a row that does not exist. A tile that is not the last reads from the
/// next tile instead, which another thread may be writing; results of that row are discarded.
inline constexpr std::int64_t kPackedSlackBytes = 512;

struct LinearTiling {
  RowTiling rows;
  std::int64_t block_pairs;  ///< pairs of k in a block, which all tiles take before the next block
};

/// Packed rows of x, as multiply() reads them.
struct PackedRows {
  RowTiling tiling;
  std::int64_t block_pairs;
  std::int64_t k;
  void* data;  ///< f32 [block of pairs][tile][pair][2][row]; bf16 [block of pairs][tile][pair][row][2]
};

/// A part of x that one call packs: tiles of rows and pairs of k.
struct PackArgs {
  const float* x;  ///< first element of the part
  std::int64_t x_stride;
  std::int64_t tile_begin;
  std::int64_t tile_end;
  std::int64_t pair_begin;
  std::int64_t pair_end;
};

/// out = x * matrix^T. The weights are panels of kPanelColumns columns: [panel][k / 2][...] (kernels/README.md).
struct LinearArgs {
  PackedRows x;
  std::int64_t n;
  const std::byte* weights;
  std::int64_t panel_bytes;
  const std::byte* next_weights;  ///< weights of the next call, to be prefetched; or null
  /// True: weights of 16 bits and more, and 8-bit integer codes, are left to the processor's own prefetchers, which are
  /// faster here.
  bool streams_alone;
  float* out;
  std::int64_t out_stride;
  std::int64_t out_row;    ///< row of x that out begins with
  std::int64_t out_panel;  ///< panel of columns that out begins with
  const float* bias;       ///< or null
};

/// The tiles of rows and the panels of columns that one call of multiply() covers.
struct LinearRange {
  std::int64_t tile_begin;
  std::int64_t tile_end;
  std::int64_t panel_begin;
  std::int64_t panel_end;
};

// Sizes of the tables indexed by NormKind and Activation (kernels/api/backend.h, which is not compiled for an instruction
// set).
inline constexpr int kNormKinds = 2;
inline constexpr int kActivations = 6;

// Constants of Activation::clamped_silu. Source: gpt-oss, torch/model.py.
inline constexpr float kSwigluAlpha = 1.702F, kSwigluLimit = 7;

struct NormArgs {
  float* out;
  std::int64_t out_stride;
  float* x;
  std::int64_t x_stride;
  const float* delta;  ///< added to x first, unless null
  std::int64_t delta_stride;
  const float* weight;
  const float* bias;  ///< or null
  std::int64_t n;
  float eps;
};

struct RopeArgs {
  float* x;
  std::int64_t x_stride;
  int n_heads;
  int head_dim;
  int rotary_dim;
  const std::int32_t* positions;
  const float* cos;
  const float* sin;
  std::int64_t table_stride;
  bool interleaved;
};

/// out = act(gate) * up; without `up` out = act(gate); with `up` alone out += up.
struct ElementwiseArgs {
  float* out;
  std::int64_t out_stride;
  const float* gate;
  const float* up;
  std::int64_t in_stride;
  std::int64_t n;
};

/// x[m][c] /= 1 + exp(-gate[m][c / width]).
struct SigmoidArgs {
  float* x;
  std::int64_t x_stride;
  const float* gate;
  std::int64_t gate_stride;
  std::int64_t n_gates;
  std::int64_t width;
};

/// Arguments of operations that change each value of some rows in place.
struct MapArgs {
  float* x;
  std::int64_t x_stride;
  std::int64_t n;
  float parameter;
};

enum class KvType : std::uint8_t { f32, f16, bf16, i8, e4m3, e5m2 };

struct AttentionArgs {
  float* out;
  std::int64_t out_stride;
  const float* q;
  std::int64_t q_stride;
  int n_heads;
  int n_kv_heads;
  int head_dim;
  int block_size;
  KvType kv_type;
  const std::byte* kv;
  const std::int32_t* block_tables;
  std::int64_t max_blocks;
  float scale;
  int window;                 ///< tokens that a row sees, including its own; 0: all
  float soft_cap;             ///< 0: none
  float rounded_slope_scale;  ///< 0: slopes are used unrounded
  const float* slopes;        ///< [n_heads], or null
  const float* sinks;         ///< [n_heads], or null
};

/// A run of consecutive rows of one sequence, with all query heads of one KV head, over some parts of the context.
struct AttentionItem {
  std::int32_t seq;
  std::int32_t kv_head;
  std::int32_t row;       ///< first row in q and out
  std::int32_t position;  ///< position of the first row
  std::int32_t step;      ///< distance to the next row's position: 1; 0: all rows see the same context
  std::int32_t n_rows;
  std::int32_t part_begin;  ///< in parts of kPartTokens tokens (attention_layout.h)
  std::int32_t part_end;
  float* partial;  ///< where the sums of these parts wait for a merge; null: the item has all parts and writes out
};

/// Channels of a causal convolution that one call takes, and most rows of its state.
inline constexpr std::int64_t kConvChannels = 128;
inline constexpr std::int64_t kMaxConvRows = 7;

/// A causal convolution in place. state of an item: [taps - 1][n_channels], the oldest row first.
struct ConvArgs {
  float* x;
  std::int64_t x_stride;
  const float* weight;  ///< [taps][n_channels]
  const float* bias;    ///< or null
  std::int64_t n_channels;
  std::int64_t taps;  ///< at least 2
  bool applies_silu;
};

/// Consecutive rows of one sequence, and channels [channel_begin, channel_end), at most kConvChannels.
struct ConvItem {
  std::int64_t row;
  std::int64_t n_rows;
  std::int64_t channel_begin;
  std::int64_t channel_end;
  float* state;
  bool is_fresh;  ///< the state is zeros, whatever the memory holds
};

/// Heads of rows [n_heads * head_dim] that are changed in place.
struct HeadsArgs {
  float* x;
  std::int64_t x_stride;
  const float* gate;  ///< or null
  std::int64_t gate_stride;
  const float* weight;  ///< [head_dim], or null
  std::int64_t n_heads;
  std::int64_t head_dim;
  float eps;
  float scale;
};

/// Columns of a head's matrix that one item updates: 4 vectors of AVX2. Rows of 128 keys are then 16 KB, half of the
/// smallest L1 cache.
inline constexpr std::int64_t kStateColumns = 32;

/// The gated delta rule on q and k of length 1 (q divided by sqrt(key_dim)), and on gates [beta | exp(g)].
struct DeltaArgs {
  float* out;
  std::int64_t out_stride;
  const float* qkv;
  std::int64_t qkv_stride;
  const float* gates;
  std::int64_t gates_stride;
  std::int64_t n_key_heads;
  std::int64_t n_heads;
  std::int64_t key_dim;
  std::int64_t value_dim;
  bool is_tiled;
};

/// Consecutive rows of one sequence, and kStateColumns columns of one head, whose last ones may be beyond value_dim.
struct DeltaItem {
  std::int64_t row;
  std::int64_t n_rows;
  std::int64_t head;
  std::int64_t column_begin;
  float* state;  ///< [key_dim][kStateColumns]
  bool is_fresh;
};

struct RecurrentOps {
  void (*causal_conv1d)(const ConvArgs& args, const ConvItem& item);
  void (*l2_norm_heads)(const HeadsArgs& args, std::int64_t row_begin, std::int64_t row_end);
  void (*norm_heads_gated)(const HeadsArgs& args, std::int64_t row_begin, std::int64_t row_end);
  void (*multiply_by_sigmoid)(const HeadsArgs& args, std::int64_t row_begin, std::int64_t row_end);
  void (*multiply)(const HeadsArgs& args, std::int64_t row_begin, std::int64_t row_end);  ///< with `gate`
  void (*gated_delta_rule)(const DeltaArgs& args, const DeltaItem& item);
};

inline constexpr std::int64_t kWholeRows = 0;

struct LinearOps {
  /// Units: bytes of one row in PackedRows.
  std::int64_t (*packed_row_bytes)(std::int64_t k);
  /// Parts of x that are packed separately begin at multiples of this many columns; kWholeRows: only whole rows can be
  /// packed.
  std::int64_t pack_columns;
  int (*tile_panels)(int n_rows);  ///< panels that a tile of n_rows rows covers
  LinearTiling (*tiling)(std::int64_t n_rows);
  void (*pack)(const PackedRows& out, const PackArgs& args);
  void (*multiply)(const LinearArgs& args, const LinearRange& range, float* scratch);
};

struct OpTable {
  ByFormat<LinearOps> linear;
  void (*norm[kNormKinds])(const NormArgs& args, std::int64_t row_begin, std::int64_t row_end);  ///< indexed by NormKind
  void (*rope)(const RopeArgs& args, std::int64_t row_begin, std::int64_t row_end);
  void (*add)(const ElementwiseArgs& args, std::int64_t row_begin, std::int64_t row_end);
  void (*activate[kActivations])(const ElementwiseArgs& args, std::int64_t row_begin,
                                 std::int64_t row_end);  ///< indexed by Activation
  void (*scale)(const MapArgs& args, std::int64_t row_begin, std::int64_t row_end);
  void (*clamp)(const MapArgs& args, std::int64_t row_begin, std::int64_t row_end);
  void (*soft_cap)(const MapArgs& args, std::int64_t row_begin, std::int64_t row_end);
  void (*scale_by_sigmoid)(const SigmoidArgs& args, std::int64_t row_begin, std::int64_t row_end);
  RecurrentOps recurrent;
  void (*attend)(const AttentionArgs& args, const AttentionItem& item, float* scratch);
  /// Writes the rows of an item that was divided. item.partial points to n_partials results: the first covers a run of
  /// parts, the others one part each, up to item.part_end.
  void (*merge_attention)(const AttentionArgs& args, const AttentionItem& item, std::int64_t n_partials);
  /// Work of the memory ceiling: reads n bytes (a multiple of 4096) and returns a value computed from them.
  float (*read_bytes)(const std::byte* data, std::int64_t n);
  /// Work of the arithmetic ceilings: each returns the number of operations done (2 per multiply-add).
  double (*multiply_add)(std::int64_t n_iterations);
  double (*bf16_dot)(std::int64_t n_iterations);  ///< null if the instruction set has no such instruction
  double (*int8_dot)(std::int64_t n_iterations);  ///< 8-bit codes times bytes
  double (*int4_dot)(std::int64_t n_iterations);
};

}  // namespace lathe::kernels
