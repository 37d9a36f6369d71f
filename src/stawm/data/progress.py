"""A bar on the terminal for work that people wait for; silent where nobody watches."""

from typing import Any


class Bar:
    """A progress bar in the shape that pooch drives (`total`, `update`, `reset`, `close`), drawn by rich on stderr."""

    def __init__(self, title: str, unit: str, total: int = 0) -> None:
        """A bar called `title` that counts in `unit`: bytes, or anything else by number."""
        from rich import progress
        from rich.console import Console

        console = Console(stderr=True)
        counted = progress.DownloadColumn() if unit == "bytes" else progress.MofNCompleteColumn()
        columns = ("{task.description}", progress.BarColumn(), counted, progress.TimeRemainingColumn())
        self._progress = progress.Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._progress.add_task(title, total=total or None)
        self.total = total

    def update(self, done: int) -> None:
        """Move on by `done`."""
        self._progress.update(self._task, advance=done, total=self.total or None)

    def reset(self) -> None:
        """Go back to nothing done."""
        self._progress.reset(self._task, total=self.total or None)

    def close(self) -> None:
        """Take the bar off the terminal."""
        self._progress.stop()

    def __enter__(self) -> "Bar":
        self._progress.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
