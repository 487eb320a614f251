"""Pictures: what they are by their bytes, scaled to what a model takes, and broken or hostile ones."""

import base64
import io
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image, ImageCms

from workspaces import apart, pictures
from workspaces.paths import WorkspaceError


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def look(tmp_path: Path, data: bytes) -> pictures.Picture:
    file = tmp_path / "file"
    file.write_bytes(data)
    with file.open("rb") as opened:
        return pictures.look(opened, len(data), pictures.kind(data), "a picture")


def sent(picture: pictures.Picture) -> Image.Image:
    image = Image.open(io.BytesIO(base64.b64decode(picture.data)))
    image.load()
    return image


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_that_claims(width: int, height: int) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    body = zlib.compress(b"\0" * 1000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_small_picture_goes_as_it_is(tmp_path: Path, kind: str) -> None:
    data = saved(Image.new("RGB", (40, 30), "red"), kind)
    picture = look(tmp_path, data)
    assert (picture.format, picture.width, picture.height) == (kind, 40, 30)
    assert picture.media_type == f"image/{kind.lower()}"
    assert base64.b64decode(picture.data) == data
    assert not picture.is_scaled


CAMERA = Image.Exif()
CAMERA[0x0112], CAMERA[0x010F] = 6, "a camera"
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
FRAMES = [Image.new("RGB", (2100, 30), color) for color in ("red", "green", "blue")]


@pytest.mark.parametrize(
    ("kind", "mode", "options"),
    [
        ("PNG", "1", {}), ("PNG", "LA", {}), ("PNG", "P", {"transparency": 0}), ("PNG", "RGBA", {"exif": CAMERA}),
        ("PNG", "I;16", {}), ("PNG", "RGB", {"icc_profile": PROFILE}), ("PNG", "RGB", {"save_all": True}),
        ("JPEG", "L", {"progressive": True}), ("JPEG", "CMYK", {"exif": CAMERA}), ("JPEG", "RGB", {"comment": b"x"}),
        ("JPEG", "RGB", {"icc_profile": PROFILE}), ("MPO", "RGB", {"save_all": True}),
        ("GIF", "P", {"transparency": 0}), ("GIF", "RGB", {"save_all": True}),
        ("WEBP", "RGBA", {"lossless": True, "exif": CAMERA}),
        ("WEBP", "RGB", {"save_all": True, "icc_profile": PROFILE}),
    ],
)  # fmt: skip
def test_what_pillow_loads_late_is_there_when_nothing_can_be_opened(
    tmp_path: Path, kind: str, mode: str, options: dict[str, object]
) -> None:
    frames = {"append_images": FRAMES} if "save_all" in options else {}
    image = Image.new("RGB", (2100, 30), "red")
    image = image.convert("I").convert(mode) if mode == "I;16" else image.convert(mode)
    picture = look(tmp_path, saved(image, kind, **options, **frames))
    assert sorted((picture.width, picture.height)) == [30, 2100]
    assert sent(picture).size == (picture.sent_width, picture.sent_height)


def test_text_is_no_picture_whatever_its_name() -> None:
    assert pictures.kind(b"<svg></svg>") == ""
    assert pictures.kind(b"RIFF1234WAVEfmt ") == ""


def test_a_large_picture_is_scaled(tmp_path: Path) -> None:
    picture = look(tmp_path, saved(Image.new("RGB", (3000, 1500), "blue"), "PNG"))
    assert (picture.width, picture.height) == (3000, 1500)
    assert (picture.sent_width, picture.sent_height) == (2000, 1000)
    assert sent(picture).size == (2000, 1000)
    assert picture.is_scaled


def test_a_picture_of_many_bytes_is_made_smaller(tmp_path: Path) -> None:
    noise = Image.merge("RGB", [Image.effect_noise((1900, 1900), 90) for _ in range(3)])
    picture = look(tmp_path, saved(noise, "PNG", compress_level=1))
    assert len(picture.data) <= pictures.SENT_CHARS
    assert sent(picture).format == "JPEG"


def test_only_the_first_frame_of_an_animation_is_sent(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (20, 10), color) for color in ("red", "green", "blue")]
    picture = look(tmp_path, saved(frames[0], "GIF", save_all=True, append_images=frames[1:]))
    assert picture.frames == 3
    assert sent(picture).convert("RGB").getpixel((0, 0)) == (255, 0, 0)
    assert not getattr(sent(picture), "is_animated", False)


def test_a_picture_stands_as_the_camera_was_held(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    picture = look(tmp_path, saved(Image.new("RGB", (40, 20), "red"), "JPEG", exif=exif))
    assert (picture.width, picture.height) == (20, 40)
    assert sent(picture).size == (20, 40)


def test_a_transparent_picture_keeps_its_transparency_when_scaled(tmp_path: Path) -> None:
    picture = look(tmp_path, saved(Image.new("RGBA", (2400, 20), (255, 0, 0, 0)), "PNG"))
    assert sent(picture).mode == "RGBA"


def test_a_page_gets_a_small_one(tmp_path: Path) -> None:
    noise = Image.merge("RGB", [Image.effect_noise((900, 900), 90) for _ in range(3)])
    thumbnail = look(tmp_path, saved(noise, "PNG")).thumbnail
    assert thumbnail.startswith("data:image/png;base64,")
    assert len(thumbnail) <= 30_000
    small = Image.open(io.BytesIO(base64.b64decode(thumbnail.partition(",")[2])))
    assert max(small.size) <= 192


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff\xe0",
        b"GIF89a\xff\xff\xff\xff",
        b"RIFF\x10\0\0\0WEBPVP8 junk",
        saved(Image.effect_noise((200, 200), 90), "PNG")[:5000],
        saved(Image.effect_noise((200, 200), 90), "JPEG")[:2000],
    ],
)
def test_a_broken_picture_is_a_binary_with_a_reason(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(WorkspaceError, match="can't be shown: it is broken") as caught:
        look(tmp_path, data)
    assert caught.value.code == "BINARY_FILE"


@pytest.mark.parametrize("size", [(30_000, 30_000), (2_000_000_000, 2_000_000_000), (9000, 9000)])
def test_a_small_file_of_very_many_pixels_is_refused(tmp_path: Path, size: tuple[int, int]) -> None:
    with pytest.raises(WorkspaceError, match=r"pixels|broken|memory") as caught:
        look(tmp_path, png_that_claims(*size))
    assert caught.value.code == "BINARY_FILE"


def test_a_file_that_is_too_large_is_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with (tmp_path / "file").open("rb") as file, pytest.raises(WorkspaceError) as caught:
        pictures.look(file, pictures.LIMIT_BYTES + 1, "PNG", "a picture")
    assert caught.value.code == "TOO_LARGE"


def test_looking_ends_when_it_is_told_to(tmp_path: Path) -> None:
    noise = saved(Image.merge("RGB", [Image.effect_noise((3500, 3500), 90) for _ in range(3)]), "PNG", compress_level=0)
    (tmp_path / "file").write_bytes(noise)
    with (tmp_path / "file").open("rb") as file, pytest.raises(apart.GivenUp):
        apart.parse("picture", file, {"format": "PNG", "side": 2000, "chars": 5 << 20}, stop=lambda: True)


def test_a_process_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(saved(Image.new("RGB", (3000, 3000)), "PNG"))
    with (tmp_path / "file").open("rb") as file, pytest.raises(apart.Failed, match="seconds"):
        apart.parse("picture", file, {"format": "PNG", "side": 2000, "chars": 5 << 20}, caps=apart.Caps(seconds=0))


def test_a_process_that_takes_too_much_memory_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(saved(Image.new("RGB", (7000, 7000)), "PNG"))
    caps = apart.Caps(memory_bytes=200 << 20)
    with (tmp_path / "file").open("rb") as file, pytest.raises(apart.Failed, match="memory"):
        apart.parse("picture", file, {"format": "PNG", "side": 2000, "chars": 5 << 20}, caps=caps)
