#pragma once

#include <string>
#include <vector>

#include "files/archive.h"
#include "files/zip.h"
#include "tensor/tensor.h"

namespace mha {

// numpy's .npz: a zip archive of .npy members, stored or deflated, inflated
// when they are fetched. Names lose their ".npy"; arrays of no axes become
// settings, strings with one axis lists. Throws Error that names the member
// that is no .npy array.
Archive open_npz(const std::vector<ZipEntry>& entries, const std::string& path);

// Writes a tensor as the member `name`; finish() is the caller's.
template <typename T>
void add_npy(ZipWriter& zip, const std::string& name, const Tensor<T>& tensor);

// Writes texts as the member `name`: one without axes, or a list of one axis.
// REQUIRES UTF-8 without NUL. Throws Error where open_npz() would refuse them
// for their length.
void add_npy_text(ZipWriter& zip, const std::string& name, const std::string& text);
void add_npy_texts(ZipWriter& zip, const std::string& name,
                   const std::vector<std::string>& texts);

// A folder: each NAME.npy in it a tensor called NAME, in the order of names;
// other files are left alone. Throws Error where there is none.
Archive open_npy_folder(const std::string& path);

}  // namespace mha
