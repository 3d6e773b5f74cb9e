"""The process that opened something: after a fork, a child must not use the threads, locks and files of its parent."""

import os

from gossamer.errors import ForkedError


class OpenedIn:
    """The process in which an object was created."""

    def __init__(self) -> None:
        self.id = os.getpid()

    def is_current(self) -> bool:
        """False in a child that was forked since."""
        return self.id == os.getpid()

    def check(self) -> None:
        """Raise ForkedError in a child that was forked since."""
        if not self.is_current():
            raise ForkedError(
                f"this index was opened in process {self.id} and is used in its child {os.getpid()}: "
                "after a fork, open it again in the child with Index.open"
            )
