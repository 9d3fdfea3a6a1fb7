"""A store and its double: the same promises, the same tests."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tocsin.workers.store import Checkpoint, MemoryStore, RocksStore, Store

Open = Callable[[], Store]


@pytest.fixture(params=["memory", "rocksdb"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    if request.param == "memory":
        store = MemoryStore()
        return lambda: store
    return lambda: RocksStore(tmp_path / "store")


def test_a_new_store_is_empty(open_store: Open) -> None:
    store = open_store()
    assert store.checkpoint is None
    assert list(store.entries()) == []
    store.close()


def test_changes_and_checkpoint_are_there_after_reopening(open_store: Open) -> None:
    store = open_store()
    store.apply([(b"a", b"1"), (b"b", b"2"), (b"c", b"3")], Checkpoint("topic", 7))
    store.apply([(b"a", None), (b"b", b"4"), (b"gone", None)], Checkpoint("topic", 9))
    store.close()
    again = open_store()
    assert dict(again.entries()) == {b"b": b"4", b"c": b"3"}
    assert again.checkpoint == Checkpoint("topic", 9)
    again.close()


def test_a_wiped_store_is_empty(open_store: Open) -> None:
    store = open_store()
    store.apply([(b"a", b"1")], Checkpoint("topic", 7))
    store.wipe()
    assert store.checkpoint is None
    assert list(store.entries()) == []
    store.close()


def test_entries_are_found_by_the_beginnings_of_their_keys(open_store: Open) -> None:
    store = open_store()
    keys = [b"a", b"ab", b"abc", b"b", b"b\xff", b"b\xff\xff1", b"c", b"\xff\xff", b"\xff\xff2"]
    store.apply([(key, b"value of " + key) for key in keys], Checkpoint("topic", 7))
    store.apply([(b"abc", None)], Checkpoint("topic", 8))

    def found(*prefixes: bytes) -> list[bytes]:
        entries = store.fetch(prefixes)
        assert all(value == b"value of " + key for key, value in entries)
        return sorted(key for key, _ in entries)

    assert found() == []
    assert found(b"ab") == [b"ab"]
    assert found(b"c", b"a") == [b"a", b"ab", b"c"]
    assert found(b"ab", b"a", b"a") == [b"a", b"ab"], "each once"
    assert found(b"b\xff") == [b"b\xff", b"b\xff\xff1"]
    assert found(b"\xff") == [b"\xff\xff", b"\xff\xff2"]
    assert found(b"none") == []
    assert found(b"") == sorted(set(keys) - {b"abc"}), "the checkpoint is no entry"
    store.close()


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    store = RocksStore(tmp_path / "store")
    store.apply([(bytes([n]), b"x" * 1000) for n in range(256)], Checkpoint("topic", 7))
    store.close()
    return tmp_path / "store"


@pytest.mark.parametrize("damaged", ["CURRENT", "MANIFEST"])
def test_a_rocksdb_that_cannot_be_opened_is_empty(filled: Path, damaged: str) -> None:
    for file in filled.glob(f"{damaged}*"):
        file.write_bytes(b"\xff" * 64)
    store = RocksStore(filled)
    assert store.checkpoint is None
    assert list(store.entries()) == []
    store.close()


def test_damage_inside_is_an_error_rather_than_an_early_end(filled: Path) -> None:
    (table,) = filled.glob("*.sst")
    content = table.read_bytes()
    middle = len(content) // 2
    table.write_bytes(content[:middle] + b"\xff" * 20 + content[middle + 20 :])
    store = RocksStore(filled)
    with pytest.raises(Exception, match="Corruption"):
        list(store.entries())
    with pytest.raises(Exception, match="Corruption"):
        store.fetch([bytes([n]) for n in range(256)])
    store.close()
