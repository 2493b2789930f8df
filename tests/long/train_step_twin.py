"""What tests/long/train_step.sh needs of Python: networks as ONNX with pictures beside them, and one step of them in torch, in f64."""
import json
import struct
import sys

import numpy as np
import torch
import torch.nn as nn
import torchvision

from train_twin import MASK, mix, order_of

CLASSES, SIDE, PICTURES, KEEP = 10, 32, 64, 0.7


def pictures():
    """Pictures with large shapes, so that gradients are not noise alone; and labels."""
    r = np.random.RandomState(3)
    coarse = r.rand(PICTURES, 3, 4, 4)
    x = np.repeat(np.repeat(coarse, SIDE // 4, 2), SIDE // 4, 3) * 200 + r.rand(PICTURES, 3, SIDE, SIDE) * 55
    return x.astype(np.uint8), np.arange(PICTURES) % CLASSES


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = self.qkv(x).reshape(n, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        a = torch.softmax(q @ k.transpose(2, 3) * (d // self.heads) ** -0.5, dim=3)
        return self.out((a @ v).permute(0, 2, 1, 3).reshape(n, t, d))


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(dim), Attention(dim, heads)
        self.norm2, self.mlp = nn.LayerNorm(dim), nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Encoder(nn.Module):
    """Two layers of 64 on 16 tokens of 192 numbers."""

    def __init__(self):
        super().__init__()
        self.embed, self.layers = nn.Linear(192, 64), nn.Sequential(Layer(64, 4), Layer(64, 4))
        self.norm, self.head = nn.LayerNorm(64), nn.Linear(64, CLASSES)

    def forward(self, x):
        x = self.layers(self.embed(x.reshape(x.shape[0], 16, 192)))
        return self.head(self.norm(x).mean(1))


class Masks(nn.Module):
    """A perceptron whose last layer reads numbers of which some are left out."""

    def __init__(self):
        super().__init__()
        self.flatten, self.first, self.relu = nn.Flatten(), nn.Linear(3 * SIDE * SIDE, 96), nn.ReLU()
        self.last, self.mask = nn.Linear(96, CLASSES), None

    def forward(self, x):
        x = self.relu(self.first(self.flatten(x)))
        return self.last(x if self.mask is None else x * self.mask)


def network(name):
    torch.manual_seed(0)
    if name == 'encoder':
        return Encoder()
    if name == 'masks':
        return Masks()
    make = {'mobilenet': torchvision.models.mobilenet_v2, 'efficientnet': torchvision.models.efficientnet_b0,
            'resnet50': torchvision.models.resnet50}[name]
    net = make(weights=None, num_classes=CLASSES)
    for m in net.modules():
        if hasattr(m, 'p') and isinstance(m, (nn.Dropout, torchvision.ops.StochasticDepth)):
            m.p = 0.0
        if isinstance(m, nn.BatchNorm2d) and m.weight is not None:
            nn.init.uniform_(m.weight, 0.8, 1.2)  # no scale is 0: all gradients count
    return net


def make(name, batch, path, folder):
    x, y = pictures()
    with open(f'{folder}/data_batch_1.bin', 'wb') as f:
        for k in range(PICTURES):
            f.write(bytes([y[k]]) + x[k].tobytes())
    net = network(name).train()
    torch.onnx.export(net, torch.zeros(batch, 3, SIDE, SIDE), path, input_names=['x'], output_names=['y'], opset_version=13,
                      do_constant_folding=False, training=torch.onnx.TrainingMode.PRESERVE)


def checkpoint(path):
    raw = open(path, 'rb').read()
    size, = struct.unpack('<Q', raw[:8])
    header = json.loads(raw[8:8 + size])
    types = {'F32': np.float32, 'F16': np.float16, 'F64': np.float64, 'U64': np.uint64}
    return {name: np.frombuffer(raw[8 + size + t['data_offsets'][0]:8 + size + t['data_offsets'][1]],
                                types[t['dtype']]).reshape(t['shape']).astype(np.float64)
            for name, t in header.items() if name != '__metadata__'}


def rotl(x, n):
    return (x << n | x >> 64 - n) & MASK


def mask_of(shape, keep, operation, seed=1, step=0):
    """What DropoutMask draws in a step (models/operators/family_random.c, train_seed())."""
    words = mix(mix(seed + 1) + step & MASK)
    kept, count, block = [], int(np.prod(shape)), 0
    while len(kept) < count:
        s0, s1 = words, (operation ^ 0x55555555) << 32 | block
        for k in range(15 + 16):
            sx, sa = s0 ^ s1, s0 & s1
            out = sx ^ (rotl(sa, 1) | rotl(sa, 2))
            s0, s1 = rotl(s0, 55) ^ sx ^ sx << 14 & MASK, rotl(sx, 36)
            if k >= 15:
                kept += [(out >> 16 * lane & 0xffff) < round(keep * 65536) for lane in range(4)]
        block += 1
    return torch.tensor(kept[:count], dtype=torch.float64).reshape(shape) / keep


def compare(name, batch, path):
    x, y = pictures()
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    pick = order_of(0, PICTURES)[:batch]
    data = torch.tensor((x[pick] / 255.0 - mean.reshape(1, 3, 1, 1)) / std.reshape(1, 3, 1, 1))
    net = network(name).double().train()
    if name == 'masks':
        net.mask = mask_of((batch, 96), KEEP, 0)
    loss = nn.functional.cross_entropy(net(data), torch.tensor(y[pick]))
    loss.backward()
    got = checkpoint(path)
    rows = []
    for key, p in net.named_parameters():
        if key + '.momentum' not in got:
            raise SystemExit(f'{key} is not in the checkpoint')
        want, have = p.grad.numpy().ravel(), got[key + '.momentum'].ravel()
        if want.size != have.size:
            raise SystemExit(f'{key} has {have.size} numbers')
        if np.linalg.norm(want) < 1e-9 * max(1, np.linalg.norm(p.detach().numpy())):
            continue  # a shift before a norm: its gradient is 0
        cosine = want @ have / np.linalg.norm(want) / max(np.linalg.norm(have), 1e-300)
        rows.append((cosine, np.linalg.norm(have - want) / np.linalg.norm(want), key))
    got_loss = got['superstep.log'][0][3]
    rows.sort()
    all_want = np.concatenate([p.grad.numpy().ravel() for _, p in net.named_parameters()])
    all_have = np.concatenate([got[k + '.momentum'].ravel() for k, _ in net.named_parameters()])
    rms = np.linalg.norm(all_have - all_want) / np.linalg.norm(all_want)
    print(f'{name}: {len(all_want)} parameters, {batch} pictures; loss {got_loss:.5f}, torch {loss.item():.5f}; gradient: relative rms '
          f'{rms:.2e}, of {len(rows)} tensors the least cosine {rows[0][0]:.5f} ({rows[0][2]}), median {rows[len(rows) // 2][0]:.6f}')
    if rms > 0.05 or rows[0][0] < 0.98 or abs(got_loss - loss.item()) > 0.01 * loss.item():
        raise SystemExit('FAILED')


if __name__ == '__main__':
    if sys.argv[1] == 'make':
        make(sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5])
    else:
        compare(sys.argv[2], int(sys.argv[3]), sys.argv[4])
