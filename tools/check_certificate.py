#!/usr/bin/env python3
"""Checks a certificate of a linearizability proof: a second checker, of the list class only.

    seriatim verify treiber --engine prove --certificate treiber.cert
    seriatim show treiber --words > treiber.steps
    python3 check_certificate.py treiber.steps treiber.cert

It shares no code with Seriatim; `docs/certificates.md` describes the proof rules and both files. What it believes is that the steps are those of the program, and the roles those of the
methods. It exits with 0 if the certificate is accepted, 1 if it proves nothing, 2 if it cannot be
read.

*Theorem.* Suppose that (1) the content is empty at the start, and a view describes an idle thread
there; (2) for every view, every step of its thread changes the content as its operation may or not
at all, a result is correct, and a view describes the thread afterwards; (3) every such step that
others can see is described by an effect; (4) every effect, in every way in which it fits a view,
leads to a state that a view describes. Then every history of any number of threads is linearizable.

It would be unsound to forget a case when a segment is split or an effect is fitted, to hold a state
covered of which a view claims more than is certain, or to skip a check.
"""

import sys

MINUS, BELOW, TRACKED, ABOVE, PLUS = range(5)
CLASSES = "-<=>+"
NOT, MARKED, MINE = range(3)
UNKNOWN, NULL, OUT = ("?",), ("null",), ("out",)
BEFORE, NOW = 0, 1
MOST_NODES, MOST_PLACES, MOST_CASES, FUEL = 64, 12, 200_000, 2_000


class Unreadable(Exception):
    """The files are not what they should be."""


class Rejected(Exception):
    """The certificate proves nothing."""


class Waits(Exception):
    """There is no such step."""


class NoFit(Exception):
    """An effect does not fit in this way."""


def need(condition, why, error=Unreadable):
    if not condition:
        raise error(why)


class Choices:
    """Enumerates all runs of code that picks: each run repeats the picks of the one before, and
    goes another way at the last one where another is left."""

    def __init__(self):
        self.taken, self.at = [], 0

    def pick(self, count):
        need(count > 0, "a choice without a way", Rejected)
        if self.at == len(self.taken):
            self.taken.append([0, count])
        self.at += 1
        return self.taken[self.at - 1][0]

    def advance(self):
        self.at = 0
        while self.taken and self.taken[-1][0] + 1 == self.taken[-1][1]:
            self.taken.pop()
        if self.taken:
            self.taken[-1][0] += 1
        return bool(self.taken)


def runs(work):
    """The results of `work(choices)` for all choices."""
    choices = Choices()
    for _ in range(MOST_CASES):
        yield work(choices)
        if not choices.advance():
            return
    raise Rejected("more cases than are tried")


# Attributes: key class, mark, and whether this operation holds the lock; sets of them are bits.


def bit(attribute):
    cls, mark, locked = attribute
    return 1 << (cls + 5 * mark + 15 * locked)


def members(bits):
    return [(i % 5, i // 5 % 3, i // 15) for i in range(30) if bits >> i & 1]


def kept(bits, keep):
    return sum(bit(a) for a in members(bits) if keep(a))


def says_less(a, b):
    """Whether a node that looks like `b` also looks like `a`."""
    return a[0] == b[0] and bool(a[1]) == bool(b[1]) and (a[1] != MINE or b[1] == MINE) and a[2] <= b[2]


def set_covers(a, b):
    return all(any(says_less(x, y) for x in members(a)) for y in members(b))


def agree(a, b):
    """Whether one node can look like this to two operations at one moment."""
    both_marked, both_locked = a[1] == MINE and b[1] == MINE, a[2] and b[2]
    return a[0] == b[0] and bool(a[1]) == bool(b[1]) and not both_marked and not both_locked


def to_all(a):
    """What everybody sees of an attribute."""
    return (a[0], min(a[1], MARKED), 0)


# The program.


class Kind:
    def __init__(self, text):
        self.nullable = text.endswith("?")
        self.word = text.rstrip("?")
        low, dots, high = self.word.partition("..")
        self.range = (int(low), int(high)) if dots else None

    def fits(self, scalar):
        if scalar == NULL:
            return self.nullable
        if scalar[0] == "int":
            return self.range is not None and self.range[0] <= scalar[1] <= self.range[1]
        return (scalar[0], self.word) in [("node", "ref"), ("key", "key"), ("value", "value")]


class Program:
    """The steps of a program, as `seriatim show --words` writes them."""

    def __init__(self, text):
        self.shared, self.names, self.methods, self.code = [], [], [], []
        lines = text.splitlines()
        need(lines and lines[0] == "seriatim steps 1", "these are no steps of version 1")
        for line in lines[1:]:
            word, _, rest = line.partition(" ")
            words = rest.split()
            if word == "program":
                self.name, self.hash = words
            elif word == "object":
                need(words[0] in ("stack", "queue", "set"), "no list")
                self.spec = words[0]
            elif word == "node":
                self.fields = words
                need(len(set(words)) == len(words) and "link" in words, "fields")
            elif word == "shared":
                self.names.append(words[0])
                self.shared.append(Kind(words[1]))
            elif word == "registers":
                self.registers = int(rest)
            elif word == "init":
                self.init = int(rest)
            elif word == "method":
                self.methods.append(Method(rest))
            else:
                need(word == str(len(self.code)), "positions are not in order")
                self.code.append(Instruction(words))
        for slot, kind in enumerate(self.shared):
            need(kind.word in ("ref", "lock") or kind.range, f"shared variable {slot}")

    def variable(self, name):
        need(name in self.names, f"there is no shared variable `{name}`")
        return self.names.index(name)

    def is_reference(self, slot):
        return self.shared[slot].word == "ref"

    def has_changer(self, slot):
        return self.shared[slot].range is not None and not self.shared[slot].nullable

    def admits(self, slot, scalar):
        """Whether a shared variable can hold this."""
        kind, sort = self.shared[slot], scalar[0]
        if sort == "null":
            return kind.nullable or kind.word == "ref"
        allowed = {"node": kind.word == "ref", "lock": kind.word == "lock"}
        allowed.update({"int": kind.range is not None, "own": self.has_changer(slot)})
        return allowed.get(sort, False)


class Method:
    def __init__(self, text):
        left, _, params = text.partition("|")
        self.name, entry, end, first, self.role, *self.detail = left.split()
        self.entry, self.end, self.first = int(entry), int(end), int(first)
        self.params = [Kind(word) for word in params.split()]
        wanted = {"put": [["value"]], "key": [["key"], ["key", "value"]]}.get(self.role, [[]])
        need(self.role in ("put", "take", "peek", "ask", "key"), f"role `{self.role}`")
        need([k.word for k in self.params] in wanted, f"parameters of `{self.name}`")
        need(not any(k.nullable for k in self.params), f"parameters of `{self.name}`")
        if self.role == "key":
            self.cases = [None if c == "waits" else c.split(",") for c in self.detail]

    def calls(self):
        found = [()]
        for kind in self.params:
            options = [("value", 0), ("value", 1)]
            if kind.word == "key":
                options = [("key", c) for c in (BELOW, TRACKED, ABOVE)]
            found = [call + (option,) for call in found for option in options]
        return found

    def change(self, held):
        """What is held afterwards and returned, if what is held under the key changes."""
        case = self.cases[held]
        return case if case is not None and case[0] != str(int(held)) else None

    def result_of_change(self):
        """What is returned after a change, if that follows from the call."""
        results = {case[1] for case in map(self.change, (False, True)) if case is not None}
        return results.pop() if len(results) == 1 and "old" not in results else None

    def needs_value(self):
        return self.role == "key" and self.cases[True] is not None and (
            self.cases[True][0] == "new" or self.cases[True][1] == "old")


class Instruction:
    def __init__(self, words):
        rests, atomic, self.op, *self.words = words
        self.rests, self.atomic = rests == "*", atomic == "atomic"
        self.args, at = [], 0
        take = {"set": "d*", "load": "dp", "store": "p*", "cas": "dp*", "swap": "dp*", "add": "dkpe"}
        take.update({"lock": "p", "unlock": "p", "skip": "", "new": "d*", "branch": "de", "jump": "d"})
        take.update({"choose": "D", "any": "dk", "assume": "e", "assert": "e", "check": "ke"})
        take["return"] = "*"
        if self.op not in take or "unknown" in self.words:
            self.op = "unknown"
            return
        for what in take[self.op]:
            if what in "dk":
                self.args.append(int(self.words[at]) if what == "d" else Kind(self.words[at]))
                at += 1
            elif what == "p":
                place, at = read_place(self.words, at)
                self.args.append(place)
            elif what == "D":
                self.args.append([int(word) for word in self.words[at:]])
                at = len(self.words)
            else:
                found = []
                while at < len(self.words):
                    ex, at = read_expression(self.words, at)
                    found.append(ex)
                self.args.append(found if what == "*" else found[0])
        need(at == len(self.words), "an instruction with words left")


def read_place(words, at):
    root, slot, width = words[at], int(words[at + 1]), int(words[at + 2])
    need(root in ("shared", "node"), "a place")
    if root == "shared":
        return (None, slot, width), at + 3
    ex, at = read_expression(words, at + 3)
    return (ex, slot, width), at


ARITY = {"not": 1, "neg": 1, "if": 3}
ARITY.update(dict.fromkeys("plus minus times div rem equal less and or".split(), 2))


def read_expression(words, at):
    need(at < len(words), "an expression")
    word, at = words[at], at + 1
    if word not in ARITY:
        return (word,), at
    parts = [word]
    for _ in range(ARITY[word]):
        part, at = read_expression(words, at)
        parts.append(part)
    return tuple(parts), at


# States: one thread and the heap graph that it can reach. A face of a node is (link, mark, locked,
# private); a node is [class, values, face before the step or None, face now]; a segment is
# [attributes, values, optional, sorted, to]. A link is null, out, a node or a segment.


class Ghost:
    def __init__(self, yes=False, no=False, firsts=0, done=False, got=None):
        self.yes, self.no, self.firsts, self.done, self.got = yes, no, firsts, done, got

    def copy(self):
        return Ghost(self.yes, self.no, self.firsts, self.done, self.got)


class Operation:
    def __init__(self, pc, method, args, ghost, regs):
        self.pc, self.method, self.args, self.ghost, self.regs = pc, method, args, ghost, regs

    def copy(self):
        return Operation(self.pc, self.method, self.args, self.ghost.copy(), list(self.regs))


class State:
    def __init__(self, shared, op=None, nodes=None, segments=None, before=None):
        self.shared, self.op = shared, op
        self.nodes, self.segments = nodes or [], segments or []
        self.before = list(shared) if before is None else before

    def copy(self):
        op = self.op and self.op.copy()
        nodes, segments = [list(n) for n in self.nodes], [list(s) for s in self.segments]
        return State(list(self.shared), op, nodes, segments, list(self.before))

    def link(self, node, time):
        face = self.nodes[node][2 + time]
        return face[0] if face else NULL

    def behind(self, item, time):
        return self.link(item[1], time) if item[0] == "node" else self.segments[item[1]][4]

    def walk(self, start, time):
        """Everything on the way from a scalar or link, and how it ends: null, cycle or out."""
        met, at = [], start
        while at[0] in ("node", "seg"):
            if at in met:
                return met, "cycle"
            met.append(at)
            at = self.behind(at, time)
        return met, "out" if at == OUT else "null"

    def reach(self, item, time):
        shared = self.before if time == BEFORE else self.shared
        roots = [i for i, s in enumerate(shared) if s[0] == "node"]
        return sum(1 << i for i in roots if item in self.walk(shared[i], time)[0])

    def roots(self):
        return self.shared + (self.op.regs if self.op else [])

    def look(self, node, time=NOW):
        face = self.nodes[node][2 + time]
        return (self.nodes[node][0], face[1], face[2])

    def set_face(self, node, **changes):
        names = ("link", "mark", "locked", "private")
        face = self.nodes[node][3]
        self.nodes[node][3] = tuple(changes.get(n, old) for n, old in zip(names, face))

    # Splitting segments: the heap graphs before the step and now change together.

    def replace(self, segment, by):
        old = ("seg", segment)
        for node in self.nodes:
            for time in (2, 3):
                if node[time] and node[time][0] == old:
                    node[time] = (by,) + node[time][1:]
        for other in self.segments:
            if other[4] == old:
                other[4] = by

    def close(self, segment):
        self.replace(segment, self.segments[segment][4])

    def add_segment(self, attributes, values, optional, ordered, to):
        if not attributes:
            return to
        self.segments.append([attributes, values, optional, ordered, to])
        return ("seg", len(self.segments) - 1)

    def draw_in(self, segment, attribute):
        """A node of a segment, with the rest of it behind the node."""
        attributes, values, _, ordered, to = self.segments[segment]
        rest = kept(attributes, lambda a: not ordered or a[0] >= attribute[0])
        link = self.add_segment(rest, values, True, ordered, to)
        face = (link, attribute[1], bool(attribute[2]), False)
        self.nodes.append([attribute[0], values, face, face])
        return ("node", len(self.nodes) - 1)

    def begin(self, segment, attribute):
        self.replace(segment, self.draw_in(segment, attribute))

    def cut(self, segment, attribute):
        attributes, values, _, ordered, _ = self.segments[segment]
        node = self.draw_in(segment, attribute)
        front = kept(attributes, lambda a: not ordered or a[0] <= attribute[0])
        self.replace(segment, self.add_segment(front, values, True, ordered, node))
        return node

    def follow(self, node, choices):
        """Where the link of a node leads: a node or null; a segment is split at its first node."""
        while True:
            link = self.nodes[node][3][0]
            need(link != OUT, "a link that leads out of the graph", Rejected)
            if link[0] != "seg":
                return link
            segment = self.segments[link[1]]
            firsts = members(segment[0])
            pick = choices.pick(len(firsts) + segment[2])
            if pick == len(firsts):
                self.close(link[1])
            else:
                self.begin(link[1], firsts[pick])

    def decide(self, segment, choices):
        if choices.pick(2):
            self.segments[segment][2] = False
        else:
            self.close(segment)

    def first_optional(self, starts, time):
        for start in starts:
            for item in self.walk(start, time)[0]:
                if item[0] == "seg" and self.segments[item[1]][2]:
                    return item[1]
        return None

    def publish(self):
        public = [("node", i) for i, n in enumerate(self.nodes) if not n[3][3]]
        for root in self.shared + public:
            for item in self.walk(root, NOW)[0]:
                if item[0] == "node":
                    self.set_face(item[1], private=False)

    def settle(self):
        self.before = list(self.shared)
        for node in self.nodes:
            node[2] = node[3]

    def retire(self):
        """The operation is over: what it alone knew is forgotten."""
        self.op = None
        for node in self.nodes:
            link, mark, _, private = node[3]
            node[3] = (link, min(mark, MARKED), False, private)
        for segment in self.segments:
            segment[0] = sum({bit(to_all(a)) for a in members(segment[0])})
        for slot, scalar in enumerate(self.shared):
            if scalar == ("lock", "mine"):
                self.shared[slot] = ("lock", "other")
            self.shared[slot] = plain(self.shared[slot])

    def key(self):
        """Equal for equal states; numbers of nodes included."""
        op = self.op
        who = op and (op.pc, op.method, op.args, tuple(op.regs), tuple(vars(op.ghost).items()))
        heap = (tuple(map(tuple, self.nodes)), tuple(map(tuple, self.segments)))
        return (who, tuple(self.shared), tuple(self.before), heap)


def plain(scalar):
    return ("int", scalar[1]) if scalar[0] == "own" else scalar


# Reading certificates.


def fnv(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


class Place:
    def __init__(self, fresh, look, reach, link, values, path):
        self.fresh, self.look, self.reach = fresh, look, reach
        self.link, self.values, self.path = link, values, path


class Effect:
    """What a step does to the views of others."""

    def __init__(self):
        self.places, self.references, self.scalars = [], {}, {}
        self.outlook, self.equal = {}, []
        self.links, self.marks, self.moves, self.stores = {}, {}, {}, {}


class Certificate:
    def __init__(self, text, program):
        self.program, self.views, self.effects, self.content = program, [], [], None
        lines = text.split("\n")
        need(lines[0] == "seriatim certificate 1", "this is no certificate of version 1")
        need(len(lines) > 3 and lines[-1] == "", "the end is missing")
        need(lines[1].split()[::2] == ["program", program.hash], "another program")
        need(lines[-2] == "end " + fnv("\n".join(lines[:-2])), "the sum is wrong")
        for number, line in enumerate(lines[2:-2], 3):
            word, _, rest = line.partition(" ")
            parts = [part.split() for part in rest.split("|")]
            try:
                if word == "content":
                    need(self.content is None and len(parts) == 1, "one content")
                    self.content = self.read_content(parts[0])
                elif word == "view":
                    self.views.append((self.read_view(parts), number))
                elif word == "effect":
                    self.effects.append((self.read_effect(parts), number))
                else:
                    raise Unreadable(f"`{word}` is no entry of this class")
            except (Unreadable, ValueError, IndexError) as error:
                raise Unreadable(f"line {number}: {error}") from None
        need(self.content is not None, "there is no content")

    def read_content(self, words):
        root, begin, counted = words
        need(begin in ("first", "second") and counted in ("all", "unmarked"), "content")
        slot = self.program.variable(root)
        need(self.program.is_reference(slot), "the content is reached from a reference")
        return Content(slot, begin == "second", counted == "all")

    def read_view(self, parts):
        who, shared, nodes = parts
        program = self.program
        state = State([read_scalar(word) for word in shared])
        need(len(shared) == len(program.shared), "shared variables")
        need(len(nodes) <= MOST_NODES, "more nodes than are read")
        for text in nodes:
            self.read_node(text, state)
        if who != ["idle"]:
            state.op = self.read_operation(who)
        links = [n[3][0] for n in state.nodes] + [s[4] for s in state.segments]
        for target in links + state.roots():
            need(target[0] != "node" or 0 <= target[1] < len(nodes), "a node that is not there")
        for slot, scalar in enumerate(state.shared):
            need(program.admits(slot, scalar), f"{scalar} in a shared variable")
        for scalar in state.op.regs if state.op else []:
            need(scalar[0] not in ("lock", "own", "out"), f"{scalar} in a register")
        for time in (2, 3):
            for node in state.nodes:
                node[time] = node[3]
        return state

    def read_operation(self, who):
        pc, name, arguments, ghost, *registers = who
        names = [m.name for m in self.program.methods]
        need(name in names, f"there is no method `{name}`")
        method, pc = names.index(name), int(pc)
        code = self.program.methods[method]
        need(code.entry <= pc < code.end and self.program.code[pc].rests, "nobody rests there")
        need(len(registers) == self.program.registers, "registers")
        args = tuple(read_scalar(word) for word in arguments.split(",") if code.params)
        need(args in code.calls() and (code.params or arguments == "?"), "arguments")
        regs = [read_scalar(word) for word in registers]
        return Operation(pc, method, args, read_ghost(ghost), regs)

    def read_attribute(self, text):
        need(text[0] in CLASSES, f"`{text}` is no attribute")
        cls = CLASSES.index(text[0]) if "key" in self.program.fields else MINUS
        marks = {"": (NOT, 0), "m": (MARKED, 0), "M": (MINE, 0)}
        marks.update({"L": (NOT, 1), "mL": (MARKED, 1), "ML": (MINE, 1)})
        need(text[1:] in marks, f"`{text}` is no attribute")
        return (cls,) + marks[text[1:]]

    def read_attributes(self, text):
        return sum({bit(self.read_attribute(word)) for word in text.split(",")})

    def read_values(self, text):
        if text == "-":
            text = ""
        need(all(letter in "01n" for letter in text), f"`{text}` are no values")
        if "value" not in self.program.fields:
            return 4
        return sum({1 << "01n".index(letter) for letter in text})

    def read_node(self, text, state):
        attribute, values, privacy, link, *segment = text.split(":")
        cls, mark, locked = self.read_attribute(attribute)
        link = OUT if link == "?" else read_scalar(link)
        need(link[0] in ("null", "node", "out") and privacy in ("private", "public"), "a node")
        if segment:
            attributes, inside, may, order = segment
            need(may in ("optional", "some") and order in ("sorted", "any"), "a segment")
            bits = self.read_attributes(attributes)
            inside = self.read_values(inside)
            link = state.add_segment(bits, inside, may == "optional", order == "sorted", link)
        face = (link, mark, bool(locked), privacy == "private")
        state.nodes.append([cls, self.read_values(values), face, face])

    def read_effect(self, parts):
        places, references, scalars, outlook, writes = parts
        program, effect = self.program, Effect()
        need(len(places) <= MOST_PLACES, "more places than are read")

        def target(text):
            found = read_target(text)
            need(found[0] != "at" or found[1] < len(places), f"no place `{text}`")
            return found

        def once(where, key, value):
            need(key not in where, "something is said twice")
            where[key] = value

        for text in places:
            fresh, look, reach, link, values, *path = text.split(":")
            need(fresh in ("fresh", "old"), "a place")
            reach = sum({1 << program.variable(v) for v in reach.split(",") if v})
            if path:
                to, between = path
                need(fresh == "old" and target(to)[0] == "at", "a path")
                path = (target(to)[1], self.read_attributes(between))
                need(all(a == to_all(a) for a in members(path[1])), "a path")
            need(fresh == "old" or not reach, "a fresh place that could be reached")
            look, values = self.read_attribute(look), self.read_values(values)
            place = Place(fresh == "fresh", look, reach, target(link), values, path or None)
            effect.places.append(place)
        for number, place in enumerate(effect.places):
            if place.path:
                to = place.path[0]
                need(to != number and not effect.places[to].fresh, "a path")
        for text in references:
            name, _, value = text.partition("=")
            once(effect.references, self.reference(name), target(value))
        for text in scalars:
            name, _, value = text.partition("=")
            slot, scalar = program.variable(name), read_scalar(value)
            need(not program.is_reference(slot), "a reference among the others")
            need(scalar == UNKNOWN or program.admits(slot, scalar), f"`{text}`")
            if scalar != UNKNOWN:
                once(effect.scalars, slot, scalar)
        for text in outlook:
            if ">" in text:
                name, _, value = text.partition(">")
                need(value in ("some", "none", "null"), f"`{text}`")
                once(effect.outlook, self.reference(name), value)
            else:
                sign = "==" if "==" in text else "!="
                a, _, b = text.partition(sign)
                effect.equal.append((self.reference(a), self.reference(b), sign == "=="))
        for text in writes:
            self.read_write(text, effect, target, once)
        return effect

    def read_write(self, text, effect, target, once):
        what, _, value = text.partition("=")
        place, _, field = what.partition(".")
        if what not in self.program.names and field in ("link", "mark"):
            sort, number = target(place) + ((None,) if target(place)[0] != "at" else ())
            need(sort == "at" and not effect.places[number].fresh, f"`{text}`")
            if field == "mark":
                need(value in ("yes", "no"), f"`{text}`")
                once(effect.marks, number, value == "yes")
            else:
                need(target(value)[0] in ("null", "at"), f"`{text}`")
                once(effect.links, number, target(value))
            return
        slot = self.program.variable(what)
        if self.program.is_reference(slot):
            once(effect.moves, slot, target(value))
            return
        scalar = read_scalar(value)
        need(self.program.admits(slot, scalar) and scalar != ("lock", "other"), f"`{text}`")
        once(effect.stores, slot, scalar)

    def reference(self, name):
        slot = self.program.variable(name)
        need(self.program.is_reference(slot), f"`{name}` is no reference")
        return slot


def read_target(text):
    if text in ("null", "elsewhere", "?"):
        return (text,)
    need(text.startswith("p") and text[1:].isdigit(), f"`{text}` is no target")
    return ("at", int(text[1:]))


def read_scalar(text):
    words = {"?": UNKNOWN, "null": NULL, "v0": ("value", 0), "v1": ("value", 1)}
    words.update({word: ("lock", word) for word in ("free", "mine", "other")})
    if text in words:
        return words[text]
    if text.startswith("#"):
        return ("node", int(text[1:]))
    if text.startswith("k") and len(text) == 2 and text[1] in CLASSES:
        return ("key", CLASSES.index(text[1]))
    if text.startswith("mine:"):
        return ("own", int(text[5:]))
    return ("int", int(text))


def read_ghost(text):
    ghost = Ghost()
    for word in [] if text == "-" else text.split(","):
        if word in ("yes", "no", "done"):
            setattr(ghost, word, True)
        elif word in ("first0", "first1"):
            ghost.firsts |= 1 << int(word[5])
        else:
            got = {"got0": ("value", 0), "got1": ("value", 1), "gotnull": NULL}
            got.update({"gotno": ("int", 0), "gotyes": ("int", 1)})
            need(word in got, f"`{word}` is no history")
            ghost.got = got[word]
    return ghost


# The content.


class Content:
    """How the list stands for the content: where it begins, and which nodes count."""

    def __init__(self, root, behind_dummy, counts_marked):
        self.root, self.behind_dummy, self.counts_marked = root, behind_dummy, counts_marked

    def items(self, spec, state, time):
        shared = state.before if time == BEFORE else state.shared
        items, end = state.walk(shared[self.root], time)
        need(end != "out", "the list leads out of the graph", Rejected)
        need(end != "cycle" or spec == "set", "the list may have a cycle", Rejected)
        return items[1:] if self.behind_dummy else items

    def entry(self, state, time):
        """The first node that counts and has the tracked key."""
        found = None
        for sort, number in self.items("set", state, time):
            if sort == "seg":
                hidden = [a for a in members(state.segments[number][0]) if a[0] == TRACKED]
                need(not any(self.counts(a) for a in hidden), "the tracked key is hidden", Rejected)
            else:
                at = time if state.nodes[number][2] else NOW
                look = state.look(number, at)
                if found is None and look[0] == TRACKED and self.counts(look):
                    found = number
        return found

    def counts(self, look):
        return self.counts_marked or look[1] == NOT

    def is_empty(self, spec, state):
        if spec == "set":
            return self.entry(state, NOW) is None
        return not self.items(spec, state, NOW)

    def first(self, spec, state, choices):
        while True:
            items = self.items(spec, state, NOW)
            if items and items[0][0] == "seg" and state.segments[items[0][1]][2]:
                state.decide(items[0][1], choices)
                continue
            return items[0] if items else None


# Executing a step.


class Execution:
    def __init__(self, program, state, choices):
        self.program, self.state, self.choices = program, state, choices
        count = program.registers
        self.regs = list(state.op.regs) if state.op else [NULL] * count

    def run(self, pc, at_access):
        """Runs to the end of the step; says where and how it ended."""
        for _ in range(FUEL):
            instr = self.program.code[pc]
            if instr.rests and not at_access:
                return pc, "rests", None
            at_access = False
            if instr.op == "return":
                return pc, "returned", [self.value(e) for e in instr.args[0]]
            following = self.execute(pc, instr)
            if following <= pc and self.program.code[following].atomic:
                return following, "loops", None
            pc = following
        raise Rejected("local code that may never end")

    def execute(self, pc, instr):
        op, args = instr.op, instr.args
        if op == "set":
            self.put(args[0], [self.value(e) for e in args[1]])
        elif op == "load":
            self.put(args[0], self.read(args[1]))
        elif op == "store":
            self.write(args[0], [self.value(e) for e in args[1]])
        elif op == "cas":
            fail, place, values = args
            width = place[2]
            held = self.read(place)
            for have, wanted in zip(held, values[:width]):
                if not self.equal(have, self.value(wanted)):
                    return fail
            self.write(place, [self.value(e) for e in values[width:]])
        elif op == "swap":
            held = self.read(args[1])
            self.write(args[1], [self.value(e) for e in args[2]])
            self.put(args[0], held)
        elif op == "add":
            dst, kind, place, amount = args
            held = self.read(place)
            total = self.arithmetic("plus", held[0], self.value(amount))
            need(kind.fits(total), "a sum out of its range", Rejected)
            self.write(place, [total])
            self.put(dst, held)
        elif op in ("lock", "unlock"):
            self.lock(args[0], op == "lock")
        elif op == "new":
            self.put(args[0], [self.allocate([self.value(e) for e in args[1]])])
        elif op == "branch":
            return pc + 1 if self.holds(args[1]) else args[0]
        elif op == "jump":
            return args[0]
        elif op == "choose":
            return args[0][self.choices.pick(len(args[0]))]
        elif op == "any":
            low, high = args[1].range or (0, -1)
            need(0 <= high - low < 256, "`any` of data", Rejected)
            pick = self.choices.pick(high - low + 1 + args[1].nullable)
            self.put(args[0], [NULL if pick > high - low else ("int", low + pick)])
        elif op == "assume":
            if not self.holds(args[0]):
                raise Waits()
        elif op == "assert":
            need(self.holds(args[0]), "an assertion may fail", Rejected)
        elif op == "check":
            need(args[0].fits(self.value(args[1])), "a value that does not fit", Rejected)
        else:
            need(op == "skip", "an instruction that is not known", Rejected)
        return pc + 1

    def put(self, first, values):
        self.regs[first : first + len(values)] = values

    def holds(self, ex):
        value = self.value(ex)
        need(value[0] == "int", f"{value} where a boolean is needed", Rejected)
        return value[1] != 0

    def value(self, ex):
        op = ex[0]
        if len(ex) == 1:
            return self.atom(op)
        if op == "not":
            return ("int", int(not self.holds(ex[1])))
        if op == "neg":
            return self.arithmetic("minus", ("int", 0), self.value(ex[1]))
        if op == "and":
            return self.value(ex[2]) if self.holds(ex[1]) else ("int", 0)
        if op == "or":
            return ("int", 1) if self.holds(ex[1]) else self.value(ex[2])
        if op == "if":
            return self.value(ex[2] if self.holds(ex[1]) else ex[3])
        a, b = self.value(ex[1]), self.value(ex[2])
        if op == "equal":
            return ("int", int(self.equal(a, b)))
        if op == "less" and a[0] == b[0] == "key":
            many = a == b and a[1] in (BELOW, ABOVE)
            return ("int", self.choices.pick(2) if many else int(a[1] < b[1]))
        return self.arithmetic(op, a, b)

    def atom(self, word):
        if word in ("null", "-inf", "+inf"):
            return {"null": NULL, "-inf": ("key", MINUS), "+inf": ("key", PLUS)}[word]
        if word.startswith("r"):
            return self.regs[int(word[1:])]
        return ("int", int(word))

    def arithmetic(self, op, a, b):
        need(a[0] == b[0] == "int", f"{a} {op} {b}", Rejected)
        a, b = a[1], b[1]
        need(op not in ("div", "rem") or b > 0, "arithmetic that may fail", Rejected)
        result = {
            "less": lambda: int(a < b),
            "plus": lambda: a + b,
            "minus": lambda: a - b,
            "times": lambda: a * b,
            "div": lambda: a // b,
            "rem": lambda: a % b,
        }[op]()
        need(-(2**31) <= result < 2**31, "arithmetic that may fail", Rejected)
        return ("int", result)

    def equal(self, a, b):
        sorts = (a[0], b[0])
        need("?" not in sorts and "lock" not in sorts, "a comparison with the unknown", Rejected)
        need(sorts != ("value", "value"), "values that are compared", Rejected)
        if sorts == ("key", "key") and a == b and a[1] in (BELOW, ABOVE):
            return self.choices.pick(2) == 1
        if "null" in sorts:
            return a == b
        need(sorts[0] == sorts[1] and sorts[0] in ("key", "int", "node"), f"{a} == {b}", Rejected)
        return a == b

    def node_of(self, place):
        if place[0] is None:
            return None
        node = self.value(place[0])
        need(node[0] == "node", f"a field of {node}", Rejected)
        return node[1]

    def read(self, place):
        node = self.node_of(place)
        return [self.read_slot(node, slot) for slot in range(place[1], place[1] + place[2])]

    def read_slot(self, node, slot):
        if node is None:
            scalar = self.state.shared[slot]
            need(scalar[0] not in ("lock", "?", "out"), "a lock that is read", Rejected)
            return plain(scalar)
        field = self.program.fields[slot]
        if field == "link":
            return self.state.follow(node, self.choices)
        if field == "key":
            return ("key", self.state.nodes[node][0])
        if field == "mark":
            return ("int", int(self.state.nodes[node][3][1] != NOT))
        need(field == "value", "a lock that is read", Rejected)
        return self.value_of(node)

    def value_of(self, node):
        """One of the values that a node may hold, which it holds from here on."""
        bits = self.state.nodes[node][1]
        possible = [i for i in range(3) if bits >> i & 1]
        pick = possible[self.choices.pick(len(possible))] if len(possible) != 1 else possible[0]
        self.state.nodes[node][1] = 1 << pick
        return NULL if pick == 2 else ("value", pick)

    def write(self, place, values):
        node = self.node_of(place)
        for slot, value in enumerate(values, place[1]):
            if node is None:
                self.write_shared(slot, value)
            else:
                self.write_field(node, self.program.fields[slot], value)
        self.state.publish()

    def write_shared(self, slot, value):
        state, kind = self.state, self.program.shared[slot]
        if state.shared[slot][0] == "lock":
            need(state.shared[slot][1] == "free" and value == ("int", 0), "a lock is written", Rejected)
            return
        fits = value == NULL or (kind.word == "ref" and value[0] == "node") or kind.fits(value)
        need(fits, f"a shared variable that gets {value}", Rejected)
        if state.before[slot : slot + 1]:
            if plain(state.before[slot]) == value:
                value = state.before[slot]
            elif value[0] == "int" and self.program.has_changer(slot):
                value = ("own", value[1])
        state.shared[slot] = value

    def write_field(self, node, field, value):
        state = self.state
        private = state.nodes[node][3][3]
        if field == "link":
            if not private and state.nodes[node][3][0] != OUT:
                state.follow(node, self.choices)
            need(value[0] in ("node", "null"), f"a link that gets {value}", Rejected)
            state.set_face(node, link=value)
        elif field == "mark":
            need(value[0] == "int", "a mark", Rejected)
            before, mark = state.nodes[node][2], state.nodes[node][3][1]
            seen = before[1] if before and not before[3] else NOT
            if value[1] == 0:
                mark = NOT
            elif mark == NOT:
                mark = seen if seen != NOT else MINE
            state.set_face(node, mark=mark)
        else:
            need(private, "data of a node that others can reach changes", Rejected)
            if field == "key":
                need(value[0] == "key", "a key", Rejected)
                state.nodes[node][0] = value[1]
            else:
                need(field == "value" and value[0] in ("value", "null"), "a value", Rejected)
                state.nodes[node][1] = 4 if value == NULL else 1 << value[1]

    def allocate(self, values):
        face = (NULL, NOT, False, True)
        self.state.nodes.append([MINUS, 4, None, face])
        node = len(self.state.nodes) - 1
        for field, value in zip(self.program.fields, values):
            if field == "lock":
                need(value == ("int", 0), "a new node with a lock that is held", Rejected)
            else:
                self.write_field(node, field, value)
        return ("node", node)

    def lock(self, place, takes):
        node, slot, state = self.node_of(place), place[1], self.state
        if node is not None:
            need(self.program.fields[slot] == "lock", "a lock that is none", Rejected)
            held = state.nodes[node][3][2]
            if takes and held:
                raise Waits()
            need(takes or held, "a lock is released that is perhaps another's", Rejected)
            state.set_face(node, locked=takes)
            return
        need(state.shared[slot][0] == "lock", "a lock that is none", Rejected)
        holder = state.shared[slot][1]
        if takes and holder != "free":
            raise Waits()
        need(takes or holder == "mine", "a lock is released that is perhaps another's", Rejected)
        state.shared[slot] = ("lock", "mine" if takes else "free")

    # The end of a step: what it did to the content, what it sees, what it returns.

    def account(self, content, op):
        program, state = self.program, self.state
        method = program.methods[op.method]
        if program.spec == "set":
            was, now = content.entry(state, BEFORE), content.entry(state, NOW)
            if was == now:
                return
            was, now = self.held(was), self.held(now)
            if was == now:
                return
            case = method.role == "key" and op.args[0] == ("key", TRACKED) and method.change(was is not None)
            need(case, "the step changes the content as its operation must not", Rejected)
            left = None if case[0] == "0" else op.args[1] if len(op.args) > 1 else NULL
            need(now == left, "the step leaves what its operation must not leave", Rejected)
            if method.result_of_change() is None:
                op.ghost.got = self.told(case[1], op, was)
        else:
            was = content.items(program.spec, state, BEFORE)
            now = content.items(program.spec, state, NOW)
            if was == now:
                return
            if method.role == "put":
                new, rest = (now[:1], now[1:]) if program.spec == "stack" else (now[-1:], now[:-1])
                right = new and rest == was and new[0][0] == "node"
                right = right and state.nodes[new[0][1]][1] == 1 << op.args[0][1]
                need(right, "the step does not add just its argument", Rejected)
            else:
                right = method.role == "take" and was and was[0][0] == "node" and was[1:] == now
                need(right, "the step does not take just the first value", Rejected)
                op.ghost.got = self.value_of(was[0][1])
                need(op.ghost.got != NULL, "the node taken holds no value", Rejected)
        need(not op.ghost.done, "the operation changes the content twice", Rejected)
        op.ghost.done = True

    def held(self, number):
        """What is held under the tracked key, given the node: in a set, which has no values, null."""
        if number is None:
            return None
        return self.value_of(number) if "value" in self.program.fields else NULL

    def tell_entry(self, content):
        """Tells the values apart that the tracked key may have, if methods need it."""
        if any(method.needs_value() for method in self.program.methods):
            entry = content.entry(self.state, NOW)
            if entry is not None:
                self.value_of(entry)

    def told(self, word, op, held):
        """The result of a word of a role, where this was held."""
        if word in ("0", "1"):
            return ("int", int(word))
        return {"-": None, "null": NULL, "old": held, "new": op.args[-1]}[word]

    def observe(self, content, op, tells=False):
        state, spec = self.state, self.program.spec
        if spec == "set":
            entry = content.entry(state, NOW)
            if tells and entry is not None and self.program.methods[op.method].needs_value():
                self.value_of(entry)
            op.ghost.yes, op.ghost.no = op.ghost.yes or entry is not None, op.ghost.no or entry is None
            if entry is not None and state.nodes[entry][1] in (1, 2):
                op.ghost.firsts |= state.nodes[entry][1]
            return
        first = content.first(spec, state, self.choices)
        if tells and first and first[0] == "node" and self.program.methods[op.method].role == "peek":
            self.value_of(first[1])
        op.ghost.yes, op.ghost.no = op.ghost.yes or not first, op.ghost.no or bool(first)
        if first and first[0] == "node" and state.nodes[first[1]][1] in (1, 2):
            op.ghost.firsts |= state.nodes[first[1]][1]

    def conclude(self, op, result):
        method, ghost = self.program.methods[op.method], op.ghost
        if self.program.spec == "set" and op.args[0] != ("key", TRACKED):
            return
        waits = method.detail[:1] == ["waits"]
        if method.role == "put":
            right = result == [] and ghost.done
        elif method.role == "take" and result == [NULL]:
            right = not waits and not ghost.done and ghost.yes
        elif method.role == "take":
            right = ghost.done and len(result) == 1 and ghost.got == result[0]
        elif method.role == "peek" and result == [NULL]:
            right = not waits and ghost.yes
        elif method.role == "peek":
            right = len(result) == 1 and result[0][0] == "value" and ghost.firsts >> result[0][1] & 1
        elif method.role == "ask":
            need(len(result) == 1 and result[0][0] == "int", "a result", Rejected)
            right = ghost.yes if (result[0][1] != 0) == (method.detail == ["1"]) else ghost.no
        else:
            right = self.is_right(method, op, result)
        need(right, "the result was perhaps right at no moment since the call", Rejected)

    def is_right(self, method, op, result):
        """Whether an operation on the tracked key may return this."""
        ghost = op.ghost
        need(len(result) < 2, "a result", Rejected)
        said = result[0] if result else None
        if said is not None and said[0] == "int":
            said = ("int", int(said[1] != 0))

        def was(scalar):
            return scalar is not None and scalar[0] == "value" and ghost.firsts >> scalar[1] & 1

        if ghost.done:
            fixed = method.result_of_change()
            answer = ghost.got if fixed is None else self.told(fixed, op, None)
            return said == answer and (fixed is not None or answer is not None)
        nothing, some = method.cases
        if ghost.no and nothing and nothing[0] == "0" and said == self.told(nothing[1], op, None):
            return True
        if some and some[0] == "1" and some[1] == "old":
            return bool(was(said))
        if some and some[0] == "1":
            return ghost.yes and said == self.told(some[1], op, None)
        given = op.args[-1]
        return bool(some and some[0] == "new" and was(given) and said == self.told(some[1], op, given))


# What others see of a step.


def is_fresh(node):
    return not node[3][3] and (node[2] is None or node[2][3])


def is_changed(node):
    before, now = node[2], node[3]
    if before is None or before[3]:
        return False
    return before[0] != now[0] or bool(before[1]) != bool(now[1])


def is_visible(state):
    return state.shared != state.before or any(is_fresh(n) or is_changed(n) for n in state.nodes)


def outlook(state, scalar):
    """What lies behind the node of a shared variable before the step: some, none, null or `?`."""
    if scalar[0] != "node":
        return "null"
    link = state.link(scalar[1], BEFORE)
    if link == OUT:
        return "?"
    if link[0] == "seg":
        segment = state.segments[link[1]]
        return "?" if segment[2] and segment[4][0] != "node" else "some"
    return "some" if link[0] == "node" else "none"


def speaks_truly(effect, state):
    """What an effect says of a step without its places, for the acting thread."""

    def is_so(told, seen):
        return told == (plain(seen) if told[0] == "int" else seen)

    before = all(is_so(told, state.before[slot]) for slot, told in effect.scalars.items())
    behind = all(outlook(state, state.before[s]) == said for s, said in effect.outlook.items())
    equal = all((state.before[a] == state.before[b]) == said for a, b, said in effect.equal)
    if not (before and behind and equal):
        return False
    for slot, (was, now) in enumerate(zip(state.before, state.shared)):
        if slot in effect.stores:
            if not is_so(effect.stores[slot], now) or plain(was) == plain(now):
                return False
        elif was != now and now[0] not in ("node", "null"):
            return False
    return True


def describes(effect, state):
    """Whether all that an effect says is certain of a step, and all that the step changed is said."""
    if not speaks_truly(effect, state):
        return False
    tries = [0]

    def fits(place, number):
        node = state.nodes[number]
        if place.fresh:
            values = place.values & node[1] == node[1]
            return is_fresh(node) and values and says_less(place.look, state.look(number))
        if node[2] is None or node[2][3]:
            return False
        look = says_less(place.look, state.look(number, BEFORE))
        return look and state.reach(("node", number), BEFORE) == place.reach

    def search(nodes):
        tries[0] += 1
        if tries[0] > MOST_CASES:
            return False
        if len(nodes) == len(effect.places):
            return is_right(effect, state, nodes)
        place = effect.places[len(nodes)]
        free = [n for n in range(len(state.nodes)) if n not in nodes and fits(place, n)]
        return any(search(nodes + [n]) for n in free)

    return search([])


def leads(state, nodes, link, said):
    """Whether a link leads for certain where an effect says."""
    if said[0] == "?":
        return True
    if said[0] in ("null", "at"):
        return link == (NULL if said[0] == "null" else ("node", nodes[said[1]]))
    if link[0] == "node":
        return link[1] not in nodes
    if link[0] == "seg":
        segment = state.segments[link[1]]
        return not segment[2] or leads(state, nodes, segment[4], said)
    return False


def is_right(effect, state, nodes):
    for number, node in enumerate(state.nodes):
        if number not in nodes and (is_fresh(node) or is_changed(node)):
            return False
    for number, (place, at) in enumerate(zip(effect.places, nodes)):
        if not leads(state, nodes, state.link(at, NOW if place.fresh else BEFORE), place.link):
            return False
        if place.path and not path_is_certain(state, nodes, number, place.path):
            return False
        if not place.fresh:
            before, now = state.nodes[at][2], state.nodes[at][3]
            wanted = before[0]
            if number in effect.links:
                said = effect.links[number]
                wanted = NULL if said[0] == "null" else ("node", nodes[said[1]])
            if now[0] != wanted or bool(now[1]) != effect.marks.get(number, bool(before[1])):
                return False
    for slot, (was, now) in enumerate(zip(state.before, state.shared)):
        said = effect.references.get(slot, ("?",))
        if was[0] == "node" and not leads(state, nodes, was, said):
            return False
        if was[0] != "node" and said[0] != "?" and (was, said[0]) != (NULL, "null"):
            return False
        if slot in effect.moves:
            to = effect.moves[slot]
            if to[0] not in ("null", "at") or now != (NULL if to[0] == "null" else ("node", nodes[to[1]])):
                return False
        elif now[0] in ("node", "null") and now != was:
            return False
    return True


def path(state, nodes, start, to, between, time):
    """The segments on a path between two places; none if it cannot be one, `out` if it leaves."""
    passed, at = [], state.link(start, time)
    for _ in range(len(state.nodes) + len(state.segments) + 1):
        if at == ("node", to):
            return passed
        if at == OUT:
            return "out"
        if at == NULL:
            return None
        if at[0] == "seg":
            passed.append(at[1])
        else:
            face = time if state.nodes[at[1]][2] else NOW
            if at[1] in nodes or not bit(to_all(state.look(at[1], face))) & between:
                return None
        at = state.behind(at, time)
    return None


def path_is_certain(state, nodes, start, constraint):
    to, between = constraint
    passed = path(state, nodes, nodes[start], nodes[to], between, BEFORE)
    if passed is None or passed == "out":
        return False
    looks = [a for s in passed for a in members(state.segments[s][0])]
    return all(bit(to_all(a)) & between for a in looks)


# What an effect does to a view.


def may_be(told, seen):
    """Whether another thread can see what the acting one tells of a variable."""
    if seen == UNKNOWN:
        return True
    if told[0] == seen[0] == "lock":
        free = (told[1] == "free", seen[1] == "free")
        return free == (True, True) or (free == (False, False) and (told[1], seen[1]) != ("mine", "mine"))
    if told[0] == seen[0] == "own":
        return False
    return plain(told) == plain(seen)


def can_fit(effect, state):
    """A glance at the shared variables."""
    for slot, told in effect.scalars.items():
        if not may_be(told, state.shared[slot]):
            return False
    for slot, said in effect.outlook.items():
        if outlook(state, state.shared[slot]) not in (said, "?"):
            return False
    for a, b, said in effect.equal:
        if (state.shared[a] == state.shared[b]) != said:
            return False
    for slot, said in effect.references.items():
        if said[0] == "null" and state.shared[slot] != NULL:
            return False
        if said[0] in ("at", "elsewhere") and state.shared[slot][0] != "node":
            return False
    return True


class Fit:
    """One way in which an effect fits a view: a node of the graph for each place, or none."""

    def __init__(self, effect, state, choices):
        self.effect, self.state, self.choices = effect, state.copy(), choices
        self.where = [OUT if place.fresh else None for place in effect.places]

    def apply(self):
        self.place_all()
        self.learn_paths()
        self.check()
        self.learn_links()
        self.write()
        state = self.state
        for root in state.roots():
            leaves = root == OUT or state.walk(root, NOW)[1] == "out"
            need(not leaves, "an unknown node may become reachable", Rejected)
        return state

    def place_all(self):
        for slot, said in self.effect.references.items():
            if said[0] == "at" and not self.effect.places[said[1]].fresh:
                self.seat(said[1], self.state.shared[slot])
        while None in self.where:
            number, node = self.implied()
            if number is None:
                number = self.where.index(None)
                node = self.choose(self.effect.places[number])
            self.seat(number, node)

    def implied(self):
        """An open place to which a placed node leads."""
        for number, place in enumerate(self.effect.places):
            node, link = self.where[number], place.link
            if node and node != OUT and link[0] == "at" and self.where[link[1]] is None:
                to = self.state.follow(node[1], self.choices) if self.link_of(node) != OUT else NULL
                if to == NULL:
                    raise NoFit()
                return link[1], to
        return None, None

    def link_of(self, node):
        return self.state.nodes[node[1]][3][0]

    def seat(self, number, node):
        """Gives a node to a place, if nothing speaks against it."""
        place = self.effect.places[number]
        if self.where[number] is not None:
            if self.where[number] != node:
                raise NoFit()
            return
        if node != OUT:
            private = self.state.nodes[node[1]][3][3]
            fits = not private and agree(place.look, self.state.look(node[1])) and node not in self.where
            if not fits or self.state.reach(node, NOW) != place.reach:
                raise NoFit()
        self.where[number] = node

    def choose(self, place):
        """A drawn node, one in a segment, or one that the thread cannot reach."""
        state, ways = self.state, []
        for number in range(len(state.nodes)):
            ways.append(("node", number))
        met = []
        for root in state.roots():
            for item in state.walk(root, NOW)[0]:
                if item[0] == "seg" and item not in met:
                    met.append(item)
                    looks = [a for a in members(state.segments[item[1]][0]) if agree(place.look, a)]
                    if state.reach(item, NOW) == place.reach:
                        ways.extend((item, a) for a in looks)
        if place.reach == 0:
            ways.append(OUT)
        if not ways:
            raise NoFit()
        way = ways[self.choices.pick(len(ways))]
        return state.cut(way[0][1], way[1]) if isinstance(way[0], tuple) else way

    def learn_paths(self):
        nodes = [w[1] for w in self.where if w != OUT]
        for number, place in enumerate(self.effect.places):
            if not place.path or self.where[number] == OUT:
                continue
            to, between = place.path
            end = self.where[to][1] if self.where[to] != OUT else None
            passed = path(self.state, nodes, self.where[number][1], end, between, NOW)
            if passed is None:
                raise NoFit()
            for segment in passed if passed != "out" else []:
                inside = self.state.segments[segment]
                inside[0] = kept(inside[0], lambda a: bit(to_all(a)) & between)
                if not inside[0]:
                    if not inside[2]:
                        raise NoFit()
                    self.state.close(segment)

    def may_lead(self, link, said):
        if said[0] == "?" or link == OUT:
            return True
        if link[0] == "seg":
            segment = self.state.segments[link[1]]
            if said[0] == "elsewhere":
                return True
            return segment[2] and self.may_lead(segment[4], said)
        if said[0] == "null":
            return link == NULL
        if said[0] == "at":
            return link != NULL and self.where[said[1]] == link
        return link[0] == "node" and link not in self.where

    def check(self):
        """Whether everything that the effect says can be true with these places."""
        for place, node in zip(self.effect.places, self.where):
            if node != OUT and not self.may_lead(self.link_of(node), place.link):
                raise NoFit()
        for slot, said in self.effect.references.items():
            if self.state.shared[slot][0] == "node" and not self.may_lead(self.state.shared[slot], said):
                raise NoFit()

    def learn_links(self):
        """What the effect says of links decides whether segments behind its places are empty."""
        for place, node in zip(self.effect.places, self.where):
            if node == OUT or self.link_of(node)[0] != "seg":
                continue
            segment = self.link_of(node)[1]
            if place.link[0] in ("null", "at"):
                self.state.close(segment)
            elif place.link[0] == "elsewhere":
                if not self.may_lead(self.state.segments[segment][4], place.link):
                    self.state.segments[segment][2] = False

    def write(self):
        state, effect, ends = self.state, self.effect, []
        for place, node in zip(effect.places, self.where):
            if place.fresh:
                cls, mark, _ = to_all(place.look)
                face = (OUT, mark, False, False)
                state.nodes.append([cls, place.values, face, face])
                node = ("node", len(state.nodes) - 1)
            ends.append(node)

        def leads_to(said):
            if said[0] == "null":
                return NULL
            return ends[said[1]] if said[0] == "at" else OUT

        for place, node in zip(effect.places, ends):
            if place.fresh:
                state.set_face(node[1], link=leads_to(place.link))
        for number, said in effect.links.items():
            if ends[number] != OUT:
                state.set_face(ends[number][1], link=leads_to(said))
        for number, mark in effect.marks.items():
            node = ends[number]
            if node != OUT and (state.nodes[node[1]][3][1] != NOT) != mark:
                state.set_face(node[1], mark=MARKED if mark else NOT)
        for slot, told in effect.stores.items():
            state.shared[slot] = ("lock", "other") if told == ("lock", "mine") else plain(told)
        for slot, said in effect.moves.items():
            state.shared[slot] = leads_to(said)


# Inclusion.


class Matching:
    """Counterparts in a state for the nodes of a view."""

    def __init__(self, view, state):
        self.view, self.state = view, state
        self.image, self.taken, self.todo = {}, set(), []

    def copy(self):
        other = Matching(self.view, self.state)
        other.image, other.taken = dict(self.image), set(self.taken)
        other.todo = list(self.todo)
        return other

    def scalar(self, v, s):
        if v[0] == s[0] == "node":
            return self.pair(v[1], s[1])
        return plain(s) == v if v[0] == "int" else v == s

    def pair(self, v, s):
        if v in self.image:
            return self.image[v] == s
        a, b = self.view.nodes[v], self.state.nodes[s]
        fits = says_less(self.view.look(v), self.state.look(s)) and (not a[3][3] or b[3][3])
        if not fits or b[1] & ~a[1] or ("node", s) in self.taken:
            return False
        self.image[v] = s
        self.taken.add(("node", s))
        self.todo.append(v)
        return True

    def complete(self):
        while self.todo:
            node = self.todo.pop()
            link = self.view.nodes[node][3][0]
            here = self.state.nodes[self.image[node]][3][0]
            if link[0] != "seg":
                if link == OUT or (link == NULL and here != NULL):
                    return False
                if link[0] == "node" and not (here[0] == "node" and self.pair(link[1], here[1])):
                    return False
                continue
            segment = self.view.segments[link[1]]
            routes = self.routes(segment, here)
            if len(routes) == 1:
                if not self.take(routes[0], segment[4]):
                    return False
                continue
            for route in routes:
                other = self.copy()
                if other.take(route, segment[4]) and other.complete():
                    return True
            return False
        return True

    def take(self, route, to):
        passed, stop = route
        if any(item in self.taken for item in passed):
            return False
        self.taken.update(passed)
        return self.pair(to[1], stop[1]) if to[0] == stop[0] == "node" else to == stop

    def routes(self, segment, at):
        """How far the state can go within a segment of the view."""
        attributes, values, some, ordered, to = segment
        found, passed, floor = [], [], MINUS
        while True:
            if to == NULL:
                ends = at == NULL
            else:
                known = self.image.get(to[1]) if to[0] == "node" else None
                ends = at[0] == "node" and to[0] == "node"
                ends = ends and (at[1] == known if known is not None else at not in self.taken)
            if ends and some:
                found.append((list(passed), at))
            if at[0] not in ("node", "seg") or at in self.taken or at in passed:
                return found
            if at[0] == "node":
                bits, inside = bit(self.state.look(at[1])), self.state.nodes[at[1]][1]
                sure, in_order = True, True
            else:
                bits, inside, optional, in_order, _ = self.state.segments[at[1]]
                sure = not optional
            classes = [a[0] for a in members(bits)]
            low, high = min(classes), max(classes)
            if not set_covers(attributes, bits) or inside & ~values:
                return found
            if ordered and not (low >= floor and (in_order or low == high)):
                return found
            floor, some = high, some or sure
            passed.append(at)
            at = self.state.behind(at, NOW)


def covers(view, state):
    v, s = view.op, state.op
    if (v is None) != (s is None):
        return False
    if v:
        if place_of(view) != place_of(state) or (v.ghost.yes and not s.ghost.yes):
            return False
        if (v.ghost.no and not s.ghost.no) or v.ghost.firsts & ~s.ghost.firsts:
            return False
    pairs = list(zip(view.shared, state.shared))
    pairs += [(a, b) for a, b in zip(v.regs, s.regs) if a != UNKNOWN] if v else []
    matching = Matching(view, state)
    return all(matching.scalar(a, b) for a, b in pairs) and matching.complete()


def place_of(state):
    op = state.op
    return op and (op.pc, op.method, op.args, op.ghost.done, op.ghost.got)


def outline(state, spoken):
    """What a state has in common with every view that covers it: what its variables name."""
    named, found = [], []
    regs = [r for r, s in zip(state.op.regs, spoken) if s] if state.op else []
    for scalar in state.shared + regs:
        if scalar[0] == "node":
            if scalar not in named:
                named.append(scalar)
            found.append(named.index(scalar))
        else:
            found.append(plain(scalar))
    return tuple(found), tuple(state.nodes[n[1]][0] for n in named)


class Index:
    def __init__(self, views):
        self.at = {}
        for view, _ in views:
            spoken = tuple(r != UNKNOWN for r in view.op.regs) if view.op else ()
            group = self.at.setdefault(place_of(view), {}).setdefault(spoken, {})
            group.setdefault(outline(view, spoken), []).append(view)

    def covers(self, state, left=4_096):
        groups = self.at.get(place_of(state), {})
        for spoken, group in groups.items():
            if any(covers(view, state) for view in group.get(outline(state, spoken), [])):
                return True
        # Whether a segment that may be empty is: both cases must be covered.
        optional = state.first_optional(state.roots(), NOW)
        if optional is None or left <= 1:
            return False

        def case(choices):
            other = state.copy()
            other.decide(optional, choices)
            return self.covers(other, left // 2)

        return all(runs(case))


# The check.


class Check:
    def __init__(self, program, certificate):
        self.program, self.certificate = program, certificate
        self.content = certificate.content
        self.index = Index(certificate.views)

    def run(self):
        self.start()
        for view, line in self.certificate.views:
            try:
                self.own_steps(view)
                self.interference(view)
            except Rejected as why:
                raise Rejected(f"the view of line {line}: {why}") from None

    def start(self):
        program = self.program
        shared = [("lock", "free") if k.word == "lock" else NULL for k in program.shared]

        def begin(choices):
            state = State(list(shared), before=[])
            execution = Execution(program, state, choices)
            pc, ended, _ = execution.run(program.init, False)
            while ended == "rests":
                pc, ended, _ = execution.run(pc, True)
            need(ended == "returned", "the initialisation does not end", Rejected)
            state.settle()
            need(self.content.is_empty(program.spec, state), "it is not empty at the start", Rejected)
            need(self.index.covers(state), "no view describes the start", Rejected)

        for _ in runs(begin):
            pass

    def own_steps(self, view):
        if view.op:
            starts = [(view, view.op.pc, True)]
        else:
            starts = []
            for number, method in enumerate(self.program.methods):
                for args in method.calls():
                    state = view.copy()
                    regs = [NULL] * self.program.registers
                    regs[method.first : method.first + len(args)] = args
                    state.op = Operation(method.entry, number, args, Ghost(), regs)
                    starts.append((state, method.entry, False))
        for start in starts:
            todo, met = [start], set()
            while todo:
                state, pc, at_access = todo.pop()
                for again in runs(lambda choices: self.step(state, pc, at_access, choices)):
                    if again and (again[0].key(), again[1]) not in met:
                        met.add((again[0].key(), again[1]))
                        todo.append((again[0], again[1], False))
                need(len(met) < MOST_CASES, "a step with too many cases", Rejected)

    def step(self, state, pc, at_access, choices):
        """One run of a step; the state in which a loop inside of it goes round, if one does."""
        execution = Execution(self.program, state.copy(), choices)
        try:
            pc, ended, result = execution.run(pc, at_access)
        except Waits:
            return None
        state = execution.state
        state.op.regs = execution.regs
        if ended == "loops":
            return state, pc
        op = state.op
        execution.account(self.content, op)
        execution.observe(self.content, op, tells=True)
        if ended == "returned":
            execution.conclude(op, result)
        if is_visible(state):
            need(self.is_described(state), f"no effect describes the step at {pc}", Rejected)
        op.pc = pc
        if ended == "returned":
            state.retire()
        state.settle()
        need(self.index.covers(state), f"no view describes the thread at {pc}", Rejected)
        return None

    def is_described(self, state, left=4_096):
        if any(describes(effect, state) for effect, _ in self.certificate.effects):
            return True
        drawn = [("node", n) for n in range(len(state.nodes))]
        optional = state.first_optional(state.before + drawn, BEFORE)
        if optional is None or left <= 1:
            return False

        def case(choices):
            other = state.copy()
            other.decide(optional, choices)
            return self.is_described(other, left // 2)

        return all(runs(case))

    def interference(self, view):
        for effect, line in self.certificate.effects:
            if not can_fit(effect, view):
                continue

            def disturb(choices):
                try:
                    state = Fit(effect, view, choices).apply()
                except NoFit:
                    return
                if state.op:
                    execution = Execution(self.program, state, choices)
                    execution.tell_entry(self.content)
                    execution.observe(self.content, state.op)
                state.settle()
                described = covers(view, state) or self.index.covers(state)
                need(described, f"no view describes it after the effect of line {line}", Rejected)

            for _ in runs(disturb):
                pass


def verdict(program, path):
    """The verdict on one certificate, and the code with which to exit."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            certificate = Certificate(file.read(), program)
    except (OSError, UnicodeDecodeError, Unreadable) as error:
        return f"unreadable: {error}", 2
    try:
        Check(program, certificate).run()
    except (Rejected, RecursionError) as why:
        return f"rejected: {why}", 1
    views, effects = len(certificate.views), len(certificate.effects)
    return f"accepted: {program.name}, {views} views, {effects} effects", 0


def main(arguments):
    if len(arguments) < 3:
        print("usage: check_certificate.py STEPS CERTIFICATE...", file=sys.stderr)
        return 2
    try:
        with open(arguments[1], encoding="utf-8", newline="") as file:
            program = Program(file.read())
    except (OSError, UnicodeDecodeError, Unreadable, ValueError, IndexError) as error:
        print(f"unreadable: {error}")
        return 2
    worst = 0
    for path in arguments[2:]:
        told, code = verdict(program, path)
        print(told, flush=True)
        worst = max(worst, code)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv))
