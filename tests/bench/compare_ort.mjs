// mha-bench beside ONNX Runtime on the same work, in alternated rounds.
//
//   cd /tmp/ort && ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node
//   node REPOSITORY/tests/bench/compare_ort.mjs REPOSITORY/build/release/apps/mha-bench
//
// Three graphs, written here as the bytes of their protobuf:
//   attention  projections by MatMul, com.microsoft MultiHeadAttention, W_O
//   maps       the same by MatMul and Softmax, with every head's map as an output
//   layer      attention, residual sums, LayerNormalization, MatMul, Gelu
// With --reuse ORT writes into the same outputs again, as mha-bench does; without it, it
// makes them anew each time, as session.run() does by itself.
// mha-run has to give the same numbers on the same weights before anything is timed.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { loadavg, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';

const ort = createRequire(join(process.cwd(), 'here'))('onnxruntime-node');

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    what: { type: 'string', default: 'attention,maps,layer' },
    n: { type: 'string', default: '16,128,512,2048' },
    threads: { type: 'string', default: '1,2' },
    rounds: { type: 'string', default: '5' },
    'd-model': { type: 'string', default: '512' },
    'n-heads': { type: 'string', default: '8' },
    'd-ff': { type: 'string', default: '2048' },
    reuse: { type: 'boolean', default: false },
  },
});
if (positionals.length !== 1) {
  console.error('usage: compare_ort.mjs PATH/mha-bench [--what attention,maps,layer] ' +
                '[--n 16,128] [--threads 1,2] [--rounds 5] [--d-model N] [--n-heads N] [--d-ff N] [--reuse]');
  process.exit(2);
}
const bench = positionals[0];
const numbers = (text) => text.split(',').map(Number);
const dModel = Number(options['d-model']);
const nHeads = Number(options['n-heads']);
const dHead = dModel / nHeads;
const dFf = Number(options['d-ff']);
const kEps = 1e-5;

// Protobuf: varints, and fields of a number that are varints (type 0), bytes (2) or
// floats (5).
const varint = (value) => {
  const bytes = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    const low = Number(rest & 127n);
    if (rest < 128n) return Buffer.from([...bytes, low]);
    bytes.push(low | 128);
  }
};
const int = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, data) => {
  const payload = typeof data === 'string' ? Buffer.from(data) : data;
  return Buffer.concat([varint((field << 3) | 2), varint(payload.length), payload]);
};
const float = (field, value) => {
  const payload = Buffer.alloc(4);
  payload.writeFloatLE(value);
  return Buffer.concat([varint((field << 3) | 5), payload]);
};
const message = (field, ...parts) => bytes(field, Buffer.concat(parts));

// onnx.proto: NodeProto, AttributeProto (type 1 float, 2 int, 7 ints), TensorProto
// (data type 1 f32, 7 int64), ValueInfoProto.
function node(type, inputs, outputs, attributes = {}, domain = '') {
  const parts = [...inputs.map((name) => bytes(1, name)), ...outputs.map((name) => bytes(2, name)),
                 bytes(3, outputs[0]), bytes(4, type), bytes(7, domain)];
  for (const [name, value] of Object.entries(attributes)) {
    const [content, kind] = Array.isArray(value) ? [value.map((v) => int(8, v)), 7]
      : Number.isInteger(value) ? [[int(3, value)], 2] : [[float(2, value)], 1];
    parts.push(message(5, bytes(1, name), ...content, int(20, kind)));
  }
  return message(1, ...parts);
}
const tensor = (name, dims, data) =>
  message(5, ...dims.map((dim) => int(1, dim)), int(2, data instanceof Float32Array ? 1 : 7),
          bytes(8, name), bytes(9, Buffer.from(data.buffer, data.byteOffset, data.byteLength)));
const value = (field, name, dims) =>
  message(field, bytes(1, name),
          message(2, message(1, int(1, 1), message(2, ...dims.map((dim) => message(1, int(1, dim)))))));
const model = (parts) =>
  Buffer.concat([int(1, 8), bytes(2, 'compare_ort'), message(7, bytes(2, 'layer'), ...parts),
                 message(8, bytes(1, ''), int(2, 17)),
                 message(8, bytes(1, 'com.microsoft'), int(2, 1))]);

// Numbers as a fresh nn.Linear has them, the same on every run (mulberry32).
let state = 1;
function uniform() {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2147483648 - 1;
}
const drawn = (count, bound) => Float32Array.from({ length: count }, () => uniform() * bound);

const bound = 1 / Math.sqrt(dModel);
const attentionWeights = {};
for (const name of ['Q', 'K', 'V', 'O']) {
  attentionWeights[`W_${name}`] = [[dModel, dModel], drawn(dModel * dModel, bound)];
  attentionWeights[`b_${name}`] = [[dModel], drawn(dModel, bound)];
}
const layerWeights = {
  'norm1.weight': [[dModel], new Float32Array(dModel).fill(1)],
  'norm1.bias': [[dModel], drawn(dModel, bound)],
  'norm2.weight': [[dModel], new Float32Array(dModel).fill(1)],
  'norm2.bias': [[dModel], drawn(dModel, bound)],
  W_1: [[dModel, dFf], drawn(dModel * dFf, bound)],
  b_1: [[dFf], drawn(dFf, bound)],
  W_2: [[dFf, dModel], drawn(dFf * dModel, 1 / Math.sqrt(dFf))],
  b_2: [[dModel], drawn(dModel, bound)],
};
const weightsOf = (what) => ({ ...attentionWeights, ...(what === 'layer' ? layerWeights : {}) });

function graph(what, n) {
  const parts = Object.entries(weightsOf(what)).map(([name, [dims, data]]) => tensor(name, dims, data));
  const project = (from, name, to) => parts.push(
    node('MatMul', [from, `W_${name}`], [`${to}_product`]),
    node('Add', [`${to}_product`, `b_${name}`], [to]));
  const shape = [1, n, dModel];
  parts.push(value(11, 'x', shape));
  if (what === 'maps') {
    // [1, n, d_model] -> [1, n_heads, n, d_head], keys turned
    parts.push(tensor('heads', [4], BigInt64Array.from([1, n, nHeads, dHead].map(BigInt))));
    parts.push(tensor('side_by_side', [3], BigInt64Array.from(shape.map(BigInt))));
    parts.push(tensor('scale', [], Float32Array.of(1 / Math.sqrt(dHead))));
    for (const name of ['Q', 'K', 'V']) {
      project('x', name, `rows_${name}`);
      parts.push(
        node('Reshape', [`rows_${name}`, 'heads'], [`split_${name}`]),
        node('Transpose', [`split_${name}`], [name], { perm: name === 'K' ? [0, 2, 3, 1] : [0, 2, 1, 3] }));
    }
    parts.push(
      node('Mul', ['Q', 'scale'], ['scaled_Q']),
      node('MatMul', ['scaled_Q', 'K'], ['scores']),
      node('Softmax', ['scores'], ['maps'], { axis: 3 }),
      node('MatMul', ['maps', 'V'], ['head_outputs']),
      node('Transpose', ['head_outputs'], ['turned'], { perm: [0, 2, 1, 3] }),
      node('Reshape', ['turned', 'side_by_side'], ['concat']),
      value(12, 'maps', [1, nHeads, n, n]));
  } else {
    const biases = ['Q', 'K', 'V'].flatMap((name) => [...attentionWeights[`b_${name}`][1]]);
    parts.push(tensor('b_QKV', [3 * dModel], Float32Array.from(biases)));
    for (const name of ['Q', 'K', 'V']) parts.push(node('MatMul', ['x', `W_${name}`], [name]));
    parts.push(node('MultiHeadAttention', ['Q', 'K', 'V', 'b_QKV'], ['concat'],
                    { num_heads: nHeads }, 'com.microsoft'));
  }
  if (what !== 'layer') {
    project('concat', 'O', 'y');
  } else {
    const norm = (from, name, to) => parts.push(
      node('LayerNormalization', [from, `${name}.weight`, `${name}.bias`], [to],
           { axis: 2, epsilon: kEps }));
    project('concat', 'O', 'attended');
    parts.push(node('Add', ['x', 'attended'], ['residual1']));
    norm('residual1', 'norm1', 'x1');
    project('x1', '1', 'hidden');
    parts.push(node('Gelu', ['hidden'], ['activated'], {}, 'com.microsoft'));
    project('activated', '2', 'fed');
    parts.push(node('Add', ['x1', 'fed'], ['residual2']));
    norm('residual2', 'norm2', 'y');
  }
  parts.push(value(12, 'y', shape));
  return model(parts);
}

// The environment of our programs: tunables of malloc are ORT's.
const environment = { ...process.env };
delete environment.GLIBC_TUNABLES;

function run(program, args) {
  const done = spawnSync(program, args, { env: environment, encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`${program} ${args.join(' ')}: ${done.stderr || done.error}`);
  return done.stdout;
}

// Safetensors: the length of a JSON header, the header, the bytes of the tensors.
function writeTensors(path, tensors, settings) {
  const header = { __metadata__: settings };
  let offset = 0;
  for (const [name, [shape, data]] of Object.entries(tensors)) {
    header[name] = { dtype: 'F32', shape, data_offsets: [offset, offset += data.byteLength] };
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  writeFileSync(path, Buffer.concat([length, text, ...Object.values(tensors).map(
    ([, data]) => Buffer.from(data.buffer))]));
}

// The f32 numbers of an .npy file, version 1.
function readNpy(path) {
  const file = readFileSync(path);
  const begin = 10 + file.readUInt16LE(8);
  return new Float32Array(file.buffer.slice(file.byteOffset + begin, file.byteOffset + file.length));
}

function requireSame(folder, what, x, n, results) {
  const path = (name) => join(folder, name);
  writeTensors(path('w.bin'), weightsOf(what), {
    n_heads: String(nHeads),
    ...(what === 'layer' ? { norm: 'post', activation: 'gelu', eps: String(kEps) } : {}) });
  writeTensors(path('x.bin'), { x: [[n, dModel], x] }, {});
  run(join(dirname(bench), 'mha-run'),
      ['-w', path('w.bin'), '-i', `${path('x.bin')}:x`, '-o', path('y.npy'),
       ...(what === 'maps' ? ['--maps', path('maps.npy')] : [])]);
  for (const [name, found] of Object.entries(results)) {
    const ours = readNpy(path(`${name}.npy`));
    if (ours.length !== found.data.length) throw new Error(`${what}, n ${n}: ${name} has another size`);
    let largest = 0;
    let difference = 0;
    for (let i = 0; i < ours.length; ++i) {
      largest = Math.max(largest, Math.abs(ours[i]));
      difference = Math.max(difference, Math.abs(ours[i] - found.data[i]));
    }
    if (!(difference <= 1e-4 * largest)) {
      throw new Error(`${what}, n ${n}: ${name} differs by ${difference} of ${largest}`);
    }
  }
}

// The least of single runs for about 0.2 s, three at least, after one to warm up.
async function fastest(session, feeds, into) {
  await (into ? session.run(feeds, into) : session.run(feeds));
  let least = Infinity;
  const end = performance.now() + 200;
  for (let i = 0; i < 3 || performance.now() < end; ++i) {
    const start = performance.now();
    await (into ? session.run(feeds, into) : session.run(feeds));
    least = Math.min(least, performance.now() - start);
  }
  return least;
}

function ours(what, n, threads) {
  const args = ['--d-model', dModel, '--n-heads', nHeads, '--n', n, '--threads', threads,
                '--rounds', 4, '--format', 'json',
                ...(what === 'maps' ? ['--maps'] : []),
                ...(what === 'layer' ? ['--part', 'layer', '--d-ff', dFf] : [])];
  return JSON.parse(run(bench, args.map(String)))[0];
}

async function cell(folder, what, n, threads) {
  const session = await ort.InferenceSession.create(graph(what, n), {
    intraOpNumThreads: threads, interOpNumThreads: 1, graphOptimizationLevel: 'all',
    logSeverityLevel: 3 });
  const x = drawn(n * dModel, 1.7);
  const feeds = { x: new ort.Tensor('float32', x, [1, n, dModel]) };
  const results = await session.run(feeds);
  requireSame(folder, what, x, n, results);
  const rounds = [];
  for (let round = 0; round < Number(options.rounds); ++round) {
    rounds.push({ ours: ours(what, n, threads), ort: await fastest(session, feeds, options.reuse ? results : undefined) });
  }
  await session.release();
  const least = (list) => Math.min(...list);
  const most = (list) => Math.max(...list);
  const mine = least(rounds.map((r) => r.ours.ms_min));
  const theirs = least(rounds.map((r) => r.ort));
  const ratios = rounds.map((r) => r.ort / r.ours.ms_min);
  return [what, n, threads, mine.toFixed(4), theirs.toFixed(4), (theirs / mine).toFixed(2),
          `${least(ratios).toFixed(2)}-${most(ratios).toFixed(2)}`,
          `${Math.round(100 * most(rounds.map((r) => r.ours.gflops)) /
                        most(rounds.map((r) => r.ours.peak_gflops)))} %`];
}

const folder = mkdtempSync(join(tmpdir(), 'compare-ort-'));
try {
  console.log(`d_model ${dModel}, ${nHeads} heads, f32; minimum of ${options.rounds} alternated rounds, ms; ` +
              `ONNX Runtime ${ort.env.versions.node}; load ${loadavg()[0].toFixed(1)}`);
  console.log(`ORT's GLIBC_TUNABLES: ${process.env.GLIBC_TUNABLES ?? 'unset'}; its outputs: ` +
              `${options.reuse ? 'the same each time' : 'new each time'}\n`);
  const row = (cells) => console.log(cells.map(
    (text, i) => String(text).padStart([9, 6, 7, 10, 10, 6, 11, 7][i])).join('  '));
  row(['what', 'n', 'threads', 'mha', 'ORT', 'ratio', 'of rounds', 'of peak']);
  for (const what of options.what.split(',')) {
    for (const n of numbers(options.n)) {
      for (const threads of numbers(options.threads)) row(await cell(folder, what, n, threads));
    }
  }
  console.log(`\nload ${loadavg()[0].toFixed(1)}`);
} catch (error) {
  console.error(`compare_ort: ${error.message}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
