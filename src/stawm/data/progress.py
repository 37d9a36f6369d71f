"""A bar on the terminal for work that people wait for; silent where nobody watches."""

from types import TracebackType


class Bar:
    """A progress bar in the shape that pooch drives (`total`, `update`, `reset`, `close`), drawn by rich on stderr."""

    def __init__(self, title: str, unit: str, total: int = 0) -> None:
        """A bar called `title` that counts in `unit`: bytes, or anything else by number."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        console = Console(stderr=True)
        counted = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
        columns = (TextColumn("{task.description}"), BarColumn(), counted, TimeRemainingColumn())
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._progress.add_task(title, total=total or None)

    @property
    def total(self) -> int:
        """How much there is to do."""
        return int(self._progress.tasks[self._task].total or 0)

    @total.setter
    def total(self, total: int) -> None:
        self._progress.update(self._task, total=total)

    def update(self, done: int) -> None:
        """Move on by `done`."""
        self._progress.advance(self._task, done)

    def reset(self) -> None:
        """Go back to nothing done."""
        self._progress.reset(self._task, total=self.total or None)

    def close(self) -> None:
        """Take the bar off the terminal."""
        self._progress.stop()

    def __enter__(self) -> "Bar":
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bar off the terminal, whatever happened."""
        self.close()
