"""Executes the blocks of Python of a page, one after the other, as one program. Those that need a module which is not installed are left
out, if they are listed behind the page.   page.py PAGE.md [MODULE ...]"""
import importlib.util
import re
import sys

page, *optional = sys.argv[1:]
missing = [m for m in optional if importlib.util.find_spec(m) is None]
blocks = re.findall(r"^```python\n(.*?)^```$", open(page).read(), re.S | re.M)
names = {"__name__": "__main__"}
ran = 0
for block in blocks:
    why = [m for m in missing if re.search(rf"^(import|from) {m}\b", block, re.M)]
    if why:
        print(f"left out: a block that needs {why[0]}")
        continue
    exec(compile(block, page, "exec"), names)
    ran += 1
print(f"{ran} blocks of {page} ran")
sys.exit(not ran)
