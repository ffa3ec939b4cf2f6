"""examples/torch, as torchrun starts them."""
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: tools/python.sh torch")


def losses_of(folder, optimizer, ranks):
    path = folder / f"{optimizer}{ranks}"
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
         str(ranks), "examples/torch/train_text.py", "--optimizer", optimizer, "--steps", "12",
         "--width", "32", "--losses", str(path)], capture_output=True, text=True, timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    return [float(line) for line in path.read_text().split()]


def test_training_has_the_losses_of_ddp(tmp_path):
    ours, theirs = (losses_of(tmp_path, optimizer, 2) for optimizer in ("sharded", "ddp"))
    assert ours == pytest.approx(theirs, rel=2e-5)
    assert ours[-1] < 0.95 * ours[0]
