# %% [markdown]
# # CoCoNet from Python
#
# Cells of a notebook: open this file in an editor that knows `# %%`, or run it as it stands,
# `python tutorial/from_python.py`. docs/python.md says how the package `coconet` is installed; the
# last three cells need PyTorch.

# %%
import numpy as np

import coconet as cc

# %% [markdown]
# ## 1. A program
#
# Every value has a type that says how it lies on the ranks. Here `x` is cut along its last dim and
# `w` along its first, so that their product is a sum over the ranks, `partial(+)`, which an
# all_reduce makes whole.

# %%
p = cc.Program("tail", axes="tp")
B, H = p.dim("B"), p.dim("H")
x = p.input("x", cc.f32, [B, H], cc.sliced(1))
w = p.input("w", cc.f32, [H, H], cc.sliced(0))
b = p.input("b", cc.f32, [H])
r = p.input("r", cc.f32, [B, H])
layer = p.let("layer", x @ w)
total = p.let("total", cc.all_reduce(layer, "+"))
out = p.let("out", cc.gelu(total + b) + r)
p.returns(out)
tail = p.graph()
print(tail.typed())

# %% [markdown]
# A program without a meaning is refused where it is written: the bias would be added by every rank.

# %%
try:
    cc.all_reduce(layer + b, "+")
except cc.Error as error:
    print(error)

# %% [markdown]
# ## 2. It runs
#
# `run` starts the ranks, processes of this machine, and takes and gives whole tensors.

# %%
rng = np.random.default_rng(1)
sizes = {"x": (64, 256), "w": (256, 256), "b": (256,), "r": (64, 256)}
data = {name: rng.standard_normal(shape, dtype="float32") for name, shape in sizes.items()}
unscheduled = cc.compile(tail).run(data, ranks=2)
print(unscheduled["out"].shape, unscheduled.microseconds[0])

# %% [markdown]
# ## 3. A schedule
#
# The all_reduce is split, what follows moves before the gather - each rank computes its rows
# alone -, all of it becomes one kernel, and that follows the matmul chunk by chunk. The result is
# the same, bit for bit.

# %%
s = cc.Scheduling("overlapped", tail)
rs, ag = s.split(total, into=["rs", "ag"])
body, gather = s.reorder(ag, [out], into=["body", "gather"])
fused = s.fuse([rs, body, gather], into="ar")
s.overlap([layer, fused])
print(s.schedule)
overlapped = cc.compile(tail, s.schedule)
result = overlapped.run(data, ranks=2)
assert np.array_equal(result["out"], unscheduled["out"])

# %% [markdown]
# What a step needs, and what may come next:

# %%
print(cc.explain(tail, "fuse(total, out)"))
for step in cc.legal_steps(tail)[:5]:
    print(step)

# %% [markdown]
# ## 4. The tuner
#
# It measures schedules at these sizes, in some ten seconds, and keeps what it finds.

# %%
found = cc.tune(tail, ranks=2, sizes={"B": 64, "H": 256})
print(found)
print(found.schedule)
tuned = cc.compile(tail, found.schedule, **found.knobs).run(data, ranks=2)
assert np.array_equal(tuned["out"], unscheduled["out"])

# %% [markdown]
# ## 5. Gradients
#
# A program too: of `d_out` to `d_x`, `d_w`, `d_b`, `d_r`. Where the program gathers, its gradient
# scatters.

# %%
print(cc.gradient(tail))

# %% [markdown]
# ## 6. On torch tensors
#
# In a job of torch.distributed every process is a rank, here the only one (`torchrun
# --nproc-per-node 2` starts two). Calls are recorded for autograd.

# %%
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

import coconet.torch as ct  # noqa: E402

if not dist.is_initialized():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
ct.init()
given = {name: torch.from_numpy(array).requires_grad_() for name, array in data.items()}
step = ct.compile(tail, s.schedule, sizes={"H": 256})
y = step(**given)
y.square().sum().backward()
want = torch.nn.functional.gelu(given["x"] @ given["w"] + given["b"]) + given["r"]
assert torch.allclose(y, want, atol=1e-4)
print(given["w"].grad.norm())

# %% [markdown]
# ## 7. From a torch function
#
# What a rank runs on its pieces, with torch's functional collectives, becomes a program; its values
# have the names of the variables.

# %%
import torch.distributed._functional_collectives as funcol  # noqa: E402


def mlp_tail(x, w, b, r):
    total = funcol.all_reduce(x @ w, "sum", dist.group.WORLD)
    out = torch.nn.functional.gelu(total + b) + r
    return out


captured = ct.capture(mlp_tail, {name: tensor.detach() for name, tensor in given.items()},
                      placements={"x": cc.sliced(1), "w": cc.sliced(0)},
                      dims={"x": ["B", None], "r": ["B", None]})
print(captured)

# %% [markdown]
# ## 8. Training
#
# `ShardedAdam` averages the ranks' gradients and updates parameters and state in one fused call;
# each rank keeps its part of the state.

# %%
torch.manual_seed(1)
net = torch.nn.Sequential(torch.nn.Linear(256, 64), torch.nn.GELU(), torch.nn.Linear(64, 1))
optimizer = ct.ShardedAdam(net.parameters(), lr=1e-2)
target = given["x"].detach().sum(1, keepdim=True).tanh()
for at in range(30):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(net(given["x"].detach()), target)
    loss.backward()
    optimizer.step()
    if at % 10 == 0:
        print(f"step {at}: loss {loss.item():.4f}")
assert loss.item() < 0.2
