#!/usr/bin/python3
"""The PyTorch files beside this script, as PyTorch 1.13 (Debian 12) writes them."""
import collections
import io
import os

import torch
from torch import nn

os.chdir(os.path.dirname(os.path.abspath(__file__)))


def ramp(*shape, dtype=torch.float32):
    count = 1
    for axis in shape:
        count *= axis
    return (torch.arange(count, dtype=torch.float64) / 8).to(dtype).reshape(shape)


shared = ramp(4, 6)
views = {
    "whole": shared,
    "transposed": shared.t(),
    "rows": shared[1:3],
    "columns": shared[:, 2:5],
    "corner": shared[2:, 4:].t(),
    "repeated": shared[0, :2].expand(3, 2),
    "last": shared[3, 5],
    "none": shared[:, 6:],
}

model = nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2))
with torch.no_grad():
    for parameter in model.parameters():
        parameter.copy_(ramp(*parameter.shape))
optimizer = torch.optim.Adam(model.parameters())
model(torch.ones(1, 3)).sum().backward()
optimizer.step()
with torch.no_grad():
    for parameter in model.parameters():
        parameter.copy_(ramp(*parameter.shape))


class Options:
    def __init__(self):
        self.lr = 0.5


training = {
    "epoch": 3,
    "best": 0.25,
    "note": "größer",
    "args": Options(),
    "state_dict": model.state_dict(),
    "optimizer": optimizer.state_dict(),
    "history": [1.0, 0.5],
    "layers": [torch.ones(2), None, (torch.zeros(1), "a")],
}

kinds = collections.OrderedDict(
    parameter=nn.Parameter(ramp(2, 2)),
    half=ramp(5, dtype=torch.float16),
    bfloat16=ramp(5, dtype=torch.bfloat16),
    double=ramp(3, dtype=torch.float64),
    long=torch.tensor([-(2**40), 2**40]),
    int=torch.tensor([-70000, 70000], dtype=torch.int32),
    short=torch.tensor([-300, 300], dtype=torch.int16),
    char=torch.tensor([-3, 3], dtype=torch.int8),
    byte=torch.tensor([0, 255], dtype=torch.uint8),
    bool=torch.tensor([True, False]),
    scalar=torch.tensor(1.5),
    empty=torch.zeros(0, 4),
    complex=torch.tensor([1 + 2j]),
    quantized=torch.quantize_per_tensor(torch.tensor([0.5, 1.0]), 0.5, 0, torch.qint8),
    sparse=torch.eye(2).to_sparse(),
    storage=torch.ones(2).storage(),
)
kinds["parameter"].requires_grad = True

OLD = {"_use_new_zipfile_serialization": False}
for name, value in {"views": views, "training": training, "kinds": kinds}.items():
    torch.save(value, f"{name}.pt")
    torch.save(value, f"{name}_legacy.pt", **OLD)
torch.save(views, "views_protocol4.pt", pickle_protocol=4)
torch.save(views, "views_protocol4_legacy.pt", pickle_protocol=4, **OLD)
torch.save(ramp(2, 3), "tensor.pt")
torch.save(model, "module.pt")
torch.jit.save(torch.jit.script(model), "script.pt")

# To a file object, whose root folder is called "archive".
buffer = io.BytesIO()
torch.save({"W_Q": ramp(3, 4)}, buffer)
with open("stream.pt", "wb") as file:
    file.write(buffer.getvalue())
