"""ONNX files as every test wants them from torch: parameters keep their names, norms stay nodes, nothing is folded."""
import contextlib
import inspect
import sys

import torch


def export(model, inputs, path, version, **names):
    """Writes the model in the mode it is in. Newer versions of torch have a second exporter, their default, which folds batch norms into
    convolutions and prints how far it is: the first one is asked for."""
    if 'dynamo' in inspect.signature(torch.onnx.export).parameters:
        names['dynamo'] = False
    with contextlib.redirect_stdout(sys.stderr):
        torch.onnx.export(model, inputs, path, opset_version=version, do_constant_folding=False,
                          training=torch.onnx.TrainingMode.PRESERVE, **names)
