"""CEL: values, errors and types, compared with another implementation where possible."""

from typing import Any

import cel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment.embedded.crd.cel.compilation import RuleError, compile_expression
from uniteddeployment.embedded.crd.cel.declarations import DYN, Type, declared
from uniteddeployment.embedded.crd.cel.values import CelError
from uniteddeployment.embedded.crd.structural import parse

TEXT = {"type": "string"}
OBJECT = {
    "type": "object",
    "properties": {
        "a": TEXT,
        "n": {"type": "integer"},
        "d": {"type": "number"},
        "t": {"type": "string", "format": "date-time"},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
        "m": {"type": "object", "additionalProperties": {"type": "number"}},
        "namespace": TEXT,
        "x-y": TEXT,
        "ios": {"x-kubernetes-int-or-string": True},
    },
}


def typed(schema: dict[str, Any] | None) -> Type:
    created = declared(parse(schema)) if schema is not None else DYN
    assert created is not None
    return created


def value(source: str, self: Any = None, schema: dict[str, Any] | None = None) -> Any:
    return compile_expression(source, typed(schema)).evaluate(self, None)


@pytest.mark.parametrize(
    "source",
    [
        "1 + 2 * 3 - 4 / 2 % 3",
        "-7 / 2",
        "-7 % 3",
        "1.5 * 2.0 >= 3.0",
        "'a' + 'b' == 'ab'",
        "[1, 2] + [3]",
        "'x' in {'x': 1} && 2 in [1, 2]",
        "1 < 2 ? 'yes' : 'no'",
        "!(true && false) || false",
        "1 / 0 == 1 || true",
        "[1, 2, 3].all(x, x > 0) && ![1].exists(x, x > 1)",
        "[1, 2, 3].exists_one(x, x == 2)",
        "[1, 2, 3].filter(x, x > 1).map(x, x * x)",
        "[1, 2, 3].map(x, x > 1, x + 10)",
        "{'a': 1, 'b': 2}.all(k, k in ['a', 'b'])",
        "has({'a': 1}.a) && !has({'a': 1}.b)",
        "size('abc') + size([1]) + 'ab'.size()",
        "'hello'.startsWith('he') && 'hello'.endsWith('lo') && 'hello'.contains('ell')",
        "'abc'.matches('^[a-c]+$')",
        "type(1) == int && type('') == string && type([]) == list && type(null) == null_type",
        "int('12') + int(3.9)",
        "double(1) == 1.0",
        "string(12) + string(1.5)",
        "dyn(1) == 1.0",
        "{'a': [1, {'b': 2}]} == {'a': [1, {'b': 2}]}",
        "{'a': 1}['a'] + [7, 8][1]",
        r"'tab\t\x41\u00e4' == r'tab' + '\tAä'",
        "duration('90s') > duration('1m') && duration('1h') == duration('60m')",
        "timestamp('2024-02-29T12:00:00Z') + duration('24h') == timestamp('2024-03-01T12:00:00Z')",
        "timestamp('2024-02-29T12:34:56Z').getFullYear()",
        "timestamp('2024-02-29T12:34:56Z').getDayOfWeek()",
        "0x1F + 1",
        "1u + 2u == 3u",
        "optional.of(1).hasValue() && !optional.none().hasValue()",
    ],
)
def test_expressions_have_the_value_that_another_implementation_gives(source: str) -> None:
    assert value(source) == cel.evaluate(source)


@given(st.integers(-(2**31), 2**31), st.integers(-(2**31), 2**31).filter(bool))
def test_integer_division_rounds_to_zero_as_elsewhere(a: int, b: int) -> None:
    result = compile_expression("[self.a / self.b, self.a % self.b]", DYN).evaluate({"a": a, "b": b}, None)
    assert result == cel.evaluate("[a / b, a % b]", {"a": a, "b": b})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("self.?a.orValue('none')", "none"),
        ("self.?m.x.orValue(1.5)", 1.5),
        ("[?self.?a, 'z']", ["z"]),
        ("{?'k': self.?a}", {}),
        ("self.?n.optMap(n, n + 1).value()", 6),
        ("{'a': 1}.transformMap(k, v, v + 1)", {"a": 2}),
        ("[3, 4].transformList(i, v, i * v)", [0, 4]),
        ("{'a': 1}.all(k, v, k == 'a' && v == 1)", True),
        ("'%s has %d of %.1f'.format(['a', 5, 1.25])", "a has 5 of 1.2"),
        ("'a,b,c'.split(',', 2).join('|')", "a|b,c"),
        ("'tacocat'.substring(1, 4).upperAscii().replace('A', '-')", "-CO"),
        ("'hello'.indexOf('l') + 'hello'.lastIndexOf('l')", 5),
        ("' x '.trim().charAt(0)", "x"),
        ("'a1b22'.findAll('[0-9]+')", ["1", "22"]),
        ("[1, 3, 2].isSorted()", False),
        ("[1, 3, 2].sum() + [1, 3].max() + [4, 2].min()", 11),
        ("['a', 'b'].indexOf('b') + [1, 1].lastIndexOf(1)", 2),
        ("sets.equivalent([1, 2], [2, 1]) && sets.contains([1], [1]) && !sets.intersects([1], [2])", True),
        ("quantity('1Gi').isGreaterThan(quantity('1Mi'))", True),
        ("quantity('50k').add(20).asInteger()", 50020),
        ("isQuantity('a')", False),
        ("ip('10.0.0.1').family() == 4 && isIP('::1') && !isIP('1.2.3')", True),
        ("cidr('10.0.0.0/8').containsIP('10.1.1.1') && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", True),
        ("url('https://h:80/p?q=1').getHostname() + url('https://h:80/p').getPort()", "h80"),
        ("semver('1.2.3').isLessThan(semver('1.10.0'))", True),
        ("format.dns1123Label().validate('ok').hasValue()", False),
        ("size('äb')", 2),
    ],
)
def test_the_extensions_of_kubernetes(source: str, expected: Any) -> None:
    assert value(source, {"n": 5}, OBJECT) == expected


@pytest.mark.parametrize(
    ("source", "self", "expected"),
    [
        ("self.d + 1.0", {"d": 2}, 3.0),
        ("self.m.all(k, v, v > 1.0)", {"m": {"a": 2}}, True),
        ("self.t < timestamp('2030-01-01T00:00:00Z')", {"t": "2020-01-01T00:00:00Z"}, True),
        ("self.set == ['b', 'a']", {"set": ["a", "b"]}, True),
        ("self.set + ['b', 'c']", {"set": ["a", "b"]}, ["a", "b", "c"]),
        ("self.__namespace__ + self.x__dash__y", {"namespace": "a", "x-y": "b"}, "ab"),
        ("type(self.ios) == int ? self.ios > 1 : self.ios.endsWith('%')", {"ios": "5%"}, True),
        ("type(self.ios) == int ? self.ios > 1 : self.ios.endsWith('%')", {"ios": 0}, False),
        ("self.n < 1.5", {"n": 1}, True),
    ],
)
def test_values_have_the_types_that_the_schema_declares(source: str, self: Any, expected: Any) -> None:
    assert value(source, self, OBJECT) == expected


@pytest.mark.parametrize(
    ("source", "self", "error"),
    [
        ("self.a.size() > 0", {}, "no such key: a"),
        ("self.ios > 5", {"ios": "5%"}, "no such overload"),
        ("[1][self.n] == 1", {"n": 3}, "index out of bounds: 3"),
        ("1 / self.n == 1", {"n": 0}, "division by zero"),
        ("1 % self.n == 1", {"n": 0}, "modulus by zero"),
        ("9223372036854775807 + self.n == 0", {"n": 1}, "integer overflow"),
        ("self.?a.value() == ''", {}, "optional.none() dereference"),
        ("quantity(self.a).isInteger()", {"a": "x"}, "quantities must match the regular expression"),
        ("has(self.a) && self.a.size() == 1 / self.n", {"a": "", "n": 0}, "division by zero"),
    ],
)
def test_errors_of_evaluation(source: str, self: Any, error: str) -> None:
    with pytest.raises(CelError) as result:
        value(source, self, OBJECT)
    assert str(result.value).startswith(error)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("self.foo > 1", "1:5: undefined field 'foo'"),
        ("has(self.foo)", "1:9: undefined field 'foo'"),
        ("nope == 1", "1:1: undeclared reference to 'nope' (in container '')"),
        ("nosuch(1)", "1:7: undeclared reference to 'nosuch' (in container '')"),
        ("self.n > 'a'", "1:8: found no matching overload for '_>_' applied to '(int, string)'"),
        ("self.n == 1.0", "1:8: found no matching overload for '_==_' applied to '(int, double)'"),
        ("self.a.startsWith(1)", "1:18: found no matching overload for 'startsWith' applied to 'string.(int)'"),
        ("self.n && true", "1:8: found no matching overload for '_&&_' applied to '(int)'"),
        ("self.a ==", "1:10: Syntax error: mismatched input '<EOF>'"),
        ("(1 + 2", "1:7: Syntax error: mismatched input '<EOF>' expecting ')'"),
        ("self.n.all(x, x > 1)", "1:5: expression of type 'int' cannot be range of a comprehension"),
    ],
)
def test_errors_of_compilation_say_where(source: str, error: str) -> None:
    """Errors have the path of the field (I11)."""
    with pytest.raises(RuleError) as result:
        value(source, {}, OBJECT)
    assert str(result.value).startswith(f"compilation failed: ERROR: <input>:{error}")


def test_the_place_of_an_error_is_pointed_at_in_its_line() -> None:
    with pytest.raises(RuleError) as result:
        value("self.n > 1 &&\n  self.foo", {}, OBJECT)
    assert str(result.value).endswith("undefined field 'foo'\n |   self.foo\n | ......^")
