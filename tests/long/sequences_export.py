"""Networks of sequences with drawn weights as ONNX, beside torch's answer in f32: a Transformer with encoder and decoder (6 + 6 layers of
512, 64 + 64 tokens), encoders of BERT-base's size (12 layers of 768, 12 heads) for 128 and 384 tokens and of BERT-large's (24 of 1,024, 16 heads) for 128, and LSTMs with attention of GNMT's size (1,024 wide, 4 + 4 layers, 32,000 words), 1 step and 20.

sequences_export.py FOLDER NAME    writes NAME.onnx, NAME.a.npy, NAME.b.npy, NAME.y.npy; NAME: transformer, encoder128, encoder384,
                                   large128, lstm1 or lstm20; an encoder has no b
sequences_export.py FOLDER NAME compare    compares NAME.chip.npy with torch's: the largest error, as a part of the largest number"""
import sys
import warnings

import numpy as np

folder, name = sys.argv[1:3]
path = f'{folder}/{name}'


def compare():
    want, got = np.load(path + '.y.npy'), np.load(path + '.chip.npy')
    print(float(abs(want - got).max() / abs(want).max()))


def export():
    import torch
    from torch_export import export as write_onnx

    class Lstms(torch.nn.Module):
        def __init__(self, width=1024, words=32000):
            super().__init__()
            self.encoder = torch.nn.LSTM(width, width, 4)
            self.decoder = torch.nn.LSTM(width, width, 4)
            self.words = torch.nn.Linear(2 * width, words)

        def forward(self, a, b):
            memory = self.encoder(a)[0].transpose(0, 1)
            query = self.decoder(b)[0].transpose(0, 1)
            weights = torch.softmax(query @ memory.transpose(1, 2) / 32, -1)
            return self.words(torch.cat([query, weights @ memory], -1))

    torch.manual_seed(1)
    if name == 'transformer':
        model, version = torch.nn.Transformer(512, 8, 6, 6, 2048, batch_first=True), 14
        a, b = torch.randn(1, 64, 512), torch.randn(1, 64, 512)
    elif name == 'large128':
        layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, activation='gelu', batch_first=True)
        model, version = torch.nn.TransformerEncoder(layer, 24), 14
        for p in model.parameters():  # all layers of a stack begin alike, and the exporter would store them once
            torch.nn.init.xavier_uniform_(p) if p.dim() > 1 else p.data.add_(torch.randn_like(p) * 0.02)
        a, b = torch.randn(1, 128, 1024), None
    elif name.startswith('encoder'):
        layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, activation='gelu', batch_first=True)
        model, version = torch.nn.TransformerEncoder(layer, 12), 14
        a, b = torch.randn(1, int(name[7:]), 768), None
    else:
        model, version, steps = Lstms(), 13, int(name[4:])
        a, b = torch.randn(steps, 1, 1024), torch.randn(steps, 1, 1024)
    inputs = [x for x in (a, b) if x is not None]
    y = model.eval()(*inputs)
    write_onnx(model, tuple(inputs), path + '.onnx', version, input_names=['a', 'b'][:len(inputs)], output_names=['y'])
    for part, value in [*zip('ab', inputs), ('y', y)]:
        np.save(f'{path}.{part}.npy', value.detach().numpy())


warnings.simplefilter('ignore')
compare() if sys.argv[3:] == ['compare'] else export()
