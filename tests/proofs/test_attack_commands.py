"""No hostile line is allowed by typical rules, and ordinary work is not asked about without "
"need."""

import time

import pytest

from proofs.attack_commands.corpus import (
    HELD_OUT_FILES,
    MAX_ASKED,
    allowed_evasions,
    allowed_hostile,
    asked_harmless,
    asked_held_out,
    evasion_lines,
    harmless_lines,
    held_out_lines,
    hostile_lines,
    verdict,
    without_need,
)
from proofs.attack_commands.rule_sets import RULE_SETS, TYPICAL

CPU_SECONDS = 0.002
LONG = 100_000


@pytest.mark.parametrize(
    "rule_set",
    [
        name if name == TYPICAL else pytest.param(name, marks=pytest.mark.night)
        for name in RULE_SETS
    ],
)
def test_no_typical_rules_allow_a_hostile_line(rule_set: str) -> None:
    assert allowed_hostile(rule_set) == []


def test_no_way_around_a_denial_is_allowed() -> None:
    assert allowed_evasions() == []


def test_ordinary_work_is_rarely_asked_about_without_need() -> None:
    assert len(without_need(TYPICAL, asked_harmless(TYPICAL))) <= MAX_ASKED * len(harmless_lines())


@pytest.mark.parametrize("rule_set", HELD_OUT_FILES)
def test_lines_of_strangers_rarely_ask(rule_set: str) -> None:
    needless = without_need(rule_set, asked_held_out(rule_set))
    assert len(needless) <= MAX_ASKED * len(held_out_lines(rule_set))


def test_the_lines_are_many_and_of_many_kinds() -> None:
    assert len({line.command for line in hostile_lines()}) + len(set(evasion_lines())) >= 400
    assert len({line.family for line in hostile_lines()}) >= 12
    assert len(harmless_lines()) >= 300


def test_a_decision_about_an_ordinary_line_is_fast() -> None:
    lines = [line.command for line in harmless_lines()]
    for line in lines:
        verdict(line, RULE_SETS[TYPICAL])
    began = time.process_time()
    for line in lines:
        verdict(line, RULE_SETS[TYPICAL])
    assert (time.process_time() - began) / len(lines) < CPU_SECONDS


@pytest.mark.night
@pytest.mark.parametrize(
    "unit",
    [
        *("env ", "a ", "'a' ", "*a* ", "a;", "sh -c ", "git -c x=y ", "((", "\\\\", "a=b ", "[a "),
        *("if a; then ", "for a in b; do ", "-a", "=:,@", "time ", "CI=1 ", "$(", "a|", "/.."),
        "ts/",
    ],
)
def test_the_time_of_a_decision_grows_with_the_line_and_not_faster(unit: str) -> None:
    rules = ["deny shell(touch *)", "deny shell(git push *)", *RULE_SETS[TYPICAL], "allow shell"]

    def seconds(length: int) -> float:
        line = "cat " + unit * (length // len(unit))
        began = time.process_time()
        verdict(line, rules)
        return time.process_time() - began

    seconds(100)
    assert seconds(LONG) < max(1.0, 40 * seconds(LONG // 10))
