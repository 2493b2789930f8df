"""SSD300 with drawn weights as ONNX up to its boxes and scores, beside torch's answer in f32: with torchvision's VGG-16 backbone, or as in
MLPerf with ResNet-34 up to its third stage, which keeps 38 x 38 positions, and five blocks behind it.

ssd_export.py FOLDER BACKBONE      vgg16 or resnet34; writes ssd.onnx, x.npy, boxes.npy, scores.npy
ssd_export.py FOLDER compare       compares chip_boxes.npy and chip_scores.npy with torch's: a line of JSON"""
import json
import sys
import warnings

import numpy as np

folder, what = sys.argv[1:3]


def compare():
    answer = {}
    for name in ('boxes', 'scores'):
        want, got = np.load(f'{folder}/{name}.npy'), np.load(f'{folder}/chip_{name}.npy')
        answer[name] = float(abs(want - got).max() / abs(want).max())
        answer[name + '_best'] = float((want.argmax(-1) == got.argmax(-1)).mean())
    print(json.dumps(answer))


def export():
    import torch
    from torch_export import export as write_onnx
    import torchvision
    from torch import nn
    from torchvision.models.detection.ssd import SSDHead

    class Heads(nn.Module):
        def __init__(self, backbone, head):
            super().__init__()
            self.backbone, self.head = backbone, head

        def forward(self, x):
            fields = self.backbone(x)
            out = self.head(list(fields.values()) if isinstance(fields, dict) else fields)
            return out['bbox_regression'], torch.softmax(out['cls_logits'], -1)

    class ResNet34(nn.Module):
        def __init__(self):
            super().__init__()
            r = torchvision.models.resnet34(weights=None)
            for m in r.modules():  # as in docs/numbers.md 1: else every block makes differences larger
                if isinstance(m, torchvision.models.resnet.BasicBlock):
                    nn.init.constant_(m.bn2.weight, 0.3)
            r.layer3[0].conv1.stride = r.layer3[0].downsample[0].stride = (1, 1)
            self.body = nn.Sequential(r.conv1, r.bn1, r.relu, r.maxpool, r.layer1, r.layer2, r.layer3)
            rows = ((256, 256, 512, 2, 1), (512, 256, 512, 2, 1), (512, 128, 256, 2, 1), (256, 128, 256, 1, 0), (256, 128, 256, 1, 0))
            self.behind = nn.ModuleList(
                nn.Sequential(nn.Conv2d(i, m, 1, bias=False), nn.BatchNorm2d(m), nn.ReLU(),
                              nn.Conv2d(m, o, 3, stride, pad, bias=False), nn.BatchNorm2d(o), nn.ReLU()) for i, m, o, stride, pad in rows)

        def forward(self, x):
            fields = [self.body(x)]
            for block in self.behind:
                fields.append(block(fields[-1]))
            return fields

    torch.manual_seed(1)
    if what == 'vgg16':
        ssd = torchvision.models.detection.ssd300_vgg16(weights=None, weights_backbone=None)
        model = Heads(ssd.backbone, ssd.head).eval()
    else:
        model = Heads(ResNet34(), SSDHead([256, 512, 512, 256, 256, 256], [4, 6, 6, 6, 4, 4], 81)).eval()
    for m in model.backbone.modules():
        if isinstance(m, nn.Conv2d):  # signals keep their size
            nn.init.kaiming_normal_(m.weight, nonlinearity='relu')
            if m.bias is not None:
                nn.init.zeros_(m.bias)
    x = torch.randn(1, 3, 300, 300)
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    for m in norms:  # what they measure of two pictures
        m.momentum = None
        m.train()
    if norms:
        with torch.no_grad():
            model(torch.randn(2, 3, 300, 300))
    model.eval()
    write_onnx(model, x, f'{folder}/ssd.onnx', 13, input_names=['picture'], output_names=['boxes', 'scores'])
    with torch.no_grad():
        boxes, scores = model(x)
    for name, value in (('x', x), ('boxes', boxes), ('scores', scores)):
        np.save(f'{folder}/{name}.npy', value.numpy())


warnings.simplefilter('ignore')
compare() if what == 'compare' else export()
