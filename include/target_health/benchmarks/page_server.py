"""A local web site of made pages, served by one process: ``python -m … COUNT SIZE``.

It prints its port and serves until its input ends. Each answer is made beforehand, so that it
takes next to nothing beside the crawler that is measured.
"""

from __future__ import annotations

import asyncio
import sys

from target_health.benchmarks.made_pages import article_page

#: Pages that differ; more pages are these in turn.
DISTINCT = 200


def answers(size_bytes: int) -> list[bytes]:
    """Whole HTTP answers."""
    made = []
    for seed in range(DISTINCT):
        body = article_page(seed, size_bytes)
        head = (
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        made.append(head.encode() + body)
    return made


async def serve(size_bytes: int) -> None:
    made = answers(size_bytes)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                number = head.split(b" ", 2)[1].rpartition(b"/")[2]
                writer.write(made[int(number or 0) % len(made)])
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
