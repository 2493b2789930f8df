"""Superstep from Python: networks compiled for the emulated machine, run, trained, and billed by layer.

    import superstep

    net = superstep.compile("net.onnx", machine="toy64", batch=4)
    scores = net.run(x=numbers)["y"]
    print(net.cycles, net.layers["cycles"])

Options are those of the command line of `superstep run` (of `superstep train` for train()): words, or keywords with
_ for -. What the command refuses is an Error with the same message. Numbers go in and come out as numpy arrays.

The library is that of $SUPERSTEP_LIBRARY, else the one beside this file or in the lib folder it was installed with, else the one
that the loader finds.
"""
import ctypes
import json
import os
import sqlite3
import sys
import tempfile
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import NamedTuple

import numpy as np

__all__ = ["Error", "Network", "Profile", "Training", "Value", "bars", "compile", "frame", "plot", "train"]

ABI = 0  # of the library, as the Makefile has it


class Error(Exception):
    """What the library answers with: its message, and the name of the status, "BAD_FILE"."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


class Value(NamedTuple):
    """An input or output of a network, or a parameter."""

    name: str
    type: str  # of its file: "f32", "i64"
    shape: tuple
    meaning: str  # "scores of 10 classes"; "": nothing is known


# ---- the library ----


class _Listener(ctypes.Structure):
    LINE = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)
    _fields_ = [("line", LINE), ("ctx", c_void_p)]


class _Value(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type", c_char_p), ("rank", ctypes.c_uint), ("dim", c_uint32 * 8), ("count", c_uint64),
                ("meaning", c_char_p)]


_LAYER_NUMBERS = ("cycles", "compute", "exchange", "sync", "imbalance", "supersteps", "macs", "lower_bound", "predicted", "max_tile_bytes",
                  "held_bytes", "held_max_tile_bytes")


class _Layer(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("block", c_char_p), ("op", c_char_p)] + [(n, c_uint64) for n in _LAYER_NUMBERS]


class _Memory(ctypes.Structure):
    _fields_ = [("tiles", c_uint32), ("tile_bytes", c_uint64), ("need_bytes", c_uint64), ("max_tile_bytes", c_uint64),
                ("total_bytes", c_uint64)]


_LIST_OF_TEXT, _HANDLE = POINTER(c_char_p), c_void_p
_FLOATS, _INTEGERS, _LABELS, _BYTES = POINTER(c_float), POINTER(c_int64), POINTER(c_uint32), POINTER(c_uint64)

# What each function returns (c_int: a status), and takes.
_FUNCTIONS = {
    "ss_error": (c_char_p,),
    "ss_status_name": (c_char_p, c_int),
    "ss_free": (None, c_void_p),
    "ss_network_open": (c_int, c_char_p, _LIST_OF_TEXT, c_size_t, POINTER(_Listener), POINTER(_HANDLE)),
    "ss_network_close": (None, _HANDLE),
    "ss_network_inputs": (c_uint32, _HANDLE),
    "ss_network_outputs": (c_uint32, _HANDLE),
    "ss_network_input": (c_int, _HANDLE, c_uint32, POINTER(_Value)),
    "ss_network_output": (c_int, _HANDLE, c_uint32, POINTER(_Value)),
    "ss_network_write": (c_int, _HANDLE, c_char_p, _FLOATS, c_size_t),
    "ss_network_write_integers": (c_int, _HANDLE, c_char_p, _INTEGERS, c_size_t),
    "ss_network_write_pictures": (c_int, _HANDLE, c_char_p, _LIST_OF_TEXT, c_size_t),
    "ss_network_run": (c_int, _HANDLE),
    "ss_network_read": (c_int, _HANDLE, c_char_p, _FLOATS, c_size_t),
    "ss_network_read_integers": (c_int, _HANDLE, c_char_p, _INTEGERS, c_size_t),
    "ss_network_cycles": (c_uint64, _HANDLE),
    "ss_network_seconds": (c_double, _HANDLE),
    "ss_network_engine": (c_char_p, _HANDLE),
    "ss_network_memory": (c_int, _HANDLE, POINTER(_Memory)),
    "ss_network_tile_bytes": (c_int, _HANDLE, _BYTES, c_size_t),
    "ss_network_layers": (c_uint32, _HANDLE),
    "ss_network_layer": (c_int, _HANDLE, c_uint32, POINTER(_Layer)),
    "ss_network_json": (c_int, _HANDLE, POINTER(c_void_p)),
    "ss_network_profile": (c_int, _HANDLE, c_char_p),
    "ss_training_open": (c_int, c_char_p, _LIST_OF_TEXT, c_size_t, POINTER(_Listener), POINTER(_HANDLE)),
    "ss_training_close": (None, _HANDLE),
    "ss_training_data": (c_int, _HANDLE, POINTER(_Value)),
    "ss_training_targets": (c_int, _HANDLE, POINTER(_Value)),
    "ss_training_rate": (c_double, _HANDLE),
    "ss_training_set_rate": (c_int, _HANDLE, c_double),
    "ss_training_step": (c_int, _HANDLE, _FLOATS, c_size_t, _FLOATS, c_size_t, POINTER(c_double)),
    "ss_training_step_labels": (c_int, _HANDLE, _FLOATS, c_size_t, _LABELS, c_size_t, POINTER(c_double)),
    "ss_training_scores": (c_int, _HANDLE, _FLOATS, c_size_t),
    "ss_training_steps": (c_uint64, _HANDLE),
    "ss_training_skipped": (c_uint64, _HANDLE),
    "ss_training_cycles": (c_uint64, _HANDLE),
    "ss_training_seconds": (c_double, _HANDLE),
    "ss_training_engine": (c_char_p, _HANDLE),
    "ss_training_memory": (c_int, _HANDLE, POINTER(_Memory)),
    "ss_training_parameters": (c_uint32, _HANDLE),
    "ss_training_parameter": (c_int, _HANDLE, c_uint32, POINTER(_Value)),
    "ss_training_read": (c_int, _HANDLE, c_char_p, _FLOATS, c_size_t),
    "ss_training_write": (c_int, _HANDLE, c_char_p, _FLOATS, c_size_t),
    "ss_training_save": (c_int, _HANDLE, c_char_p),
}


def _load():
    name = f"libsuperstep.so.{ABI}"
    here = os.path.dirname(os.path.abspath(__file__))
    own = os.environ.get("SUPERSTEP_LIBRARY")
    beside = [os.path.join(here, name), os.path.join(here, "..", "..", "..", "lib", name)]
    for path in [own] if own else [p for p in beside if os.path.exists(p)] + [name]:
        try:
            return ctypes.CDLL(path)
        except OSError as why:
            failed = why
    raise ImportError(f"no library of Superstep: {failed}; SUPERSTEP_LIBRARY names one, `make install` builds it")


_lib = _load()
for _name, (_result, *_arguments) in _FUNCTIONS.items():
    _function = getattr(_lib, _name)
    _function.restype, _function.argtypes = _result, _arguments


def _must(status):
    if status:
        raise Error(_text(_lib.ss_error()), _text(_lib.ss_status_name(status)))


def _text(data):
    return data.decode("utf-8", "replace")


def _value(function, *arguments):
    v = _Value()
    _must(function(*arguments, byref(v)))
    return Value(_text(v.name), _text(v.type), tuple(v.dim[: v.rank]), _text(v.meaning))


def _memory(function, handle):
    m = _Memory()
    _must(function(handle, byref(m)))
    return {name: int(getattr(m, name)) for name, _ in _Memory._fields_}


# ---- words ----


def _words(words, options):
    """The words of a command line: those that are given, then "--name value" of keywords."""
    out = [str(w) for w in words]
    for name, value in options.items():
        name = "--" + name.replace("_", "-")
        if isinstance(value, dict):
            value = [f"{k}={v}" for k, v in value.items()]
        if value is True:
            out.append(name)
        elif isinstance(value, (list, tuple)):
            out += [f"{name}={os.fspath(v) if isinstance(v, os.PathLike) else v}" for v in value]
        elif value is not None and value is not False:
            out.append(f"{name}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
    return out


def _texts(texts):
    return (c_char_p * len(texts))(*[os.fsencode(t) for t in texts])


def _print_line(line):
    print(line, file=sys.stderr)


class _Handle:
    """What networks and trainings have in common: a handle of the library, and who hears its lines."""

    def __init__(self, kind, what, words, options, progress):
        self._handle, self._kind = _HANDLE(), kind
        if progress is True:
            progress = _print_line
        # The library calls it as long as the handle lives.
        self._line = _Listener.LINE(lambda ctx, text: progress(_text(text))) if progress else None
        listener = _Listener(self._line, None) if progress else None
        words = _words(words, options)
        _must(self._call("open", os.fsencode(what), _texts(words), len(words), listener and byref(listener), byref(self._handle)))

    def _call(self, name, *arguments):
        return getattr(_lib, f"ss_{self._kind}_{name}")(*arguments)

    def _ask(self, name, *arguments):
        if not self._handle:
            raise Error(f"the {self._kind} is closed", "USAGE")
        return self._call(name, self._handle, *arguments)

    def close(self):
        """Gives back what the library holds; happens by itself with the last reference."""
        if self._handle:
            self._call("close", self._handle)
            self._handle = _HANDLE()

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()

    @property
    def cycles(self):
        """Of the last run or step, on the chip."""
        return int(self._ask("cycles"))

    @property
    def seconds(self):
        """The same at the clock of the machine."""
        return float(self._ask("seconds"))

    @property
    def engine(self):
        """Which engine ran, and why: "values", "timing"; "" before a run."""
        return _text(self._ask("engine"))

    @property
    def memory(self):
        """Bytes: need_bytes of the fullest tile, with gaps, total_bytes of all; tile_bytes each of the `tiles` has."""
        return _memory(self._ask, "memory")


# ---- networks ----


class Network(_Handle):
    """A network that is compiled; see compile()."""

    def __init__(self, what, words=(), options=None, progress=None):
        super().__init__("network", what, words, options or {}, progress)
        self.inputs = self._values("input")
        self.outputs = self._values("output")

    def _values(self, kind):
        count = self._ask(kind + "s")
        values = [_value(self._ask, kind, i) for i in range(count)]
        return {v.name: v for v in values}

    def write(self, name, numbers):
        """The numbers of an input for all runs from now on: an array of its shape, or names of picture files."""
        if isinstance(numbers, (str, os.PathLike)):
            numbers = [numbers]
        if isinstance(numbers, (list, tuple)) and numbers and all(isinstance(n, (str, os.PathLike)) for n in numbers):
            _must(self._ask("write_pictures", name.encode(), _texts(numbers), len(numbers)))
            return
        array = np.asarray(numbers)
        _check_shape(name, array, self.inputs.get(name))
        if array.dtype.kind in "iub":
            array = np.ascontiguousarray(array, np.int64)
            _must(self._ask("write_integers", name.encode(), array.ctypes.data_as(_INTEGERS), array.size))
        else:
            array = np.ascontiguousarray(array, np.float32)
            _must(self._ask("write", name.encode(), array.ctypes.data_as(_FLOATS), array.size))

    def run(self, inputs=None, **more):
        """Writes inputs, by name (of the only input the numbers will do), runs, and returns all outputs by name; none with
        engine="timing", which has no values."""
        if inputs is not None and not isinstance(inputs, dict):
            if len(self.inputs) != 1:
                raise Error(f"which input? there are: {', '.join(self.inputs)}", "USAGE")
            inputs = {next(iter(self.inputs)): inputs}
        for name, numbers in {**(inputs or {}), **more}.items():
            self.write(name, numbers)
        _must(self._ask("run"))
        return {} if self.engine.startswith("timing") else {name: self.read(name) for name in self.outputs}

    def read(self, name):
        """An output after a run, as f32, or i64 where it has integers."""
        value = self.outputs.get(name)
        shape = value.shape if value else (1,)
        if value and value.type[0] not in "fb" or value and value.type == "bool":
            array = np.empty(shape, np.int64)
            _must(self._ask("read_integers", name.encode(), array.ctypes.data_as(_INTEGERS), array.size))
        else:
            array = np.empty(shape, np.float32)
            _must(self._ask("read", name.encode(), array.ctypes.data_as(_FLOATS), array.size))
        return array

    @property
    def tile_bytes(self):
        """The bytes in use of every tile, as an array."""
        array = np.zeros(self.memory["tiles"], np.uint64)
        _must(self._ask("tile_bytes", array.ctypes.data_as(_BYTES), array.size))
        return array

    @property
    def layers(self):
        """Where cycles and memory went: a structured array with a row for each layer, the last one for what is of none."""
        rows, layer = [], _Layer()
        for i in range(self._ask("layers")):
            _must(self._ask("layer", i, byref(layer)))
            rows.append(tuple(_text(getattr(layer, n)) for n in ("name", "block", "op")) + tuple(getattr(layer, n) for n in _LAYER_NUMBERS))
        return np.array(rows, [(n, object) for n in ("name", "block", "op")] + [(n, np.int64) for n in _LAYER_NUMBERS])

    @property
    def answer(self):
        """What `superstep run --json` prints, as a dictionary."""
        text = c_void_p()
        _must(self._ask("json", byref(text)))
        try:
            return json.loads(ctypes.string_at(text))
        finally:
            _lib.ss_free(text)

    def profile(self, file=None):
        """Runs once more and returns a Profile of it: the file stays if it was named."""
        if file is not None:
            return self._profile_to(os.fspath(file))
        with tempfile.TemporaryDirectory() as folder:
            return self._profile_to(os.path.join(folder, "profile.db"))

    def _profile_to(self, path):
        _must(self._ask("profile", os.fsencode(path)))
        try:
            _must(self._ask("run"))
        finally:
            self._ask("profile", None)
        return Profile(path)


def compile(what, *words, progress=None, **options):
    """Compiles a network, by name or from FILE.onnx, or finds it compiled in the cache.

    words, options   as on the command line of `superstep run`: compile("net.onnx", "-m", "toy64"), or machine="toy64",
                     batch=4, set={"tiles": 64}, no_cache=True, image=["a.jpg", "b.jpg"]
    progress         a function of a line of text, or True: lines on stderr
    """
    return Network(what, words, options, progress)


class Profile:
    """The tables of a profile (docs/profile.md), each a structured array: profile["layers"]."""

    def __init__(self, path):
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            names = [n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
            self._tables = {n: _table(db.execute(f'SELECT * FROM "{n}"')) for n in names}
        db.close()

    def __getitem__(self, name):
        return self._tables[name]

    def __iter__(self):
        return iter(self._tables)

    def __len__(self):
        return len(self._tables)

    def keys(self):
        return self._tables.keys()


def _table(rows):
    """Columns of integers or of real numbers keep their type; others hold objects."""
    names = [c[0] for c in rows.description]
    rows = rows.fetchall()
    types = []
    for column in zip(*rows) if rows else [()] * len(names):
        kinds = {type(v) for v in column}
        types.append(np.int64 if kinds == {int} else np.float64 if kinds and kinds <= {int, float} else object)
    return np.array(rows, list(zip(names, types)))


# ---- training ----


class Training(_Handle):
    """A network as a step of training that is compiled; see train()."""

    def __init__(self, what, words=(), options=None, progress=None):
        super().__init__("training", what, words, options or {}, progress)
        self.data = _value(self._ask, "data")
        self.targets = _value(self._ask, "targets")
        count = self._ask("parameters")
        self.parameters = _Parameters(self, [_value(self._ask, "parameter", i) for i in range(count)])

    def step(self, data=None, targets=None):
        """One step; returns the loss, the mean over the pictures.

        data      an array of the shape of self.data, or as many numbers
        targets   labels, an integer for each picture; or shares of the classes, of the shape of self.targets
        Both are left out with engine="timing", which has no values.
        """
        loss = c_double()
        array = np.ascontiguousarray([] if data is None else data, np.float32)
        which = np.asarray([] if targets is None else targets)
        if which.dtype.kind in "iu" and which.size:
            if which.min() < 0:
                raise Error(f"label {which.min()}", "USAGE")
            which = np.ascontiguousarray(which, np.uint32)
            call, kind = "step_labels", _LABELS
        else:
            which = np.ascontiguousarray(which, np.float32)
            call, kind = "step", _FLOATS
        _must(self._ask(call, array.ctypes.data_as(_FLOATS), array.size, which.ctypes.data_as(kind), which.size, byref(loss)))
        return loss.value

    @property
    def scores(self):
        """Of the last step, before softmax: an array of the shape of self.targets."""
        array = np.empty(self.targets.shape, np.float32)
        _must(self._ask("scores", array.ctypes.data_as(_FLOATS), array.size))
        return array

    @property
    def rate(self):
        """Of learning; may be set between steps."""
        return float(self._ask("rate"))

    @rate.setter
    def rate(self, rate):
        _must(self._ask("set_rate", rate))

    @property
    def steps(self):
        return int(self._ask("steps"))

    @property
    def skipped(self):
        """Steps that have changed nothing, because their loss or gradients were no numbers."""
        return int(self._ask("skipped"))

    def save(self, file):
        """Writes the parameters as safetensors, for weights= of compile()."""
        _must(self._ask("save", os.fsencode(file)))


class _Parameters:
    """Parameters, running statistics and states of the optimiser by name, as arrays; they may be set."""

    def __init__(self, training, values):
        self._training = training
        self.values = {v.name: v for v in values}

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, name):
        array = np.empty(self.values[name].shape, np.float32)
        _must(self._training._ask("read", name.encode(), array.ctypes.data_as(_FLOATS), array.size))
        return array

    def __setitem__(self, name, numbers):
        array = np.ascontiguousarray(numbers, np.float32)
        _check_shape(name, array, self.values.get(name))
        _must(self._training._ask("write", name.encode(), array.ctypes.data_as(_FLOATS), array.size))


def train(what, *words, progress=None, **options):
    """Compiles a step of training: train("net.onnx", batch=32, optimiser="sgd", rate=0.1). Words and options as on the command
    line of `superstep train`, but for what a program says by its calls: data, epochs, schedules, checkpoints."""
    return Training(what, words, options, progress)


def _check_shape(name, array, value):
    if value and array.shape != value.shape and array.size != int(np.prod(value.shape)):
        raise Error(f"{name}: {list(array.shape)} for {value.type} {list(value.shape)}", "USAGE")


# ---- tables and pictures ----


def frame(table):
    """A structured array (net.layers, profile["layers"]) as a data frame of pandas, which must be there."""
    import pandas

    return pandas.DataFrame({name: table[name] for name in table.dtype.names})


def bars(layers, column="cycles", width=60):
    """Text: a bar for each layer that has any of it."""
    rows = [(str(r["name"]), int(r[column])) for r in layers if r[column]]
    most = max((n for _, n in rows), default=1)
    name = max((len(n) for n, _ in rows), default=0)
    return "\n".join(f"{n:{name}} {v:>12,} {'#' * max(1, round(width * v / most))}" for n, v in rows)


def plot(layers, file=None, column="cycles"):
    """Bars by layer: with matplotlib a figure, written to file if it is named; else text, printed. Returns either."""
    try:
        import matplotlib
    except ImportError:
        text = bars(layers, column)
        print(text)
        return text
    if file:
        matplotlib.use("Agg")
    from matplotlib import pyplot

    some = [r for r in layers if r[column]]
    figure, axes = pyplot.subplots(figsize=(10, 1 + 0.25 * len(some)))
    axes.barh([str(r["name"]) for r in some], [int(r[column]) for r in some])
    axes.invert_yaxis()
    axes.set_xlabel(column)
    figure.tight_layout()
    if file:
        figure.savefig(file)
    return figure
