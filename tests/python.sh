#!/bin/sh
# The module of Python over an installed library: its tests, the page that explains it, and what pip makes of its folder.
#   python.sh PREFIX      where it is installed
cd "$(dirname "$0")/.." || exit 2
to=$1
python=/usr/bin/python3
[ -x "$python" ] || python=python3
export PYTHONDONTWRITEBYTECODE=1 SUPERSTEP_CACHE= OMP_WAIT_POLICY=passive
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && trap 'exit 130' INT TERM || exit 2
bad() { cat "$work/log"; echo "$*"; exit 1; }
"$python" -c 'import numpy' 2>"$work/log" || bad "no numpy for $python: sh .ci/setup installs it"

# As it is installed: it finds its library.
here=$PWD
PYTHONPATH=$to/share/superstep/python "$python" tests/python/test_superstep.py "$to/bin/superstep" docs/howto/small_cnn.onnx models/pictures/cat.jpg \
    >"$work/log" 2>&1 || bad "the module is wrong"
tests=$(sed -n 's/^Ran \([0-9]*\) tests.*/\1/p' "$work/log")
mkdir "$work/page"
cp docs/howto/small_cnn.onnx "$work/page"
(cd "$work/page" && PYTHONPATH=$to/share/superstep/python "$python" "$here/tests/python/page.py" "$here/docs/howto/python.md" torch) \
    >"$work/log" 2>&1 || bad "docs/howto/python.md does not run"
page=$(grep -E '^left out|blocks of' "$work/log" | sed "s|$here/||" | paste -sd, | sed 's/,/, /g')

# pip, without a network, from a folder that it may write to. The library is named, or there is none.
cp -r models/python "$work/source"
"$python" -m pip install -q --no-build-isolation --no-index --no-deps --target "$work/pip" "$work/source" >"$work/log" 2>&1 || bad "pip does not install it"
SUPERSTEP_LIBRARY=$to/lib/libsuperstep.so PYTHONPATH=$work/pip "$python" -c 'import superstep; print(superstep.__file__)' >"$work/log" 2>&1 ||
    bad "what pip has installed does not find its library"
grep -q "^$work/pip/" "$work/log" || bad "another module than that of pip"
SUPERSTEP_LIBRARY=/no/such/library PYTHONPATH=$work/pip "$python" -c 'import superstep' >"$work/log" 2>&1 && bad "a library that is not there"
grep -q 'ImportError: no library of Superstep: /no/such/library' "$work/log" || bad "nothing is said of the library"
echo "Python: $tests tests, $page, installed by pip"
