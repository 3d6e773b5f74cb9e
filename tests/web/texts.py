"""A small collection with themes, written for these tests."""

from __future__ import annotations

_KITCHEN = """Knead the bread dough until it is smooth and springs back
Sourdough bread rises slowly because wild yeast takes its time
Bake the loaf in a hot oven with a tray of water for a crisp crust
Whole wheat flour makes a heavier loaf than white flour
A pinch of salt keeps the yeast from rising too fast
Roll the pastry thin and keep the butter cold
Simmer the soup with carrots, onions and a bay leaf
Taste the soup before you add more salt and pepper
Roast the onions in butter until they are golden
Whisk the eggs with sugar before the flour goes in
A cake needs a gentle oven and a steady hand with the sugar
Let the pizza dough rest before you stretch it"""

_BICYCLES = """Pump up the bicycle tyre before every long ride
A flat tyre is mended with a patch and some glue
Oil the chain when it squeaks and wipe off the rest
The gears slip when the chain is worn
Brake pads should be replaced before the metal shows
Set the saddle so that the leg is almost straight
A wheel that wobbles needs its spokes tightened
Wear a helmet and a light when you ride at night
The bicycle brake squeals when the rim is wet
Carry a spare inner tube on every ride
Worn gears and a new chain do not get along
Raise the handlebar if your back hurts after a ride"""

_SKY = """The moon turns around the earth in about a month
A telescope shows the rings of the planet Saturn
A comet grows a tail when it comes near the sun
The planet Mars looks red because of rust in its dust
During an eclipse the moon hides the sun
A galaxy holds hundreds of billions of stars
The light of distant stars is older than the earth
Venus is the planet that shines brightest after the moon
Meteors are small stones that burn in the sky
An orbit is the path of a planet around its star
A large telescope gathers more light of faint stars
The sun is a star seen from near by"""

_GARDEN = """Water the tomato plants in the morning and not at noon
Compost turns kitchen scraps into dark soil
Prune the apple tree in winter while it sleeps
Sow the beans when the soil has warmed up
Tulip bulbs are planted in autumn for the spring
Mulch keeps the soil moist and the weeds away
Pull the weeds before they go to seed
The roses need pruning and a little compost
Seedlings grow tall and weak without enough light
A greenhouse lets you sow tomato seeds in March
Slugs eat young plants at night
Rake the leaves from the lawn in autumn"""

THEMES = {"kitchen": _KITCHEN, "bicycle": _BICYCLES, "sky": _SKY, "garden": _GARDEN}

DOCUMENTS = {
    f"{theme}/{at:02}": text for theme, texts in THEMES.items() for at, text in enumerate(texts.splitlines(), start=1)
}

METADATA = [{"theme": id.partition("/")[0], "words": len(text.split())} for id, text in DOCUMENTS.items()]
