#!/bin/sh
# The whole life of an index on the command line. Needs no model files: lsa learns from the texts themselves.
#
#     sh examples/command_line.sh
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

mkdir notes
echo "The red fox hunts mice in the snowy forest at night." > notes/fox.txt
echo "A pack of wolves hunts deer together in the forest." > notes/wolf.txt
echo "Bake the bread in a hot oven until the crust is brown." > notes/bread.txt
printf 'id,text,year\nmoon,The moon goes around the earth in a month,2019\nmars,Mars is a cold red planet,2021\n' > notes/space.csv

gossamer index notes --to notes.gsm --encoder lsa              # files and folders in
gossamer search notes.gsm "who hunts in the forest" -k 2       # answers with their paths
gossamer search notes.gsm "planets" --where '{"year": {"$gte": 2020}}'
gossamer explain notes.gsm "who hunts in the forest" bread.txt # any document, found or not
gossamer tree notes.gsm                                        # the concepts

echo "The fox sleeps by day." > notes/fox.txt
rm notes/wolf.txt
gossamer index notes --to notes.gsm --prune                    # only what changed, and what is gone
gossamer delete notes.gsm --where '{"year": {"$lt": 2020}}'
gossamer info notes.gsm --json
