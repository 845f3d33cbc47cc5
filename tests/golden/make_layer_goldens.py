#!/usr/bin/env python3
"""Writes the .npz files in layers/ beside it: encoder layers and stacks under
PyTorch's own names, inputs, masks, and every step that PyTorch lets us see.
README.md says more.

    /usr/bin/python3 tests/golden/make_layer_goldens.py
"""

import pathlib

import numpy
import torch

HERE = pathlib.Path(__file__).resolve().parent / "layers"
D_MODEL, HEADS, D_FF, BATCH, N = 8, 2, 12, 2, 5


class RMSNorm(torch.nn.Module):
    """torch 1.13 has none."""

    def __init__(self, eps):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(D_MODEL))
        self.eps = eps

    def forward(self, x):
        return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class GatedLayer(torch.nn.TransformerEncoderLayer):
    """The feed-forward (act(x gate) * (x linear1)) linear2."""

    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        self.gate = torch.nn.Linear(D_MODEL, D_FF)

    def _ff_block(self, x):
        return self.linear2(self.activation(self.gate(x)) * self.linear1(x))


ACTIVATIONS = {
    "relu": torch.nn.functional.relu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "silu": torch.nn.functional.silu,
}


def watch(layer, prefix, steps):
    """Keeps what passes the layer's modules."""

    def keep(name):
        def hook(_module, _inputs, output):
            steps[prefix + name] = output.detach()
        return hook

    layer.norm1.register_forward_hook(keep("norm1"))
    layer.norm2.register_forward_hook(keep("norm2"))
    layer.linear2.register_forward_hook(keep("ffn_output"))
    layer.linear2.register_forward_pre_hook(
        lambda _module, inputs: steps.update({prefix + "ffn_hidden": inputs[0].detach()}))
    attend = layer.self_attn.forward

    def per_head(*arguments, **settings):
        settings.update(need_weights=True, average_attn_weights=False)
        output, maps = attend(*arguments, **settings)
        steps[prefix + "maps"] = maps.detach()
        steps[prefix + "attention_output"] = output.detach()
        return output, maps

    layer.self_attn.forward = per_head


def case(name, *, norm="post", norm_type="layer", activation="relu", gated=False, eps=1e-5,
         layers=1, final_norm=False, biases=True, masks=None):
    """One case in double. `masks` are the arguments of forward()."""
    torch.manual_seed(sum(name.encode()))
    kind = GatedLayer if gated else torch.nn.TransformerEncoderLayer

    def norm_module():
        if norm_type == "rms":
            return RMSNorm(eps)
        return torch.nn.LayerNorm(D_MODEL, eps=eps)

    layer = kind(D_MODEL, HEADS, D_FF, dropout=0.0, activation=ACTIVATIONS[activation],
                 layer_norm_eps=eps, batch_first=True, norm_first=norm == "pre")
    layer.norm1, layer.norm2 = norm_module(), norm_module()
    module = torch.nn.TransformerEncoder(layer, layers,
                                         norm=norm_module() if final_norm else None)
    # Training without dropout: evaluation takes a fast path of its own, which
    # cuts padded rows off.
    module = module.double().train()
    with torch.no_grad():  # the copies of a layer start alike, biases as zeros
        for key, parameter in module.named_parameters():
            centre, deviation = (1, 0.3) if "norm" in key and "weight" in key else (0, 0.4)
            if not biases and "bias" in key:
                deviation = 0
            parameter.copy_(torch.randn(parameter.shape) * deviation + centre)
    x = torch.randn(BATCH, N, D_MODEL).double()
    steps = {}
    for k, one in enumerate(module.layers):
        watch(one, f"layers.{k}.", steps)
    with torch.no_grad():
        steps["y"] = module(x, **{"src_key_padding_mask" if k == "drop_mask" else "mask": v
                                  for k, v in (masks or {}).items()})
    state = {k: v for k, v in module.state_dict().items() if biases or "bias" not in k}
    settings = {"norm": norm, "norm_type": norm_type, "activation": activation, "eps": eps,
                "n_heads": HEADS, "causal": "start" if "causal" in (masks or {}) else "off"}
    HERE.mkdir(exist_ok=True)
    numpy.savez_compressed(
        HERE / f"{name}.npz", x=x.float().numpy(),
        **{k: v.float().numpy() for k, v in state.items()},
        **{"drop_mask": v.numpy() for k, v in (masks or {}).items() if k == "drop_mask"},
        **{f"expected.{k}": v.numpy() for k, v in steps.items()},
        **{f"setting.{k}": numpy.array(v) for k, v in settings.items()})


def padding():
    mask = torch.zeros(BATCH, N, dtype=torch.bool)
    mask[0, -1] = mask[1, 1:3] = True
    return {"drop_mask": mask}


def causal():
    return {"causal": torch.triu(torch.full((N, N), -torch.inf).double(), diagonal=1)}


def main():
    case("post_relu")
    case("post_gelu", activation="gelu")
    case("pre_gelu", norm="pre", activation="gelu")
    case("post_gelu_padding", activation="gelu", masks=padding())
    case("pre_gelu_padding", norm="pre", activation="gelu", masks=padding())
    case("post_relu_causal", masks=causal())
    case("pre_gelu_causal_padding", norm="pre", activation="gelu",
         masks={**causal(), **padding()})
    case("no_bias", activation="gelu", biases=False)
    case("small_eps", activation="gelu", eps=1e-12)
    case("stack_post", activation="gelu", layers=2)
    case("stack_post_norm", layers=2, final_norm=True)
    case("stack_pre", norm="pre", activation="gelu", layers=2, masks=causal())
    case("stack_pre_norm", norm="pre", activation="gelu", layers=2, final_norm=True)
    case("rms_silu_gated", norm="pre", norm_type="rms", activation="silu", gated=True,
         eps=1e-6, layers=2, final_norm=True, biases=False, masks=causal())
    case("rms_gelu_tanh_gated", norm="pre", norm_type="rms", activation="gelu_tanh",
         gated=True, eps=1e-6)
    case("gelu_gated", norm="pre", activation="gelu", gated=True)
    case("quick_gelu", norm="pre", activation="quick_gelu")
    case("gelu_tanh", norm="pre", activation="gelu_tanh")
    case("silu_post", activation="silu", norm_type="rms")


if __name__ == "__main__":
    main()
