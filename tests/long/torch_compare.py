"""Runs weights and pictures through torch in float64 and compares.

torch_compare.py NETWORK same|torch batch|group|group-contiguous FILE            every block and the scores with what torch_dump wrote
torch_compare.py NETWORK same|torch batch|group|group-contiguous WEIGHTS LOGITS  the scores with those of `superstep run --weights WEIGHTS --logits LOGITS`

The networks are written down here anew, from the published definitions, so that a mistake in models/net shows. Where torchvision is
installed, its own model must take the weights and give the same scores."""
import json
import math
import struct
import sys

import torch
import torch.nn.functional as F


def load(path):
    with open(path, 'rb') as f:
        data = f.read()
    n = struct.unpack('<Q', data[:8])[0]
    out = {}
    for name, t in json.loads(data[8:8 + n]).items():
        begin, end = t['data_offsets']
        kind = {'F32': torch.float32, 'F64': torch.float64}[t['dtype']]
        out[name] = torch.frombuffer(bytearray(data[8 + n + begin:8 + n + end]), dtype=kind).reshape(t['shape']).double()
    return out


class Net:
    def __init__(self, name, padding, norm, weights):
        self.w, self.padding, self.norm_kind, self.out = weights, padding, norm, {}
        self.g16 = name.endswith('-g16')
        self.resnet = name == 'resnet-50'
        self.variant = 0 if self.resnet else int(name.split('-b')[1][0])
        self.bn_eps = 1e-5 if self.resnet or padding == 'torch' and self.variant < 5 else 1e-3

    def conv(self, x, p, stride=1):
        w = self.w[p + '.weight']
        k = w.shape[2]
        groups = x.shape[1] // w.shape[1]
        if self.padding == 'torch' or self.resnet:
            return F.conv2d(x, w, None, stride, k // 2, 1, groups)
        pads = []
        for size in (x.shape[3], x.shape[2]):
            need = max((math.ceil(size / stride) - 1) * stride + k - size, 0)
            pads += [need // 2, need - need // 2]
        return F.conv2d(F.pad(x, pads), w, None, stride, 0, 1, groups)

    def norm(self, x, p):
        w = self.w
        if self.norm_kind == 'group-contiguous':
            return F.group_norm(x, 4, w[p + '.weight'], w[p + '.bias'], 1e-3)
        if self.norm_kind == 'group':  # channel c is of group c mod 4
            n, c, *side = x.shape
            y = F.group_norm(x.reshape(n, c // 4, 4, *side).transpose(1, 2).reshape(x.shape), 4, None, None, 1e-3)
            y = y.reshape(n, 4, c // 4, *side).transpose(1, 2).reshape(x.shape)
            return y * w[p + '.weight'].reshape(-1, 1, 1) + w[p + '.bias'].reshape(-1, 1, 1)
        return F.batch_norm(x, w[p + '.running_mean'], w[p + '.running_var'], w[p + '.weight'], w[p + '.bias'], False, 0,
                            self.bn_eps)

    def mbconv(self, x, p, stride):
        y, part = x, 0
        if p + '.block.3.0.weight' in self.w:
            y = F.silu(self.norm(self.conv(y, p + '.block.0.0'), p + '.block.0.1'))
            part = 1
        y = F.silu(self.norm(self.conv(y, f'{p}.block.{part}.0', stride), f'{p}.block.{part}.1'))
        q = f'{p}.block.{part + 1}.fc'
        s = F.silu(F.conv2d(y.mean((2, 3), keepdim=True), self.w[q + '1.weight'], self.w[q + '1.bias']))
        y = y * torch.sigmoid(F.conv2d(s, self.w[q + '2.weight'], self.w[q + '2.bias']))
        y = self.norm(self.conv(y, f'{p}.block.{part + 2}.0'), f'{p}.block.{part + 2}.1')
        return x + y if y.shape == x.shape and stride == 1 else y

    def efficientnet(self, x):
        depth = (1.0, 1.1, 1.2, 1.4, 1.8, 2.2, 2.6, 3.1)[self.variant]
        x = self.out['stem'] = F.silu(self.norm(self.conv(x, 'features.0.0', 2), 'features.0.1'))
        for stage, (count, stride) in enumerate(((1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1)), 1):
            for i in range(math.ceil(count * depth)):
                x = self.mbconv(x, f'features.{stage}.{i}', 1 if i else stride)
                self.out[f'block{stage}{chr(97 + i)}'] = x
        x = F.silu(self.norm(self.conv(x, 'features.8.0'), 'features.8.1'))
        return F.linear(x.mean((2, 3)), self.w['classifier.1.weight'], self.w['classifier.1.bias'])

    def resnet50(self, x):
        x = F.relu(self.norm(self.conv(x, 'conv1', 2), 'bn1'))
        x = self.out['stem'] = F.max_pool2d(x, 3, 2, 1)
        for stage, (count, stride) in enumerate(((3, 1), (4, 2), (6, 2), (3, 2)), 1):
            for i in range(count):
                p, s, short = f'layer{stage}.{i}', 1 if i else stride, x
                y = F.relu(self.norm(self.conv(x, p + '.conv1'), p + '.bn1'))
                y = F.relu(self.norm(self.conv(y, p + '.conv2', s), p + '.bn2'))
                y = self.norm(self.conv(y, p + '.conv3'), p + '.bn3')
                if not i:
                    short = self.norm(self.conv(x, p + '.downsample.0', s), p + '.downsample.1')
                x = self.out[f'block{stage}{chr(97 + i)}'] = F.relu(y + short)
        return F.linear(x.mean((2, 3)), self.w['fc.weight'], self.w['fc.bias'])

    def run(self, x):
        self.out['fc'] = (self.resnet50 if self.resnet else self.efficientnet)(x)[:, :, None, None]
        return self.out


def torchvision_scores(name, weights, x):
    """None where torchvision is absent."""
    try:
        from torchvision import models
    except ImportError:
        return None
    m = getattr(models, name.replace('efficientnet-', 'efficientnet_').replace('resnet-', 'resnet'))(weights=None)
    state = {k: v for k, v in m.state_dict().items() if k.endswith('num_batches_tracked')}
    m.load_state_dict({**weights, **state}, strict=True)
    return m.double().eval()(x)[:, :, None, None]


def compare_machine(name, padding, norm, weights, logits):
    """f16 on the machine: within 2e-2 of a picture's largest logit, and classes that lead the sixth by twice the error are found."""
    run = load(logits)
    with torch.no_grad():
        want = Net(name, padding, norm, load(weights)).run(run['input'])['fc'][:, :, 0, 0]
    parts, lost = [], 0
    for w, g in zip(want, run['logits']):
        error = (w - g).abs().max().item()
        parts.append(error / w.abs().max().item())
        certain = w - w.sort(descending=True).values[5] > 2 * error
        lost += len(set(certain.nonzero()[:, 0].tolist()) - set(g.topk(5).indices.tolist()))
    print(f'{len(parts)} pictures on the machine, largest errors ' + ' '.join(f'{v:.1e}' for v in parts)
          + f' of the largest logit; best class {want.argmax(1).tolist()}, machine {run["logits"].argmax(1).tolist()}')
    sys.exit(0 if max(parts) <= 2e-2 and not lost else 'differs from torch')


def main():
    torch.set_num_threads(2)
    if len(sys.argv) == 6:
        compare_machine(*sys.argv[1:])
    name, padding, norm, path = sys.argv[1:]
    weights, want = load(path + '.weights'), load(path + '.reference')
    worst, where = 0.0, ''
    with torch.no_grad():
        got = Net(name, padding, norm, weights).run(want['input'])
        if (padding == 'torch' or name == 'resnet-50') and norm == 'batch' and not name.endswith('-g16'):
            scores = torchvision_scores(name, weights, want['input'])
            if scores is not None:
                got['torchvision'], want['torchvision'] = scores, want['fc']
    if set(want) - {'input'} - set(got) or set(got) - set(want) - {'head'}:
        sys.exit(f'other blocks: {sorted(set(want) ^ set(got))}')
    for key, v in got.items():
        error = ((v - want[key]).abs().max() / want[key].abs().max()).item() if v.shape == want[key].shape else math.inf
        if not error <= worst:
            worst, where = error, key
    top = want['fc'][:, :, 0, 0].softmax(1).max(1).values
    print(f'{len(got)} outputs, largest difference {worst:.1e} of the largest number ({where}); best scores '
          + ' '.join(f'{v:.3f}' for v in top.tolist()))
    sys.exit(0 if worst < 1e-9 else 'differs from torch')


main()
