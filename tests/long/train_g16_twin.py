"""What tests/long/train_g16.sh needs of Python: scikit-learn's digits at 64 x 64, EfficientNet-B0-G16 as ONNX, the same training in torch."""
import csv
import struct
import sys

import numpy as np
import torch
import torch.nn as nn

from torch_export import export
from train_step_twin import DEVIATION, MEAN, network
from train_twin import TRAIN, digits, order_of

SIDE, TWINS, HALF_UNIT = 64, 4, 2.0 ** -11


def pictures():
    x, y = digits()
    x = x[:TRAIN].reshape(-1, 8, 8)
    return np.repeat(np.repeat(x, SIDE // 8, 1), SIDE // 8, 2), y[:TRAIN]


def make(batch, folder):
    x, y = pictures()
    with open(f'{folder}/train-images-idx3-ubyte', 'wb') as f:
        f.write(struct.pack('>IIII', 0x803, len(x), SIDE, SIDE) + x.tobytes())
    with open(f'{folder}/train-labels-idx1-ubyte', 'wb') as f:
        f.write(struct.pack('>II', 0x801, len(y)) + y.tobytes())
    export(network('efficientnet-b0-g16', SIDE).train(), torch.zeros(batch, 3, SIDE, SIDE), f'{folder}/net.onnx', 13,
           input_names=['x'], output_names=['y'])


def train(batch, steps, rate, twin):
    """Losses of the same steps in f32. Twin 0 begins with the parameters as they are, others with parameters that are up to half a unit of
    f16 away: a training amplifies such differences, whoever makes them."""
    x, y = pictures()
    order, losses = order_of(0, TRAIN), []
    net = network('efficientnet-b0-g16', SIDE).train()
    noise = torch.Generator().manual_seed(twin)
    with torch.no_grad():
        for p in net.parameters():
            p.mul_(1 + bool(twin) * HALF_UNIT * (2 * torch.rand(p.shape, generator=noise) - 1))
    sgd = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    for k in range(steps):
        pick = order[k * batch:(k + 1) * batch]
        data = (np.repeat(x[pick][:, None] / 255.0, 3, 1) - np.reshape(MEAN, (1, 3, 1, 1))) / np.reshape(DEVIATION, (1, 3, 1, 1))
        loss = nn.functional.cross_entropy(net(torch.tensor(data, dtype=torch.float32)), torch.tensor(y[pick].astype(np.int64)))
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        losses.append(loss.item())
    return losses


def mean(losses):
    return sum(losses) / len(losses)


def compare(batch, rate, path):
    """The first five losses may be twice as far from torch's as those of its twins; the mean of the last ones lies among theirs, or as far
    outside as they are wide."""
    got = [float(r['loss']) for r in csv.DictReader(open(path)) if r['part'] == 'train']
    end = min(40, len(got) // 2)
    twins = [train(batch, len(got), rate, k) for k in range(TWINS)]
    early = [max(abs(a - b) for a, b in zip(losses[:5], twins[0])) for losses in (got, *twins[1:])]
    late = [mean(losses[-end:]) for losses in twins]
    width = max(late) - min(late)
    print(f'EfficientNet-B0-G16 at {SIDE} x {SIDE}: {len(got)} steps of {batch} pictures, rate {rate:g}; first 5 losses off by at most '
          f'{early[0]:.4f}, of {TWINS} trainings in torch {max(early[1:]):.4f}; mean of the first {end} {mean(got[:end]):.4f}, '
          f'torch {mean(twins[0][:end]):.4f}; of the last {end} {mean(got[-end:]):.4f}, torch {min(late):.4f} to {max(late):.4f}')
    if early[0] > 2 * max(early[1:]) or not min(late) - width <= mean(got[-end:]) <= max(late) + width:
        sys.exit('FAILED')


if __name__ == '__main__':
    if sys.argv[1] == 'make':
        make(int(sys.argv[2]), sys.argv[3])
    else:
        compare(int(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
