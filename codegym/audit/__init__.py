"""The audit: programs that cheat and right programs that trip graders, put to a grader.

    from codegym.audit import audit, make_grader

    found = audit(make_grader("codegym", sandbox="local"))
    print(found.wrong, found.left)

Every hostile program must get 0, every right one 1, and nothing may be left behind.
"""

from __future__ import annotations

from codegym.audit.entry import STYLES, Entry
from codegym.audit.graders import GRADERS, make_grader
from codegym.audit.programs import corpus
from codegym.audit.run import Audit, Audited, Cell, Verdict, audit
from codegym.audit.topics import TOPICS, Topic, topic_of

__all__ = [
    "GRADERS",
    "STYLES",
    "TOPICS",
    "Audit",
    "Audited",
    "Cell",
    "Entry",
    "Topic",
    "Verdict",
    "audit",
    "corpus",
    "make_grader",
    "topic_of",
]
