#pragma once

#include "files/archive.h"
#include "layer/weights.h"

namespace mha {

// An encoder as an archive under native names and shapes (W_Q [n_heads,
// d_model, d_head] …; layers.K.W_Q … where there are several layers or a last
// norm, counted from 0 again), with all settings that it computes by, for
// write_archive(). A setting that layers do not share is said for each.
// Its tensors are views: the encoder must outlive it.
// REQUIRES latent attention that is not absorbed.
template <typename T>
Archive native_archive(const Encoder<T>& encoder);

}  // namespace mha
