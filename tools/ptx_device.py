"""Makes src/gpudx/ptx_checks/device.ptx from device.cu: what nvcc writes, without its head and what only keeps the rest alive.

python tools/ptx_device.py
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "src/gpudx/ptx_checks"
LEFT_OUT = re.compile(r"^(?:\.visible )?\.(?:entry|func)[^{]*\bgdx_(?:keep|kernel)\b.*?^}\n", re.M | re.S)


def made() -> str:
    command = ["nvcc", "-arch=sm_75", "-O2", "-ptx", "-o", "-", str(FOLDER / "device.cu")]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    text = re.sub(r"^\s*//.*\n|^\s*\n", "", text, flags=re.M)
    body = text[text.index(".address_size 64") :].partition("\n")[2]
    body = re.sub(r"^\.visible \.entry.*?^}\n", "", body, flags=re.M | re.S)
    return LEFT_OUT.sub("", body)


if __name__ == "__main__":
    (FOLDER / "device.ptx").write_text(made())
