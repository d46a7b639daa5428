"""How commands are found in pages, and how what they say is compared with what is printed."""

from pathlib import Path

import pytest

from kit import printed_commands
from kit.printed_commands import commands_of, files_of, unmarked
from kit.printed_shell import same

PAGE = """\
# A page

```yaml
# batch.yaml
kind: SchedulerProfile
```

```sh
kubectl apply -f batch.yaml     # a remark
# nothing but a remark
helm install it chart \\
    --wait
kubectl patch it -p '[
  {"op": "test"}]'
```

```
$ kubectl get it
NAME   AGE
it     5s

$ true
```

```
pilotage simulate [--config FILE]
```
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(printed_commands, "REPOSITORY", tmp_path)
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def test_commands_are_found_in_their_order(page: Path) -> None:
    assert [(each.line, each.command, each.output) for each in commands_of(page)] == [
        (9, "kubectl apply -f batch.yaml", None),
        (11, "helm install it chart \\\n    --wait", None),
        (13, 'kubectl patch it -p \'[\n  {"op": "test"}]\'', None),
        (18, "kubectl get it", "NAME   AGE\nit     5s"),
        (22, "true", ""),
    ]


def test_files_that_a_page_shows(page: Path) -> None:
    assert files_of(page) == {"batch.yaml": "# batch.yaml\nkind: SchedulerProfile\n"}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        pytest.param("kubectl get pods", True, id="a command"),
        pytest.param("PYTHONPATH=hack .venv/bin/python -m auditor", True, id="one with an environment"),
        pytest.param("pilotage explain [NAMESPACE/]POD", False, id="a synopsis"),
        pytest.param("API server ── watch ──> queue", False, id="a drawing"),
    ],
)
def test_commands_in_a_block_where_nobody_looks_for_them(page: Path, line: str, found: bool) -> None:
    page.write_text(f"```\n{line}\n```\n")
    assert bool(unmarked(page)) == found


@pytest.mark.parametrize(
    ("said", "printed", "is_same"),
    [
        pytest.param("NAME AGE\nit   12s", "NAME   AGE\nit     5m3s", True, id="ages and widths"),
        pytest.param("it after 0.4 s", "it after 1.3 s", True, id="seconds"),
        pytest.param("web-5d8c9b7f4-x2k4p Running", "web-77c9d5d6b-abcde Running", True, id="pods of a Deployment"),
        pytest.param("web Running", "web Pending", False, id="another phase"),
        pytest.param("0/4 nodes", "0/5 nodes", False, id="another number"),
        pytest.param("one\ntwo", "one", False, id="a line more"),
    ],
)
def test_what_may_differ(said: str, printed: str, is_same: bool) -> None:
    assert same(said, printed) == is_same
