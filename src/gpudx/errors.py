"""Errors that are the user's to fix: one sentence that names the next step, never a traceback."""


class UserError(Exception):
    """Shown as one line on stderr; the command ends with `exit_code`."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code
