"""What is the same in every family: softmax, norms, activations, in double."""

import math

import numpy
import torch

_erf = numpy.vectorize(math.erf)


def softmax(scores):
    e = numpy.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x, weight, bias, eps):
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred**2).mean(-1, keepdims=True)
    normalised = centred / numpy.sqrt(variance + eps) * weight
    return normalised if bias is None else normalised + bias


def rms_norm(x, weight, eps):
    return x / numpy.sqrt((x**2).mean(-1, keepdims=True) + eps) * weight


def relu(x):
    return numpy.maximum(x, 0)


def gelu(x):
    return x / 2 * (1 + _erf(x / math.sqrt(2)))


def gelu_new(x):
    return x / 2 * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def silu(x):
    return x / (1 + numpy.exp(-x))


def quick_gelu(x):
    return x / (1 + numpy.exp(-1.702 * x))


def causal(n):
    """-inf above the diagonal."""
    return numpy.triu(numpy.full((n, n), -numpy.inf), 1)


def check():
    """The functions above against PyTorch's own."""
    x = torch.linspace(-6, 6, 96).double().reshape(3, 32)
    g, b = torch.linspace(0.5, 2, 32).double(), torch.linspace(-1, 1, 32).double()
    f = torch.nn.functional
    pairs = [(softmax(x.numpy()), f.softmax(x, -1)),
             (layer_norm(x.numpy(), g.numpy(), b.numpy(), 0.1),
              f.layer_norm(x, (32,), g, b, 0.1)),
             (relu(x.numpy()), f.relu(x)), (silu(x.numpy()), f.silu(x)),
             (gelu(x.numpy()), f.gelu(x)),
             (gelu_new(x.numpy()), f.gelu(x, approximate="tanh")),
             (quick_gelu(x.numpy()), x * torch.sigmoid(1.702 * x)),
             (causal(4), torch.full((4, 4), -torch.inf).triu(1))]
    for ours, theirs in pairs:
        assert numpy.allclose(ours, theirs.numpy(), rtol=1e-13, atol=1e-14)
