#!/bin/sh
# What the Makefile's targets do, usable without make:
#
#   sh scripts/setup.sh [setup|demo|test|check|test-gpu|docs|clean|help] [arguments for pytest]
#
# One virtual environment, .venv, holds everything. Its `light` level (no torch) runs the embedded
# model; its `full` level adds torch and the tools of the test suite. A stamp file a level says what
# was installed, so a second run installs nothing until pyproject.toml or a pin changes.
set -eu
unset CDPATH PYTHONHOME PYTHONPATH
trap 'exit 130' HUP INT TERM

ROOT=$(cd "$(dirname "$0")/.." && pwd)
cd "$ROOT"
VENV=.venv
PY=$VENV/bin/python
TORCH_DEFAULT=torch==2.13.0
TORCH_CPU_INDEX=${TORCH_CPU_INDEX:-https://download.pytorch.org/whl/cpu}
CPU_SUITE="not gpu and not multigpu and not slow and not readme"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_USER=0

say() { printf '%s\n' "$*" >&2; }
# Ends with one line. Nothing is half-written then, as pip gave up by itself; after a signal the mark stays.
die() { rm -f "$VENV/.dlmrt-installing"; say "error: $*"; exit 2; }
in_ci() { [ "${CI:-}" = true ]; }

# --- finding Python ---------------------------------------------------------------------------

version_of() { "$1" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null; }
new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
has_venv() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

# Sets `python` to the first interpreter that will do; ends with the remedy when there is none.
find_python() {
    old='' bare=''
    for name in ${PYTHON:-python3.14 python3.13 python3.12 python3.11 python3 python}; do
        path=$(command -v "$name" 2>/dev/null) || continue
        found=$(version_of "$path") || continue
        if ! new_enough "$path"; then
            old=${old:-"$path is Python $found"}
        elif ! has_venv "$path"; then
            bare=${bare:-"$path $found"}
        else
            python=$path
            return
        fi
    done
    another="or name another Python: make ${verb:-demo} PYTHON=/path/to/python3"
    if [ -n "$bare" ]; then
        short=${bare##* }
        die "${bare% *} (Python $short) cannot make virtual environments;" \
            "install its venv package (Debian, Ubuntu: sudo apt install python${short%.*}-venv), $another"
    fi
    [ -z "$old" ] || die "$old; dlmrt needs Python 3.11 or newer: install one" \
        "(Debian, Ubuntu: sudo apt install python3 python3-venv; macOS: brew install python), $another"
    [ -z "${PYTHON:-}" ] || die "PYTHON is '$PYTHON', which does not run; give the path of a Python 3.11 or newer"
    die "no Python found; dlmrt needs Python 3.11 or newer" \
        "(Debian, Ubuntu: sudo apt install python3 python3-venv; macOS: brew install python)"
}

# --- the virtual environment ------------------------------------------------------------------

# need_space MB WHAT: ends when the checkout's disk, or the folder pip unpacks in, is too full.
need_space() {
    for folder in . "${TMPDIR:-/tmp}"; do
        free=$(df -Pk "$folder" 2>/dev/null | awk 'NR == 2 { print int($(NF - 2) / 1024) }')
        want=$1
        [ "$folder" = . ] || want=$(($1 / 3)) # only the downloads pass through it
        case $free in '' | *[!0-9]*) continue ;; esac
        [ "$free" -ge "$want" ] || die "$free MB free on the disk of $(cd "$folder" && pwd), and $2" \
            "needs about $want MB there; free some space, or set TMPDIR or move the checkout to another disk"
    done
}

same_python() {
    ask='import sys; print(sys.version_info[:3], sys.base_prefix)'
    wanted=$("$1" -c "$ask" 2>/dev/null) && [ "$wanted" = "$("$PY" -c "$ask" 2>/dev/null)" ]
}

drop_venv() {
    [ -f "$VENV/.dlmrt-owned" ] || die "$ROOT/$VENV $1, and was not made by this script;" \
        "move it away and run again"
    say "$VENV $1: making it anew"
    rm -rf "$VENV"
}

make_venv() {
    [ -z "${PYTHON:-}" ] || find_python # a wrong name ends here, before anything is removed
    if [ -e "$VENV" ]; then
        if [ -f "$VENV/.dlmrt-installing" ]; then
            drop_venv "is half-installed"
        elif ! new_enough "$PY" || ! "$PY" -m pip --version >/dev/null 2>&1; then
            drop_venv "does not work"
        elif [ -n "${PYTHON:-}" ] && ! same_python "$PYTHON"; then
            drop_venv "has another Python than $PYTHON"
        fi
    fi
    [ ! -e "$VENV" ] || return 0
    find_python
    say "making $VENV with $python ($(version_of "$python"))"
    mkdir -p "$VENV"
    : >"$VENV/.dlmrt-owned"
    "$python" -m venv "$VENV" >&2 ||
        { rm -rf "$VENV"; die "$python could not make $ROOT/$VENV (its message is above)"; }
}

pip_install() {
    "$PY" -m pip install "$@" >&2 || die "pip could not install what dlmrt needs (its message is above);" \
        "it needs a package index: check the network, or pip's index settings ('pip config list')"
}

# What a level was installed from; CI counts because it pins versions.
key() {
    { cat pyproject.toml constraints/*.txt scripts/setup.sh; grep __version__ src/dlmrt/__init__.py
      echo "$1 $ROOT ${CI:-}"; } | cksum
}

stamped() {
    [ -f "$VENV/.dlmrt-$1" ] && [ "$(sed -n 1p "$VENV/.dlmrt-$1")" = "$(key "$1")" ] && "$PY" -c '' 2>/dev/null
}

ready() {
    [ ! -f "$VENV/.dlmrt-installing" ] || return 1
    [ -z "${PYTHON:-}" ] || same_python "$PYTHON" || return 1
    stamped full && { [ "$1" = light ] || [ -z "${TORCH:-}" ] ||
        [ "$(sed -n 2p "$VENV/.dlmrt-full")" = "$TORCH" ]; } && return 0
    [ "$1" = light ] && stamped light
}

ensure() {
    ! ready "$1" || return 0
    need_space 300 "the light install"
    make_venv
    : >"$VENV/.dlmrt-installing"
    "install_$1"
    { key "$1"; echo "${TORCH:-}"; } >"$VENV/.dlmrt-$1"
    rm -f "$VENV/.dlmrt-installing"
}

install_light() {
    say "installing dlmrt and its light dependencies into $VENV (about 35 MB to download)"
    if in_ci; then
        pip_install -qq -c constraints/ci.txt -e .
    else
        pip_install -qq -e .
    fi
}

# --- torch ------------------------------------------------------------------------------------

has_gpu() {
    [ -e /proc/driver/nvidia/version ] || { command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; }
}

reachable() {
    "$PY" - "$1/torch/" 2>/dev/null <<'PYTHON'
import sys, urllib.request
urllib.request.urlopen(urllib.request.Request(sys.argv[1], method="HEAD"), timeout=5)
PYTHON
}

has_torch() {
    "$PY" -c 'from importlib.metadata import version as v; import sys
sys.exit(tuple(map(int, v("torch").split(".")[:2])) < (2, 5))' 2>/dev/null
}

# TORCH=<requirement> is taken as it is; otherwise the CPU or the CUDA build, by the machine.
install_torch() {
    if [ -n "${TORCH:-}" ]; then
        need_space 2000 "torch"
        say "installing $TORCH"
        pip_install "$TORCH"
    elif has_torch; then
        return 0
    elif [ "$(uname -s)" != Linux ]; then
        need_space 2000 "torch for the CPU"
        say "installing $TORCH_DEFAULT (about 200 MB to download)"
        pip_install "$TORCH_DEFAULT"
    elif has_gpu; then
        need_space 8000 "torch with CUDA"
        say "NVIDIA GPU found: installing $TORCH_DEFAULT with CUDA (about 3 GB to download)"
        pip_install "$TORCH_DEFAULT"
    elif reachable "$TORCH_CPU_INDEX"; then
        need_space 2000 "torch for the CPU"
        say "no NVIDIA GPU: installing the CPU build of $TORCH_DEFAULT (about 200 MB to download)"
        # What torch itself needs comes from the usual index, with the rest below.
        pip_install --no-deps --index-url "$TORCH_CPU_INDEX" "$TORCH_DEFAULT"
    else
        need_space 2000 "torch"
        say "no NVIDIA GPU, and PyTorch's index of CPU builds ($TORCH_CPU_INDEX) is out of reach:"
        say "installing $TORCH_DEFAULT from your own index; where that has the CUDA build only, this downloads"
        say "about 3 GB and takes 8 GB on disk (Ctrl-C now, and TORCH=<pip requirement>, to choose another)"
        pip_install "$TORCH_DEFAULT"
    fi
}

install_full() {
    install_torch
    say "installing dlmrt with what its tests and checks need into $VENV (about 150 MB to download)"
    if in_ci; then
        pip_install -qq -c constraints/ci.txt -e '.[dev]'
    else
        grep -v '^torch==' constraints/ci.txt >"$VENV/.dlmrt-pins"
        pip_install -qq -c "$VENV/.dlmrt-pins" -e '.[dev]'
    fi
}

# --- verbs ------------------------------------------------------------------------------------

setup() {
    ensure light
    say "ready: try  $VENV/bin/dlmrt generate --help  or  make demo"
}

demo() {
    ensure light
    say
    "$VENV/bin/dlmrt" demo
}

run_tests() {
    ensure full
    "$PY" -m pytest -m "$CPU_SUITE" "$@"
}

run_gpu_tests() {
    ensure full
    DLMRT_REQUIRE_GPU=1 "$PY" -m pytest -m "gpu or multigpu" "$@"
}

check() {
    ensure full
    "$PY" tools/check.py "$@"
}

docs() {
    ensure full
    "$PY" tools/gen_cli_docs.py
    "$PY" tools/gen_tables.py
}

clean() {
    [ ! -e "$VENV" ] || [ ! -f "$VENV/.dlmrt-owned" ] || rm -rf "$VENV"
    rm -rf .mypy_cache .ruff_cache .pytest_cache build dist
    find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
}

help() {
    cat <<'TEXT'
make setup     install dlmrt and its light dependencies into .venv (no torch)
make demo      show what the embedded model does (light install)
make test      run the CPU test suite (installs torch; ARGS="-k word" goes to pytest)
make check     lint, format, types, layers, size budgets, docs, changelog
make test-gpu  run the tests that need an NVIDIA GPU
make docs      write docs/cli.md and the tables of results anew
make clean     remove .venv and caches

PYTHON=/path/to/python3 picks the interpreter; TORCH='torch==2.13.0' picks the torch requirement.
Without make: sh scripts/setup.sh demo
TEXT
}

verb=${1:-help}
[ $# -eq 0 ] || shift
case $verb in
    setup | demo | check | docs | clean) "$verb" "$@" ;;
    test) run_tests "$@" ;;
    test-gpu) run_gpu_tests "$@" ;;
    help | -h | --help) help ;;
    *) die "no command '$verb' (commands: setup, demo, test, check, test-gpu, docs, clean, help)" ;;
esac
