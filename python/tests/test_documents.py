"""What docs/python.md shows runs as it stands."""
import re
from pathlib import Path


def test_the_blocks_without_torch(capsys):
    text = Path("docs/python.md").read_text().split("## On torch tensors")[0]
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 2
    names = {}
    for block in blocks:
        exec(block, names)
    said = capsys.readouterr().out
    assert "all_reduce(x, +)" in said and "[2. 2. 2. 2. 2.]" in said
    assert "rs, ag = split(y)" in said
    assert names["found"].us > 0
