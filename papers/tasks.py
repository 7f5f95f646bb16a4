"""Nine byte-level reasoning tasks ("Q-Jamba", Table 3) and `copy`.

Each generator draws a prompt and its answer. The paper gives one example of each task and does not
publish its corpus; the generators follow the examples. `copy` is not in the paper: it tests
retrieval alone, at every byte of the answer, and is learned in few steps. Lines are written
"prompt=answer" in ASCII.
"""

from collections.abc import Callable
from itertools import pairwise
from random import Random

Task = Callable[[Random], tuple[str, str]]

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
COMPASS = {"N": (0, 1), "S": (0, -1), "E": (1, 0), "W": (-1, 0)}


def brackets(random: Random) -> tuple[str, str]:
    """((())) -> 3: how deep balanced brackets nest."""
    pairs = random.randint(2, 8)
    text = ""
    depth = 0
    deepest = 0
    opened = 0
    while opened < pairs or depth:
        if opened < pairs and (not depth or random.random() < 0.6):
            text += "("
            depth += 1
            opened += 1
        else:
            text += ")"
            depth -= 1
        deepest = max(deepest, depth)
    return text, str(deepest)


def variables(random: Random) -> tuple[str, str]:
    """x=5;y=x+3;y? -> 8."""
    first, second = random.sample("abcdefghxyz", 2)
    start = random.randint(0, 20)
    step = random.randint(1, 9)
    sign = random.choice("+-")
    value = start + step if sign == "+" else start - step
    return f"{first}={start};{second}={first}{sign}{step};{second}?", str(value)


def logic(random: Random) -> tuple[str, str]:
    """A AND B;A=T,B=F -> F."""
    a = random.random() < 0.5
    b = random.random() < 0.5
    word, value = random.choice([("AND", a and b), ("OR", a or b), ("XOR", a != b)])
    return f"A {word} B;A={_truth(a)},B={_truth(b)}", _truth(value)


def arithmetic(random: Random) -> tuple[str, str]:
    """347+285 -> 632."""
    a = random.randint(0, 999)
    b = random.randint(0, 999)
    return f"{a}+{b}", str(a + b)


def patterns(random: Random) -> tuple[str, str]:
    """ABCABCAB -> C: what continues a period of two to five letters."""
    period = random.sample(LETTERS, random.randint(2, 5))
    length = len(period)
    shown = length + random.randint(length, 3 * length)
    text = "".join(period) * 4
    return text[:shown], period[shown % length]


def relations(random: Random) -> tuple[str, str]:
    """A>B,B>C;A?C -> >: three or four letters in order, two of them asked for."""
    names = random.sample(LETTERS, random.randint(3, 4))
    facts = list(map(">".join, pairwise(names)))
    random.shuffle(facts)
    i, j = random.sample(range(len(names)), 2)
    return f"{','.join(facts)};{names[i]}?{names[j]}", ">" if i < j else "<"


def spatial(random: Random) -> tuple[str, str]:
    """go N,go E -> NE: direction from start to end after two to four steps; 0 if they are equal."""
    steps = random.choices("NSEW", k=random.randint(2, 4))
    x = 0
    y = 0
    for step in steps:
        east, north = COMPASS[step]
        x += east
        y += north
    latitude = "N" if y > 0 else "S" if y < 0 else ""
    longitude = "E" if x > 0 else "W" if x < 0 else ""
    return ",".join(map("go {}".format, steps)), latitude + longitude or "0"


def transitivity(random: Random) -> tuple[str, str]:
    """A->B,B->C;A-> gives C: the end of a chain of two or three links, given in any order."""
    names = random.sample(LETTERS, random.randint(3, 4))
    links = list(map("->".join, pairwise(names)))
    random.shuffle(links)
    return f"{','.join(links)};{names[0]}->", names[-1]


def inverse(random: Random) -> tuple[str, str]:
    """f(x)=2x+1;f-1(7) -> 3."""
    slope = random.randint(1, 9)
    offset = random.randint(0, 9)
    x = random.randint(0, 9)
    return f"f(x)={slope}x+{offset};f-1({slope * x + offset})", str(x)


def copy(random: Random) -> tuple[str, str]:
    """KQXBDKRWAM -> KQXBDKRWAM: ten letters, repeated."""
    text = "".join(random.choices(LETTERS, k=10))
    return text, text


def _truth(value: bool) -> str:
    return "T" if value else "F"


TABLE_3 = (
    brackets,
    variables,
    logic,
    arithmetic,
    patterns,
    relations,
    spatial,
    transitivity,
    inverse,
)
TASKS: dict[str, Task] = {task.__name__: task for task in (*TABLE_3, copy)}
