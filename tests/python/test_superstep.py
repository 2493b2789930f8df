"""The module over an installed library: the same answers as the program, errors, arrays.   test_superstep.py PROGRAM NETWORK.onnx PICTURE"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import superstep

program, network, picture = sys.argv[1:4]
small = {"machine": "toy64", "no_cache": True}
trained = {**small, "set": {"sram": "256K"}, "batch": 4}
rng = np.random.default_rng(7)


def answer(*words):
    out = subprocess.run([program, "run", network, "-m", "toy64", "--no-cache", "-q", "--json", *words], check=True, capture_output=True)
    return json.loads(out.stdout)


class Networks(unittest.TestCase):
    def test_the_answer_is_that_of_the_program(self):
        net = superstep.compile(network, **small)
        net.run()
        self.assertEqual(net.answer, answer())

    def test_numbers_are_those_of_the_program(self):
        numbers = rng.standard_normal((2, 1, 16, 16)).astype(np.float32)
        with tempfile.TemporaryDirectory() as folder:
            before, after = (os.path.join(folder, n) for n in ("in.npy", "out.npy"))
            np.save(before, numbers)
            want = answer("--batch", "2", "--input", f"picture={before}", "--save", f"scores={after}")
            net = superstep.compile(network, batch=2, **small)
            scores = net.run(numbers)["scores"]
            np.testing.assert_array_equal(scores, np.load(after))
        self.assertEqual((net.cycles, net.seconds), (want["cycles"], net.cycles / 1330e6))
        self.assertEqual(net.answer["digest"], want["digest"])
        np.testing.assert_array_equal(net.run({"picture": numbers})["scores"], scores)
        np.testing.assert_array_equal(net.run(picture=numbers.reshape(2, 16, 16))["scores"], scores)
        self.assertFalse((net.run(picture=np.zeros((2, 1, 16, 16)))["scores"] == scores).any())

    def test_pictures_by_name(self):
        net = superstep.compile(network, **small)
        net.run(picture=picture)
        self.assertEqual(net.answer, answer("--image", picture))
        self.assertTrue(net.inputs["picture"].meaning)

    def test_layers_memory_and_profile(self):
        net = superstep.compile(network, **small)
        self.assertEqual((net.cycles, net.engine), (0, ""))
        net.run()
        want = answer()
        layers = net.layers
        for row, other in zip(layers, want["layers"]):
            for name in layers.dtype.names:
                self.assertEqual(row[name], other.get(name, row[name]))
        self.assertEqual(len(layers), len(want["layers"]))
        self.assertEqual(net.memory["need_bytes"], want["memory"]["need_bytes"])
        self.assertEqual((net.tile_bytes.sum(), net.tile_bytes.max()), (net.memory["total_bytes"], net.memory["max_tile_bytes"]))
        profile = net.profile()
        self.assertEqual(profile["layers"]["cycles"].sum(), net.cycles)
        self.assertIn("supersteps", profile)
        self.assertEqual(superstep.bars(layers).count("\n"), (layers["cycles"] > 0).sum() - 1)

    def test_frames(self):
        net = superstep.compile(network, engine="timing", **small)
        net.run()
        try:
            import pandas
        except ImportError:
            self.assertRaises(ImportError, superstep.frame, net.layers)
            return
        table = superstep.frame(net.layers)
        self.assertIsInstance(table, pandas.DataFrame)
        self.assertEqual(table["cycles"].sum(), net.cycles)

    def test_timing_has_cycles_and_no_values(self):
        values, timing = (superstep.compile(network, engine=e, **small) for e in ("values", "timing"))
        self.assertIn("scores", values.run())
        self.assertEqual(timing.run(), {})
        self.assertEqual(values.cycles, timing.cycles)
        with self.assertRaisesRegex(superstep.Error, "timing has no values"):
            timing.read("scores")

    def test_words_and_keywords(self):
        self.assertEqual(superstep._words(("-m", "toy64"), {"no_cache": True, "batch": 2, "seed": None, "quiet": False, "set": {"a": 1, "b": 2},
                                                             "image": ["x", "y"]}),
                         ["-m", "toy64", "--no-cache", "--batch=2", "--set=a=1", "--set=b=2", "--image=x", "--image=y"])

    def test_errors_are_those_of_the_program(self):
        for options in ({"bach": 2}, {"batch": 0}, {"machine": "typo"}, {"precision": "f8"}, {"input": "no=x.npy"}):
            words = [f"--{k}={v}" for k, v in options.items()]
            said = subprocess.run([program, "run", network, *words], capture_output=True, text=True)
            with self.assertRaises(superstep.Error) as error:
                superstep.compile(network, **options)
            self.assertEqual(said.returncode, 2)
            self.assertEqual(said.stderr.splitlines()[-1], f"superstep run: {error.exception}")
        net = superstep.compile(network, **small)
        for wrong in (lambda: net.write("none", [1]), lambda: net.run(picture=np.zeros((3, 3))), lambda: net.read("none"),
                      lambda: net.read("scores"), lambda: net.run(picture="none.jpg"), lambda: superstep.compile("none.onnx")):
            with self.assertRaises(superstep.Error) as error:
                wrong()
            self.assertTrue(str(error.exception) and error.exception.status)

    def test_progress_is_heard(self):
        lines = []
        net = superstep.compile(network, progress=lines.append, **small)
        self.assertTrue(any(line.startswith("exchange") for line in lines))
        before = len(lines)
        net.run()
        self.assertGreater(len(lines), before)

    def test_what_is_closed_is_refused(self):
        with superstep.compile(network, **small) as net:
            net.run()
        with self.assertRaisesRegex(superstep.Error, "closed"):
            net.run()
        net.close()


class Steps(unittest.TestCase):
    labels = np.arange(4)
    data = np.ones((4, 1, 16, 16)) * (np.arange(4) - 1.5).reshape(4, 1, 1, 1)

    def test_the_loss_goes_down(self):
        step = superstep.train(network, rate=0.05, **trained)
        self.assertEqual((step.data.shape, step.targets.shape), ((4, 1, 16, 16), (4, 10)))
        losses = [step.step(self.data, self.labels) for _ in range(8)]
        self.assertLess(losses[-1], 0.9 * losses[0])
        self.assertEqual((step.steps, step.skipped, step.scores.shape), (8, 0, (4, 10)))
        self.assertGreater(step.cycles, 1000)
        self.assertAlmostEqual(step.seconds, step.cycles / 1330e6)
        self.assertLessEqual(step.memory["need_bytes"], step.memory["tile_bytes"])

    def test_targets_are_labels_spread_out(self):
        one, other = (superstep.train(network, **trained) for _ in range(2))
        self.assertEqual(one.step(self.data, self.labels), other.step(self.data, np.eye(10)[self.labels]))
        for name in one.parameters:
            np.testing.assert_array_equal(one.parameters[name], other.parameters[name])

    def test_parameters_are_read_and_written(self):
        step = superstep.train(network, rate=0, **trained)
        numbers = rng.standard_normal(10).astype(np.float32)
        step.parameters["8.bias"] = numbers
        np.testing.assert_array_equal(step.parameters["8.bias"], numbers)
        self.assertEqual(step.rate, 0)
        step.step(self.data, self.labels)
        np.testing.assert_array_equal(step.parameters["8.bias"], numbers)
        step.rate = 0.1
        step.step(self.data, self.labels)
        self.assertFalse((step.parameters["8.bias"] == numbers).all())
        with self.assertRaises(superstep.Error):
            step.parameters["8.bias"] = np.zeros(3)
        with self.assertRaises(KeyError):
            step.parameters["none"]

    def test_what_is_wrong_is_said(self):
        step = superstep.train(network, **trained)
        for wrong in (lambda: step.step(self.data[:2], self.labels), lambda: step.step(self.data, [0, 1, 2, 10]),
                      lambda: step.step(self.data, [0, 1, 2, -1]), lambda: superstep.train(network, epochs=3), lambda: step.scores):
            with self.assertRaises(superstep.Error):
                wrong()

    def test_a_step_is_timed(self):
        values, timing = (superstep.train(network, engine=e, **trained) for e in ("values", "timing"))
        values.step(self.data, self.labels)
        self.assertTrue(np.isnan(timing.step()))
        self.assertEqual(values.cycles, timing.cycles)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
