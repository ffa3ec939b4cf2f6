"""The ranks of PyTorch with gloo: all_reduce, and the fused Adam of torch.optim upon it.

usage: torch_worker.py LIBRARY NAME=VALUE...    (harness/participant.cc; LIBRARY: libserve.so)
"""
import ctypes
import os
import signal
import sys
import tempfile

PERFORM = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
CHECK = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_char_p)


class Rank:
    """One rank's tensors and what is done with them."""

    def __init__(self, library, words, rank, meeting):
        import torch  # after the fork
        import torch.distributed as dist
        torch.set_num_threads(1)
        self.torch, self.dist, self.library, self.rank = torch, dist, library, rank
        self.ranks, self.elements = int(words["ranks"]), int(words["elements"])
        dist.init_process_group("gloo", store=dist.FileStore(meeting, self.ranks), rank=rank,
                                world_size=self.ranks)
        self.gradient = self.values("gradient", rank)
        self.parameter = torch.nn.Parameter(self.values("parameter"))
        self.parameter.grad = self.gradient
        self.adam = torch.optim.Adam([self.parameter], lr=0.1, betas=(0.9, 0.999), eps=1e-8,
                                     fused=True)
        self.reset()

    def values(self, of, ranks=None):
        out = self.torch.empty(self.elements)
        at = ctypes.c_void_p(out.data_ptr())
        count = ctypes.c_int64(self.elements)
        ranks = self.ranks if ranks is None else ranks
        if self.library.coconet_bench_values(of.encode(), ranks, count, at) != 0:
            raise RuntimeError(f"no values {of}")
        return out

    def reset(self):
        self.gradient.copy_(self.values("gradient", self.rank))
        with self.torch.no_grad():
            self.parameter.copy_(self.values("parameter"))
        self.adam.state[self.parameter] = {"step": self.torch.tensor(9.0),
                                           "exp_avg": self.values("first_moment"),
                                           "exp_avg_sq": self.values("second_moment")}

    def perform(self, name):
        if name == b"adam.f32/all_reduce":
            self.gradient.div_(self.ranks)  # as DistributedDataParallel does
            self.dist.all_reduce(self.gradient)
            self.adam.step()
        else:
            self.dist.all_reduce(self.gradient)

    def use(self, name):
        output = self.parameter if name.startswith(b"adam") else self.gradient
        size = ctypes.c_int64(4 * self.elements)
        self.library.coconet_bench_use(ctypes.c_void_p(output.data_ptr()), size,
                                       ctypes.c_void_p(self.gradient.data_ptr()), size)

    def check(self, name):
        self.reset()
        self.perform(name)
        pairs = [(self.gradient, "total")]
        if name.startswith(b"adam"):
            state = self.adam.state[self.parameter]
            pairs = [(self.parameter.detach(), "p"), (state["exp_avg"], "m"),
                     (state["exp_avg_sq"], "v")]
        differences = [(got - self.values(want)).abs().max().item() for got, want in pairs]
        return max(float("inf") if d != d else d for d in differences)


def report(function):
    """What a callback raises ends the rank: ctypes would only print it."""
    def called(name):
        try:
            return function(name)
        except Exception as error:  # whatever it is
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    return called


def main():
    library = ctypes.CDLL(sys.argv[1])
    words = dict(word.split("=", 1) for word in sys.argv[2:])
    with tempfile.TemporaryDirectory() as folder:
        rank = 0
        for other in range(1, int(words["ranks"])):
            if os.fork() == 0:
                # As C++ ranks: it dies with rank 0.
                ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
                rank = other
                break
        cores = [int(core) for core in words.get("cores", "").split(",") if core]
        if cores:
            os.sched_setaffinity(0, {cores[rank % len(cores)]})
        of = Rank(library, words, rank, os.path.join(folder, "meeting"))
        arguments = (ctypes.c_char_p * len(sys.argv))(*(word.encode() for word in sys.argv))
        status = library.coconet_bench_serve(len(sys.argv), arguments, rank,
                                             PERFORM(report(of.perform)), PERFORM(report(of.use)),
                                             CHECK(report(of.check)))
        sys.stderr.flush()
        if rank > 0:
            os._exit(status)  # the folder is rank 0's
    os._exit(status)


if __name__ == "__main__":
    main()
