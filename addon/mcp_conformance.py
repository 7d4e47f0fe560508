"""The mitmproxy addon: `mitmdump -s addon/mcp_conformance.py`. Everything else is in the package beside this file.

mitmproxy puts this folder on the import path while it loads the script, so everything is imported here, at once.
"""

try:
    from mcp_wire.live.addon import ConformanceAddon
    from mcp_wire.live.start import open_judge
except ModuleNotFoundError as missing:
    if (missing.name or "").startswith("mcp_wire"):
        raise
    raise ImportError(
        f"mcp_conformance.py needs the Python package {(missing.name or '').partition('.')[0]!r} in the environment "
        "that mitmproxy runs in; install this project there (`pip install .`)."
    ) from None

addons = [ConformanceAddon(open_judge)]
