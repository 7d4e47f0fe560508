# Sourced by scripts/demo and scripts/test, from the repository's root: makes what they need inside the clone.
# shellcheck shell=bash

readonly OLDEST_PYTHON="3.12"

say() { printf '%s\n' "$*" >&2; }

die() {
    say "$*"
    exit 1
}

# Usable: new enough, and able to make an environment (some systems package venv separately).
usable_python() {
    "$@" -c '
import sys, ensurepip, venv
sys.exit(sys.version_info < tuple(map(int, sys.argv[1].split("."))))
' "$OLDEST_PYTHON" >/dev/null 2>&1
}

# Prints the path of a Python to build with. The version in .python-version first: it is the one the project is developed on.
find_python() {
    local name root
    for name in "python$(cat .python-version)" python3.14 python3.13 python3.12 python3 python; do
        if command -v "$name" >/dev/null 2>&1 && usable_python "$name"; then
            "$name" -c 'import sys; print(sys.executable)'
            return
        fi
    done
    # pyenv's shims refuse the versions that .python-version does not name; the interpreters behind them work.
    if command -v pyenv >/dev/null 2>&1 && root="$(pyenv root 2>/dev/null)"; then
        for name in "$root"/versions/3.*/bin/python; do
            if usable_python "$name"; then
                printf '%s\n' "$name"
                return
            fi
        done
    fi
    die "No usable Python $OLDEST_PYTHON or newer (with its venv module) was found as python3.14, python3.13, python3.12 or python3 on PATH."
}

# What an environment depends on; when it changes, the environment is brought up to date.
environment_recipe() {
    pwd
    .venv/bin/python --version
    cat pyproject.toml scripts/constraints.txt
}

# prepare_python EXTRA: .venv holds the package (editable) with that extra; "dev" contains "demo".
prepare_python() {
    local extra="$1" python stamp
    for stamp in .venv/prepared-dev ".venv/prepared-$extra"; do
        if [[ -f "$stamp" ]] && environment_recipe 2>/dev/null | cmp -s - "$stamp"; then
            return
        fi
    done
    # An environment of another folder (a moved clone) has commands that point there: start afresh.
    if ! usable_python .venv/bin/python || { [[ -f .venv/made-in ]] && [[ "$(cat .venv/made-in)" != "$PWD" ]]; }; then
        python="$(find_python)"
        say "Making an environment in .venv with $("$python" --version) …"
        "$python" -m venv --clear .venv
    fi
    pwd >.venv/made-in
    say "Installing the packages that \"$extra\" needs …"
    rm -f .venv/prepared-*
    .venv/bin/python -m pip install -qq --disable-pip-version-check \
        --constraint scripts/constraints.txt --editable ".[$extra]" ||
        die "The packages could not be installed; pip's message above says why."
    environment_recipe >".venv/prepared-$extra"
}

# prepare_node_packages FOLDER WHAT: npm's packages in a folder of the tests. Returns 1 when this machine has no npm.
prepare_node_packages() {
    local folder="$1" what="$2"
    local stamp="$folder/node_modules/.prepared"
    command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 || return 1
    if cmp -s "$folder/package-lock.json" "$stamp"; then
        return
    fi
    say "Installing $what …"
    (cd "$folder" && npm ci --silent </dev/null) || die "$what could not be installed with npm."
    cp "$folder/package-lock.json" "$stamp"
}

# The official suite needs a newer Node than many systems have; npm's package `node` brings it with a script of its own,
# the only one that is run.
prepare_node_peers() {
    prepare_node_packages tests/peers "the TypeScript peers and the official suite" || return 1
    [[ -x tests/peers/node_modules/node/bin/node ]] ||
        (cd tests/peers && npm rebuild --silent --ignore-scripts=false node </dev/null) ||
        die "npm's package node could not be set up."
}

# Python peers that cannot share .venv: an environment for each list of packages in tests/peers/environments. And the
# programs that the Python SDK's source distribution has for the official suite, of the very version that is installed.
prepare_python_peers() {
    local folder=tests/peers/environments list environment version source
    for list in "$folder"/*.txt; do
        environment="${list%.txt}"
        if cmp -s "$list" "$environment/prepared"; then
            continue
        fi
        say "Installing the peers of $list …"
        .venv/bin/python -m venv --clear "$environment"
        "$environment/bin/python" -m pip install -qq --disable-pip-version-check --requirement "$list" ||
            die "The packages of $list could not be installed; pip's message above says why."
        cp "$list" "$environment/prepared"
    done
    source="$folder/python-sdk-2-source"
    version="$(.venv/bin/python -c 'import importlib.metadata; print(importlib.metadata.version("mcp"))')"
    if [[ "$(cat "$source/prepared" 2>/dev/null)" != "$version" ]]; then
        say "Fetching the Python SDK's programs for the official suite …"
        rm -rf "$source"
        mkdir "$source"
        .venv/bin/python -m pip download -qq --disable-pip-version-check --no-deps --no-binary mcp \
            --dest "$source" "mcp==$version" || die "The Python SDK's source distribution could not be had."
        tar -xzf "$source/mcp-$version.tar.gz" -C "$source" --strip-components=1 \
            "mcp-$version/examples/servers/everything-server" "mcp-$version/.github/actions/conformance/client.py"
        rm "$source/mcp-$version.tar.gz"
        printf '%s\n' "$version" >"$source/prepared"
    fi
}

# What reports are held against: schemas, a diagram renderer, an accessibility checker.
prepare_web_checks() { prepare_node_packages tests/web "the checks of reports"; }
