"""Write the pages of docs/reference that are kept in the repository: the command line and HTTP.

python scripts/docs/write.py
"""

import sys
from pathlib import Path

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"


def pages() -> dict[str, str]:
    """File name → text."""
    import cli_page
    import http_page

    return {"cli.md": cli_page.page(), "http.md": http_page.page()}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    for name, text in pages().items():
        (REFERENCE / name).write_text(text)
