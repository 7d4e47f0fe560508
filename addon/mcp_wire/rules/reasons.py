"""Why a rule cannot tell, in the words of the coverage report, where several families have the same reason."""

from __future__ import annotations

from typing import Final

from mcp_wire.judging.declaration import CannotTell

CUT_BY_HAND: Final = CannotTell("members may have been removed from this transcript by hand")
CLIENTS_UNKNOWN: Final = CannotTell("several clients may share this conversation, or it was joined midway")
SERVER_IS_OF_UNKNOWN_ERA: Final = CannotTell("nothing shows that the server speaks 2026-07-28")
REFUSED_FIRST: Final = CannotTell("the request was refused for another reason first")
