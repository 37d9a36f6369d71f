"""Pictures that are much work, decoded in a process of their own, which can be ended."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE

from stawm.data import picture_file
from stawm.data.prepare.given import FORMATS, in_words
from stawm.serve.refusal import Refusal


async def lightened(content: bytes, name: str) -> tuple[bytes, tuple[int, int]]:
    """A plain PNG of a picture file, reduced, and the size of the whole; its process ends with the wait for it."""
    command = (sys.executable, "-P", picture_file.__file__, ",".join(FORMATS))
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
    try:
        async with asyncio.timeout(picture_file.SECONDS):
            told, _ = await process.communicate(content)
    except TimeoutError:
        told = b""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        reason = in_words(told.decode(errors="replace")) or "it takes too long, or too much memory"
        raise Refusal(422, f"{in_words(name)} cannot be read ({reason}); give a whole PNG, JPEG, WebP or BMP")
    head = picture_file.SIZE.size
    return told[head:], picture_file.SIZE.unpack(told[:head])
