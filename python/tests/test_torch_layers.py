"""Parallel layers beside torch's whole ones."""
import pytest

from ranks import on_ranks

torch = pytest.importorskip("torch", reason="torch is not installed: tools/python.sh torch")


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_feed_forward_block(tmp_path, ranks):
    on_ranks(tmp_path, ranks, """
        torch.manual_seed(5)
        up, down = torch.nn.Linear(16, 32), torch.nn.Linear(32, 16)
        F = torch.nn.functional
        for norm in (None, "layer", "rms"):
            first = ct.ColumnParallelLinear(16, 32)
            second = ct.RowParallelLinear(32, 16, residual=True, norm=norm)
            first.load(up.weight, up.bias), second.load(down.weight, down.bias)
            x = torch.randn(2, 3, 16, generator=torch.Generator().manual_seed(1))
            mine, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
            y = second(F.gelu(first(mine)), mine)
            want = down(F.gelu(up(theirs))) + theirs
            if norm == "layer":
                want = F.layer_norm(want, (16,))
            elif norm == "rms":
                want = F.rms_norm(want, (16,), eps=1e-5)
            assert torch.allclose(y, want, atol=1e-5), (norm, (y - want).abs().max())
            up.zero_grad(), down.zero_grad()
            y.square().sum().backward(), want.square().sum().backward()
            for one, other in ((mine.grad, theirs.grad),
                               (first.weight.grad, up.weight.grad.chunk(ranks, 0)[rank]),
                               (first.bias.grad, up.bias.grad.chunk(ranks)[rank]),
                               (second.weight.grad, down.weight.grad.chunk(ranks, 1)[rank]),
                               (second.bias.grad, down.bias.grad)):
                assert torch.allclose(one, other, atol=1e-4), (norm, (one - other).abs().max())
    """)


def test_dropout_in_training_alone_and_refusals(tmp_path):
    on_ranks(tmp_path, 2, """
        layer = ct.RowParallelLinear(8, 4096, dropout=0.5)
        x = torch.ones(1, 4)
        with torch.no_grad():
            trained, again = layer(x), layer(x)
            assert 0.4 < (trained == 0).float().mean() < 0.6 and not torch.equal(trained, again)
            layer.eval()
            assert torch.equal(layer(x), layer(x)) and (layer(x) != 0).all()
        refused(lambda: layer(x, x), "built without")
        refused(lambda: ct.RowParallelLinear(7, 4), "in_features=7")
        refused(lambda: ct.ColumnParallelLinear(4, 7), "out_features=7")
        refused(lambda: ct.RowParallelLinear(8, 4, norm="batch"), "legal")
        # Layers drop of their own, as torch.manual_seed before init says.
        two = [ct.RowParallelLinear(8, 4096, dropout=0.5) for _ in range(2)]
        for one in two:
            one.weight.data.fill_(1.0)
        masks = [one(x).detach() != 0 for one in two]
        assert not torch.equal(*masks)
    """)


def test_a_frozen_weight_is_packed_once_and_a_changed_one_refused(tmp_path):
    on_ranks(tmp_path, 2, """
        torch.manual_seed(1)
        whole = torch.nn.Linear(64, 32)
        row = ct.RowParallelLinear(64, 32)
        row.load(whole.weight, whole.bias)
        row.eval()
        x = torch.randn(5, 64)
        mine = x.chunk(ranks, 1)[rank].contiguous()
        with torch.no_grad():
            row.freeze()
            for _ in range(3):
                assert torch.allclose(row(mine), whole(x), atol=1e-5)
            assert torch.allclose(row(mine[:3].contiguous()), whole(x[:3]), atol=1e-5)
            row.load(whole.weight * 2, whole.bias)
            refused(lambda: row(mine), "changed since freeze()")
            row.freeze()
            assert torch.allclose(row(mine), 2 * whole(x) - whole.bias, atol=1e-5)
            row.train()
            row.weight.mul_(0.5)
            assert torch.allclose(row(mine), whole(x), atol=1e-5)
        refused(lambda: row._function.hold_constant("z"), "legal are")
    """)
