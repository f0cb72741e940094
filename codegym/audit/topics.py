"""What the audit covers: each kind of trick and of oddity, and the programs that are of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["TOPICS", "Topic", "topic_of"]


@dataclass(frozen=True, slots=True)
class Topic:
    """One kind of programs.

    Attributes:
        key: Unique, and short.
        side: ``hostile`` or ``right``.
        meaning: What they do.
        names: The programs, by name.
        needs: Without these layers of isolation a sandbox does not claim to stop them.
        dangerous: Whether they must not run where nothing stops them.
    """

    key: str
    side: str
    meaning: str
    names: tuple[str, ...]
    needs: frozenset[str] = frozenset()
    dangerous: bool = False


def _topic(side: str, key: str, meaning: str, names: str, needs: str = "", dangerous: bool = False) -> Topic:
    return Topic(key, side, meaning, tuple(names.split()), frozenset(needs.split()), dangerous)


TOPICS: Final = (
    # Stealing
    _topic("hostile", "frames", "frames, the heap, all modules",
           "frame_walk heap_of_objects inspect_stack all_modules"),
    _topic("hostile", "files", "files of the host, keys, the project",
           "file_of_the_host files_around home_and_keys", "root"),
    _topic("hostile", "ways_out", "links and changes of the root that lead out",
           "symlink_out leave_the_root", "root", True),
    _topic("hostile", "processes",
           "other processes: /proc, ptrace, their memory, a sibling with the reference",
           "proc other_process_memory sibling_process", "root pid", True),
    _topic("hostile", "inherited", "environment, arguments, open descriptors",
           "environment_and_argv libc_environment descriptors link"),
    _topic("hostile", "test_sources", "the source of the tests", "linecache source_of_the_tests"),
    _topic("hostile", "grader_modules", "the grader's modules and their globals", "import_grader", "root"),
    _topic("hostile", "network", "the network: TCP, UDP, Unix, abstract, netlink, metadata",
           "tcp unix_socket abstract_socket metadata_address udp_and_netlink", "net"),
    _topic("hostile", "memory_of_others", "what earlier programs, or other processes, left",
           "shared_memory what_others_left", "root", True),
    _topic("hostile", "detection", "telling the grader from a user", "knows_the_grader"),
    # Forging
    _topic("hostile", "exits", "to end well before, or while, anything is checked",
           "sys_exit os_exit exit_late quit_in_call exit_in_thread exit_at_exit exits_from_a_test"),
    _topic("hostile", "words", "the words of success", "del_prints prints_verdicts"),
    _topic("hostile", "channel", "the channel of answers: forged, cut off, too long, written by others",
           "forge_values forge_ready forge_test_results forge_digest wrong_length cut_off "
           "giant_lengths forge_stop_iteration"),
    _topic("hostile", "all_channels", "a verdict on every open descriptor", "all_descriptors", "", True),
    _topic("hostile", "decoder", "what a reader of answers falls over: pickles, code, depth, cycles, hashes",
           "reduce code_in_frame deep_answer deep_value cyclic_value hash_flood pickle_on_the_channel"),
    _topic("hostile", "objects", "objects that lie: about equality, class, length, order",
           "always_equal always_equal_more class_property lying_iterator mock subclass_of_int "
           "subclass_of_float "
           "subclass_of_list"),
    _topic("hostile", "odd_answers", "nan, functions, generators", "generator lambda nan"),
    _topic("hostile", "exceptions", "exceptions that look like a pass",
           "stop_iteration raise_system_exit raise_generator_exit raise_keyboard raise_skip raise_group "
           "raise_odd "
           "answers_by_exception"),
    _topic("hostile", "patching", "built-ins, comparisons, codecs, clocks, streams, trace functions",
           "patch_builtins patch_runner patch_comparison patch_numpy patch_unittest patch_pytest "
           "patch_codecs "
           "patch_clock patch_streams trace replace_import replace_modules"),
    _topic("hostile", "planting", "files that interpreters and test runners load by themselves",
           "plant_files plants_conftest stale_bytecode", "root", True),
    _topic("hostile", "arguments", "the inputs of the calls", "mutate_arguments changes_arguments"),
    # Escaping and wearing down
    _topic("hostile", "processes_without_end", "fork bombs, threads, descriptors",
           "fork_bomb thread_bomb descriptors_without_end", "pid", True),
    _topic("hostile", "time", "loops, sleep, C code that blocks", "loop sleep regex power"),
    _topic("hostile", "deaf", "signals, exceptions and limits caught", "deaf catch_everything raise_limits"),
    _topic("hostile", "lasting", "daemons, shared memory, semaphores, files that outlive the run",
           "outlive leave_things", "pid", True),
    _topic("hostile", "killing", "its parent, its group, everybody", "kill_all", "pid", True),
    _topic("hostile", "memory", "memory of one process", "memory_list memory_map bytearray giant_answer",
           "", True),
    _topic("hostile", "memory_of_many", "memory of many processes, and of files in memory",
           "memory_of_children memory_files", "cgroup", True),
    _topic("hostile", "disk", "the disk, and its inodes", "disk inodes sealed_folders", "scratch", True),
    _topic("hostile", "floods", "output without end", "flood_stdout flood_stderr flood_answers flood_link",
           "", True),
    _topic("hostile", "outside", "files outside of the scratch folder: written, taken away",
           "write_outside delete_files", "root", True),
    _topic("hostile", "kernel", "mounts, namespaces, root, interfaces of the kernel, foreign system calls",
           "mount unshare_and_setuid kernel_interfaces old_system_calls", "seccomp", True),
    _topic("hostile", "crashes", "crashes of the interpreter, core files",
           "segfault recursion c_recursion trap core_dump machine_code"),
    # Right programs
    _topic("right", "input", "all ways to read standard input",
           "stdin_buffer open_0 os_read os_fstat mmap mixed for_line fileinput input_until_eof "
           "rebound_input crlf "
           "no_input readline readlines buffer_readline text_wrapper dev_stdin eof_error "
           "tabs_and_blank_lines"),
    _topic("right", "output", "all ways to print",
           "stdout_buffer os_write open_1 no_newline trailing_space crlf_output bom unicode stderr "
           "long_output "
           "child_prints print_end print_separator buffered_then_raw write_list warning_on_stderr "
           "stdout_at_exit unclosed_file stdout_of_none"),
    _topic("right", "numbers", "floats and their forms, huge integers",
           "seven_digits float_forms exponent huge_integer nan minus_zero big_integers long_float_answer"),
    _topic("right", "endings", "all ways to end",
           "sys_exit exit_0 quit system_exit os_exit atexit sys_exit_message thread_left_running"),
    _topic("right", "scripts", "main guards, arguments, files, pickles, own source",
           "main_guard argv_and_file pickles_its_own_class getsource files named_file_and_module"),
    _topic("right", "recursion", "deep recursion",
           "thread_recursion cached_recursion deep_recursion_in_a_call"),
    _topic("right", "entry_points", "all ways to define the entry point",
           "plain assignment partial callable_object decorated async method shadows_a_builtin solution_class "
           "solution_class_with_state keyword_arguments unicode_identifiers walrus_and_match "
           "context_and_generator"),
    _topic("right", "typing", "annotations, preambles, dataclasses",
           "future_annotations starred_preamble dataclasses get_type_hints"),
    _topic("right", "habits", "debug output, asserts, seeds, state, odd strings, slow imports",
           "prints_debug reads_at_import asserts backslashes seeds global_state time_and_pid slow_import "
           "exception_group_inside"),
    _topic("right", "concurrency", "threads, processes, event loops", "threads processes nested_event_loop"),
    _topic("right", "values", "numpy, tuples, subclasses, order, long answers",
           "numpy_scalar numpy_array any_order dictionary_order subclasses surrogates_and_bytes long_answer "
           "frozen_answers assert_tuple_list"),
    _topic("right", "helper_classes", "linked lists and trees", "list_node tree_node"),
    _topic("right", "judged", "several right answers, exceptions and changed arguments as answers",
           "any_right_answer raises in_place check_raises check_in_place iterator_in_a_check"),
    _topic("right", "styles_of_tests", "assert statements, check functions, pytest, unittest",
           "assert_style check_style pytest_parameters pytest_raises pytest_fixture_and_class pytest_approx "
           "unittest_case imports_the_solution in_place_in_pytest"),
)  # fmt: skip


def topic_of(side: str, name: str) -> Topic:
    """The topic of a program.

    Raises:
        KeyError: It has none.
    """
    for topic in TOPICS:
        if topic.side == side and name in topic.names:
            return topic
    raise KeyError(f"no topic has the {side} program {name!r}")
