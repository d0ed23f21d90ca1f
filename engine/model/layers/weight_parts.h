// SPDX-License-Identifier: Apache-2.0
// Weight parts: the memory of a model's weights as a tree. Each layer names its parts once, in for_each_part(); the
// estimate, the allocation, the bytes and the image are loops over these names.
//   template <class Self, class Visit>
//   static void for_each_part(Self& self, const Visit& visit) { visit(self.up_, self.down_); }
// Self is the layer or a const layer, visit takes any number of parts. A part is another layer, an optional or a vector of
// parts, or a leaf, which has memory of its own: DeviceTensor, HostTensor, PackedWeight.
// A layer's constructor plans: it gives each leaf that the model has its shape. A leaf without a shape is absent: it takes
// no memory and has no bytes in the image. A part that is not named gets no memory, so that loading it fails at once.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/api/result.h"
#include "engine/model/layers/weight_image.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// Units: planned_bytes() are the bytes that allocate() takes, n_bytes() those that are held.
template <class Part>
concept WeightLeaf = requires(Part& part, const Part& planned, kernels::Backend& backend, WeightImage& image) {
  { planned.planned_bytes(backend) } -> std::same_as<std::int64_t>;
  { planned.n_bytes() } -> std::same_as<std::int64_t>;
  { part.allocate(backend) } -> std::same_as<Result<void>>;
  part.add_image(image);
};

namespace weight_parts_detail {
template <class>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
}  // namespace weight_parts_detail

/// Calls visit(part) for the parts directly below `part`, which is no leaf.
template <class Part, class Visit>
void for_each_child(Part& part, const Visit& visit) {
  using Plain = std::remove_const_t<Part>;
  if constexpr (weight_parts_detail::kIsOptional<Plain>) {
    if (part) visit(*part);
  } else if constexpr (weight_parts_detail::kIsVector<Plain>) {
    for (auto& element : part) visit(element);
  } else {
    Plain::for_each_part(part, [&](auto&... parts) { (visit(parts), ...); });
  }
}

/// Calls visit(leaf) for all leaves below `part`, absent ones included, in the order of the names.
template <class Part, class Visit>
void for_each_leaf(Part& part, const Visit& visit) {
  if constexpr (WeightLeaf<std::remove_const_t<Part>>) {
    visit(part);
  } else {
    for_each_child(part, [&](auto& child) { for_each_leaf(child, visit); });
  }
}

/// Units: bytes that allocate_parts() takes.
template <class Part>
std::int64_t planned_bytes(const kernels::Backend& backend, const Part& part) {
  std::int64_t sum = 0;
  for_each_leaf(part, [&](const auto& leaf) { sum += leaf.planned_bytes(backend); });
  return sum;
}

/// Allocates the planned leaves. Calls on_allocated(), with the backend or without, of each layer that has it, once the
/// layer's parts have their memory.
/// Errors: resource_exhausted.
template <class Part>
Result<void> allocate_parts(kernels::Backend& backend, Part& part) {
  if constexpr (WeightLeaf<Part>) {
    return part.allocate(backend);
  } else {
    Result<void> result;
    for_each_child(part, [&](auto& child) {
      if (result) result = allocate_parts(backend, child);
    });
    if constexpr (requires { part.on_allocated(); }) {
      if (result) part.on_allocated();
    } else if constexpr (requires { part.on_allocated(backend); }) {
      if (result) part.on_allocated(backend);
    }
    return result;
  }
}

/// A layer with memory. Errors: resource_exhausted.
template <class Layer>
Result<Layer> allocated(kernels::Backend& backend, Layer layer) {
  LATHE_TRY_VOID(allocate_parts(backend, layer));
  return layer;
}

/// Units: bytes that all leaves hold.
template <class Part>
std::int64_t allocated_bytes(const Part& part) {
  std::int64_t sum = 0;
  for_each_leaf(part, [&](const auto& leaf) { sum += leaf.n_bytes(); });
  return sum;
}

/// Appends the memory of the leaves, in the order of the names: an entry of the packed cache has this order.
template <class Part>
void add_image(WeightImage& image, Part& part) {
  for_each_leaf(part, [&](auto& leaf) { leaf.add_image(image); });
}

}  // namespace lathe::engine
