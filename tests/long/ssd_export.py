"""SSD300 with a VGG-16 backbone, drawn weights, as ONNX up to its boxes and scores, beside torch's answer in f32.

ssd_export.py FOLDER               writes ssd.onnx, x.npy, boxes.npy, scores.npy
ssd_export.py FOLDER compare       compares chip_boxes.npy and chip_scores.npy with torch's: a line of JSON"""
import json
import sys
import warnings

import numpy as np

folder = sys.argv[1]


def compare():
    answer = {}
    for name in ('boxes', 'scores'):
        want, got = np.load(f'{folder}/{name}.npy'), np.load(f'{folder}/chip_{name}.npy')
        answer[name] = float(abs(want - got).max() / abs(want).max())
        answer[name + '_best'] = float((want.argmax(-1) == got.argmax(-1)).mean())
    print(json.dumps(answer))


def export():
    import torch
    import torchvision

    class Heads(torch.nn.Module):
        def __init__(self, ssd):
            super().__init__()
            self.backbone, self.head = ssd.backbone, ssd.head

        def forward(self, x):
            out = self.head(list(self.backbone(x).values()))
            return out['bbox_regression'], torch.softmax(out['cls_logits'], -1)

    torch.manual_seed(1)
    model = Heads(torchvision.models.detection.ssd300_vgg16(weights=None, weights_backbone=None)).eval()
    for m in model.backbone.modules():
        if isinstance(m, torch.nn.Conv2d):  # signals keep their size
            torch.nn.init.kaiming_normal_(m.weight, nonlinearity='relu')
            torch.nn.init.zeros_(m.bias)
    x = torch.randn(1, 3, 300, 300)
    torch.onnx.export(model, x, f'{folder}/ssd.onnx', opset_version=13, training=torch.onnx.TrainingMode.PRESERVE,
                      do_constant_folding=False, input_names=['picture'], output_names=['boxes', 'scores'])
    with torch.no_grad():
        boxes, scores = model(x)
    for name, value in (('x', x), ('boxes', boxes), ('scores', scores)):
        np.save(f'{folder}/{name}.npy', value.numpy())


warnings.simplefilter('ignore')
compare() if sys.argv[2:] == ['compare'] else export()
