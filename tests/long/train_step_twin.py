"""What tests/long/train_step.sh needs of Python: networks as ONNX with pictures beside them, and one step of them in torch, in f64.

Arguments are NAME SIDE BATCH: a network on BATCH pictures of SIDE x SIDE."""
import functools
import json
import struct
import subprocess
import sys

import numpy as np
import torch
import torch.nn as nn
import torchvision

from torch_export import export
from train_twin import MASK, mix, order_of

CLASSES, PICTURES, KEEP, SCALE, BRANCH = 10, 16, 0.7, 64, 0.2
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def pictures(side):
    """Grey pictures with large shapes, so that gradients are not noise alone; and labels."""
    r = np.random.RandomState(3)
    each = -(-side // 4)
    coarse = np.repeat(np.repeat(r.rand(PICTURES, 4, 4), each, 1), each, 2)[:, :side, :side]
    x = coarse * 200 + r.rand(PICTURES, side, side) * 55
    return x.astype(np.uint8), np.arange(PICTURES) % CLASSES


def first_batch(side, batch):
    """What the network reads in the first step: three equal colours, normalised; and its labels."""
    x, y = pictures(side)
    pick = order_of(0, PICTURES)[:batch]
    x = np.repeat(x[pick][:, None] / 255.0, 3, 1)
    return (x - np.reshape(MEAN, (1, 3, 1, 1))) / np.reshape(DEVIATION, (1, 3, 1, 1)), y[pick]


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

    def __init__(self, side):
        super().__init__()
        self.flatten, self.first, self.relu = nn.Flatten(), nn.Linear(3 * side * side, 96), nn.ReLU()
        self.last, self.mask = nn.Linear(96, CLASSES), None

    def forward(self, x):
        x = self.relu(self.first(self.flatten(x)))
        return self.last(x if self.mask is None else x * self.mask)


class StridedNorm(nn.GroupNorm):
    """A group norm of 4 groups in which channel c is in group c mod 4: that of the published G16 networks."""

    def __init__(self, channels):
        super().__init__(4, channels, eps=1e-3)

    def forward(self, x):
        n, c, h, w = x.shape
        x = x.reshape(n, c // 4, 4, h * w).transpose(1, 2).reshape(n, 4, -1)
        x = nn.functional.instance_norm(x, eps=self.eps)
        x = x.reshape(n, 4, c // 4, h * w).transpose(1, 2).reshape(n, c, h, w)
        return x * self.weight.reshape(-1, 1, 1) + self.bias.reshape(-1, 1, 1)


def efficientnet_g16(version):
    """EfficientNet with convolutions of groups of 16, expansion 4 and strided group norms."""
    from torchvision.models import efficientnet as e
    width, depth = {0: (1.0, 1.0), 4: (1.4, 1.8)}[version]
    make = functools.partial(e.MBConvConfig, width_mult=width, depth_mult=depth)
    stages = [make(1, 3, 1, 32, 16, 1), make(4, 3, 2, 16, 24, 2), make(4, 5, 2, 24, 40, 2), make(4, 3, 2, 40, 80, 3),
              make(4, 5, 1, 80, 112, 3), make(4, 5, 2, 112, 192, 4), make(4, 3, 1, 192, 320, 1)]
    net = e.EfficientNet(stages, 0.0, 0.0, num_classes=CLASSES, norm_layer=StridedNorm)
    for m in net.modules():
        for key, child in list(m._modules.items()):
            if isinstance(child, nn.Conv2d) and child.groups > 1:
                m._modules[key] = nn.Conv2d(child.in_channels, child.out_channels, child.kernel_size, child.stride, child.padding,
                                            groups=child.groups // 16, bias=False)
    return net


def network(name, side):
    torch.manual_seed(0)
    if name == 'encoder':
        return Encoder()
    if name == 'masks':
        return Masks(side)
    if name in ('efficientnet-b0-g16', 'efficientnet-b4-g16'):
        net = efficientnet_g16(int(name[14]))
    else:
        make = {'mobilenet': torchvision.models.mobilenet_v2, 'efficientnet-b0': torchvision.models.efficientnet_b0,
                'efficientnet-b4': torchvision.models.efficientnet_b4, 'resnet50': torchvision.models.resnet50,
                'vgg16': torchvision.models.vgg16, 'vgg16-convolutions': torchvision.models.vgg16}[name]
        net = make(weights=None, num_classes=CLASSES)
    if name == 'vgg16-convolutions':  # its 120 million parameters behind them are one layer: they do not fit a chip
        net.avgpool, net.classifier = nn.AdaptiveAvgPool2d(1), nn.Linear(512, CLASSES)
    for m in net.modules():
        if hasattr(m, 'p') and isinstance(m, (nn.Dropout, torchvision.ops.StochasticDepth)):
            m.p = 0.0
        if isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
            nn.init.uniform_(m.weight, 0.8, 1.2)  # no scale is 0: all gradients count
    for norm in branch_ends(net):
        norm.weight.data *= BRANCH
    return net


def branch_ends(net):
    """The last norms of residual branches. They begin small, as in training recipes: otherwise gradients of deep networks with batch norms
    are so shattered that half of them is noise in f16, whoever computes them."""
    for m in net.modules():
        if isinstance(m, torchvision.models.resnet.Bottleneck):
            yield m.bn3
        elif getattr(m, 'use_res_connect', False):
            yield m.block[-1][1] if hasattr(m, 'block') else m.conv[-1]


def make(name, side, batch, folder):
    x, y = pictures(side)
    with open(f'{folder}/train-images-idx3-ubyte', 'wb') as f:
        f.write(struct.pack('>IIII', 0x803, PICTURES, side, side) + x.tobytes())
    with open(f'{folder}/train-labels-idx1-ubyte', 'wb') as f:
        f.write(struct.pack('>II', 0x801, PICTURES) + y.astype(np.uint8).tobytes())
    data, label = first_batch(side, batch)
    with open(f'{folder}/first', 'wb') as f:
        f.write(data.tobytes() + np.eye(CLASSES)[label].tobytes())
    export(network(name, side).train(), torch.zeros(batch, 3, side, side), f'{folder}/net.onnx', 13, input_names=['x'], output_names=['y'])


def checkpoint(path):
    raw = open(path, 'rb').read()
    size, = struct.unpack('<Q', raw[:8])
    header = json.loads(raw[8:8 + size])
    types = {'F32': np.float32, 'F16': np.float16, 'F64': np.float64, 'U64': np.uint64, 'U8': np.uint8}
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


class Rounded(torch.autograd.Function):
    """Numbers, and the gradients that come back, rounded to a type."""

    @staticmethod
    def forward(ctx, x, dtype):
        ctx.dtype = dtype
        return x.to(dtype).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        return g.to(ctx.dtype).to(g.dtype), None


def torch_step(name, side, batch, dtype=None):
    """Loss and gradients by name, in f64; with a type, what every layer computes and every gradient of that is rounded to it: the least that
    a machine of this type is off by, however exact its sums are."""
    data, label = first_batch(side, batch)
    data = torch.tensor(data)
    net = network(name, side).double().train()
    if name == 'masks':
        net.mask = mask_of((batch, 96), KEEP, 0)
    if dtype:
        data = data.to(dtype).double()
        with torch.no_grad():
            for p in net.parameters():
                p.copy_(p.to(dtype) if p.dim() > 1 else p)
        for m in net.modules():
            if not list(m.children()) and not isinstance(m, (nn.Identity, nn.Flatten)):
                m.register_forward_hook(lambda module, args, out: Rounded.apply(out, dtype))
    loss = nn.functional.cross_entropy(net(data), torch.tensor(label)) * SCALE
    loss.backward()
    return loss.item() / SCALE, {key: p.grad.numpy().ravel() / SCALE for key, p in net.named_parameters()}


def of_chip(folder):
    """Loss of a checkpoint after one step, and the gradients that were written: what momenta are, but for the rounding of these."""
    got, gradients = checkpoint(f'{folder}/checkpoint'), checkpoint(f'{folder}/chip')
    momenta = {key[:-9]: t for key, t in got.items() if key.endswith('.momentum')}
    if momenta.keys() != gradients.keys():
        raise SystemExit('FAILED: there are gradients of other parameters than momenta')
    for key, g in gradients.items():
        if np.abs(g - momenta[key]).max() > 1e-3 * np.abs(g).max():
            raise SystemExit(f'FAILED: the gradient of {key} is not its momentum')
    return got['superstep.log'][0][3], {key: t.ravel() for key, t in gradients.items()}


def of_reference(program, folder):
    """Loss and gradients of the same graph in f64 (train_step_reference.c)."""
    lines = subprocess.run([program, f'{folder}/net.onnx', f'{folder}/first', f'{folder}/gradients'], check=True,
                           capture_output=True, text=True).stdout.split('\n')
    raw, at, got = np.fromfile(f'{folder}/gradients'), 0, {}
    for key, count in (line.rsplit(' ', 1) for line in lines[1:] if line):
        got[key] = raw[at:at + int(count)]
        at += int(count)
    return float(lines[0]), got


def distance(want, got):
    """Of gradients: relative rms of all, and the cosines of tensors with their names, ascending."""
    size = {key: np.linalg.norm(g) for key, g in want.items()}
    largest, cosines = max(size.values()), []
    for key, g in want.items():
        if key not in got or got[key].size != g.size:
            raise SystemExit(f'{key} is not there, or of another size')
        if size[key] >= 1e-9 * largest:  # otherwise a shift before a norm: its gradient is 0
            cosines.append((g @ got[key] / size[key] / max(np.linalg.norm(got[key]), 1e-300), key))
    every = [np.concatenate([of[key] for key in want]) for of in (want, got)]
    return np.linalg.norm(every[1] - every[0]) / np.linalg.norm(every[0]), sorted(cosines)


def compare(name, side, batch, what, got, dtype=None):
    """got: loss and gradients. They may be twice as far from torch in f64 as torch is with numbers rounded to the type, in rms and in the
    median angle of tensors; without a type, 1e-5. The loss may be off by the same part of it."""
    want = torch_step(name, side, batch)
    rms, cosines = distance(want[1], got[1])
    bound, median = 1e-5, 1e-10
    print(f'{name}, {batch} of {side} x {side}, {what}: {sum(g.size for g in want[1].values())} parameters; loss {got[0]:.6f}, torch '
          f'{want[0]:.6f}; gradient: relative rms {rms:.2e}, of {len(cosines)} tensors the least cosine {cosines[0][0]:.6f} '
          f'({cosines[0][1]}), median {cosines[len(cosines) // 2][0]:.6f}', flush=True)
    if dtype:
        least, rounded = distance(want[1], torch_step(name, side, batch, dtype)[1])
        bound, median = 2 * least, 4 * (1 - rounded[len(rounded) // 2][0])
        print(f'    torch with numbers of this type: relative rms {least:.2e}, median cosine {rounded[len(rounded) // 2][0]:.6f}', flush=True)
    if not rms <= bound or 1 - cosines[len(cosines) // 2][0] > median + 1e-10 or abs(got[0] - want[0]) > bound * want[0]:
        raise SystemExit('FAILED')


if __name__ == '__main__':
    kind, name, side, batch, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
    if kind == 'make':
        make(name, side, batch, folder)
    elif kind == 'chip':
        compare(name, side, batch, f'chip, {sys.argv[6]}', of_chip(folder),
                torch.float32 if sys.argv[6] == 'f32' else torch.float16)
    else:
        compare(name, side, batch, 'step in f64', of_reference(sys.argv[6], folder))
