"""Reads a report or a thread: chooses the script that is run, and finds the reporter's claim.

Observations of other people are never the claim.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.errors import InputError
from app.intake.claim.claims import CheckKind, Claim, Role
from app.intake.exhibits.anchors import with_anchors, with_ties
from app.intake.exhibits.exhibits import REPORTER, PostText, exhibits_of
from app.intake.exhibits.report_claim import MOST_PARTS, claim_of
from app.intake.exhibits.shown_outputs import shown_outputs
from app.intake.layout.arrange import arrange, arranged_blocks
from app.intake.layout.source_forms import as_markdown
from app.intake.needs.asks import ask
from app.intake.probe_output import ReportersProbe, checks_of, without_probes
from app.intake.reading import Ask, Reading, Script, ScriptRole
from app.intake.snippets.inputs_in_prose import with_statements_of_prose
from app.intake.snippets.parts import Part, PartKind, parts_of
from app.intake.snippets.roles import Code, roles_of, says_it_works
from app.intake.snippets.shown_files import take_files
from app.intake.snippets.snippets import asks_about, codes_of, joined_main, scripts_of
from app.intake.text.claimed_environment import claimed_environment
from app.intake.text.follow_ups import follow_up_places
from app.intake.text.markdown import Block, blocks_of, unix_lines, without_comments
from app.intake.text.thread import Post, Thread
from app.intake.text.title import title_of
from app.intake.typed.typed_claim import given_claim, source_of, with_scripts
from app.intake.words.other_devices import is_built_for_amd
from worker.contract import Device, Environment

# A correction that shows one of these replaces the output that was shown before.
_OUTPUT_KINDS = {CheckKind.EXCEPTION, CheckKind.CRASH, CheckKind.OUTPUT, CheckKind.VALUE, CheckKind.DIFFERS}
_LINK_OR_PICTURE = re.compile(r"https?://|!\[|<img\b", re.IGNORECASE)
_MOST_CLAIM = 1_000
# The search for a script that runs looks at no more pieces of code than this in the comments.
_MOST_CODES = 60


@dataclass(frozen=True, slots=True)
class _PostReading:
    """The text of one post, taken apart."""

    post: Post
    blocks: Sequence[Block]
    parts: Sequence[Part]
    files: Mapping[str, str]
    codes: Sequence[Code]
    roles: Sequence[ScriptRole]
    outputs: Sequence[Part]

    @property
    def main(self) -> Code:
        """The main piece of code. Needs `codes`."""
        return self.codes[self.roles.index(ScriptRole.MAIN)]

    @property
    def whole(self) -> str:
        """The main piece with the parts that go on with it. Needs `codes`."""
        return joined_main(self.codes, self.roles)[0].source

    def claim(self, title: str) -> Claim:
        """The claim that this post makes about its own script."""
        main, whole = (self.main.source, self.whole) if self.codes else ("", "")
        return claim_of(self.parts, main, title, self.outputs, whole)

    def scripts(self, claim: Claim) -> tuple[tuple[Script, ...], tuple[Ask, ...]]:
        """The scripts of this post, and the questions about what they lack."""
        try:
            scripts = scripts_of(self.codes, self.roles, claim, self.post.body, self.files)
        except InputError:
            # It could be parsed only with a repair that would remove the claimed error.
            return (), (ask("no_python"),)
        return scripts, asks_about(scripts, claim, self.post.body)

    @property
    def runs(self) -> bool:
        """True if the script lacks nothing, and is not there to show working code."""
        return not says_it_works(self.main.before) and not self.scripts(self.claim(""))[1]


def read_thread(thread: Thread, *, claim: str | None, title: str) -> Reading:
    """Read a thread, or a report as a thread without comments.

    The limits of size are not checked here: the caller does that.
    """
    submitted = thread = _without_follow_ups(thread)
    thread, probe = _take_probe(thread)
    body = _read_post(Post(thread.body, by_reporter=True), about=title or thread.title)
    title = title or thread.title or title_of(body.blocks)
    body = body if body.codes else _read_post(Post(thread.body, by_reporter=True), title)
    environment = {**_environment(thread), **({} if probe is None else probe.environment)}
    post, is_correction = _choose_post(thread, body)
    if claim is not None:
        own_claim = given_claim(claim)
    elif post.codes:
        words = _claim(thread, body, post, title, is_correction=is_correction)
        own_claim = _or_probe_claim(words, probe)
    else:
        # The claim is read even without a script, so that the reporter sees what would be checked.
        own_claim = _or_probe_claim(claim_of(body.parts, "", title, body.outputs), probe)
    scripts, asks = post.scripts(own_claim) if post.codes else ((), (_missing(thread, body),))
    if scripts:
        texts = [claim or "", thread.body, *(each.body for each in thread.comments if each.by_reporter)]
        own_claim = with_anchors(own_claim, scripts[0].script, texts)
        if claim is None:
            own_claim = with_ties(own_claim, scripts[0].script, texts[1:])
    if claim is None and is_built_for_amd(thread.body):
        own_claim = _on_cards_of_amd(own_claim)
    own_claim = with_scripts(own_claim, scripts)
    posts = _posts(submitted, body, post)
    return Reading(
        title=title,
        source_url=thread.url,
        scripts=scripts,
        claim=own_claim,
        claim_source=source_of(claim),
        exhibits=exhibits_of(posts, own_claim, scripts[0].script if scripts else ""),
        environment=environment,
        ask=asks,
        probe=probe,
    )


def _on_cards_of_amd(claim: Claim) -> Claim:
    """The claim, in which the GPU is one of AMD, as the reporter's build of torch is."""
    checks = tuple(
        check.model_copy(update={"where": check.where.model_copy(update={"device": "hip"})})
        if check.where.device == Device.CUDA
        else check
        for check in claim.checks
    )
    return claim.model_copy(update={"checks": checks, "further": tuple(map(_on_cards_of_amd, claim.further))})


def _without_follow_ups(thread: Thread) -> Thread:
    """The thread without comments that were pasted below the report, if the report has its own script."""
    place = next(follow_up_places(thread.body), None)
    if place is None:
        return thread
    own = thread.body[:place]
    post = _read_post(Post(own, by_reporter=True))
    return replace(thread, body=own) if post.codes and post.runs else thread


def _posts(thread: Thread, body: _PostReading, chosen: _PostReading) -> list[PostText]:
    """The posts that may show evidence: the body, the chosen one, and the reporter's comments."""
    author = thread.author or REPORTER
    number = chosen.post.number
    first = PostText(thread.body, author=author, outputs=body.outputs)
    comments = [each for each in thread.comments if each.by_reporter or each.number == number]
    comments.sort(key=lambda each: each.number != number)
    return [
        first,
        *(
            PostText(each.text, each.number, each.author, chosen.outputs if each.number == number else ())
            for each in comments
        ),
    ]


def _take_probe(thread: Thread) -> tuple[Thread, ReportersProbe | None]:
    """The thread without the output of `probe.py`, and the reporter's own last output of it."""
    body, own_probe = without_probes(thread.body)
    posts: list[Post] = []
    for post in thread.comments:
        rest, probe = without_probes(post.body)
        posts.append(post if rest == post.body else replace(post, body=rest))
        own_probe = probe if probe is not None and post.by_reporter else own_probe
    return replace(thread, body=body, comments=tuple(posts)), own_probe


def _or_probe_claim(claim: Claim, probe: ReportersProbe | None) -> Claim:
    """The claim. Where it names no bug, the probe's observations are added as the bug."""
    if claim.having(Role.BUG):
        return claim
    checks = checks_of(probe)
    return claim.model_copy(update={"checks": (*checks, *claim.checks)}) if checks else claim


def _read_post(post: Post, title: str = "", about: str = "") -> _PostReading:
    """The post, taken apart. `title`: calls are also looked for in its prose. `about`: the report's title."""
    files, blocks = take_files(arranged_blocks(blocks_of(as_markdown(post.body)), about))
    parts = with_statements_of_prose(arrange(parts_of(blocks)), title) if title else arrange(parts_of(blocks))
    codes = codes_of(parts)
    return _PostReading(post, blocks, parts, files, codes, roles_of(codes), shown_outputs(parts[:MOST_PARTS]))


def _choose_post(thread: Thread, body: _PostReading) -> tuple[_PostReading, bool]:
    """Choose the post whose script is run; True if it corrects the body.

    The reporter's last correction comes first, then the body, then the first comment whose script runs. A
    script of somebody else counts only where the reporter says that it shows the bug.
    """
    posts = [post for post in thread.comments if post.may_hold_code]
    comments = _RunnableComments()
    for post in reversed(posts):
        if post.by_reporter and post.corrects and (comment := comments.runnable(post)):
            return comment, True
    if posts and not (body.codes and body.runs):
        for post in sorted(posts, key=lambda each: not each.by_reporter):
            if (post.by_reporter or _is_adopted(thread, post)) and (comment := comments.runnable(post)):
                return comment, False
    return body, False


def _is_adopted(thread: Thread, post: Post) -> bool:
    """True if the reporter's next comment says that somebody else's script shows the bug."""
    later = thread.comments[next(at for at, each in enumerate(thread.comments) if each is post) + 1 :]
    answer = next((each for each in later if each.by_reporter), None)
    # The author of a script that does not show the bug says so.
    return answer is not None and answer.agrees and not post.denies


class _RunnableComments:
    """Finds comments whose script runs. Each comment is read once, up to a limit of code."""

    def __init__(self) -> None:
        self._readings: dict[int, _PostReading | None] = {}
        self._codes = 0

    def runnable(self, post: Post) -> _PostReading | None:
        """The comment taken apart, if its script runs."""
        if id(post) not in self._readings:
            if self._codes >= _MOST_CODES:
                return None
            comment = _read_post(post)
            self._codes += len(comment.codes)
            self._readings[id(post)] = comment if comment.codes and comment.runs else None
        return self._readings[id(post)]


def _claim(
    thread: Thread, body: _PostReading, chosen: _PostReading, title: str, *, is_correction: bool
) -> Claim:
    """The reporter's claim: from the body, else from the first comment that has one.

    A correction replaces the body's claim where it shows an output, an error or a difference.
    """
    if is_correction:
        claim = _with_title(chosen.claim(""), title)
        if any(check.role is Role.BUG and check.kind in _OUTPUT_KINDS for check in claim.checks):
            return claim
    # A comment in somebody else's script is not the reporter's word.
    main, whole = (chosen.main.source, chosen.whole) if chosen.post.by_reporter else ("", "")
    claim = claim_of(body.parts, main, title, body.outputs, whole)
    for post in thread.comments:
        if claim.checks:
            break
        if post.by_reporter:
            claim = _with_title(
                chosen.claim("") if post is chosen.post else claim_of(_read_post(post).parts, "", ""), title
            )
    return claim


def _with_title(claim: Claim, title: str) -> Claim:
    return claim.model_copy(update={"text": title[:_MOST_CLAIM]})


def _environment(thread: Thread) -> Environment:
    """The reporter's statements about the environment; the body has precedence over comments."""
    environment = claimed_environment(without_comments(unix_lines(thread.body)))
    for post in thread.comments:
        if post.by_reporter:
            environment = {**claimed_environment(without_comments(unix_lines(post.body))), **environment}
    return dict(sorted(environment.items()))


def _missing(thread: Thread, body: _PostReading) -> Ask:
    if any(part.kind == PartKind.FOREIGN for part in body.parts):
        return ask("no_python")
    texts = (thread.body, *(post.body for post in thread.comments if post.by_reporter))
    return ask("no_script_but_link" if any(_LINK_OR_PICTURE.search(text) for text in texts) else "no_script")
