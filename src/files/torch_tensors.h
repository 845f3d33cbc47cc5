#pragma once

#include <map>
#include <string>
#include <vector>

#include "files/archive.h"
#include "files/pickle.h"
#include "files/torch_rebuild.h"

namespace mha {

struct TorchTensors {
  std::vector<TorchTensor> tensors;  // in the order of the pickle
  std::vector<Skipped> skipped;
};

// The tensors of what torch.save pickled: a tensor, or dicts and lists of them,
// named by their keys ("state_dict.a.b", "layers[0]"). Parameters are their
// tensors. Of objects only those of TorchScript are looked into. Whatever else
// stands beside tensors is skipped. Throws Error that begins with `path`: for a
// tensor whose arguments make no sense, where there is none at all, for names
// given twice, and for dicts that share or nest themselves without end.
TorchTensors tensors_of(const Pickle& pickle, const std::string& path);

// Every storage that the pickle speaks of, as it does first.
std::map<std::string, TorchStorage> storages_of(const Pickle& pickle, const std::string& path);

}  // namespace mha
