"""What a person typed into a prompt, without what was pasted: logs, traces, tables, chats, letters.

Pasted text is recognized by its form alone, line by line and in linear time. A line is *strong* if
only a program writes it (a time stamp, a frame of a stack), and *weak* if a person could, too
(`note: …`). A strong line is pasted; a weak one only beside others. Letters and chats are found by
their heads.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

_MAX_LINE = 400
"""Characters of a line that are examined."""
_MAX_LINES = 20_000
"""Lines that are examined, half from each end; what is between was pasted."""
_LONG_WORD = 120
_FENCE = re.compile(r" {0,3}(```|~~~)")
_STRONG = re.compile(
    r"\s*(?:"
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d[\].,]|\d{1,2}/[A-Z][a-z]{2}/\d{4}:"
    r"|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d|\[ *\d+\.\d{3,}\]"
    r"|\[?(?:ERROR|INFO|WARN|WARNING|DEBUG|TRACE|FATAL|CRITICAL|NOTICE)\]?[: \t|]"
    r"|\[(?:FIRING|RESOLVED|ALERT)|##\[|npm (?:ERR!|error|warn|WARN)\b|gyp \w+ "
    r"|at [\w$.<>/@]+ ?\(|File \"|Traceback \(most|Caused by: |thread '|goroutine \d|\d+: +0x"
    r"|(?:[Ee]rror|warning)(?:\[\w+\]|: )|error TS\d|--> |= (?:note|help): "
    r"|[\w.]+(?:Error|Exception)(?::| at )|\S+: command not found$|panic: |fatal: "
    r"|(?:\$|%|\u276f|>>>|\.\.\.) \S|[\w.-]+@[\w.-]+[:~][^ ]{0,80}[$#%] |PS [A-Z]:\\"
    r"|[A-Z]:\\[^>]{0,200}>"
    r"|diff --git |index [0-9a-f]{7,}|@@ |(?:\+\+\+|---) [ab/]|<\?xml|<!DOCTYPE|<!--"
    r"|(?:={4,}|-{5,}|_{5,}|\*{5,}|~{4,}|#{7,})|\|.*\|\s*$|[│┃╭╰├└┌]"
    r"|(?:FAILED|PASSED|FAIL|PASS|not ok|ok) +\S*[/.:\d]|test \S+ \.\.\. |(?:✓|✔|✗|✘|✖|×|●|✕) "
    r"|(?:\S+\.\w{1,5})[:(]\d+[:,)]|\S{1,80}=\S{1,200}(?: \S{1,80}=\S{1,200})+ *$"
    r"|\"[\w -]{1,60}\": |</?[a-zA-Z][\w-]*(?: [^>]*)?>|[0-9a-f]{12,} "
    r")"
)
_WEAK = re.compile(
    r"(?:"
    r"(?:note|help|info|hint|debug|error|warn(?:ing)?|fatal)\b ?:|[+-](?=[^\s\d-])"
    r"|[{}\[\]<>();]|\^+|\s\s*\S|\d+ \||\d+[:.]?\t|[A-Z][a-z]+ing [\w./@-]+ .*[\d/(]"
    r"|(?:Compiling|Downloading|Downloaded|Installing|Collecting|Successfully|Building|Running"
    r"|Finished|Error|Process|Run|Using|Requirement|Fetching|Resolving|Step \d|Layer|Pulling) "
    r"|\d+ (?:passed|failed|tests?|errors?|warnings?)\b|[ MADRCU?!]{2} \S+$|\S+ +\d+(?:\.\d+)?%"
    r")"
)
_WEAK_END = re.compile(r"(?:[{};\\]|\)[;,]|\.{3} ?(?:ok|done|yes|no|FAILED)|\[[\w ]*\]|\d%)\s*$")
_FIELDS = re.compile(r"[,;\t|](?=[^\s,])")
_NO_LETTERS = re.compile(r"[^\W\d_]|\s")
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)])\s")
_CHAT_HEAD = re.compile(
    r"(?:@?[\w.'-]+(?: [\w.'-]+){0,2}(?: \(\w+\))?(\s{2,}|\t| *[—–|-] *| )"
    r"\[?\d{1,2}:\d\d(?:[: ]?\d\d)?"
    r"(?: ?[AaPp]\.?[Mm]\.?)?\]?(?:\s|$))"
)
_CHAT_LINE = re.compile(
    r"\[\d{1,2}:\d\d(?::\d\d)?(?: ?[APap][Mm])?\] ?\S|\d{1,2}:\d\d(?::\d\d)? +<?[\w.-]+>?: "
    r"|<[\w.-]+> \S"
    r"|\[\d{1,2}[./]\d{1,2}[./]\d{2,4},? \d"
)
_SPEAKER = re.compile(r"([A-Z@][\w.-]{1,24}(?: [A-Z][\w.-]{0,24})?): \S")
_CHANNEL = re.compile(r"#[\w-]+\s*$")
_LETTER_HEAD = re.compile(
    r"(?:From|Von|De|To|An|Date|Datum|Sent|Gesendet|Subject|Betreff|Objet|Cc|Reply-To): \S"
)
_WROTE = re.compile(r"(?:On|Am|Le) .{4,80} (?:wrote|schrieb|a écrit)\b.{0,60}:\s*$")
_SALUTATION = re.compile(
    r"(?:Hello|Hi|Hey|Dear|Hallo|Liebe[rs]?|Sehr geehrte[rs]?|Guten (?:Tag|Morgen|Abend)|Moin"
    r"|Servus|Bonjour|Cher|Chère|Hola|Estimad[oa]"
    r"|Good (?:morning|afternoon|evening))\b[^.!?\n]{0,40}[,!]"
)
_SIGN_OFF = re.compile(
    r"(?:--\s*$|(?:Best|Kind|Warm|Many|Regards|Cheers|Greetings|Thanks|Thx|Sincerely|Yours|Viele"
    r"|Liebe|Beste|Schöne|Mit (?:freundlichen|besten)|Gru(?:ß|ss)|Grüße|LG|VG|MfG|Cordialement"
    r"|Saludos)\b.{0,40}$|[A-Z]\.?\s*$)"
)


def typed_text(text: str) -> str:
    """Returns a prompt without the lines that were pasted; each paste leaves an empty line.

    >>> typed_text("why?\\n2026-01-02 10:00:01 use b\\n2026-01-02 10:00:02 keep c\\nuse a")
    'why?\\n\\nuse a'
    """
    if "\n" not in text:
        return "" if len(text) > _LONG_WORD and _has_long_word(text) else text
    lines = text.split("\n")
    if len(lines) > _MAX_LINES:
        lines = [*lines[: _MAX_LINES // 2], "", *lines[-_MAX_LINES // 2 :]]
    pasted = pasted_lines(lines)
    kept: list[str] = []
    for line, is_pasted in zip(lines, pasted, strict=True):
        if not is_pasted:
            kept.append(line)
        elif kept and kept[-1]:
            kept.append("")
    return "\n".join(kept)


def pasted_lines(lines: Sequence[str]) -> list[bool]:
    """Returns for each line whether it was pasted."""
    pasted = [False] * len(lines)
    _mark_fences(lines, pasted)
    _mark_letters(lines, pasted)
    _mark_chats(lines, pasted)
    blocks = list(_blocks(lines, pasted))
    for start, end in blocks:
        _mark_output(lines, pasted, start, end)
    for (_, before), (start, end), (after, _) in zip(blocks, blocks[1:], blocks[2:], strict=False):
        between = pasted[before - 1] and pasted[after] and not lines[end - 1].rstrip().endswith(":")
        if between and end - start >= _MIN_BETWEEN:
            pasted[start:end] = [True] * (end - start)
    return pasted


_MIN_BETWEEN = 2
_MAX_EDGE = 2
"""Lines at the beginning and at the end of a paste in the same paragraph that may be typed."""
_MAX_GAP = 3
_MANY = 8


def _mark_fences(lines: Sequence[str], pasted: list[bool]) -> None:
    """Marks blocks of code; one without an end goes to the end."""
    fence = ""
    for number, line in enumerate(lines):
        found = _FENCE.match(line)
        if fence:
            pasted[number] = True
            if found and found[1] == fence:
                fence = ""
        elif found:
            fence = found[1]
            pasted[number] = True


def _blocks(lines: Sequence[str], pasted: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Yields the paragraphs: runs of lines that are not empty."""
    start = 0
    for number in range(len(lines) + 1):
        is_end = number == len(lines) or not lines[number].strip()
        if is_end or pasted[number]:
            if start < number:
                yield start, number
            if not is_end:
                yield number, number + 1
            start = number + 1


def _mark_output(lines: Sequence[str], pasted: list[bool], start: int, end: int) -> None:
    """Marks the output of programs in one paragraph."""
    if all(pasted[start:end]):
        return
    strength = [_strength(line) for line in lines[start:end]]
    found = [place for place, value in enumerate(strength) if value]
    if not any(value == _IS_STRONG for value in strength) and (
        len(found) < _MAX_GAP or 2 * len(found) < len(strength)
    ):
        return
    marked = [value == _IS_STRONG for value in strength]
    for one, other in pairwise(found):
        if other - one <= _MAX_GAP + 1:
            marked[one : other + 1] = [True] * (other - one + 1)
    if len(found) >= _MANY and 4 * len(found) >= len(strength):
        marked[_MAX_EDGE : len(marked) - _MAX_EDGE] = [True] * (len(marked) - 2 * _MAX_EDGE)
    for place, is_marked in enumerate(marked):
        pasted[start + place] |= is_marked


_IS_STRONG, _IS_WEAK = 2, 1


def _strength(line: str) -> int:
    """Returns how surely a program wrote the line: 2, 1 or 0."""
    head = line[:_MAX_LINE]
    if _BULLET.match(head):
        return 0
    if _STRONG.match(head) or _has_long_word(head):
        return _IS_STRONG
    if _WEAK.match(head) or _WEAK_END.search(head[-40:]) or len(_FIELDS.findall(head)) > 1:
        return _IS_WEAK
    stripped = head.strip()
    letters = len(_NO_LETTERS.findall(stripped))
    return _IS_WEAK if len(stripped) > _MANY and letters < 0.65 * len(stripped) else 0


def _has_long_word(text: str) -> bool:
    return len(text) > _LONG_WORD and any(
        len(word) > _LONG_WORD and not word.startswith("http") for word in text.split()
    )


def _mark_chats(lines: Sequence[str], pasted: list[bool]) -> None:
    """Marks the messages of a chat: a head with name and time, and the text up to an empty line."""
    heads: list[int] = []
    sure = False
    for number, line in enumerate(lines):
        head = line[:_MAX_LINE]
        if found := _CHAT_HEAD.match(head):
            heads.append(number)
            sure |= found[1] != " " or (number > 0 and bool(_CHANNEL.match(lines[number - 1])))
        elif _CHAT_LINE.match(head):
            heads.append(number)
    if len(heads) < 2 and not sure:
        heads = _speakers(lines)
    for head in heads:
        if head and _CHANNEL.match(lines[head - 1]):
            pasted[head - 1] = True
        pasted[head] = True
        found = _CHAT_HEAD.match(lines[head][:_MAX_LINE])
        if found and found.end() >= len(lines[head].rstrip()):
            number = head + 1
            while number < len(lines) and lines[number].strip() and not pasted[number]:
                pasted[number] = True
                number += 1


def _speakers(lines: Sequence[str]) -> list[int]:
    """Returns the lines of a chat without times: 'Name: text', at least two names, one twice."""
    found = [(n, m[1]) for n, line in enumerate(lines) if (m := _SPEAKER.match(line[:_MAX_LINE]))]
    names = [name for _, name in found]
    is_chat = len(names) >= _MAX_GAP and 2 <= len(set(names)) < len(names)
    return [number for number, _ in found] if is_chat else []


def _mark_letters(lines: Sequence[str], pasted: list[bool]) -> None:
    """Marks mails: from their head or their salutation to the signature, or to the end."""
    number = 0
    while number < len(lines):
        if not _begins_letter(lines, number):
            number += 1
            continue
        end = number + 1
        while end < len(lines) and not _SIGN_OFF.match(lines[end]):
            end += 1
        while end < len(lines) and lines[end].strip():
            end += 1
        pasted[number:end] = [True] * (end - number)
        number = end + 1


def _begins_letter(lines: Sequence[str], number: int) -> bool:
    line = lines[number][:_MAX_LINE]
    if _LETTER_HEAD.match(line):
        following = lines[number + 1 : number + 3]
        return any(_LETTER_HEAD.match(each[:_MAX_LINE]) for each in following)
    if _WROTE.match(line):
        return True
    is_apart = number > 0 and not lines[number - 1].strip()
    return is_apart and bool(_SALUTATION.match(line))
