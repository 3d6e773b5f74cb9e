"""A few documents of three subjects, for all integrations."""

from typing import Any

_DOCUMENTS = {
    "fox": ("The red fox hunts mice in the snowy forest at night.", 2019),
    "wolf": ("A pack of wolves hunts deer together in the forest.", 2020),
    "owl": ("An owl hunts mice above the forest without a sound.", 2021),
    "bread": ("Bake the bread in a hot oven until the crust is brown.", 2022),
    "cake": ("Bake the cake with butter, sugar and flour in the oven.", 2020),
    "pie": ("An apple pie needs butter, flour and a hot oven.", 2021),
    "moon": ("The moon goes around the earth in about a month.", 2022),
    "mars": ("Mars is a cold planet with two small moons.", 2024),
    "venus": ("Venus is the planet that is nearest to the earth.", 2023),
}
IDS = list(_DOCUMENTS)
TEXTS = [text for text, _ in _DOCUMENTS.values()]
METADATA: list[dict[str, Any]] = [{"year": year} for _, year in _DOCUMENTS.values()]
