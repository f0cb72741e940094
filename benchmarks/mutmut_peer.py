"""mutmut's mutants as whole modules: run by the interpreter that mutmut is installed in.

python mutmut_peer.py MODULE.py      prints [[name, source], …], names as `mutmut run` has them
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path


def main(path: str) -> None:
    from mutmut.mutation.file_mutation import create_mutations, deep_replace

    source = Path(path).read_text(encoding="utf-8")
    module, mutations, *_ = create_mutations(path, source)
    numbers: Counter[str] = Counter()
    made = []
    for mutation in mutations:
        function = mutation.contained_by_top_level_function
        if function is None:
            continue
        name = function.name.value
        numbers[name] += 1
        mutated = deep_replace(module, mutation.original_node, mutation.mutated_node).code
        made.append([f"{Path(path).stem}.x_{name}__mutmut_{numbers[name]}", mutated])
    json.dump(made, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
