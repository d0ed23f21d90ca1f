// SPDX-License-Identifier: Apache-2.0
// Attention of some rows of one sequence with one KV head: part by part of the context, and window by window within a part.
// Source: Dao et al. 2022, Algorithm 1 (tiles).
// Invariant: every row sees the same windows and parts with the same steps in the same order, whatever else is in the batch
// and however parts are divided among items.
#pragma once

#include "kernels/cpu/ops/attention_blocks.h"

namespace lathe::kernels {
namespace {

inline AttentionShape shape_of(const AttentionArgs& args, const AttentionItem& item) {
  AttentionShape s{};
  s.head_dim = args.head_dim;
  s.group = args.n_heads / args.n_kv_heads;
  s.n_pairs = s.group * item.n_rows;
  s.v_columns = whole_panels(s.head_dim);
  return s;
}

template <class V, class T>
void attend_part(const AttentionArgs& args, const AttentionItem& item, const AttentionShape& s, std::int64_t part,
                 const AttentionScratch& scratch, const PairSums& sums) {
  begin_part(s, sums);
  const std::int64_t end = min_of((part + 1) * kPartTokens, n_visible_to(item));
  if constexpr (V::kLanes > 1) {
    if (reads_blocks<V, T>(args, s.n_pairs)) return attend_blocks<V, T>(args, item, s, part, end, scratch, sums);
  }
  for (TokenWindow w = first_window(args, item, part, end); w.n_tokens > 0; w = window_after(w, end)) {
    attend_panels<V, T>(args, item, s, w, scratch, sums);
  }
}

template <class V, class T>
void attend_parts(const AttentionArgs& args, const AttentionItem& item, AttentionShape s, const AttentionScratch& scratch,
                  const PairSums& total) {
  const int tile_rows = reads_blocks<V, T>(args, s.n_pairs) ? max_tile_rows<V>() : panel_tile_rows<V>();
  s.tiling = {.n_rows = s.n_pairs, .n_tiles = div_up(s.n_pairs, tile_rows)};
  pack_queries(args, item, s, scratch.q);
  attend_part<V, T>(args, item, s, item.part_begin, scratch, total);
  for (std::int64_t part = item.part_begin + 1; part < item.part_end; ++part) {
    attend_part<V, T>(args, item, s, part, scratch, scratch.part);
    add_part<V>(item, s, part, total, scratch.part);
  }
}

template <class V>
void attend(const AttentionArgs& args, const AttentionItem& item, float* memory) {
  const AttentionShape s = shape_of(args, item);
  const AttentionScratch scratch = divide_scratch(memory, s.n_pairs, s.head_dim);
  const PairSums total = item.partial == nullptr ? scratch.total : pair_sums_at(item.partial, s.n_pairs);
  with_kv_type(args.kv_type, [&]<class T>(T) { attend_parts<V, T>(args, item, s, scratch, total); });
  if (item.partial == nullptr) store_pairs<V>(args, item, s, total);
}

template <class V>
void merge_attention(const AttentionArgs& args, const AttentionItem& item, std::int64_t n_partials) {
  const AttentionShape s = shape_of(args, item);
  const std::int64_t floats = pair_sums_floats(s.n_pairs, s.head_dim);
  const PairSums total = pair_sums_at(item.partial, s.n_pairs);
  for (std::int64_t i = 1; i < n_partials; ++i) {
    add_part<V>(item, s, item.part_end - n_partials + i, total, pair_sums_at(item.partial + i * floats, s.n_pairs));
  }
  store_pairs<V>(args, item, s, total);
}

}  // namespace
}  // namespace lathe::kernels
