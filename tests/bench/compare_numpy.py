#!/usr/bin/env python3
"""mha-bench beside numpy on the same work, in alternated rounds.

    python3 tests/bench/compare_numpy.py build/release/apps/mha-bench [--threads 2] [--maps] ...

numpy does what one writes with it: a product a projection, matmul over the heads,
a softmax in place. Its y and maps have to be mha-run's on the same weights before
anything is timed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("bench", help="path of mha-bench, mha-run beside it")
parser.add_argument("--d-model", type=int, default=512)
parser.add_argument("--n-heads", type=int, default=8)
parser.add_argument("--n", default="16,128,512,2048")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--maps", action="store_true", help="keep the maps")
options = parser.parse_args()

# Read by numpy's BLAS when it is loaded.
our_environment = dict(os.environ)
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(options.threads)
import numpy as np  # noqa: E402


def attention(x, w, n_heads):
    """y [n, d_model] and the maps [n_heads, n, n]."""
    n, d_model = x.shape

    def heads(name):
        rows = x @ w["W_" + name] + w["b_" + name]
        return rows.reshape(n, n_heads, -1).transpose(1, 0, 2)

    q, k, v = heads("Q"), heads("K"), heads("V")
    maps = q @ k.transpose(0, 2, 1)
    maps *= np.float32(1 / np.sqrt(d_model // n_heads))
    maps -= maps.max(axis=-1, keepdims=True)
    np.exp(maps, out=maps)
    maps /= maps.sum(axis=-1, keepdims=True)
    concat = (maps @ v).transpose(1, 0, 2).reshape(n, d_model)
    return concat @ w["W_O"] + w["b_O"], maps


def draw(d_model):
    random = np.random.default_rng(0)
    bound = 1 / np.sqrt(d_model)
    shapes = {"W_": (d_model, d_model), "b_": (d_model,)}
    return {
        kind + name: random.uniform(-bound, bound, shape).astype(np.float32)
        for name in "QKVO"
        for kind, shape in shapes.items()
    }


def run(program, *arguments):
    command = [os.path.join(os.path.dirname(options.bench), program), *map(str, arguments)]
    return subprocess.run(
        command, env=our_environment, check=True, capture_output=True, text=True
    ).stdout


def require_same(w, x):
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        np.savez(path("w.npz"), n_heads=options.n_heads, **w)
        np.save(path("x.npy"), x)
        run("mha-run", "-w", path("w.npz"), "-i", path("x.npy"), "-o", path("y.npy"),
            "--maps", path("maps.npy"))
        y, maps = attention(x, w, options.n_heads)
        ours = np.load(path("y.npy"))
        if not np.abs(ours - y).max() <= 1e-5 * np.abs(y).max():
            sys.exit("y differs by %g" % np.abs(ours - y).max())
        if not np.abs(np.load(path("maps.npy")) - maps).max() <= 2e-6:
            sys.exit("maps differ")


def fastest(w, x):
    """ms: the least of single runs for about 0.2 s, three at least."""
    least = float("inf")
    end = time.perf_counter() + 0.2
    count = 0
    while count < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        attention(x, w, options.n_heads)
        least = min(least, time.perf_counter() - start)
        count += 1
    return 1e3 * least


def ours(n):
    arguments = ["--d-model", options.d_model, "--n-heads", options.n_heads, "--n", n,
                 "--threads", options.threads, "--rounds", 4, "--format", "json"]
    return json.loads(run("mha-bench", *arguments, *(["--maps"] if options.maps else [])))[0]


def main():
    print("d_model %d, %d heads, f32, %d threads; minimum of %d alternated rounds, ms; numpy %s; load %.1f"
          % (options.d_model, options.n_heads, options.threads, options.rounds, np.__version__,
             os.getloadavg()[0]))
    print("%6s  %10s  %10s  %6s  %11s" % ("n", "mha", "numpy", "ratio", "of rounds"))
    w = draw(options.d_model)
    for n in map(int, options.n.split(",")):
        x = np.random.default_rng(1).standard_normal((n, options.d_model), dtype=np.float32)
        require_same(w, x)
        rounds = [(ours(n)["ms_min"], fastest(w, x)) for _ in range(options.rounds)]
        mine, theirs = (min(column) for column in zip(*rounds))
        ratios = [b / a for a, b in rounds]
        print("%6d  %10.4f  %10.4f  %6.2f  %11s"
              % (n, mine, theirs, theirs / mine, "%.2f-%.2f" % (min(ratios), max(ratios))))


main()
