"""Ctrl-C at any moment is one line and its exit code."""

import os
import signal
import subprocess
import sys

import pytest

from stawm import __main__ as command

SLOW_IMPORT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from stawm.__main__ import main

moment, sys.argv[1] = sys.argv[1], "presets"

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == moment:
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except BaseException:
                print("lost", file=sys.stderr)
sys.meta_path.insert(0, Interrupting())
sys.exit(main())
"""


@pytest.mark.parametrize("module", ["stawm.cli", "stawm.experiments.describe"])
def test_while_modules_are_imported(module: str):
    done = subprocess.run([sys.executable, "-c", SLOW_IMPORT, module], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "stawm: stopped\n")


def test_later_it_is_an_exception():
    with pytest.raises(KeyboardInterrupt):
        command._stop(signal.SIGINT, sys._getframe())


def test_who_starts_it_deaf_keeps_it_deaf(monkeypatch: pytest.MonkeyPatch):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        monkeypatch.setattr("stawm.cli.main", lambda: os.kill(os.getpid(), signal.SIGINT) or 7)
        assert command.main() == 7
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
