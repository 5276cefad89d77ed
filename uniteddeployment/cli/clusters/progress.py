"""Reports the steps of a command on standard error."""

from uniteddeployment.cli.output.terminal import Screen, say


class Progress:
    """Reports steps and warnings. Without steps if ``quiet``, as for output that programs read."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._screen = Screen(error=True)

    def done(self, text: str) -> None:
        """Report a step that is done."""
        if not self._quiet:
            say(f"{self._screen.glyphs.good} {text}", error=True)

    def note(self, text: str) -> None:
        """Report something that is not a step."""
        if not self._quiet:
            say(text, error=True)

    @staticmethod
    def warn(text: str) -> None:
        """Report a warning, also if quiet."""
        say(f"warning: {text}", error=True)
