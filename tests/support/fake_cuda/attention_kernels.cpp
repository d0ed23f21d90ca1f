// SPDX-License-Identifier: Apache-2.0
// The fake kernels of attention. They divide a step exactly as the plan says.
#include "kernels/cuda/ops/tensor_attention.h"
#include "tests/support/fake_cuda/attention_parts.h"

namespace lathe::kernels::cuda {
namespace {

using namespace lathe::tests;

/// Writes the result of a query to the output, or prepared for a product.
void store(const Rows& out, const PreparedX& prepared, const FakeQuery& query, const FakePart& total) {
  const auto n = static_cast<std::int64_t>(total.values.size()), first = query.head * n;
  for (std::int64_t d = 0; d < n; ++d) {
    const float value = total.values[static_cast<std::size_t>(d)];
    if (out.data != nullptr) out.data[query.row * out.stride + first + d] = value;
    if (prepared.data != nullptr) store_prepared(prepared, query.row, first + d, value);
  }
}

/// Rows whose results are written.
void check_result(const Rows& out, const PreparedX& prepared, const Rows& q) {
  require(out.data != nullptr || prepared.data != nullptr, "attention has no output");
  if (out.data != nullptr)
    require(checked(out).n_rows == q.n_rows && out.n_columns == q.n_columns, "the output of attention has another shape");
  if (prepared.data == nullptr) return;
  check_prepared(prepared);
  require(prepared.n_rows == q.n_rows && prepared.padded_k == q.n_columns, "the output of attention has another shape");
}

/// Space for one part, `stride` floats: its values, then largest score and sum.
float* part_space(float* partials, std::int64_t index, std::int64_t stride) {
  return FakeDevice::elements(partials + index * stride, stride);
}
void keep_part(float* to, const FakePart& part) {
  std::copy(part.values.begin(), part.values.end(), to);
  to[part.values.size()] = part.largest;
  to[part.values.size() + 1] = part.sum;
}
FakePart kept_part(const float* from, int head_dim) {
  return {.values = std::vector<float>(from, from + head_dim), .largest = from[head_dim], .sum = from[head_dim + 1]};
}

/// The parts of attention() with several blocks for each row.
struct Splits {
  const FakeAttention& of;
  const AttentionRows& rows;
  int n_heads;
  float* partials;

  float* place(const FakeQuery& query, int part) const {
    require(part < rows.n_parts, "a context has more parts than are stored");
    return part_space(partials, (query.row * n_heads + query.head) * rows.n_parts + part, of.head_dim() + 2);
  }
  FakePart whole(const FakeQuery& query) const {
    const int first = query.first / kAttentionPart, last = query.last / kAttentionPart;
    for (int split = 0; split < rows.n_splits; ++split)
      for (int part = first; part <= last; ++part)
        if (part % rows.n_splits == split) keep_part(place(query, part), of.part(query, part));
    FakePart total = of.empty();
    for (int part = first; part <= last; ++part) of.merge(total, kept_part(place(query, part), of.head_dim()));
    of.finish(total, query);
    return total;
  }
};

/// Attention of tiles that need no merge: attend_many() and attend_wide().
void attend_tiles(const Rows& out, const PreparedX& prepared, const Rows& q, const KvLayer& layer, const AttentionRows& rows,
                  int group, int most_queries) {
  check_result(out, prepared, q);
  const FakeAttention of(q, layer, rows);
  const int n_chunks = static_cast<int>(div_up(group, most_queries));
  FakeDevice::elements(rows.tiles, rows.n_tiles);
  for (int tile = 0; tile < rows.n_tiles; ++tile)
    for (int index = 0; index < of.n_kv_heads() * n_chunks; ++index)
      for (const FakeQuery& query : queries_of(rows.tiles[tile], rows, index, n_chunks, group, most_queries))
        store(out, prepared, query, of.whole(query));
}

/// Counts a part. True if it is the last one of its tile, whose ticket is then 0 again.
bool takes_last(int* ticket, int n_parts) {
  FakeDevice::elements(ticket, 1);
  require(*ticket >= 0 && *ticket < n_parts, "a ticket was not 0 at first");
  if (++*ticket < n_parts) return false;
  *ticket = 0;
  return true;
}

void attend_item(const Rows& out, const PreparedX& prepared, const FakeAttention& of, const AttentionRows& rows,
                 const TensorWork& work, int at) {
  const AttentionItem& item = work.items[at / work.n_head_items];
  const std::vector<FakeQuery> queries =
      queries_of(item.tile, rows, at % work.n_head_items, work.n_chunks, work.group, kQueryTile);
  const int stride = part_floats(of.head_dim()), n = static_cast<int>(queries.size());
  if (item.n_parts == 1) {
    for (const FakeQuery& query : queries) {
      FakePart total = of.empty();
      of.merge(total, of.part(query, item.part));
      of.finish(total, query);
      store(out, prepared, query, total);
    }
    return;
  }
  require(n <= work.n_few_queries, "a tile has more queries than its parts have space for");
  const auto place = [&](int of_item, int i) {
    require(of_item >= 0 && of_item < work.n_items, "a part is not of this launch");
    return part_space(work.partials, std::int64_t{of_item} * work.n_few_queries + i, stride);
  };
  for (int i = 0; i < n; ++i) keep_part(place(at, i), of.part(queries[static_cast<std::size_t>(i)], item.part));
  const int ticket = item.index * work.n_head_items + at % work.n_head_items;
  if (!takes_last(work.tickets + ticket, item.n_parts)) return;
  const int first = at - (item.part - item.first_part) * work.n_head_items;
  for (int i = 0; i < n; ++i) {
    FakePart total = of.empty();
    for (int part = 0; part < item.n_parts; ++part)
      of.merge(total, kept_part(place(first + part * work.n_head_items, i), of.head_dim()));
    of.finish(total, queries[static_cast<std::size_t>(i)]);
    store(out, prepared, queries[static_cast<std::size_t>(i)], total);
  }
}

bool is_plain(const AttentionRows& rows) { return rows.slopes == nullptr && !(rows.soft_cap > 0) && rows.scale > 0; }
bool has_wide_head(const KvShape& shape) { return shape.head_dim == 64 || shape.head_dim == 128; }

}  // namespace

void attention(Stream stream, const Rows& out, const Rows& q, int n_heads, const KvLayer& layer, const AttentionRows& rows,
               float* partials) {
  if (rows.n_tiles == 0) return;
  launch_kernel(stream, "attention", [=] {
    check_result(out, {}, q);
    const FakeAttention of(q, layer, rows);
    const int group = n_heads / layer.shape.n_kv_heads, n_chunks = static_cast<int>(div_up(group, rows.n_queries));
    require(rows.n_queries == kFewQueries || (rows.n_queries == kManyQueries && layer.shape.head_dim <= kLongHead),
            "no kernel has so many queries");
    FakeDevice::elements(rows.tiles, rows.n_tiles);
    if (rows.n_splits > 1) FakeDevice::elements(partials, partial_floats(q.n_rows, n_heads, of.head_dim(), rows.n_parts));
    const Splits splits{.of = of, .rows = rows, .n_heads = n_heads, .partials = partials};
    for (int tile = 0; tile < rows.n_tiles; ++tile)
      for (int index = 0; index < of.n_kv_heads() * n_chunks; ++index)
        for (const FakeQuery& query : queries_of(rows.tiles[tile], rows, index, n_chunks, group, rows.n_queries))
          store(out, {}, query, rows.n_splits > 1 ? splits.whole(query) : of.whole(query));
  });
}

/// The table of for_tensor_form().
bool has_tensor_attention(const KvShape& shape, const AttentionRows& rows) {
  const auto is_one_of = [&](std::initializer_list<int> dims) {
    return std::find(dims.begin(), dims.end(), shape.head_dim) != dims.end();
  };
  if (shape.dtype == Dtype::bf16) return is_plain(rows) ? is_one_of({64, 80, 96, 128, 256}) : is_one_of({64, 128, 256});
  return shape.dtype == Dtype::f16 && is_plain(rows) && is_one_of({64, 96, 128, 256});
}

bool has_warpgroup_attention(const KvShape& shape, const AttentionRows& rows) {
  return has_wgmma() && has_wide_head(shape) && has_tensor_attention(shape, rows);
}

void attend_few(Stream stream, const Rows& out, const PreparedX& prepared, const Rows& q, const KvLayer& layer,
                const AttentionRows& rows, const TensorWork& work) {
  if (work.n_items == 0) return;
  LATHE_CHECK(has_tensor_attention(layer.shape, rows));
  launch_kernel(stream, "attend_few", [=] {
    check_result(out, prepared, q);
    const FakeAttention of(q, layer, rows);
    require(work.n_items % work.n_head_items == 0 && work.n_head_items == of.n_kv_heads() * work.n_chunks &&
                work.n_chunks == div_up(work.group, kQueryTile),
            "items have other heads than the cache");
    FakeDevice::elements(work.items, work.n_items / work.n_head_items);
    for (int at = 0; at < work.n_items; ++at) attend_item(out, prepared, of, rows, work, at);
  });
}

void attend_many(Stream stream, const Rows& out, const PreparedX& prepared, const Rows& q, const KvLayer& layer,
                 const AttentionRows& rows, int group) {
  if (rows.n_tiles == 0) return;
  LATHE_CHECK(has_tensor_attention(layer.shape, rows) && !has_warpgroup_attention(layer.shape, rows));
  launch_kernel(stream, "attend_many", [=] { attend_tiles(out, prepared, q, layer, rows, group, kPromptQueries); });
}

void attend_wide(Stream stream, const Rows& out, const PreparedX& prepared, const Rows& q, const KvLayer& layer,
                 const AttentionRows& rows, int group) {
  if (rows.n_tiles == 0) return;
  LATHE_CHECK(has_warpgroup_attention(layer.shape, rows));
  launch_kernel(stream, "attend_wide", [=] { attend_tiles(out, prepared, q, layer, rows, group, kWidePromptQueries); });
}

}  // namespace lathe::kernels::cuda
