"""ShardedAdam and ShardedLAMB against torch's optimizers on the mean of the gradients."""
import pytest

from ranks import on_ranks

torch = pytest.importorskip("torch", reason="torch is not installed: tools/python.sh torch")

MODEL = """
def model():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(37, 65), torch.nn.GELU(), torch.nn.Linear(65, 3))

def batch(step, r):
    g = torch.Generator().manual_seed(100 * step + r)
    return torch.randn(8, 37, generator=g), torch.randn(8, 3, generator=g)

def loss_of(net, step, r):
    x, y = batch(step, r)
    return torch.nn.functional.mse_loss(net(x), y)

def mean_loss(net, step):
    return sum(loss_of(net, step, r) for r in range(ranks)) / ranks

def same(a, b, atol=2e-6):
    for x, y in zip(a.parameters(), b.parameters()):
        assert torch.allclose(x, y, atol=atol), (x - y).abs().max()
"""


PAIRS = """
PAIRS = [
    (lambda p: ct.ShardedAdam(p, lr=1e-2), lambda p: torch.optim.Adam(p, lr=1e-2)),
    (lambda p: ct.ShardedAdam(p, weight_decay=0.1),
     lambda p: torch.optim.Adam(p, weight_decay=0.1)),
    (lambda p: ct.ShardedAdam(p, weight_decay=0.1, decoupled=True),
     lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0.1)),
]
"""


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_trains_as_torch(tmp_path, ranks):
    on_ranks(tmp_path, ranks, MODEL + PAIRS + """
for make_ours, make_theirs in PAIRS:
    net, want = model(), model()
    ours, theirs = make_ours(net.parameters()), make_theirs(want.parameters())
    for step in range(4):
        ours.zero_grad(); theirs.zero_grad()
        loss_of(net, step, rank).backward(); mean_loss(want, step).backward()
        ours.step(); theirs.step()
        same(net, want)
elements = sum(p.numel() for p in net.parameters())
held = torch.tensor(float(ours.state_bytes()))
dist.all_reduce(held)
assert 8 * elements <= held < 8 * elements + 8 * 1024 * 5, held  # whole blocks of 1024
""")


def test_lamb_as_its_paper_has_it(tmp_path):
    on_ranks(tmp_path, 2, MODEL + """
net, want = model(), model()
ours = ct.ShardedLAMB(net.parameters(), lr=1e-2)
state = [(torch.zeros_like(p), torch.zeros_like(p)) for p in want.parameters()]
for step in range(1, 5):
    ours.zero_grad(); want.zero_grad()
    loss_of(net, step, rank).backward(); mean_loss(want, step).backward()
    ours.step()
    with torch.no_grad():
        for p, (m, v) in zip(want.parameters(), state):
            m.mul_(0.9).add_(0.1 * p.grad); v.mul_(0.999).add_(0.001 * p.grad**2)
            u = (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-6) + 0.01 * p
            ratio = p.norm() / u.norm() if p.norm() > 0 and u.norm() > 0 else 1.0
            p -= 1e-2 * ratio * u
    same(net, want, 1e-5)
""")


def test_two_groups_and_a_schedule_of_rates(tmp_path):
    on_ranks(tmp_path, 2, MODEL + """
net, want = model(), model()
def groups(m): return [{"params": m[0].parameters(), "lr": 1e-2}, {"params": m[2].parameters()}]
ours, theirs = ct.ShardedAdam(groups(net)), torch.optim.Adam(groups(want))
rates = [torch.optim.lr_scheduler.StepLR(each, 2, 0.5) for each in (ours, theirs)]
for step in range(5):
    ours.zero_grad(); theirs.zero_grad()
    loss_of(net, step, rank).backward(); mean_loss(want, step).backward()
    ours.step(); theirs.step()
    for each in rates: each.step()
same(net, want)
""")


def test_gradients_that_were_set_to_none(tmp_path):
    on_ranks(tmp_path, 2, MODEL + """
net, want = model(), model()
ours, theirs = ct.ShardedAdam(net.parameters()), torch.optim.Adam(want.parameters())
for step in range(3):
    net.zero_grad(set_to_none=True); theirs.zero_grad()
    loss_of(net, step, rank).backward(); mean_loss(want, step).backward()
    ours.step(); theirs.step()
same(net, want)
""")


@pytest.mark.parametrize("first, then", [(2, 3), (3, 1)])
def test_a_state_is_loaded_by_another_number_of_ranks(tmp_path, first, then):
    path = tmp_path / "state.pt"
    on_ranks(tmp_path, first, MODEL + f"""
net = model()
ours = ct.ShardedAdam(net.parameters(), lr=1e-2)
want = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(2):
    ours.zero_grad(); (mean_loss(net, step)).backward(); ours.step()
state = ours.state_dict()
assert set(state["state"][0]) >= {{"step", "exp_avg", "exp_avg_sq"}}
want.load_state_dict(state)  # torch's own takes it
if rank == 0: torch.save((net.state_dict(), state), {str(path)!r})
""")
    on_ranks(tmp_path, then, MODEL + f"""
weights, state = torch.load({str(path)!r})
net, want = model(), model()
for each in (net, want): each.load_state_dict(weights)
ours, theirs = ct.ShardedAdam(net.parameters()), torch.optim.Adam(want.parameters())
ours.load_state_dict(state); theirs.load_state_dict(state)
for step in range(2, 4):
    ours.zero_grad(); theirs.zero_grad()
    loss_of(net, step, rank).backward(); mean_loss(want, step).backward()
    ours.step(); theirs.step()
same(net, want)
part = ours.sharded_state_dict()
again = ct.ShardedAdam(net.parameters())
again.load_sharded_state_dict(part)
refused(lambda: again.load_sharded_state_dict({{**part, "ranks": 7}}), "of 7; needed")
refused(lambda: again.load_sharded_state_dict({{**part, "groups": []}}), "found groups of []")
state["state"][1]["step"] = torch.tensor(9.0)
refused(lambda: again.load_state_dict(state), "found parameters after [", "9] steps")
fresh = ct.ShardedAdam(model().parameters())
ours.load_state_dict(fresh.state_dict() | {{"state": {{}}}})
assert ours._packed[0].t == 0 and not ours._packed[0].m.any()
""")


def test_refuses_other_dtypes(tmp_path):
    on_ranks(tmp_path, 1, """
refused(lambda: ct.ShardedAdam(torch.nn.Linear(2, 2).double().parameters()), "float64")
""")


def test_parameters_that_were_put_elsewhere_are_still_trained(tmp_path):
    on_ranks(tmp_path, 2, MODEL + """
net, want = model(), model()
ours, theirs = ct.ShardedAdam(net.parameters()), torch.optim.Adam(want.parameters())
for step in range(3):
    for p in net.parameters(): p.data = p.data.clone()
    ours.zero_grad(); theirs.zero_grad()
    loss_of(net, step, rank).backward(); mean_loss(want, step).backward()
    ours.step(); theirs.step()
    same(net, want)
""")


def test_ranks_of_a_group_of_their_own(tmp_path):
    on_ranks(tmp_path, 3, MODEL.replace("range(ranks)", "range(2)").replace("/ ranks", "/ 2") + """
pair = dist.new_group([0, 1])
if rank < 2:
    ct.init(pair)
    net, want = model(), model()
    ours, theirs = ct.ShardedAdam(net.parameters()), torch.optim.Adam(want.parameters())
    for step in range(2):
        ours.zero_grad(); theirs.zero_grad()
        loss_of(net, step, rank).backward(); mean_loss(want, step).backward()
        ours.step(); theirs.step()
    same(net, want)
    state = ours.state_dict()["state"]
    want = theirs.state_dict()["state"]
    assert torch.allclose(state[0]["exp_avg"], want[0]["exp_avg"], atol=1e-6)
dist.barrier()
""")
