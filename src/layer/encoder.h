#pragma once

#include <cstddef>

#include "layer/attention.h"
#include "layer/mask.h"
#include "layer/observer.h"
#include "layer/weights.h"
#include "tensor/tensor.h"

namespace mha {

// Runs the layers of an encoder one after another, each
//   post-norm  x1 = N1(x + attention(x)),     y = N2(x1 + ffn(x1))
//   pre-norm   x1 = x + attention(N1(x)),     y = x1 + ffn(N2(x1))
// (Vaswani et al. 2017, section 3.1; Xiong et al. 2020, table 1), then the last
// norm where there is one. A layer of Part::attention ends with
// attention_output. Maps and steps of every layer are shown to `observers`.
// The mask is every layer's; each layer's own window and direction come on top.
// REQUIRES: shapes that fit the sizes, Part::layer only with a feed-forward;
// inputs.key and value others than x only for a single post-norm layer.
// Throws what attention() throws, and Overflow where a norm, a sum or a
// feed-forward overflows T; where there are several layers, it names the layer:
// "layer 5: the numbers of residual1, row 0 overflow f32; …".
template <typename T>
Tensor<T> encode(const Encoder<T>& encoder, const Mask<T>& mask,
                 const AttentionInputs<T>& inputs, StackObserver<T>& observers,
                 AttentionFindings& findings);

// The same from the layer at place `first` on, of what enters it.
template <typename T>
Tensor<T> encode_from(std::size_t first, const Encoder<T>& encoder, const Mask<T>& mask,
                      const AttentionInputs<T>& inputs, StackObserver<T>& observers,
                      AttentionFindings& findings);

}  // namespace mha
