"""Small random checkpoints, and the files they travel in."""

import json
import pathlib

import numpy
import torch

HERE = pathlib.Path(__file__).resolve().parent
TORCH_TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
NAMES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
         torch.int64: "I64", torch.bool: "BOOL"}


class Draw:
    """Random tensors, in double, that `dtype` holds exactly."""

    def __init__(self, seed, dtype="F32"):
        self.random = numpy.random.RandomState(sum(seed.encode()))
        # F32 too draws on the coarser grid: nothing then hangs on its last bits.
        self.grid = TORCH_TYPES["F16" if dtype == "F32" else dtype]

    def normal(self, shape, deviation, mean=0.0):
        values = torch.from_numpy(self.random.normal(mean, deviation, shape))
        return values.to(self.grid).double().numpy()

    def weight(self, *shape):
        return self.normal(shape, 0.25)

    def bias(self, *shape):
        return self.normal(shape, 0.3)

    def norm(self, width):
        return self.normal((width,), 0.3, 1.0)

    def x(self, *shape):
        return self.normal(shape, 1.0)

    def linear(self, tensors, name, out, into, bias=True):
        """nn.Linear: weight [out, in]."""
        tensors[name + ".weight"] = self.weight(out, into)
        if bias:
            tensors[name + ".bias"] = self.bias(out)

    def layer_norm(self, tensors, name, width):
        tensors[name + ".weight"] = self.norm(width)
        tensors[name + ".bias"] = self.bias(width)


def torch_tensors(tensors, dtype):
    result = {}
    for name, values in tensors.items():
        tensor = torch.from_numpy(numpy.ascontiguousarray(values))
        if tensor.dtype == torch.float64:
            kept = tensor.to(TORCH_TYPES[dtype])
            assert torch.equal(kept.double(), tensor), name
            tensor = kept
        result[name] = tensor
    return result


def path(row, file):
    folder = HERE / row
    folder.mkdir(exist_ok=True)
    return folder / file


def safetensors(row, tensors, dtype="F32", file="model.safetensors", metadata=None):
    """An 8-byte length, a JSON header, the elements: huggingface/safetensors, README."""
    header = {"__metadata__": metadata or {"format": "pt"}}
    elements = b""
    for name, tensor in torch_tensors(tensors, dtype).items():
        kept = tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor
        raw = kept.numpy().tobytes()
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [len(elements), len(elements) + len(raw)]}
        elements += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path(row, file).write_bytes(len(text).to_bytes(8, "little") + text + elements)


def sharded(row, tensors, dtype="F32", shards=2):
    """Hugging Face's index and its shards, tensors dealt out in turn, so that
    every layer lies in both."""
    files = [f"model-{i + 1:05}-of-{shards:05}.safetensors" for i in range(shards)]
    names = list(tensors)
    for i, file in enumerate(files):
        safetensors(row, {name: tensors[name] for name in names[i::shards]}, dtype, file)
    size = sum(t.numel() * t.element_size() for t in torch_tensors(tensors, dtype).values())
    index = {"metadata": {"total_size": size},
             "weight_map": {name: files[i % shards] for i, name in enumerate(names)}}
    path(row, "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")


def pickled(row, tensors, dtype="F32", file="pytorch_model.bin", legacy=False, wrap=None):
    """torch.save of a state_dict, or of what wrap() puts around it."""
    content = torch_tensors(tensors, dtype)
    torch.save(wrap(content) if wrap else content, path(row, file),
               _use_new_zipfile_serialization=not legacy)


def npz(row, tensors, file):
    numpy.savez(path(row, file), **{name: values.astype(numpy.float32)
                                    for name, values in tensors.items()})


def config(row, file="config.json", **keys):
    path(row, file).write_text(json.dumps(keys, indent=1) + "\n")


def expected(row, x, y, maps, file="expected.npz", **others):
    """x (and other inputs) in f32, which holds them; y and the maps of every
    layer, [layers, …], in f64."""
    inputs = {"x": x, **others}
    assert all(numpy.array_equal(t.astype(numpy.float32), t) for t in inputs.values())
    assert numpy.isfinite(y).all() and numpy.allclose(numpy.sum(maps, -1), 1)
    numpy.savez_compressed(path(row, file), y=y, maps=numpy.stack(maps),
                           **{name: t.astype(numpy.float32) for name, t in inputs.items()})
