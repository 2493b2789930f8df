"""Writes networks of torchvision with drawn weights as ONNX files, with an input and torch's answer beside each.

onnx_export.py FOLDER [NAME...]   all of them without names; prints the names of those that were written"""
import sys
import warnings

import numpy
import torch
import torchvision.models as models
from onnx import numpy_helper

from torch_export import export as write_onnx

plain = {'init_weights': False, 'aux_logits': False}
networks = {  # name: model, side of the picture, version of the operator set
    'resnet18': (models.resnet18, 224, 13),
    'resnet50': (models.resnet50, 224, 13),
    'mobilenet_v2': (models.mobilenet_v2, 224, 13),
    'mobilenet_v3': (models.mobilenet_v3_large, 224, 14),
    'shufflenet_v2': (models.shufflenet_v2_x1_0, 224, 13),
    'squeezenet': (models.squeezenet1_1, 224, 13),
    'densenet121': (models.densenet121, 224, 13),
    'googlenet': (lambda: models.googlenet(**plain), 224, 13),
    'inception_v3': (lambda: models.inception_v3(**plain), 299, 13),
    'efficientnet_b0': (models.efficientnet_b0, 224, 13),
    'efficientnet_b4': (models.efficientnet_b4, 380, 13),
    'convnext_tiny': (models.convnext_tiny, 224, 13),
    'swin_t': (models.swin_t, 224, 13),
    'vit_b_16': (models.vit_b_16, 224, 17),
    'vgg16': (models.vgg16, 224, 13),
}


def save(path, tensor):
    with open(path, 'wb') as f:
        f.write(numpy_helper.from_array(tensor.numpy()).SerializeToString())


def measure(model, side):
    """Statistics of batch norms from drawn pictures: with those of a new network signals fade from layer to layer."""
    norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for m in norms:
        m.momentum = None
    if norms:
        model.train()
        with torch.no_grad():
            model(torch.randn(4, 3, side, side))
        model.eval()


def export(folder, name):
    make, side, version = networks[name]
    torch.manual_seed(1)
    model = make().eval()
    for p in model.parameters():  # the last layer of some is zero before training
        if p.dim() > 1 and not p.any():
            torch.nn.init.normal_(p, std=0.02)
    measure(model, side)
    x = torch.randn(1, 3, side, side)
    path = f'{folder}/{name}'
    write_onnx(model, x, path + '.onnx', version)
    with torch.no_grad():
        save(path + '.y.pb', model(x))
    save(path + '.x.pb', x)
    numpy.save(path + '.x.npy', x.numpy())
    print(name, flush=True)


warnings.simplefilter('ignore')
for name in sys.argv[2:] or networks:
    export(sys.argv[1], name)
