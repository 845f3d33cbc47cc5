#pragma once

#include "checkpoint/embeddings.h"
#include "checkpoint/load.h"
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

// The same of an opened model, whose tensors are read one by one as they are
// fetched, in f64 where the file holds wider numbers than f32. Fetching throws
// what read_model() throws. With its embeddings, their vocabulary and how text
// is split, unless `embeddings` is null; they must outlive the archive.
Archive native_archive(const OpenedModel& model, const ModelOptions& options,
                       const Embeddings* embeddings = nullptr);

}  // namespace mha
