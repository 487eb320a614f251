"""Looks at a picture and makes it small enough for a model, and tiny for a page; runs in a process of its own."""

import base64
import copy
import io
import warnings
from typing import Any, BinaryIO

from PIL import (
    GifImagePlugin,
    Image,
    ImageCms,
    ImageColor,
    ImageFilter,
    ImageOps,
    ImagePalette,
    JpegImagePlugin,
    MpoImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    UnidentifiedImageError,
    WebPImagePlugin,
)

MAX_PIXELS = 64_000_000
THUMBNAIL_CHARS = 30_000
_PLAIN_MODES = frozenset({"1", "L", "LA", "P", "RGB", "RGBA"})
_BROKEN = (OSError, SyntaxError, ValueError, EOFError, IndexError, KeyError, TypeError, OverflowError)
"""What pillow raises for a file that is not what it says."""


LATE = (
    *(GifImagePlugin, JpegImagePlugin, MpoImagePlugin, PngImagePlugin, TiffImagePlugin, WebPImagePlugin),
    *(ImageCms, ImageColor, ImageFilter, ImagePalette, copy),
)
"""What pillow itself imports only when it meets the need; a camera's notes are written as TIFF."""


def load() -> None:
    """Import what pillow imports at its first picture."""
    Image.preinit()


def parse(file: BinaryIO, args: dict[str, Any]) -> dict[str, Any]:
    """Return format, size and the bytes to send. `args`: format, side (pixels), chars (of base64)."""
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    try:
        return _look(file, args["format"], args["side"], args["chars"])
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        return {"fault": f"it has more than {MAX_PIXELS:,} pixels"}
    except UnidentifiedImageError:
        return {"fault": f"it is broken, or no {args['format']} after all"}
    except _BROKEN as error:
        return {"fault": f"it is broken ({str(error)[:200] or type(error).__name__})"}


def _look(file: BinaryIO, kind: str, side: int, chars: int) -> dict[str, Any]:
    data = file.read()
    image: Image.Image = Image.open(io.BytesIO(data), formats=[kind])
    width, height = image.size
    frames = int(getattr(image, "n_frames", 1))
    image.draft("RGB", (side, side))  # a large JPEG is decoded at a fraction of its size
    image.load()
    turn = image.getexif().get(0x0112, 1)
    if 5 <= turn <= 8:
        width, height = height, width
    fits = max(width, height) <= side and len(data) * 4 <= chars * 3
    if fits and frames == 1 and turn == 1 and image.mode in _PLAIN_MODES:
        sent, media_type, shown = data, f"image/{kind.lower()}", image
    else:
        shown = _upright(image, side)
        sent, media_type, shown = _encoded(shown, kind, chars)
    return {
        "width": width,
        "height": height,
        "frames": frames,
        "media_type": media_type,
        "sent_width": shown.width,
        "sent_height": shown.height,
        "data": base64.b64encode(sent).decode(),
        "thumbnail": _thumbnail(shown),
    }


def _upright(image: Image.Image, side: int) -> Image.Image:
    """Return the first frame at most `side` pixels wide and high, turned as the camera was held, as RGB or RGBA."""
    has_alpha = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    image = image.convert("RGBA" if has_alpha else "RGB") if image.mode not in ("RGB", "RGBA") else image
    image.thumbnail((side, side), Image.Resampling.LANCZOS, reducing_gap=3)
    return ImageOps.exif_transpose(image)


def _encoded(image: Image.Image, kind: str, chars: int) -> tuple[bytes, str, Image.Image]:
    """Return the picture in at most so many characters of base64: sharp if it fits so, else as JPEG, else smaller."""
    if kind != "JPEG":
        sharp = _saved(image, "PNG")
        if len(sharp) * 4 <= chars * 3:
            return sharp, "image/png", image
    opaque = image
    if image.mode == "RGBA":
        opaque = Image.new("RGB", image.size, "white")
        opaque.paste(image, mask=image.getchannel("A"))
    while True:
        data = _saved(opaque, "JPEG", quality=88)
        if len(data) * 4 <= chars * 3 or min(opaque.size) < 16:
            return data, "image/jpeg", opaque
        opaque = opaque.resize((opaque.width * 3 // 4, opaque.height * 3 // 4))


def _saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def _thumbnail(image: Image.Image) -> str:
    """Return a data URI of a small PNG with few colours, "" where even a tiny one is too long."""
    for side in (192, 128, 64, 32):
        small = image.convert("RGBA") if image.mode != "RGBA" else image.copy()
        small.thumbnail((side, side), Image.Resampling.BICUBIC, reducing_gap=2)
        data = _saved(small.quantize(128, method=Image.Quantize.FASTOCTREE), "PNG", optimize=True)
        uri = "data:image/png;base64," + base64.b64encode(data).decode()
        if len(uri) <= THUMBNAIL_CHARS:
            return uri
    return ""
