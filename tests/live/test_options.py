"""A bad option stops mitmproxy with one sentence; it never runs on without its addon."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_wire.live.options import OPTIONS, BadOption, refusal, repair_deferred, settings_of

REPOSITORY = Path(__file__).resolve().parents[2]
MITMDUMP = Path(sys.executable).parent / "mitmdump"
GOOD = {name: option.default for name, option in OPTIONS.items()}
PROFILES = "auto, stable-2025-03-26, stable-2025-06-18, stable-2025-11-25, stable-2026-07-28"


class Unconverted:
    """As mitmproxy keeps what --set said of an option that it does not know yet."""

    def __init__(self, *values: str) -> None:
        self.val = list(values)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once: mitmproxy's first start takes its time over it."""
    return tmp_path_factory.mktemp("authority")


def start(folder: Path, authority: Path, *settings: str) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [MITMDUMP, "-s", REPOSITORY / "addon" / "mcp_conformance.py"]
    command += ["--mode", "regular@127.0.0.1:0", "--set", f"confdir={authority}"]
    for setting in settings:
        command += ["--set", setting]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (["mcp_profile=nonsense"], f"mcp_profile=nonsense is refused: allowed is one of {PROFILES}."),
        (["mcp_extended=maybe"], "mcp_extended=maybe is refused: allowed is true or false."),
        (["mcp_scope=~nonsense ("], "mcp_scope=~nonsense ( is refused: allowed is a mitmproxy flow filter"),
        (["mcp_output"], "mcp_output was set without a value; allowed is the name of a folder, existing or new."),
        (["mcp_output=a", "mcp_output=b"], "mcp_output was set 2 times (a, b); allowed is once, the name of a folder"),
        (["mcp_output=/dev/null/x"], "mcp_output=/dev/null/x is refused: "),
        (
            ["mcp_tuple=sdk=a/1,client=x,y"],
            "mcp_tuple is refused: it has to be NAME=VALUE; allowed is NAME=VALUE, with ",
        ),
        (["mcp_profil=auto"], "mcp_profil is no option; did you mean mcp_profile? The options are mcp_output, "),
    ],
)
def test_mitmdump_stops(tmp_path: Path, authority: Path, settings: list[str], sentence: str) -> None:
    ended = start(tmp_path, authority, *settings)
    assert ended.returncode == 1
    assert sentence in ended.stdout
    assert "Traceback" not in ended.stdout + ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_same_in_the_configuration_file(tmp_path: Path) -> None:
    authority = tmp_path / "authority"
    authority.mkdir()
    (authority / "config.yaml").write_text("mcp_extended: [true]\n")
    ended = start(tmp_path, authority)
    assert ended.returncode == 1
    assert "mcp_extended=[True] is refused: allowed is true or false." in ended.stdout


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mcp_profile", "stable-2026-07-28"),
        ("mcp_profile", "auto"),
        ("mcp_extended", "true"),
        ("mcp_scope", "~d example.com & ~u /mcp"),
        ("mcp_scope", ""),
        ("mcp_output", "somewhere/new"),
    ],
)
def test_good_values(name: str, value: str) -> None:
    assert refusal(name, value) is None


def test_an_archived_profile_is_refused_with_the_reason() -> None:
    assert refusal("mcp_profile", "draft-2026-07-28") == (
        "mcp_profile=draft-2026-07-28 is refused: this archived profile is never chosen for live traffic; "
        f"allowed is one of {PROFILES}."
    )


@pytest.mark.parametrize("value", ["", "  ", "a\0b", str(Path(__file__)), 7, None])
def test_output_that_can_be_no_folder(value: object) -> None:
    assert refusal("mcp_output", value) is not None


def test_settings() -> None:
    settings = settings_of(GOOD | {"mcp_output": "~/x", "mcp_extended": "true", "mcp_scope": "~m GET"})
    assert settings.output == Path.home() / "x"
    assert settings.profile is None
    assert settings.extended
    assert settings.scope is not None
    assert settings.reports == ()
    assert settings_of(GOOD | {"mcp_reports": "html, markdown"}).reports == ("html", "markdown")
    assert settings_of(GOOD | {"mcp_profile": "stable-2025-06-18"}).profile == "stable-2025-06-18"
    with pytest.raises(BadOption, match="mcp_profile=x is refused"):
        settings_of(GOOD | {"mcp_profile": "x"})


def test_a_very_long_value_is_cut() -> None:
    problem = refusal("mcp_profile", "x" * 1000)
    assert problem is not None and len(problem) < 250


def test_what_mitmproxy_would_choke_on_is_taken_away() -> None:
    deferred: dict[str, Any] = {
        "mcp_output": Unconverted(),
        "mcp_profile": ["a"],
        "mcp_extended": True,
        "mcp_scope": Unconverted("~m GET"),
        "other": Unconverted(),
        "mcp_bridge_port": 1,
    }
    refusals, warnings = repair_deferred(deferred)
    assert len(refusals) == 2
    assert len(warnings) == 1 and warnings[0].startswith("mcp_bridge_port is not an option")
    assert set(deferred) == {"mcp_extended", "mcp_scope", "other", "mcp_bridge_port"}
    assert deferred["mcp_extended"] == "true"
