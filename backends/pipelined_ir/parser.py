"""Text to PipelinedProgram."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from twill.backends.pipelined_ir.fields import Attributes, Item
from twill.backends.pipelined_ir.lexer import Token as Lexeme
from twill.backends.pipelined_ir.lexer import tokens
from twill.backends.pipelined_ir.names import check_names
from twill.errors import BadInput
from twill.pipeline.program import (
    Acquire,
    Arrive,
    Await,
    Barrier,
    Buffer,
    By,
    Channel,
    Fence,
    Group,
    Instruction,
    Issue,
    OpSite,
    Part,
    Pass,
    PipelinedProgram,
    Queue,
    Read,
    Receive,
    Register,
    Release,
    Run,
    Send,
    Take,
    Token,
    Wait,
)

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


def from_text(text: str, file: str = "<pipelined ir>") -> PipelinedProgram:
    """The program that the text spells; comments are dropped.

    Raises BadInput, with line and column, for text that does not follow the syntax or that uses a name which it does not define.
    """
    program, places = _Parser(list(tokens(text, file))).program()
    check_names(program, places)
    return program


@dataclass
class _Parser:
    lexemes: list[Lexeme]
    at: int = 0
    places: dict[int, Lexeme] = field(default_factory=dict)

    # ------------------------------------------------------------------------------------------------------------- small pieces
    @property
    def now(self) -> Lexeme:
        return self.lexemes[self.at]

    def wrong(self, expected: str) -> BadInput:
        return BadInput(f"expected {expected}, got {self.now.shown}.", place=self.now.place)

    def next(self) -> Lexeme:
        found = self.now
        self.at += found.kind != "end"
        return found

    def take(self, kind: str, expected: str) -> str:
        if self.now.kind != kind:
            raise self.wrong(expected)
        return self.next().text

    def mark(self, text: str) -> None:
        if not self.try_mark(text):
            raise self.wrong(f'"{text}"')

    def try_mark(self, text: str) -> bool:
        found = self.now.kind == "mark" and self.now.text == text
        self.at += found
        return found

    def word(self, text: str) -> None:
        if self.now.kind != "word" or self.now.text != text:
            raise self.wrong(f'"{text}"')
        self.next()

    def number(self) -> int:
        return int(self.take("number", "a number"))

    def symbol(self) -> str:
        return self.take("symbol", "a name with @")

    def value(self) -> str:
        return self.take("value", "a value with %")

    def attributes(self) -> Attributes:
        """`{key = item, ...}`; an empty one when there is none."""
        place = self.now.place
        found: dict[str, Item] = {}
        if not self.try_mark("{"):
            return Attributes(found, place)
        while not self.try_mark("}"):
            if found:
                self.mark(",")
            key = self.now
            name = self.take("word", "a key")
            if name in found:
                raise BadInput(f'"{name}" is given twice.', place=key.place)
            self.mark("=")
            found[name] = self.item()
        return Attributes(found, place)

    def item(self) -> Item:
        place, lexeme = self.now.place, self.now
        if lexeme.kind == "mark" and lexeme.text == "{":
            return Item("attributes", self.attributes(), place)
        if self.try_mark("["):
            items: list[Item] = []
            while not self.try_mark("]"):
                if items:
                    self.mark(",")
                items.append(self.item())
            return Item("list", tuple(items), place)
        if lexeme.kind in ("mark", "end"):
            raise self.wrong("a value of the attribute")
        self.next()
        return Item(lexeme.kind, int(lexeme.text) if lexeme.kind == "number" else lexeme.text, place)

    # ------------------------------------------------------------------------------------------------------------------ program
    def program(self) -> tuple[PipelinedProgram, dict[int, Lexeme]]:
        self.word("pipeline.program")
        name = self.symbol()
        head = self.attributes()
        self.mark("{")
        ops: list[OpSite] = []
        buffers: list[Buffer] = []
        channels: list[Channel] = []
        turns: list[Token] = []
        groups: list[Group] = []
        parts: dict[str, Callable[[], None]] = {
            "op": lambda: ops.append(self.placed(self.op)),
            "buffer": lambda: buffers.append(self.placed(self.buffer)),
            "channel": lambda: channels.append(self.placed(self.channel)),
            "token": lambda: turns.append(self.placed(self.token)),
            "group": lambda: groups.append(self.placed(self.group)),
        }
        while not self.try_mark("}"):
            if self.now.kind != "word" or self.now.text not in parts:
                raise self.wrong(", ".join(f'"{word}"' for word in parts) + ' or "}"')
            parts[self.next().text]()
        if self.now.kind != "end":
            raise self.wrong("the end of the text")
        made = PipelinedProgram(
            name=name,
            ii=head.number("ii", low=1),
            length=head.number("length"),
            ops=tuple(ops),
            groups=tuple(groups),
            buffers=tuple(buffers),
            channels=tuple(channels),
            tokens=tuple(turns),
            loop=head.optional_number("loop"),
            trips=head.optional_number("trips"),
        )
        head.done()
        return made, self.places

    def placed(self, parse: Callable[[], T]) -> T:
        """What `parse` reads, with its place remembered."""
        begin = self.lexemes[self.at - 1]
        found = parse()
        self.places[id(found)] = begin
        return found

    def op(self) -> OpSite:
        name, fields = self.symbol(), self.attributes()
        operations, folded = (fields.numbers(key) if key in fields else () for key in ("operations", "folded"))
        return fields.finish(OpSite(name, fields.string("kind"), operations, folded))

    def buffer(self) -> Buffer:
        name, fields = self.symbol(), self.attributes()
        parts = tuple(Part(p[0].value_name(), p[1].number(), p[2].number()) for p in fields.tuples("parts", 3))
        empty = fields.nested("empty") if "empty" in fields else None
        per = fields.choice("per", ("iteration", "entry")) if "per" in fields else "iteration"
        made = Buffer(
            name=name,
            memory=fields.string("memory"),
            slot=fields.number("slot"),
            slots=fields.number("slots", low=1),
            parts=parts,
            offset=fields.number("offset"),
            empty=None if empty is None else _barrier(empty),
            initial=fields.optional_number("initial") or 0,
            entry=per == "entry",
        )
        return fields.finish(made)

    def channel(self) -> Channel:
        name, fields = self.symbol(), self.attributes()
        values = tuple(item.value_name() for item in fields.items("values"))
        full = _barrier(fields.nested("full"))
        initial = fields.optional_number("initial") or 0
        return fields.finish(Channel(name, values, fields.symbol("buffer"), fields.number("from"), fields.numbers("to"), full, initial))

    def token(self) -> Token:
        name, fields = self.symbol(), self.attributes()
        made = Token(
            name=name,
            unit=fields.string("unit"),
            before=fields.symbol("before"),
            after=fields.symbol("after"),
            giver=fields.number("from"),
            taker=fields.number("to"),
            distance=fields.number("distance", low=None),
            barrier=fields.number("barrier"),
            answers=fields.symbol("answers") if "answers" in fields else "",
        )
        return fields.finish(made)

    def group(self) -> Group:
        index, role, fields = self.number(), self.take("string", "the role of the group"), self.attributes()
        self.mark("{")
        registers: list[Register] = []
        while self.now.kind == "word" and self.now.text == "register":
            self.next()
            name, inner = self.value(), self.attributes()
            registers.append(inner.finish(Register(name, inner.number("words"), inner.number("copies", low=1))))
        held = {register.value for register in registers}
        before = self.section("before", lambda: self.instruction(held, timed=False))
        body = self.section("loop", lambda: self.instruction(held, timed=True))
        after = self.section("after", lambda: self.instruction(held, timed=False))
        self.mark("}")
        made = Group(
            index=index,
            role=role,
            warps=fields.number("warps", low=1),
            first_warp=fields.number("first_warp"),
            grant=fields.number("grant"),
            stages=fields.number("stages", low=1),
            unroll=fields.number("unroll", low=1),
            registers=tuple(registers),
            body=body,
            before=before,
            after=after,
        )
        return fields.finish(made)

    def section(self, name: str, parse: Callable[[], Instruction]) -> tuple[Instruction, ...]:
        """The instructions of a part of a group; none when the part is not there."""
        if self.now.kind != "word" or self.now.text != name:
            return ()
        self.next()
        self.mark("{")
        found = []
        while not self.try_mark("}"):
            found.append(parse())
        return tuple(found)

    # ------------------------------------------------------------------------------------------------------------- instructions
    def instruction(self, held: set[str], *, timed: bool) -> Instruction:
        begin = self.now
        cycle = stage = 0
        if timed:
            self.mark("[")
            self.word("cycle")
            cycle = self.number()
            self.mark(",")
            self.word("stage")
            stage = self.number()
            self.mark("]")
        found = self.assigned(stage, cycle, held) if self.now.kind in ("symbol", "value") else self.plain(stage, cycle)
        self.places[id(found)] = begin
        return found

    def assigned(self, stage: int, cycle: int, held: set[str]) -> Instruction:
        result = self.next()
        self.mark("=")
        if self.now.kind == "word" and self.now.text == "receive" and result.kind == "value":
            self.next()
            return Receive(stage, cycle, result.text, self.symbol())
        if self.now.kind == "word" and self.now.text == "run" and result.kind == "symbol":
            self.next()
            return self.run(stage, cycle, result.text)
        self.word("issue")
        op = self.now
        found = self.issue(stage, cycle, result.text if result.kind == "symbol" else "")
        if result.kind == "value" and result.text != found.op:
            raise BadInput(f'the result of "@{found.op}" is "%{found.op}", not {result.shown}.', place=result.place)
        if (result.kind == "value") != (found.op in held):
            have = "needs" if found.op in held else "has no"
            raise BadInput(f'"@{found.op}" {have} registers in this group.', place=op.place, remedy=f"See its line `register %{found.op}`.")
        return found

    def plain(self, stage: int, cycle: int) -> Instruction:
        mnemonic = self.now
        parse = _INSTRUCTIONS.get(mnemonic.text) if mnemonic.kind == "word" else None
        if parse is None:
            raise self.wrong("an instruction (" + ", ".join(_INSTRUCTIONS) + ")")
        self.next()
        return parse(self, stage, cycle)

    def issue(self, stage: int, cycle: int, into: str = "") -> Issue:
        op = self.symbol()
        self.mark("(")
        reads, fields = self.reads(), self.attributes()
        return fields.finish(Issue(stage, cycle, op, _queue(fields), reads, into))

    def run(self, stage: int, cycle: int, into: str = "") -> Run:
        operation, name = self.number(), self.take("string", "the name of the op")
        reads = self.reads() if self.try_mark("(") else ()
        fields = self.attributes()
        made = fields.item("value").value_name() if "value" in fields else ""
        return fields.finish(Run(stage, cycle, operation, name, _queue(fields), reads, into, made))

    def reads(self) -> tuple[Read, ...]:
        """Operands up to the closing parenthesis."""
        found: list[Read] = []
        while not self.try_mark(")"):
            if found:
                self.mark(",")
            found.append(self.read())
        return tuple(found)

    def read(self) -> Read:
        buffer = ""
        if self.now.kind == "symbol":
            buffer = self.symbol()
            name = self.value() if self.try_mark(":") else buffer
        else:
            name = self.value()
        distance = 0
        if self.try_mark("["):
            distance = -self.number()
            self.mark("]")
        return Read(name, distance, buffer)

    def arrive(self, stage: int, cycle: int) -> Arrive:
        channel, fields = self.symbol(), self.attributes()
        by, count = _enum(By, fields, "by"), fields.number("count", low=1)
        op = fields.symbol("op") if "op" in fields else ""
        return fields.finish(Arrive(stage, cycle, channel, by, count, fields.optional_number("bytes") or 0, op))

    def release(self, stage: int, cycle: int) -> Release:
        buffer, fields = self.symbol(), self.attributes()
        return fields.finish(Release(stage, cycle, buffer, _enum(By, fields, "by"), fields.number("count", low=1)))

    def awaiting(self, stage: int, cycle: int) -> Await:
        op, fields = self.symbol(), self.attributes()
        return fields.finish(Await(stage, cycle, op, _enum(Queue, fields, "queue"), fields.number("pending")))

    def send(self, stage: int, cycle: int) -> Send:
        name = self.value()
        self.word("to")
        return Send(stage, cycle, name, self.symbol())


def _barrier(fields: Attributes) -> Barrier:
    arrivals, size = fields.number("arrivals", low=1), fields.optional_number("bytes") or 0
    return fields.finish(Barrier(arrivals, size, fields.number("parity"), fields.number("offset")))


def _enum(kind: type[E], fields: Attributes, key: str) -> E:
    return kind(fields.choice(key, tuple(member.value for member in kind)))


def _queue(fields: Attributes) -> Queue:
    return _enum(Queue, fields, "queue") if "queue" in fields else Queue.NONE


_INSTRUCTIONS: dict[str, Callable[[_Parser, int, int], Instruction]] = {
    "issue": _Parser.issue,
    "run": _Parser.run,
    "acquire": lambda p, stage, cycle: Acquire(stage, cycle, p.symbol()),
    "arrive": _Parser.arrive,
    "wait": lambda p, stage, cycle: Wait(stage, cycle, p.symbol()),
    "release": _Parser.release,
    "await": _Parser.awaiting,
    "fence": lambda p, stage, cycle: Fence(stage, cycle, p.symbol()),
    "send": _Parser.send,
    "pass": lambda p, stage, cycle: Pass(stage, cycle, p.symbol()),
    "take": lambda p, stage, cycle: Take(stage, cycle, p.symbol()),
}
