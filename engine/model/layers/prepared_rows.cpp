// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/prepared_rows.h"

namespace lathe::engine {

using kernels::TensorView;

TensorView prepared_rows(kernels::Backend& backend, const kernels::HalfInput& in) {
  if (!in.norm) {
    if (in.delta.data != nullptr) backend.add(in.x, in.delta);
    return in.x;
  }
  if (in.delta.data != nullptr) {
    backend.add_norm(in.normed, in.x, in.delta, *in.norm);
  } else {
    backend.norm(in.normed, in.x, *in.norm);
  }
  return in.normed;
}

TensorView narrowed(const TensorView& buffer, std::int64_t width) {
  LATHE_CHECK(width <= buffer.dim(1));
  return {buffer.data, buffer.dtype, {buffer.dim(0), width}};
}

}  // namespace lathe::engine
