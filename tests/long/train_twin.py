"""What tests/long/train.sh needs of Python: real data as IDX files, networks as ONNX, and the same trainings in torch."""
import csv
import gzip
import json
import math
import os
import struct
import sys
import zlib

import numpy as np
import sklearn
import torch
import torch.nn as nn

from torch_export import export

TRAIN, SIDE = 1437, 16
MASK = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15


def digits():
    """scikit-learn's digits, 1,797 pictures of 8 x 8: as 8 bits, in a fixed random order."""
    path = os.path.join(os.path.dirname(sklearn.__file__), 'datasets/data/digits.csv.gz')
    d = np.loadtxt(gzip.open(path), delimiter=',')
    order = np.random.RandomState(0).permutation(len(d))
    return np.round(d[order, :64] * 255 / 16).astype(np.uint8), d[order, 64].astype(np.uint8)


def write_data(folder):
    x, y = digits()
    for name, a, b in (('train', 0, TRAIN), ('t10k', TRAIN, len(x))):
        with open(f'{folder}/{name}-images-idx3-ubyte', 'wb') as f:
            f.write(struct.pack('>IIII', 0x803, b - a, 8, 8) + x[a:b].tobytes())
        with open(f'{folder}/{name}-labels-idx1-ubyte', 'wb') as f:
            f.write(struct.pack('>II', 0x801, b - a) + y[a:b].tobytes())


def write_png(path, rows):
    """A gray picture of 8 bits."""
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    h, w = rows.shape
    raw = b''.join(b'\0' + row.tobytes() for row in rows)
    with open(path, 'wb') as f:
        f.write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', w, h, 8, 0, 0, 0, 0)) +
                chunk(b'IDAT', zlib.compress(raw)) + chunk(b'IEND', b''))


def read_png(path):
    """A picture that write_png() has written."""
    data = open(path, 'rb').read()
    w, h = struct.unpack('>II', data[16:24])
    size, = struct.unpack('>I', data[33:37])
    return np.frombuffer(zlib.decompress(data[41:41 + size]), np.uint8).reshape(h, w + 1)[:, 1:]


def write_folders(folder):
    """The digits as people have them: train and val, a folder for each class, 16 x 16 pixels."""
    x, y = digits()
    for k, (numbers, label) in enumerate(zip(x, y)):
        at = f'{folder}/{"train" if k < TRAIN else "val"}/{label}'
        os.makedirs(at, exist_ok=True)
        write_png(f'{at}/{k}.png', numbers.reshape(8, 8).repeat(2, 0).repeat(2, 1))


class Raw(nn.Module):
    """What reads large numbers, as an instrument gives them: the norm behind the first layer divides its gradient by thousands."""

    def __init__(self):
        super().__init__()
        self.flatten, self.first, self.norm = nn.Flatten(), nn.Linear(64, 64, bias=False), nn.LayerNorm(64)
        self.relu, self.last = nn.ReLU(), nn.Linear(64, 10)

    def forward(self, x):
        return self.last(self.relu(self.norm(self.first(self.flatten(x) * 8192.0))))


def network(name):
    torch.manual_seed(0)
    if name == 'raw':
        return Raw()
    if name == 'mlp':
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    if name == 'plain':
        return nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * SIDE * SIDE, 10))
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                         nn.Conv2d(16, 32, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))


def write_network(name, path):
    net = network(name).train()
    side = SIDE if name == 'plain' else 8
    export(net, torch.zeros(2, 1, side, side), path, 13, input_names=['x'], output_names=['y'],
           dynamic_axes={'x': {0: 'n'}, 'y': {0: 'n'}})


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def order_of(epoch, n, seed=1):
    """The order of pictures of an epoch (models/data/batches.c)."""
    state, order = mix(seed + epoch * STEP & MASK), list(range(n))
    for k in range(n, 1, -1):
        state = state + STEP & MASK
        j = (mix(state) >> 32) * k >> 32
        order[k - 1], order[j] = order[j], order[k - 1]
    return order


def train(name, epochs, rate, batch=32):
    """Losses of all steps, and the accuracy at the end, of the same training in f32."""
    x, y = digits()
    x = torch.tensor(x.reshape(-1, 1, 8, 8) / 255.0, dtype=torch.float32) * 2 - 1
    y = torch.tensor(y.astype(np.int64))
    net, losses = network(name).train(), []
    sgd = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    steps = TRAIN // batch * epochs
    for epoch in range(epochs):
        order = order_of(epoch, TRAIN)
        for k in range(TRAIN // batch):
            pick = order[k * batch:(k + 1) * batch]
            sgd.param_groups[0]['lr'] = rate * 0.5 * (1 + math.cos(math.pi * len(losses) / steps))
            sgd.zero_grad()
            loss = nn.functional.cross_entropy(net(x[pick]), y[pick])
            loss.backward()
            sgd.step()
            losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        right = (net(x[TRAIN:]).argmax(1) == y[TRAIN:]).float().mean().item()
    return losses, right


def compare_scale(paths):
    """Batches of 256 in f16 with a loss scale of 1,024 and of 1 beside f32."""
    want, right = train('raw', 20, 0.1, 256)
    for k, path in enumerate(paths):
        got, tested = losses_of(path), tested_of(path)
        late = [sum(x[-20:]) / 20 for x in (got, want)]
        print(f'large numbers, {os.path.basename(path)}: the last 20 losses {late[0]:.4f}, torch {late[1]:.4f}; accuracy {100 * tested:.2f} %, '
              f'torch {100 * right:.2f} %')
        if len(got) != len(want) or (late[0] > 1.1 * late[1] + 0.002 if k == 0 else late[0] < 1.25 * late[1]):
            print('FAILED')
            sys.exit(1)


def compare(name, epochs, rate, paths):
    want, right = train(name, epochs, rate)
    for path in paths:
        got, tested = losses_of(path), tested_of(path)
        early = max(abs(a - b) for a, b in zip(got[:20], want[:20]))
        late = abs(sum(got[-44:]) - sum(want[-44:])) / 44
        print(f'{os.path.basename(path)}: {len(got)} steps; first 20 losses off by at most {early:.4f}, mean of the last '
              f'44 by {late:.4f}; accuracy {100 * tested:.2f} %, torch {100 * right:.2f} %')
        if len(got) != len(want) or early > 0.02 or late > 0.02 or tested < right - 0.01:
            print('FAILED')
            sys.exit(1)


def losses_of(path):
    return [float(r['loss']) for r in csv.DictReader(open(path)) if r['part'] == 'train']


def tested_of(path):
    return [float(r['accuracy']) for r in csv.DictReader(open(path)) if r['part'] == 'test'][-1]


def compare_rounding(paths):
    """Steps that move parameters by less than half a unit: f32, f16 rounded stochastically, f16 rounded to the nearest."""
    fall = [sum(x[:44]) / 44 - sum(x[-44:]) / 44 for x in map(losses_of, paths)]
    print(f'small steps: the loss falls by {fall[0]:.4f} in f32, by {fall[1]:.4f} with stochastic rounding, by {fall[2]:.4f} to the nearest')
    if abs(fall[1] - fall[0]) > 0.05 * fall[0] or fall[2] > 0.7 * fall[0]:
        print('FAILED')
        sys.exit(1)


def safetensors(path):
    raw = open(path, 'rb').read()
    size, = struct.unpack('<Q', raw[:8])
    types = {'F32': np.float32, 'F16': np.float16}
    return {name: torch.tensor(np.frombuffer(raw, types[t['dtype']], math.prod(t['shape']), 8 + size + t['data_offsets'][0])
                               .reshape(t['shape']).astype(np.float32))
            for name, t in json.loads(raw[8:8 + size]).items() if name != '__metadata__'}


def compare_folders(name, folder, weights, answer):
    """The accuracy after the last epoch, in the answer of a training, is that of torch with the parameters that it wrote, on the same files."""
    net = network(name).eval()
    net.load_state_dict(safetensors(weights))
    right = count = 0
    with torch.no_grad():
        for label in range(10):
            for file in sorted(os.listdir(f'{folder}/val/{label}')):
                x = torch.tensor(read_png(f'{folder}/val/{label}/{file}') / 255.0 * 2 - 1, dtype=torch.float32)
                right += int(net(x[None, None]).argmax()) == label
                count += 1
    tested = json.load(open(answer))['epochs'][-1]['test']
    print(f'{name}, digits in folders: accuracy {100 * tested["accuracy"]:.2f} % of {tested["pictures"]}, torch with these parameters '
          f'{100 * right / count:.2f} %')
    if tested['pictures'] != count or round(tested['accuracy'] * count) != right or tested['accuracy'] < 0.9:
        print('FAILED')
        sys.exit(1)


if __name__ == '__main__':
    if sys.argv[1] == 'data':
        write_data(sys.argv[2])
    elif sys.argv[1] == 'folders':
        write_folders(sys.argv[2])
    elif sys.argv[1] == 'parameters':
        compare_folders(*sys.argv[2:])
    elif sys.argv[1] == 'network':
        write_network(sys.argv[2], sys.argv[3])
    elif sys.argv[1] == 'scale':
        compare_scale(sys.argv[2:])
    elif sys.argv[1] == 'rounding':
        compare_rounding(sys.argv[2:])
    else:
        compare(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5:])
