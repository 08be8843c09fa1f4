"""Lines that every good MindSpore run writes by the dozen: a person following a run can do without them.

Read off captures of good runs of 2.10 (two ranks write 60 to 200 of them although all is well). Data, so that a new
version's noise is one more line here; each has its real sample in the tests.
"""

from __future__ import annotations

import re

_TEXTS = (
    r"tcp_comm\.cc:\d+\] Connect\] Connection \d+ source",
    r"tcp_comm\.cc:\d+\] (?:Connect|Disconnect|SetMessageHandler|Initialize|Finalize)\] ",
    r"tcp_(?:client|server)\.cc:\d+\] ",
    r"Register\] Failed to connect to the meta server node url",
    r"ReconnectWithTimeoutWindow\]",
    r"BuildCluster\] Topology build timed out\., retry\(",
    r"SocketEventHandler\] Event value",
    r"Finalize\] (?:Cluster currently has \d+ alive nodes|This cluster node|The meta server node)",
    r"Handshake\] .*errno: 2\b",
    r"(?:CreateCommunicationGroup|Initialize)\] .*(?:has already|already been|already existed)",
    r"Create collective communication group",
    r"CommManager instance for CPU not found",
    r"MetaServerNode\.$",
    r"Event base dispatch success!",
    r"TcpConnection is constructed!",
    r"The worker node start sync start!",
    r"Start the (?:client|server) event loop|has been disconnected|Delete (?:connection|file descriptor)",
    r"The '--tail_worker_log' is:-2,",
    r"ReassignNodeRank\] Rank ids are already set",
    r"Distributed job is spawned",
    r"For 'context\.set_context', the parameter '\w+' will be deprecated",
    r"topology/(?:meta_server_node|compute_graph_node)\.cc:\d+\] (?:Initialize|PostProcess|Register|Finalize)\]",
)
NOISE = "|".join(f"(?:{text})" for text in _TEXTS)
"""What a routine record says, as an expression for RE2 or re; so are the others."""
NEVER = r"\b[Ff]ail|\b[Ee]rror\b"
"""What makes a record worth seeing all the same."""
HARMLESS = r"Failed to connect to the meta server node url|ReconnectWithTimeoutWindow\]|Handshake\] .*errno: 2\b"
"""Tries that fail while the scheduler is not up yet: routine, though they tell of a failure."""
ALWAYS = "rank id:"
"""What is always worth seeing."""
_NOISE, _FAILURE, _HARMLESS_FAILURE = re.compile(NOISE), re.compile(NEVER), re.compile(HARMLESS)
_QUIET = ("[INFO]", "[DEBUG]", "[WARNING]", "[V")


def is_noise(text: str) -> bool:
    """Whether a line is a routine record. Errors and what the script prints never are."""
    if not text.startswith(_QUIET) or ALWAYS in text or _NOISE.search(text) is None:
        return False
    return _FAILURE.search(text) is None or _HARMLESS_FAILURE.search(text) is not None
