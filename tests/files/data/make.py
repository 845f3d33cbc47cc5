#!/usr/bin/python3
"""The real files beside this script, as numpy 1.24 and PyTorch 1.13 (Debian 12) write them.

Each holds [[0, 1/8, …, 11/8]] as a 3 x 4 matrix, in one way or another.
"""
import os

import numpy as np
import torch

os.chdir(os.path.dirname(os.path.abspath(__file__)))
matrix = np.arange(12, dtype="<f4").reshape(3, 4) / 8

np.save("plain.npy", matrix)
np.save("fortran_big_endian.npy", np.asfortranarray(matrix.astype(">f4")))
np.save("half.npy", matrix.astype("f2"))
# ml_dtypes' bfloat16 leaves numpy only its size: the header says V2.
np.save("bfloat16.npy", (matrix.view("u4") >> 16).astype("<u2").view("V2"))
for major in 2, 3:
    with open(f"version{major}.npy", "wb") as file:
        np.lib.format.write_array(file, matrix, version=(major, 0))
np.save("objects.npy", np.array([1, "a"], dtype=object), allow_pickle=True)
np.save("fields.npy", np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]))

arrays = {
    "W_Q": matrix,
    "layers.0/W_K": np.asfortranarray(matrix),
    "n_heads": 2,
    "eps": np.float32(1e-5),
    "causal": True,
    "norm": "pre",
    "tokens": np.array(["the", "Katze", "größer"]),
}
np.savez("stored.npz", **arrays)
np.savez_compressed("deflated.npz", **arrays)

torch.save({"W_Q": torch.tensor(matrix)}, "checkpoint.pt")
torch.save({"W_Q": torch.tensor(matrix)}, "old_checkpoint.pt", _use_new_zipfile_serialization=False)
