"""GRAPH_BUILD, KERNEL_LAUNCH, steps and progress, from the captures and from the article's words."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.launch import graphs, kernels
from mswb.launch.logs import blocks, read_lines
from mswb.launch.progress import STEP_FORMS, parse_step, progress_of, steps_of
from mswb.launch.sections import GraphBuild, KernelLaunch, Sections, graph_builds, kernel_launches, read_sections
from tests.unit.launch.samples import LAUNCH, rank_log

ARTICLE = (
    "[GRAPH_BUILD] GraphId: 12345, NodeCount: 287, InputShapes: [(32,3,224,224), (32,1000)] "
    "[GRAPH_BUILD] Optimizer: [EliminateRedundantOp, FuseBatchNorm, InsertCast] "
    "[GRAPH_BUILD] Failed at Pass: InsertCast, Reason: Cannot cast from Float32 to Int32 for node 'Cast_123'\n"
)


def pipeline(text: str, second: int = 0, pid: int = 7, module: str = "PIPELINE") -> str:
    return f"[INFO] {module}({pid},7f,python):2026-11-30-04:10:{second:02d}.000.000 [a.cc:4] Run] {text}\n"


def kernel(text: str, micros: int, tid: str = "7f", pid: int = 7) -> str:
    return (
        f"[V12902] RUNTIME_FRAMEWORK({pid},{tid},python):2026-11-30-04:10:00.000.{micros:03d} [a.cc:4] Launch] {text}\n"
    )


def read(path: object) -> Sections:
    return read_sections(blocks(read_lines(str(path))))


def test_real_compilation_with_its_phases() -> None:
    (build,) = read(rank_log("glog1")).graphs
    assert (build.network, build.node_count, build.input_shapes) == ("Net.construct", 101, ("(2, 4)",))
    assert [phase.name for phase in build.phases[:3]] == ["bootstrap", "type_inference", "event_method"]
    inference = build.phases[1]
    assert (inference.duration_us, inference.func_graphs, inference.nodes) == (306_403, 11, 66)
    assert build.open_phase is not None and build.open_phase.name == "optimize"
    assert build.open_pass == "opt_b"
    assert build.optimizers[0] == "add_attr_with_inline"


def test_the_article_one_line_form() -> None:
    (build,) = graph_builds(blocks([ARTICLE]))
    assert (build.graph_id, build.node_count) == ("12345", 287)
    assert build.input_shapes == ("(32,3,224,224)", "(32,1000)")
    assert build.optimizers == ("EliminateRedundantOp", "FuseBatchNorm", "InsertCast")
    assert build.failed_pass == "InsertCast"
    assert build.reason == "Cannot cast from Float32 to Int32 for node 'Cast_123'"


def test_the_article_one_entry_a_line_and_two_graphs() -> None:
    lines = ARTICLE.replace(" [GRAPH_BUILD]", "\n[GRAPH_BUILD]").splitlines(keepends=True)
    first, second = graph_builds(blocks([*lines, "[GRAPH_BUILD] GraphId: 6, NodeCount: 9\n"]))
    assert first.failed_pass == "InsertCast"
    assert (second.graph_id, second.node_count, second.failed_pass) == ("6", 9, None)


def test_an_exception_in_mid_pass_names_the_pass() -> None:
    trace = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nTypeError: no cast\n'
    log = [
        pipeline("Start compiling 'Net.construct' and it will take a while."),
        pipeline("Status record: start optimize action.", 1),
    ]
    log += [pipeline("Pass opt_a start ...", 2), pipeline("Pass opt_a end.", 3), pipeline("Pass opt_b start ...", 4)]
    (build,) = graph_builds(blocks([*log, *trace.splitlines(keepends=True)]))
    assert (build.failed_pass, build.reason) == ("opt_b", "TypeError: no cast")


def test_an_exception_after_the_compilation_is_not_its_failure() -> None:
    trace = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nTypeError: no cast\n'
    log = [pipeline("Status record: start execute action."), pipeline("Status record: end execute action.", 1)]
    (build,) = graph_builds(blocks([*log, *trace.splitlines(keepends=True)]))
    assert (build.failed_pass, build.open_phase) == (None, None)


def test_processes_that_compile_at_once_are_kept_apart() -> None:
    log = [
        pipeline("Status record: start optimize action.", 1, pid=7),
        pipeline("Status record: start bootstrap action.", 2, pid=8),
        pipeline("Status record: end bootstrap action.", 3, pid=8),
        pipeline("Status record: start compile function graph: 3_kernel_graph0", 4, pid=8, module="RUNTIME_FRAMEWORK"),
    ]
    first, second = graph_builds(blocks(log))
    assert (first.pid, first.open_phase and first.open_phase.name) == (7, "optimize")
    assert (second.pid, second.graph_id, second.duration_us) == (8, "3_kernel_graph0", 1_000_000)


def test_a_second_graph_begins_when_an_action_comes_again() -> None:
    log = [pipeline(f"Status record: {what} bootstrap action.", at) for at, what in enumerate(["start", "end"] * 2)]
    assert len(graph_builds(blocks(log))) == 2


def test_real_kernel_launches_and_graph_time() -> None:
    sections = read(LAUNCH / "vlog_kernel_launch" / "console.txt")
    assert [(launch.name, launch.duration_us) for launch in sections.launches] == [
        ("Default/fc-Dense/MatMul-op0", 464),
        ("Default/fc-Dense/BiasAdd-op0", 339),
        ("Default/ReLU-op0", 182),
        ("Expand/_SumExt/ReduceSum-op0", 628),
    ]
    (time,) = sections.graph_times
    assert (time.graph, time.count, time.duration_us) == ("kernel_graph_0", 1, pytest.approx(10_963.4))


def test_the_kernel_that_hangs_is_the_open_one() -> None:
    log = [
        kernel("Begin launch kernel: AllReduce-op1", 10),
        kernel("Begin launch kernel: Add-op2", 20, tid="8f"),
        kernel("End launch kernel: Add-op2", 25, tid="8f"),
        kernel("End launch kernel: Sub-op3", 30, tid="8f"),
    ]
    launches = kernel_launches(blocks(log))
    assert [(launch.name, launch.open, launch.duration_us) for launch in launches] == [
        ("AllReduce-op1", True, None),
        ("Add-op2", False, 5),
    ]


@pytest.mark.parametrize(
    ("text", "name", "duration_us"),
    [
        ("[KERNEL_LAUNCH] Kernel: MatMul, Duration: 12us", "MatMul", 12),
        ("[KERNEL_LAUNCH] KernelName: Default/Add-op1, Stream: 0, DurationMs: 1.5ms", "Default/Add-op1", 1500),
        ("[KERNEL_LAUNCH] Name: A, Duration: running", "A", None),
    ],
)
def test_article_kernel_lines(text: str, name: str, duration_us: float | None) -> None:
    (launch,) = kernel_launches(blocks([text + "\n"]))
    assert (launch.name, launch.duration_us) == (name, duration_us)


_name = st.from_regex(r"[A-Za-z][\w/-]{0,20}", fullmatch=True)
_shape = st.lists(st.integers(1, 4096), min_size=1, max_size=4).map(lambda dims: f"({', '.join(map(str, dims))},)")


@given(
    graph_id=_name,
    nodes=st.integers(0, 10**6) | st.none(),
    shapes=st.lists(_shape, max_size=4),
    passes=st.lists(_name, max_size=4),
    failed=st.none() | st.tuples(_name, st.from_regex(r"[a-z][a-z ,:'()]{0,30}[a-z]", fullmatch=True)),
)
def test_article_lines_round_trip(
    graph_id: str, nodes: int | None, shapes: list[str], passes: list[str], failed: tuple[str, str] | None
) -> None:
    build = GraphBuild(
        number=1,
        graph_id=graph_id,
        node_count=nodes,
        input_shapes=tuple(shapes),
        optimizers=tuple(passes),
        failed_pass=failed[0] if failed else None,
        reason=failed[1] if failed else None,
    )
    (again,) = graph_builds(blocks(" ".join(graphs.render_article(build)) + "\n" for _ in range(1)))
    assert again == build


@given(name=_name, duration=st.none() | st.integers(0, 10**6))
def test_kernel_lines_round_trip(name: str, duration: int | None) -> None:
    launch = KernelLaunch(name, 1, None, "", None, duration)
    assert kernel_launches(blocks([kernels.render_article(launch) + "\n"])) == (launch,)


@pytest.mark.parametrize("form", STEP_FORMS, ids=lambda form: form.name)
def test_each_step_form_reads_its_own_sample_first(form: object) -> None:
    assert isinstance(form, type(STEP_FORMS[0]))
    first = next(other for other in STEP_FORMS if other.pattern.search(form.sample))
    assert first is form


@pytest.mark.parametrize(
    ("text", "epoch", "step", "steps", "loss"),
    [
        ("epoch: 1 step: 3, loss is 0.5", 1, 3, None, 0.5),
        ("epoch: 1 step: 3, loss is nan", 1, 3, None, math.nan),
        ("step 2 loss 7.87", None, 2, None, 7.87),
        ("step 0 loss 0.7179", None, 0, None, 0.7179),
        ("[rank 3] global_step=1200, loss=1.25e-3", None, 1200, None, 1.25e-3),
        ("Epoch [2/10], Step [50/100], Loss: inf", 2, 50, 100, math.inf),
        ("{ Epoch:[  1/  2], step:[   20/  100], loss: 10.512, per_step_time: 1234ms", 1, 20, 100, 10.512),
        ("Epoch 1/3:  40%|####      | 4/10 [00:02<00:03, loss=0.41]", 1, 4, 10, 0.41),
        ("iter 7 of 9", None, 7, 9, None),
        ("Steps: 5/10", None, 5, 10, None),
        ("steps 5, loss 0.5", None, 5, None, 0.5),
        ("epoch 3/10, loss: -0.25", 3, None, None, -0.25),
    ],
)
def test_step_lines(text: str, epoch: int | None, step: int | None, steps: int | None, loss: float | None) -> None:
    found = parse_step(text)
    assert found is not None
    assert (found.epoch, found.step, found.steps) == (epoch, step, steps)
    assert found.loss == loss or (loss is not None and math.isnan(loss) and math.isnan(found.loss or 0))


@pytest.mark.parametrize(
    "text",
    [
        "rank id: 1",
        "loss is 0.5",
        "stepping stones",
        "batch_size: 32",
        "epochs",
        "",
        "no",
        "Execute command: python train.py --epochs 2 --steps 30",
        "python train.py --step 30",
        "train.py -step 30",
        "Namespace(epochs=2, steps=30, pause=1.0)",
    ],
)
def test_what_is_no_step(text: str) -> None:
    assert parse_step(text) is None


@given(st.text(max_size=300) | st.from_regex(r"(epoch|step|loss|[ :\d/\[\]]){0,60}", fullmatch=True))
def test_no_text_breaks_the_step_forms(text: str) -> None:
    parse_step(text)


def test_steps_of_a_real_run() -> None:
    steps = list(steps_of(blocks(read_lines(rank_log("ok")))))
    assert [(step.step, step.loss, step.number) for step in steps] == [
        (0, 0.7179, 134),
        (1, 0.7179, 135),
        (2, 0.7179, 136),
    ]


@pytest.mark.parametrize(
    ("case", "name", "phase", "done", "total", "text"),
    [
        ("ok", "worker_0.log", "running", 2, None, ""),
        ("ok", "scheduler.log", "starting", None, None, ""),
        ("wrong_count", "worker_0.log", "cluster", 20, 20, ""),
        ("glog1", "worker_0.log", "compiling", 14, 25, "optimize"),
        ("plain_no_init", "worker_0.log", "starting", None, None, ""),
    ],
)
def test_progress_of_real_runs(
    case: str, name: str, phase: str, done: int | None, total: int | None, text: str
) -> None:
    progress = progress_of(blocks(read_lines(rank_log(case, name))))
    assert (progress.phase, progress.done, progress.total, progress.text) == (phase, done, total, text)


def test_progress_goes_on_when_the_compilation_ends() -> None:
    log = [pipeline("Status record: start task_emit action."), pipeline("Status record: end task_emit action.", 1)]
    assert progress_of(blocks(log)).phase == "running"
    assert progress_of(blocks(log[:1])).text == "task_emit"


STEP_LINE = "epoch: {epoch} step: {step}, loss is 0.5"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([STEP_LINE.format(epoch=1, step=20), "learning rate of epoch 0 step 19 is high"], (1, 20)),
        ([STEP_LINE.format(epoch=2, step=3), "slow: step 2"], (2, 3)),
        ([STEP_LINE.format(epoch=1, step=20), "saved at epoch 2 step 1"], (2, 1)),
        ([STEP_LINE.format(epoch=2, step=9), STEP_LINE.format(epoch=1, step=1)], (1, 1)),
        (["step 9", "step 3"], (None, 3)),
    ],
)
def test_words_about_an_earlier_step_move_nothing_back(lines: list[str], expected: tuple[int | None, int]) -> None:
    step = progress_of(blocks([f"{line}\n" for line in lines])).step
    assert step is not None and (step.epoch, step.step) == expected


def test_steps_inside_a_traceback_do_not_count() -> None:
    head = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n'
    trace = head + "    train(step 5)\nValueError: step 9 failed\n"
    assert progress_of(blocks(["step 3\n", *trace.splitlines(keepends=True)])).done == 3
