"""What tests/long/train_g16.sh needs of Python: scikit-learn's digits at 64 x 64, EfficientNet-B0-G16 as ONNX, the same training in torch."""
import csv
import struct
import sys

import numpy as np
import torch
import torch.nn as nn

from train_step_twin import DEVIATION, MEAN, network
from train_twin import TRAIN, digits, order_of

SIDE = 64


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
    torch.onnx.export(network('efficientnet-b0-g16', SIDE).train(), torch.zeros(batch, 3, SIDE, SIDE), f'{folder}/net.onnx',
                      input_names=['x'], output_names=['y'], opset_version=13, do_constant_folding=False,
                      training=torch.onnx.TrainingMode.PRESERVE)


def train(batch, steps, rate):
    """Losses of the same steps in f32."""
    x, y = pictures()
    order, losses = order_of(0, TRAIN), []
    net = network('efficientnet-b0-g16', SIDE).train()
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


def compare(batch, rate, path):
    got = [float(r['loss']) for r in csv.DictReader(open(path)) if r['part'] == 'train']
    want = train(batch, len(got), rate)
    early, end = max(abs(a - b) for a, b in zip(got[:5], want[:5])), min(40, len(got) // 2)
    late = [sum(x[-end:]) / end for x in (got, want)]
    print(f'EfficientNet-B0-G16 at {SIDE} x {SIDE}: {len(got)} steps of {batch} pictures; first 5 losses off by at most {early:.4f}; first '
          f'{end} {sum(got[:end]) / end:.4f}, torch {sum(want[:end]) / end:.4f}; last {end} {late[0]:.4f}, torch {late[1]:.4f}')
    if early > 0.02 or abs(late[0] - late[1]) > 0.1 * sum(want[:end]) / end:
        sys.exit('FAILED')


if __name__ == '__main__':
    if sys.argv[1] == 'make':
        make(int(sys.argv[2]), sys.argv[3])
    else:
        compare(int(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
