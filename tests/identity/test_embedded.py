"""What objects say of themselves, and what is not read into them."""

from __future__ import annotations

from pathlib import Path

from identity_kit import HELLO, Make

from gpudx.elf.image import Image
from gpudx.identity import embedded

SHA = "0123456789abcdef0123456789abcdef01234567"


def image(program: Path) -> Image:
    found = Image.open(str(program))
    assert found is not None
    return found


def with_text(*texts: str) -> str:
    lines = "".join(f'const char *text{n} = "{text}";\n' for n, text in enumerate(texts))
    return lines + HELLO


def test_the_compiler(make: Make) -> None:
    assert any(text.startswith("GCC: ") for text in embedded.compilers(image(make(HELLO))))


def test_what_git_describe_wrote(make: Make) -> None:
    found = image(make(with_text("v1.2-14-g2414721a-dirty")))
    assert embedded.revision(found, lambda text: False) == "v1.2-14-g2414721a-dirty"


def test_forty_digits_only_if_git_knows_them(make: Make) -> None:
    found = image(make(with_text(SHA)))
    assert embedded.revision(found, lambda text: text == SHA) == SHA
    assert embedded.revision(found, lambda text: False) == ""


def test_parts_of_longer_texts_are_no_revision(make: Make) -> None:
    assert embedded.revision(image(make(with_text("see v1-2-gabcdef0 for more", "x" + SHA))), lambda text: True) == ""


def test_a_date(make: Make) -> None:
    assert (
        embedded.dated(image(make(HELLO.replace("0;", "__DATE__[0] == 0;").replace("puts(", "puts(__DATE__), puts("))))
        != ""
    )
    assert embedded.dated(image(make(with_text("Nov 15 2026", "Nov 16 2026")))) == ""
    assert embedded.dated(image(make(HELLO))) == ""


def test_go_keeps_its_revision() -> None:
    data = (
        embedded.GO_MAGIC
        + bytes([8, 2])
        + bytes(16)
        + b"\x08go1.22.0"
        + b"\x40build\tvcs.revision="
        + SHA.encode()
        + b"\n"
    )
    assert embedded._of_go(data) == SHA
    assert embedded._of_go(data[:20]) == "" and embedded._of_go(b"") == ""
