"""Right programs that read, print and end in ways of their own."""

from __future__ import annotations

from codegym.audit.entry import Entry, right
from codegym.audit.tests import TOKENS, prints
from codegym.core import TestCase

__all__ = ["ENTRIES"]

BUFFERED: list[Entry] = [
    right(
        "stdout_at_exit",
        "stdio",
        "import atexit, io, sys\ninput()\nsys.stdout = io.StringIO()\n"
        "atexit.register(lambda: sys.__stdout__.write(sys.stdout.getvalue()))\n"
        "print(sum(map(int, input().split())))\n",
        "output that is held back, and written by an exit handler to the original stream",
    ),
    right(
        "unclosed_file",
        "stdio",
        "import os\ninput()\nout = os.fdopen(1, 'w')\nout.write(str(sum(map(int, input().split()))))\n",
        "a file on standard output that nobody closes",
    ),
    right(
        "stdout_of_none",
        "stdio",
        "import os, sys\ninput()\nos.write(1, str(sum(map(int, input().split()))).encode())\nsys.stdout = None\n",
        "no stream for standard output in the end",
    ),
]
INPUT: list[Entry] = [
    right(
        "stdin_buffer",
        "stdio",
        "import sys\ndata = sys.stdin.buffer.read().split()\nprint(sum(map(int, data[1:])))\n",
        "standard input in bytes",
    ),
    right(
        "open_0",
        "stdio",
        "data = open(0).read().split()\nprint(sum(map(int, data[1:])))\n",
        "standard input by its descriptor",
    ),
    right(
        "os_read",
        "stdio",
        "import os\ndata = os.read(0, 10**6).split()\nprint(sum(map(int, data[1:])))\n",
        "standard input by system calls",
    ),
    right(
        "os_fstat",
        "stdio",
        "import os\ndata = os.read(0, os.fstat(0).st_size).split()\nprint(sum(map(int, data[1:])))\n",
        "the size of standard input",
    ),
    right(
        "mmap",
        "stdio",
        "import mmap\ndata = mmap.mmap(0, 0, access=mmap.ACCESS_READ)[:].split()\nprint(sum(map(int, data[1:])))\n",
        "standard input mapped into memory",
    ),
    right(
        "mixed",
        "stdio",
        "import sys\nn = int(input())\nrest = sys.stdin.readline()\nprint(sum(map(int, rest.split())))\n",
        "input() and readline by turns",
    ),
    right(
        "for_line",
        "stdio",
        "import sys\nlines = [line for line in sys.stdin]\nprint(sum(map(int, lines[1].split())))\n",
        "standard input as an iterator",
    ),
    right(
        "fileinput",
        "stdio",
        "import fileinput\nlines = list(fileinput.input())\nprint(sum(map(int, lines[1].split())))\n",
        "fileinput, which looks at argv",
    ),
    right(
        "input_until_eof",
        "stdio",
        "values = []\nwhile True:\n    try: values.append(input())\n    except EOFError: break\nprint(sum(map(int, values[1].split())))\n",
        "the end of input as an exception",
    ),
    right(
        "rebound_input",
        "stdio",
        "import sys, io\ninput = io.BytesIO(sys.stdin.buffer.read()).readline\ninput()\nprint(sum(map(int, input().split())))\n",
        "fast input as in contests",
    ),
    right(
        "crlf",
        "stdio",
        "input()\nprint(sum(map(int, input().split())))\n",
        "lines that end in CRLF",
        (TestCase.stdio("2\r\n1 2\r\n", expected="3\r\n"),),
    ),
    right("no_input", "stdio", "print('hello')\n", "no input at all", prints("hello")),
]
OUTPUT: list[Entry] = [
    right(
        "stdout_buffer",
        "stdio",
        "import sys\ninput()\nsys.stdout.buffer.write(str(sum(map(int, input().split()))).encode())\n",
        "standard output in bytes",
    ),
    right(
        "os_write",
        "stdio",
        "import os\ninput()\nos.write(1, b'%d\\n' % sum(map(int, input().split())))\n",
        "standard output by system calls",
    ),
    right(
        "open_1",
        "stdio",
        "input()\nwith open(1, 'w') as out: print(sum(map(int, input().split())), file=out)\n",
        "standard output by its descriptor, and closed",
    ),
    right(
        "no_newline",
        "stdio",
        "input()\nprint(sum(map(int, input().split())), end='')\n",
        "no newline at the end",
    ),
    right(
        "trailing_space",
        "stdio",
        "input()\nprint(sum(map(int, input().split())), '  ')\nprint()\n",
        "white space at the end of lines and of the output",
    ),
    right(
        "crlf_output",
        "stdio",
        "input()\nprint(sum(map(int, input().split())), end='\\r\\n')\n",
        "lines that end in CRLF",
    ),
    right("bom", "stdio", "print('\\ufeff5')\n", "a byte order mark", prints("5")),
    right(
        "unicode",
        "stdio",
        "größe = input()\nprint(größe[::-1], '→ 日本 \\U0001f40d')\n",
        "identifiers and output beyond ASCII",
        prints("äöü → 日本 \U0001f40d", "üöä\n"),
    ),
    right(
        "seven_digits",
        "stdio",
        "print(f'{1 / 3:.7f}')\n",
        "a float of 7 digits, within the tolerance",
        prints("0.333333333333"),
        {"compare": TOKENS},
    ),
    right(
        "float_forms",
        "stdio",
        "print('1e-7', -0.0, 1e3, 'YES')\n",
        "floats in other forms",
        prints("0.0000001 0 1000 YES"),
        {"compare": TOKENS},
    ),
    right(
        "stderr",
        "stdio",
        "import sys, warnings\nwarnings.warn('slow')\nprint('debug', file=sys.stderr)\nprint(1)\n",
        "warnings on standard error",
        prints("1"),
    ),
    right(
        "long_output",
        "stdio",
        "print('\\n'.join(map(str, range(200_000))))\n",
        "more than a pipe holds",
        prints("\n".join(map(str, range(200_000)))),
    ),
    right(
        "child_prints",
        "stdio",
        "import os\nif os.fork() == 0:\n    print(1, flush=True)\n    os._exit(0)\nos.wait()\nprint(2)\n",
        "output of a child",
        prints("1\n2"),
    ),
]
ENDING: list[Entry] = [
    right("sys_exit", "stdio", "import sys\nprint(1)\nsys.exit()\n", "sys.exit() after output", prints("1")),
    right("exit_0", "stdio", "print(1)\nexit(0)\n", "exit(0) after output", prints("1")),
    right("quit", "stdio", "print(1)\nquit()\n", "quit() after output", prints("1")),
    right("system_exit", "stdio", "print(1)\nraise SystemExit\n", "SystemExit after output", prints("1")),
    right(
        "os_exit",
        "stdio",
        "import os, sys\nprint(1)\nsys.stdout.flush()\nos._exit(0)\n",
        "os._exit(0) after output",
        prints("1"),
    ),
    right(
        "main_guard",
        "stdio",
        "def main():\n    print(1)\n\nif __name__ == '__main__':\n    main()\n",
        "the name of the module",
        prints("1"),
    ),
    right(
        "atexit", "stdio", "import atexit\natexit.register(print, 1)\n", "output while it ends", prints("1")
    ),
    right(
        "thread_recursion",
        "stdio",
        """
import sys, threading
sys.setrecursionlimit(10**6)
threading.stack_size(1 << 27)

def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)

def main():
    print(depth(100_000))

thread = threading.Thread(target=main)
thread.start()
thread.join()
""",
        "deep recursion in a thread with a large stack",
        prints("100000"),
    ),
    right(
        "thread_left_running",
        "stdio",
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.05), print(1))).start()\n",
        "a thread that ends after the main program",
        prints("1"),
    ),
    right(
        "argv_and_file",
        "stdio",
        "import sys, os\nprint(len(sys.argv), os.path.basename(__file__) == os.path.basename(sys.argv[0]), __name__)\n",
        "__file__ and argv",
        prints("1 True __main__"),
    ),
    right(
        "pickles_its_own_class",
        "stdio",
        "import pickle\nclass P:\n    def __init__(self): self.x = 5\nprint(pickle.loads(pickle.dumps(P())).x)\n",
        "pickling a class of __main__",
        prints("5"),
    ),
    right(
        "getsource",
        "stdio",
        "import inspect\ndef f():\n    return 1  # one\nprint('# one' in inspect.getsource(f))\n",
        "its own source",
        prints("True"),
    ),
    right(
        "files",
        "stdio",
        "import tempfile, os\nwith open('note.txt', 'w') as file: file.write('hi')\nwith tempfile.NamedTemporaryFile('w+') as t: t.write('x')\nprint(open('note.txt').read())\n",
        "files of its own",
        prints("hi"),
    ),
]
ENTRIES: list[Entry] = [*BUFFERED, *INPUT, *OUTPUT, *ENDING]
