"""A tool call that waits for approval, as HTML: the exact text, and the answers."""

from sapwood.app.permission_questions import PostedQuestion
from sapwood.core.plural import counted
from sapwood.display.permission_text import (
    AnswerChoice,
    answer_choices,
    approval_lines,
    invisible_characters,
    request_sentence,
)
from sapwood_server.page.html_text import attribute, exact_text, line


def question_html(posted: PostedQuestion, agent_name: str, waiting: int) -> str:
    """The dialog of one question. `waiting` is how many questions wait in all."""
    question = posted.question
    lines = approval_lines(question)
    hidden = invisible_characters(lines)
    shown = "".join(
        f'<div class="would {each.kind}">{exact_text(each.text) or "&nbsp;"}</div>'
        for each in lines
    )
    alert = ""
    if hidden:
        alert = (
            '<div class="alert" role="alert"><span class="bad">▲</span><span><b>'
            f"{counted(hidden, 'place')} with invisible characters.</b> They are shown as "
            "chips. What you see here is what runs.</span></div>"
        )
    more = f'<span class="num faint">{waiting} wait</span>' if waiting > 1 else ""
    buttons = "".join(_button(each) for each in answer_choices(question))
    return (
        f'<header><h2>{line(request_sentence(question))}</h2><span class="grow"></span>{more}'
        f'</header><div class="scroll" tabindex="0"><dl class="facts"><dt>Who</dt><dd>'
        f'{line(agent_name)}</dd><dt>Folder</dt><dd class="mono">{line(question.workspace)}</dd>'
        f"<dt>Rule</dt><dd>{line(question.why)}</dd><dt>Hash</dt>"
        f'<dd class="mono">sha256 {posted.hash[:12]}</dd></dl>'
        f'<div class="code cmd">{shown}</div>{alert}'
        '<label class="vh" for="reason">Reason</label>'
        '<input id="reason" placeholder="Why not, or what to do instead" hidden></div>'
        f'<footer data-question="{attribute(posted.id)}" data-hash="{attribute(posted.hash)}">'
        f"{buttons}</footer>"
    )


def _button(choice: AnswerChoice) -> str:
    colour = "go" if choice.allows and not choice.rules else "" if choice.allows else "no"
    title = attribute(choice.grants)
    return (
        f'<button class="btn {colour}" data-key="{choice.key}" title="{title}">'
        f"{line(choice.words)} <kbd>{choice.key}</kbd></button>"
    )
