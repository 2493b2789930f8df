"""page_speed.py CHROMIUM PAGE...: how fast pages of --html are, by the clock (report_page.sh).

Opens each page in headless Chromium, without a network, through its debugging pipe, and prints when all views were drawn, and how long
every kind of drawing takes when the user zooms, moves or chooses a tile. Ends with 1 if a page has an error of JavaScript, is larger than
10 MB, or draws longer than a second (on a busy machine that is much).
"""
import json, os, subprocess, sys, tempfile, time

SLOWEST_MS, LARGEST_BYTES, PATIENCE_S = 1000, 10e6, 120

# Times of n calls; the frame that follows each is waited for, and not counted.
ACTIONS = """(async () => {
    const out = {}, $ = id => document.getElementById(id);
    async function times(name, n, f) {
        const t = [];
        for (let i = 0; i < n; i++) {
            const begun = performance.now();
            f(i);
            t.push(performance.now() - begun);
            await new Promise(r => requestAnimationFrame(() => setTimeout(r, 0)));
        }
        t.sort((a, b) => a - b);
        out[name] = [t[n >> 1], t[n - 1]];
    }
    const key = (id, k) => $(id).dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true }));
    const wheel = (id, i) => {
        const box = $(id).getBoundingClientRect(), at = { clientX: box.left + 200, clientY: box.top + 100 };
        $(id).dispatchEvent(new WheelEvent("wheel", { deltaY: i % 2 ? 120 : -120, bubbles: true, cancelable: true, ...at }));
    };
    await times("all views", 3, () => drawAgain());
    await times("time zoomed", 12, () => key("time-bars", "+"));
    await times("time moved", 12, () => key("time-bars", "ArrowRight"));
    await times("time whole", 3, () => key("time-bars", "0"));
    await times("time wheel", 12, i => wheel("time-bars", i));
    await times("memory wheel", 8, i => wheel("memory-bars", i));
    wheel("traffic-matrix", 0); // before its numbers are there
    if (!$("traffic").hidden) { traffic.seen = true; await loadTraffic(state.run); }
    await times("traffic wheel", 8, i => wheel("traffic-matrix", i));
    await times("tile chosen", 8, i => chooseTile(state.run.tiles[i % state.run.tiles.length].tile));
    return out;
})()"""


class Chromium:
    """A tab that takes commands of the DevTools protocol on descriptors 3 and 4, each ended by a zero byte."""

    def __init__(self, program, folder):
        their_in, self.out = os.pipe()
        self.inp, their_out = os.pipe()
        os.set_inheritable(their_in, True)
        os.set_inheritable(their_out, True)
        self.process = subprocess.Popen(
            ["sh", "-c", 'exec "$0" "$@" 3<&%d 4>&%d' % (their_in, their_out), program, "--headless", "--no-sandbox", "--disable-gpu",
             "--proxy-server=127.0.0.1:9", "--user-data-dir=" + folder, "--remote-debugging-pipe", "--window-size=1280,1400"],
            close_fds=False, stderr=subprocess.DEVNULL)
        os.close(their_in)
        os.close(their_out)
        self.number, self.rest, self.session, self.errors = 0, b"", None, []
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.command("Page.enable")
        self.command("Runtime.enable")

    def command(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                self.rest += os.read(self.inp, 1 << 20)
            text, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
                self.errors.append(json.dumps(answer["params"])[:1500])
            if answer.get("id") == self.number:
                return answer["result"]

    def value(self, expression):
        answer = self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            self.errors.append(json.dumps(answer["exceptionDetails"])[:300])
        return answer["result"].get("value")

    def open(self, path):
        """Milliseconds after which all views of the page were drawn."""
        self.errors.clear()
        self.command("Page.navigate", url="file://" + os.path.abspath(path))
        end = time.time() + PATIENCE_S
        while time.time() < end:
            ready = self.value("document.documentElement ? document.documentElement.dataset.ready : null")
            if ready:
                return int(ready)
            time.sleep(0.05)
        self.errors.append("not all views were drawn in %d s" % PATIENCE_S)
        return None


def measure(browser, path):
    ready, size = browser.open(path), os.path.getsize(path)
    times = browser.value(ACTIONS) if ready is not None else None
    print("%s: %.1f MB, ready after %s ms (load %s)" % (os.path.basename(path), size / 1e6, ready, open("/proc/loadavg").read().split()[0]))
    for name, (median, most) in (times or {}).items():
        print("  %-14s %6.1f ms, at most %6.1f" % (name, median, most))
    wrong = list(browser.errors)
    if size > LARGEST_BYTES:
        wrong.append("larger than 10 MB")
    wrong += ["%s takes %.0f ms" % (name, t[0]) for name, t in (times or {}).items() if t[0] > SLOWEST_MS]
    for text in wrong:
        print("  FAILED: " + text)
    return not wrong


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Chromium(sys.argv[1], folder)
        try:
            good = [measure(browser, path) for path in sys.argv[2:]]
        finally:
            browser.process.kill()
            browser.process.wait()
    sys.exit(not all(good))


main()
