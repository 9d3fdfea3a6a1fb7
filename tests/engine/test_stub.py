"""The stub says what the module has: every public name, method, property and argument, and nothing else."""

import ast
import inspect
from pathlib import Path

import pytest

import tocsin
from tocsin import _engine
from tocsin.topology.plan import FORMAT

STUB = ast.parse((Path(tocsin.__file__).parent / "_engine.pyi").read_text(encoding="utf-8"))
KINDS = {
    "getset_descriptor": {"property"},
    "member_descriptor": {"property"},
    "staticmethod": {"staticmethod"},
}
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}


def declared() -> set[str]:
    """Return the names the stub gives the module; aliases of types are the stub's own."""
    constants = {
        node.target.id
        for node in STUB.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is None
    }
    return constants | set(CLASSES)


def decorators(function: ast.FunctionDef) -> set[str]:
    return {ast.unparse(decorator) for decorator in function.decorator_list}


def members(name: str) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in CLASSES[name].body if isinstance(node, ast.FunctionDef)}


def arguments(function: ast.FunctionDef) -> list[tuple[str, str]]:
    """Return name and kind of the arguments, without `self` and `cls`."""
    plain = [a.arg for a in function.args.posonlyargs + function.args.args if a.arg not in {"self", "cls"}]
    return [(a, "plain") for a in plain] + [(a.arg, "keyword") for a in function.args.kwonlyargs]


def real_arguments(function: object) -> list[tuple[str, str]]:
    signature = inspect.signature(function)  # type: ignore[arg-type]
    return [
        (parameter.name, "keyword" if parameter.kind is parameter.KEYWORD_ONLY else "plain")
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]


def test_the_module_has_what_the_stub_declares() -> None:
    assert {name for name in vars(_engine) if not name.startswith("_")} == declared()


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_has_what_the_stub_declares(name: str) -> None:
    real = vars(getattr(_engine, name))
    public = {member for member in real if not member.startswith("_")}
    assert {member for member in members(name) if not member.startswith("_")} == public
    for member, function in members(name).items():
        kind = type(real[member]).__name__
        assert decorators(function) == KINDS.get(kind, set()), member
        if kind in {"method_descriptor", "staticmethod"}:
            assert arguments(function) == real_arguments(getattr(_engine, name).__dict__[member]), member


def test_the_arguments_of_an_engine() -> None:
    new = members("Engine")["__new__"]
    assert arguments(new) == real_arguments(_engine.Engine)
    defaults = {
        a.arg: ast.literal_eval(d)
        for a, d in zip(new.args.kwonlyargs, new.args.kw_defaults, strict=True)
        if d
    }
    assert defaults == {
        parameter.name: parameter.default
        for parameter in inspect.signature(_engine.Engine).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def test_every_class_is_final_and_only_an_engine_can_be_made() -> None:
    for name, node in CLASSES.items():
        assert [ast.unparse(decorator) for decorator in node.decorator_list] == ["final"]
        with pytest.raises(TypeError, match="not an acceptable base type"):
            type("Derived", (getattr(_engine, name),), {})
    for made_inside in (_engine.Batch, _engine.Commit):
        with pytest.raises(TypeError, match="cannot create"):
            made_inside()


def test_compiler_and_engine_agree_on_the_format() -> None:
    assert _engine.PLAN_FORMAT == FORMAT
