"""Objects from templates."""

from pathlib import Path

import pytest

from bench.live.operations import Template
from bench.live.templates import Manifest, check, is_constant, manifest
from bench.live.workload_files import Unsupported
from localcluster.errors import Problem


def _template(folder: Path, text: str, **words: object) -> Template:
    file = folder / "object.yaml"
    file.write_text(f"# about {{{{ nobody }}}}\nkind: Pod\n{text}")
    return Template(file, dict(words))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("name: p-{{.Index}}", {"name": "p-7"}, id="its number"),
        pytest.param("name: p-{{ .Index }}-of-{{.Count}}", {"name": "p-7-of-10"}, id="and how many there are"),
        pytest.param("group: {{DivideInt .Index 3}}", {"group": 2}, id="divided, without a rest"),
        pytest.param("group: {{Mod .Index .size}}", {"group": 3}, id="the rest, by a word"),
        pytest.param("port: {{AddInt 8000 .Index}}", {"port": 8007}, id="added"),
        pytest.param("text: '{{.colour}}'", {"text": "red"}, id="a word"),
    ],
)
def test_placeholders_are_filled_in(tmp_path: Path, text: str, expected: Manifest) -> None:
    template = _template(tmp_path, text, size=4, colour="red")
    assert manifest(template, 7, 10) == {"kind": "Pod"} | expected
    assert not is_constant(template)


def test_without_placeholders_all_objects_are_the_same(tmp_path: Path) -> None:
    assert is_constant(_template(tmp_path, "name: p"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("a: {{.missing}}", "uses .missing", id="a word that nobody gives"),
        pytest.param("a: {{if .Index}}1{{end}}", "holds {{if .Index}}", id="a choice"),
        pytest.param("a: {{Mod .Index (DivideInt 4 2)}}", "holds {{Mod .Index", id="a nested call"),
        pytest.param("a: {{AddInt 1 .colour}}", ".colour is not a number", id="arithmetic with words"),
    ],
)
def test_more_of_the_language_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(Unsupported) as refused:
        check(_template(tmp_path, text, colour="red"))
    assert reason in str(refused.value)


def test_a_kind_that_we_do_not_know_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("kind: Zeppelin")
    with pytest.raises(Unsupported, match="the kind Zeppelin"):
        check(Template(tmp_path / "x.yaml"))


def test_a_file_without_an_object_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("- one")
    with pytest.raises(Problem, match="does not describe an object"):
        check(Template(tmp_path / "x.yaml"))
