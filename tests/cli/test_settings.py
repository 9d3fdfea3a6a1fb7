"""Where settings come from, and what users are told about wrong ones."""

from pathlib import Path

import pytest

from tocsin.errors import InputError, UnavailableError
from tocsin.settings import Settings

pytestmark = pytest.mark.usefixtures("folder")


def test_the_environment_overrides_the_file_and_arguments_override_both(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "tocsin.toml").write_text('brokers = "file:1"\napp = "file"\nregistry = "http://file"\n')
    monkeypatch.setenv("TOCSIN_BROKERS", "environment:1")
    monkeypatch.setenv("TOCSIN_APP", "environment")
    settings = Settings.load(app="argument", registry=None)
    assert (settings.registry, settings.brokers, settings.app) == ("http://file", "environment:1", "argument")


def test_without_a_file_there_are_defaults() -> None:
    assert Settings.load().commit_interval_ms == 200


def test_brokers_that_are_set_need_no_registry() -> None:
    assert Settings.load(brokers="broker:9092").addresses() == ("broker:9092", None)


def test_without_brokers_the_user_is_told_how_to_get_some() -> None:
    with pytest.raises(
        UnavailableError, match="Start one with `tocsin services up --detach`, or set TOCSIN_BROKERS"
    ):
        Settings.load().addresses()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('brokerz = "x"', "tocsin.toml has an unknown setting 'brokerz'; did you mean brokers?"),
        ("brokers =", "tocsin.toml is not valid TOML: "),
        ("commit_interval_ms = 0", "The setting commit_interval_ms .* cannot be 0: "),
    ],
)
def test_a_wrong_file_is_explained(folder: Path, text: str, sentence: str) -> None:
    (folder / "tocsin.toml").write_text(text)
    with pytest.raises(InputError, match=sentence.replace("?", r"\?")):
        Settings.load()


def test_a_wrong_variable_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOCSIN_PARTITIONS", "many")
    with pytest.raises(InputError, match=r"TOCSIN_PARTITIONS or tocsin.toml\) cannot be 'many'"):
        Settings.load()
