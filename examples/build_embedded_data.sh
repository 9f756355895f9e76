#!/bin/sh
# Build the data of the embedded model in ./data, with JOBS processes (default 2).
#
#   JOBS=16 sh examples/build_embedded_data.sh DOCS GSM8K
#
# DOCS: folder of documentation folders, from the packages of examples/repair_sources.txt (docs/data.md tells how).
# GSM8K: train.jsonl of openai/grade-school-math.
set -e
jobs=${JOBS:-2}
build() { dlmrt data build "$@" --seed 1 --force; }
generated() { build "$1" --out "data/$1" --train "$2" --dev 500 --jobs "$jobs"; }
generated words 600000
generated sums 100000
generated python 250000
generated extract 400000
generated dates 450000
build gsm8k --source "$2" --out data/gsm8k --copies 12
build repair $(printf -- '--sources %s ' "$1"/*) --out data/repair --jobs "$jobs" \
    --train-copies 4 --prefix "repair: " --bare-share 0.1
