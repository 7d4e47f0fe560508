"""A script for mitmproxy: the addon, with a judge one of whose rules raises."""

import functools

from mcp_wire.live.addon import ConformanceAddon
from mcp_wire.live.start import open_judge

addons = [ConformanceAddon(functools.partial(open_judge, module="tests.live.broken_judge"))]
