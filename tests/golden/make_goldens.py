#!/usr/bin/env python3
"""Writes the .npz files beside it: weights in native names, inputs, masks, and
what PyTorch makes of them. README.md says more.

    /usr/bin/python3 tests/golden/make_goldens.py
"""

import pathlib
import sys

import numpy
import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "models"))
from make_models import article, native  # noqa: E402


def save(name, tensors):
    numpy.savez_compressed(HERE / f"{name}.npz", **tensors)


def f32(shape, deviation=1.0):
    """Random numbers that f32 holds, as double."""
    return (torch.randn(shape) * deviation).double()


def weights_of(module):
    """nn.MultiheadAttention's parameters under native names, in f32, which
    holds them exactly."""
    h = module.num_heads
    if module.in_proj_weight is not None:
        q, k, v = module.in_proj_weight.chunk(3)
    else:
        q, k, v = module.q_proj_weight, module.k_proj_weight, module.v_proj_weight
    tensors = {"n_heads": numpy.int64(h)}
    for name, weight in (("Q", q), ("K", k), ("V", v)):
        # Outputs of head r are the rows [r d_head, (r + 1) d_head).
        W = weight.detach().reshape(h, -1, weight.shape[1]).transpose(1, 2)
        tensors["W_" + name] = W.contiguous().float().numpy()
    W_O = module.out_proj.weight.detach().T
    tensors["W_O"] = W_O.reshape(h, -1, W_O.shape[1]).contiguous().float().numpy()
    if module.in_proj_bias is not None:
        for name, bias in zip("QKV", module.in_proj_bias.detach().chunk(3)):
            tensors["b_" + name] = bias.reshape(h, -1).float().numpy()
        tensors["b_O"] = module.out_proj.bias.detach().float().numpy()
    if module.bias_k is not None:
        for name in ("bias_k", "bias_v"):
            tensors[name] = getattr(module, name).detach().reshape(h, -1).float().numpy()
    if module.add_zero_attn:
        tensors["add_zero_attn"] = numpy.bool_(True)
    return tensors


def multihead(name, *, heads=3, width=12, batch=2, n_queries=5, n_keys=None, kdim=None,
              vdim=None, bias=True, bias_key=False, zero_key=False, masks=None):
    """One case in double. `masks(n_queries, n_keys)` returns the arguments of
    forward() and, under our names, the arrays to store."""
    torch.manual_seed(sum(name.encode()))
    module = torch.nn.MultiheadAttention(
        width, heads, bias=bias, add_bias_kv=bias_key, add_zero_attn=zero_key, kdim=kdim,
        vdim=vdim, batch_first=True).double().eval()
    with torch.no_grad():
        for parameter in module.parameters():  # the biases too, which start as zeros
            parameter.copy_(f32(parameter.shape, 0.4))
    leading = () if batch is None else (batch,)
    x = f32((*leading, n_queries, width))
    tensors = {"x": x}
    key = value = x
    if n_keys is not None:
        key = tensors["key"] = f32((*leading, n_keys, kdim or width))
        value = tensors["value"] = f32((*leading, n_keys, vdim or width))
    arguments, stored = masks(n_queries, n_keys or n_queries) if masks else ({}, {})
    with torch.no_grad():
        y, maps = module(x, key, value, average_attn_weights=False, **arguments)
    save(name, {**weights_of(module),
                **{k: v.float().numpy() for k, v in tensors.items()},
                **{k: v.numpy() for k, v in stored.items()},
                "maps": maps.numpy(), "y": y.numpy()})


def key_padding(n_queries, n_keys):
    mask = torch.zeros(2, n_keys, dtype=torch.bool)
    mask[0, -1] = mask[1, 1:3] = True
    return {"key_padding_mask": mask}, {"drop_mask": mask}


def kept_keys(n_queries, n_keys):
    arguments, stored = key_padding(n_queries, n_keys)
    return arguments, {"keep_mask": ~stored["drop_mask"]}


def boolean(n_queries, n_keys):
    mask = torch.ones(n_queries, n_keys).tril(2) == 0
    mask[1, 0] = True
    return {"attn_mask": mask}, {"drop_mask": mask}


def additive(n_queries, n_keys):
    mask = f32((n_queries, n_keys), 2.0)
    mask[2, 1] = -torch.inf
    return {"attn_mask": mask}, {"add_mask": mask}


def boolean_per_head(n_queries, n_keys):
    mask = torch.rand(2 * 3, n_queries, n_keys) < 0.4
    mask[..., 0] = False  # PyTorch 1.13 gives NaN for a row with no key
    return {"attn_mask": mask}, {"drop_mask": mask}


def additive_per_head(n_queries, n_keys):
    mask = f32((2 * 3, n_queries, n_keys), 2.0)
    return {"attn_mask": mask}, {"add_mask": mask}


def padding_and_additive(n_queries, n_keys):
    arguments, stored = additive(n_queries, n_keys)
    drop_arguments, drop = key_padding(n_queries, n_keys)
    return {**arguments, **drop_arguments}, {**stored, **drop}


def no_key_left(n_queries, n_keys):
    """Of the keys of the input, for query 2 of item 0 and query 3 of both."""
    arguments, stored = key_padding(n_queries, n_keys)
    mask = torch.zeros(n_queries, n_keys, dtype=torch.bool)
    mask[2, :-1] = mask[3] = True
    return {**arguments, "attn_mask": mask}, {
        "drop_mask": stored["drop_mask"][:, None, None] | mask}


def main():
    multihead("plain")
    multihead("no_bias", bias=False)
    multihead("one_head", heads=1)
    multihead("unbatched", batch=None)
    multihead("key_padding", masks=key_padding)
    multihead("kept_keys", masks=kept_keys)
    multihead("boolean_mask", masks=boolean)
    multihead("additive_mask", masks=additive)
    multihead("boolean_mask_per_head", masks=boolean_per_head)
    multihead("additive_mask_per_head", masks=additive_per_head)
    multihead("padding_and_additive", masks=padding_and_additive)
    multihead("cross", n_keys=7, kdim=9, vdim=10)
    multihead("cross_masked", n_keys=7, kdim=9, vdim=10, masks=padding_and_additive)

    multihead("bias_key", n_keys=7, bias_key=True, masks=padding_and_additive)
    multihead("zero_key", zero_key=True, masks=no_key_left)
    multihead("bias_and_zero_key", bias_key=True, zero_key=True, masks=no_key_left)

    module, x = article()
    with torch.no_grad():
        y, maps = module(x)
    save("article", {"n_heads": numpy.int64(module.n_heads), **native(module), "x": x.numpy(),
                     "maps": maps.numpy(), "y": y.numpy()})


if __name__ == "__main__":
    main()
