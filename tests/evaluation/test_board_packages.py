"""The packages of the MS MARCO leaderboards' scripts, and what a board tells participants."""

import bz2
import io
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluation.boards import packages, sealing
from evaluation.errors import BadInput

ID = "20220929-doc2query--"
METADATA = b'{"team": "Ours"}\n'
DEV, EVAL = (bz2.compress(f"q{n} p 1\n".encode()) for n in (1, 2))


def openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The organizers' keys, and another one."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("private", "other"):
        openssl("genrsa", "-out", str(folder / f"{name}.pem"), "2048")
    openssl("rsa", "-in", str(folder / "private.pem"), "-pubout", "-out", str(folder / "public.pem"))
    return folder


Pack = Callable[..., dict[str, bytes]]


@pytest.fixture
def pack(keys: Path, tmp_path: Path) -> Pack:
    """Packs as the scripts do, with the same openssl commands; `tar` makes the tarball."""

    def run(run_id: str = ID, make_tar: Callable[[Path], None] | None = None) -> dict[str, bytes]:
        key, tar = tmp_path / f"{run_id}.key.bin", tmp_path / f"{run_id}.tar"
        metadata = tmp_path / f"{run_id}-metadata.json"
        metadata.write_bytes(METADATA)
        folder = tmp_path / run_id
        folder.mkdir()
        (folder / packages.DEV).write_bytes(DEV)
        (folder / packages.EVAL).write_bytes(EVAL)
        openssl("rand", "-base64", "-out", str(key), "32")
        public = ["-inkey", str(keys / "public.pem"), "-pubin"]
        openssl("rsautl", "-encrypt", *public, "-in", str(key), "-out", f"{key}.enc")
        if make_tar is None:
            subprocess.run(["tar", "cf", str(tar), f"{run_id}/"], cwd=tmp_path, check=True)
        else:
            make_tar(tar)
        for path in (tar, metadata):
            words = ["-in", str(path), "-out", f"{path}.enc", "-pass", f"file:{key}"]
            openssl("enc", "-aes-256-cbc", "-salt", *words, "-pbkdf2")
        return {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name.endswith(".enc")}

    return run


def opened(files: dict[str, bytes], keys: Path, key: str = "private", **options: Any) -> packages.OldPackage:
    return packages.open_old(files, (keys / f"{key}.pem").read_text(), **options)


def test_a_package_of_the_scripts_opens(pack: Pack, keys: Path) -> None:
    files = pack()
    assert sorted(files) == [f"{ID}-metadata.json.enc", f"{ID}.key.bin.enc", f"{ID}.tar.enc"]
    assert len(files[f"{ID}.key.bin.enc"]) == 256
    package = opened(files, keys)
    assert package == packages.OldPackage(ID, packages.Contents(METADATA, DEV, EVAL))
    # As they lie in the repositories.
    moved = {f"submissions/{name}": content for name, content in files.items()}
    assert opened(moved, keys).run_id == ID


def test_another_key_and_changed_files_do_not_open(pack: Pack, keys: Path) -> None:
    files = pack()
    with pytest.raises(sealing.NotForThisKey, match="sealed for another key"):
        opened(files, keys, "other")
    for name in files:
        cut = {**files, name: files[name][:-16]}
        with pytest.raises(sealing.NotOpened):
            opened(cut, keys)
    with pytest.raises(sealing.Changed, match=r"not what openssl enc writes"):
        opened({**files, f"{ID}.tar.enc": b"Unsalted" + files[f"{ID}.tar.enc"][8:]}, keys)
    with pytest.raises(sealing.Changed, match=r"metadata\.json\.enc was changed, or encrypted with another key"):
        # Its last block was not written with this key, so its padding is wrong.
        opened({**files, f"{ID}-metadata.json.enc": files[f"{ID}-metadata.json.enc"][:-16] + bytes(16)}, keys)
    with pytest.raises(sealing.BadKey, match="another kind than RSA"):
        packages.open_old(files, sealing.new_key().private_pem)
    with pytest.raises(sealing.TooLarge):
        opened(files, keys, size_most=1000)


def test_a_package_that_is_not_whole_says_what_lacks(pack: Pack, keys: Path) -> None:
    files = pack()
    for name, ending in (("-metadata.json.enc",) * 2, (".key.bin.enc",) * 2, (".tar.enc",) * 2):
        rest = {file: content for file, content in files.items() if not file.endswith(name)}
        with pytest.raises(packages.WrongContents, match=f"lacks its file that ends in {ending}"):
            opened(rest, keys)
    with pytest.raises(packages.WrongContents, match=r"notes\.txt is no file of a package"):
        opened({**files, "notes.txt": b""}, keys)
    with pytest.raises(packages.WrongContents, match="files of several packages"):
        opened({name.replace("doc2query--.tar", "other.tar"): content for name, content in files.items()}, keys)
    with pytest.raises(packages.WrongContents, match="a second tar"):
        opened({**files, "x.tar.enc": b""}, keys)


def test_new_metadata_under_the_old_key_open_by_themselves(pack: Pack, keys: Path) -> None:
    files, private = pack(), (keys / "private.pem").read_text()
    new, key = f"{ID}-metadata.json.enc", f"{ID}.key.bin.enc"
    two = {name: files[name] for name in (key, new)}
    assert packages.open_old_metadata(two, private) == (ID, METADATA)
    for wrong, complaint in (
        (files, "tar.enc is no file of a package that is asked for"),
        ({new: files[new]}, r"lacks its file that ends in \.key\.bin\.enc"),
        ({key: files[key]}, r"lacks its file that ends in -metadata\.json\.enc"),
        ({**two, new: files[f"{ID}.tar.enc"][:-16] + bytes(16)}, "encrypted with another key"),
        ({key: files[key], "20210303-a-metadata.json.enc": files[new]}, "files of several packages"),
    ):
        with pytest.raises(sealing.NotOpened, match=complaint):
            packages.open_old_metadata(wrong, private)
    with pytest.raises(sealing.NotForThisKey):
        packages.open_old_metadata(two, (keys / "other.pem").read_text())


def test_a_key_in_the_clear_is_refused_and_called_burnt(pack: Pack, keys: Path) -> None:
    files = {**pack(), f"{ID}.key.bin": b"c2VjcmV0\n"}
    with pytest.raises(packages.Burnt, match=r"is the key itself, not encrypted.*It is burnt"):
        opened(files, keys)
    packages.refuse_burnt([f"{ID}.key.bin.enc", f"{ID}.tar.enc"])


@pytest.mark.parametrize(
    ("name", "old"),
    [
        ("20210303-a-metadata.json.enc", ("20210303-a", "metadata")),
        ("20220929-doc2query---metadata.json.enc", ("20220929-doc2query--", "metadata")),
        ("x/20210303-a.key.bin.enc", ("20210303-a", "key")),
        ("20210303-a.tar.enc.tar.enc", ("20210303-a.tar.enc", "tar")),
        ("20210303-a.key.bin", ("20210303-a", "burnt")),
        ("20210303-a.tar", None),
        (".tar.enc", None),
    ],
)
def test_endings_are_cut_from_the_end(name: str, old: tuple[str, str] | None) -> None:
    assert packages.old_name(name) == old


def member(name: str, content: bytes = b"", **fields: Any) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def tar_of(*members: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with tarfile.open(path, "w", format=form) as tar:
            for info, content in members:
                tar.addfile(info, io.BytesIO(content))

    return make


RUNS = (member(f"{ID}/{packages.EVAL}", EVAL), member(f"./{ID}/{packages.DEV}", DEV))


def test_what_a_mac_adds_is_left_out_and_the_order_does_not_matter(pack: Pack, keys: Path) -> None:
    more = (
        member(f"./._{ID}", b"mac"),
        member(f"{ID}/._dev.txt.bz2", b"mac"),
        member(f"{ID}/", type=tarfile.DIRTYPE, pax_headers={"LIBARCHIVE.xattr": "x"}),
        member(f"{ID}/notes.txt", b"mine"),
    )
    package = opened(pack(make_tar=tar_of(*more, *RUNS)), keys)
    assert package.contents == packages.Contents(METADATA, DEV, EVAL)
    assert package.left_out == (f"{ID}/notes.txt",)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ((member(f"{ID}/x", type=tarfile.SYMTYPE, linkname="/etc/passwd"),), "a link, a device"),
        ((member(f"{ID}/x", type=tarfile.LNKTYPE, linkname=f"{ID}/{packages.DEV}"),), "a link, a device"),
        ((member(f"{ID}/x", type=tarfile.CHRTYPE),), "a link, a device"),
        ((member(f"{ID}/x", type=tarfile.FIFOTYPE),), "a link, a device"),
        ((member("../x", b"x"),), "leads out of its folder"),
        ((member(f"{ID}/../../x", b"x"),), "leads out of its folder"),
        ((member("/etc/x", b"x"),), "leads out of its folder"),
        ((member(f"{ID}/{packages.DEV}", b"other"),), "twice"),
    ],
)
def test_hostile_tars_are_refused(bad: Any, why: str, pack: Pack, keys: Path) -> None:
    with pytest.raises(packages.WrongContents, match=why):
        opened(pack(make_tar=tar_of(*RUNS, *bad)), keys)


@pytest.mark.parametrize(
    ("make", "error", "why"),
    [
        (tar_of(), packages.WrongContents, r"no dev\.txt\.bz2"),
        (tar_of(RUNS[1]), packages.WrongContents, r"no eval\.txt\.bz2"),
        (lambda path: path.write_bytes(b""), sealing.Changed, "does not open to a tar file"),
        (lambda path: path.write_bytes(b"x" * 2000), sealing.Changed, "does not open to a tar file"),
        (tar_of(*RUNS, member("other/dev.txt.bz2", DEV), form=tarfile.GNU_FORMAT), None, ""),
    ],
)
def test_a_tar_without_the_runs_is_told_so(make: Any, error: Any, why: str, pack: Pack, keys: Path) -> None:
    files = pack(make_tar=make)
    if error is None:
        assert opened(files, keys).left_out == ("other/dev.txt.bz2",)
        return
    with pytest.raises(error, match=why):
        opened(files, keys)


# --- what a board tells, and what a package of ours holds


KEY = sealing.new_key()


def test_what_a_board_tells_is_read_to_the_same() -> None:
    import json

    terms = packages.BoardTerms("passages", KEY.public_pem, hits=100, order="score", types=("sparse",))
    terms_json = json.dumps({**terms.as_dict(), "name": "ignored"}).encode()
    assert packages.read_terms(terms_json, name="board.json") == terms
    assert json.loads(terms_json)["fingerprint"] == KEY.fingerprint
    short = json.dumps({"board": "passages", "public_key": KEY.public_pem}).encode()
    assert packages.read_terms(short, name="board.json") == packages.BoardTerms("passages", KEY.public_pem)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"board": ""}, 'board is ""'),
        ({"public_key": "x"}, "public_key is not a public key in PEM"),
        ({"fingerprint": "0" * 64}, "and not what fingerprint says"),
        ({"hits": 0}, "hits is 0"),
        ({"hits": "many"}, 'hits is "many"'),
        ({"order": "best"}, 'order is "best"'),
        ({"fewer": None}, "fewer is null"),
        ({"types": []}, "types is"),
        ({"types": [1]}, "types is"),
        ({"embargo_months": True}, "embargo_months is true"),
    ],
)
def test_a_wrong_file_of_a_board_is_refused(fields: dict[str, Any], why: str) -> None:
    import json
    import re

    content = json.dumps({"board": "passages", "public_key": KEY.public_pem, **fields}).encode()
    with pytest.raises(BadInput, match=re.escape(why)):
        packages.read_terms(content, name="board.json")


@pytest.mark.parametrize("content", [b"", b"[]", b"<html>", b"\xff", b"[" * 100_000])
def test_what_is_no_file_of_a_board_is_refused(content: bytes) -> None:
    with pytest.raises(BadInput, match="not the JSON of a board"):
        packages.read_terms(content, name="board.json")


def test_a_package_holds_its_three_files_and_no_more() -> None:
    files = dict(zip(packages.FILES, (METADATA, DEV, EVAL), strict=True))
    assert packages.contents_of(files) == packages.Contents(METADATA, DEV, EVAL)
    with pytest.raises(packages.WrongContents, match=r"has more\.txt, where"):
        packages.contents_of({**files, "more.txt": b"x"})
    with pytest.raises(packages.WrongContents, match=r"no eval\.txt\.bz2, or an empty one"):
        packages.contents_of({**files, packages.EVAL: b""})
