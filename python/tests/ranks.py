"""Runs a text of Python on ranks, in the environment that torchrun gives them."""
import os
import socket
import subprocess
import sys
import textwrap

HEAD = """
import os, torch, torch.distributed as dist
import coconet as cc, coconet.torch as ct
ct.init()
rank, ranks = dist.get_rank(), dist.get_world_size()

def refused(call, *words):
    try:
        call()
    except cc.Error as error:
        assert all(word in str(error) for word in words), str(error)
    else:
        raise AssertionError(f"taken; needed is a refusal that says {words}")
"""

# Gloo's threads release the tensors of the last collective when they come to it: at the end of the
# interpreter that ends the process (PyThread_exit_thread through a destructor).
TAIL = """
import sys
sys.stdout.flush()
os._exit(0)
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def on_ranks(folder, ranks, body, fails=False):
    """What they print. `fails`: whether one must."""
    script = folder / "ranks.py"
    script.write_text(HEAD + textwrap.dedent(body) + TAIL)
    shared = {**os.environ, "OMP_NUM_THREADS": "1", "WORLD_SIZE": str(ranks),
              "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    started = [subprocess.Popen([sys.executable, str(script)], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, env={**shared, "RANK": str(rank)})
               for rank in range(ranks)]
    try:
        out = "".join(one.communicate(timeout=120)[0] for one in started)
    finally:
        for one in started:
            one.kill()
    assert any(one.returncode != 0 for one in started) == fails, out
    return out
