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
        pytest.param("n: {{or .missing 5}}", {"n": 5}, id="a default"),
        pytest.param("{{$n := (or .size 1) | Int}}\nn: {{$n}}", {"n": 4}, id="a variable, by way of a function"),
        pytest.param("n: {{Mod .Index (DivideInt 4 2)}}", {"n": 1}, id="a nested call"),
        pytest.param("n:{{range 2}}\n- {{.}}-{{Mod . 2}}{{end}}", {"n": ["0-0", "1-1"]}, id="each number"),
        pytest.param("n: [{{range .list}}{{.}}, {{end}}]", {"n": ["a", "b"]}, id="each of a list"),
        pytest.param('{{if eq .colour "red"}}n: 1{{else}}n: 2{{end}}', {"n": 1}, id="a choice"),
        pytest.param("n: {{JSON .list}}", {"n": ["a", "b"]}, id="a value with parts"),
        pytest.param("n: {{JSON .missing}}", {"n": None}, id="nothing as a value"),
    ],
)
def test_placeholders_are_filled_in(tmp_path: Path, text: str, expected: Manifest) -> None:
    template = _template(tmp_path, text, size=4, colour="red", list=["a", "b"])
    assert manifest(template, 7, 10) == {"kind": "Pod"} | expected
    assert not is_constant(template)


def test_without_placeholders_all_objects_are_the_same(tmp_path: Path) -> None:
    assert is_constant(_template(tmp_path, "name: p"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("a: {{.missing}}", "uses .missing", id="a word that nobody gives"),
        pytest.param("a: {{with .Index}}1{{end}}", "{{end}} without a beginning", id="an action that we do not know"),
        pytest.param("a: {{if .Index}}1", "an action without an end", id="a choice without an end"),
        pytest.param("a: {{printf .Index}}", "holds printf", id="a function that we do not know"),
        pytest.param("a: {{$gone}}", "uses $gone, which is not set", id="a variable that nobody sets"),
        pytest.param("a: {{Mod .Index (DivideInt 4 2}}", "a ( without a )", id="an open parenthesis"),
        pytest.param("a: {{AddInt 1 .colour}}", "red is not a number", id="arithmetic with words"),
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
