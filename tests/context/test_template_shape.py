"""The XML Schema for editors and the loader's table say the same; the shipped templates are valid."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbook.context.templates.context_settings import SUBTYPES, Operator, effective
from hornbook.context.templates.roles import SHIPPED, shipped_templates
from hornbook.context.templates.template import (
    CHILD_TASKS,
    NAME_PATTERN,
    SHAPES,
    Attribute,
    Shape,
    TextShape,
    load_template,
)
from tests.kit.paths import PACKAGE

FOLDER = PACKAGE / "context" / "templates"
FILES = sorted(FOLDER.rglob("*.xml"))
XS = "{http://www.w3.org/2001/XMLSchema}"
SCHEMA = ET.parse(FOLDER / "task.xsd").getroot()
TYPES = {
    each.get("name"): each
    for tag in ("complexType", "simpleType")
    for each in SCHEMA.iter(XS + tag)
}


# The schema, read independently of the loader


def enumerated(name: str | None) -> tuple[str, ...]:
    return tuple(each.get("value", "") for each in TYPES[name].iter(f"{XS}enumeration"))


def text_of(name: str | None) -> TextShape:
    if name == "xs:string":
        return TextShape.OPTIONAL
    extension = TYPES[name].find(f"{XS}simpleContent/{XS}extension")
    if extension is not None:
        return text_of(extension.get("base"))
    return TextShape.NONE if TYPES[name].tag == f"{XS}complexType" else TextShape.REQUIRED


def shape_of(name: str | None) -> Shape:
    declared = list(TYPES[name].iter(f"{XS}element"))
    return Shape(
        children=tuple(each.get("name", "") for each in declared),
        required=tuple(
            each.get("name", "") for each in declared if each.get("minOccurs", "1") == "1"
        ),
        repeated=any(each.get("maxOccurs") == "unbounded" for each in declared),
        attributes={
            each.get("name", ""): Attribute(
                required=each.get("use") == "required", values=enumerated(each.get("type"))
            )
            for each in TYPES[name].iter(f"{XS}attribute")
        },
        text=text_of(name),
        values=enumerated(name),
    )


def test_the_schema_and_the_loader_say_the_same() -> None:
    declared = [(each.get("name", ""), each.get("type")) for each in SCHEMA.iter(f"{XS}element")]
    assert {name: shape_of(kind) for name, kind in declared} == dict(SHAPES)
    assert len(set(declared)) == len(SHAPES), "an element has two types"
    assert [each.get("name") for each in SCHEMA.findall(f"{XS}element")] == ["task"]


def test_the_schema_has_the_loaders_names_and_lengths() -> None:
    assert [each.get("value") for each in SCHEMA.iter(f"{XS}pattern")] == [NAME_PATTERN]
    (length,) = TYPES["text"].iter(f"{XS}minLength")
    assert length.get("value") == "1"
    bases = {each.get("base") for each in SCHEMA.iter(f"{XS}restriction")}
    assert bases == {"xs:token"}, "whitespace around values must not count"
    unique = {each.get("xpath") for each in SCHEMA.iter(f"{XS}selector")}
    repeated = {shape.children[0] for shape in SHAPES.values() if shape.repeated}
    assert unique == {name for name in repeated if "name" in SHAPES[name].attributes}


def test_the_table_knows_every_type_and_its_children() -> None:
    assert CHILD_TASKS.keys() == SUBTYPES.keys()
    for names in CHILD_TASKS.values():
        assert set(names) <= set(SHAPES["task"].children)


def follows_schema(element: ET.Element, kind: str) -> bool:
    """Whether an element is as its type in the schema demands."""
    shape = shape_of(kind)
    text = "".join([element.text or "", *(child.tail or "" for child in element)]).strip(" \t\r\n")
    names = [child.tag for child in element]
    kinds = {each.get("name"): each.get("type", "") for each in TYPES[kind].iter(f"{XS}element")}
    keys = [child.get("name") for child in element if child.get("name") is not None]
    return (
        set(element.attrib) <= set(shape.attributes)
        and all(name in element.attrib for name, each in shape.attributes.items() if each.required)
        and all(allowed(value, shape.attributes[name]) for name, value in element.attrib.items())
        and (
            not text
            if shape.text is TextShape.NONE
            else bool(text) or shape.text is TextShape.OPTIONAL
        )
        and (not shape.values or text in shape.values)
        and set(shape.required) <= set(names) <= set(shape.children)
        and (len(set(keys)) == len(keys) if shape.repeated else len(set(names)) == len(names))
        and all(follows_schema(child, kinds[child.tag]) for child in element)
    )


def allowed(value: str, attribute: Attribute) -> bool:
    stripped = value.strip()
    return stripped in attribute.values or (
        not attribute.values and re.fullmatch(NAME_PATTERN, stripped) is not None
    )


NAMES = [*SHAPES, "stepz"]
WORDS = ["full", "none", "true", "false", "notes_only", "enabled", "", " ", "word"]
TYPE_NAMES = [*SUBTYPES, "loop"]


@st.composite
def trees(draw: st.DrawFn, name: str = "task", depth: int = 4) -> ET.Element:
    """Mostly valid templates: now and then a child, an attribute or a text that is not."""
    shape = SHAPES.get(name, Shape())
    element = ET.Element(name)
    slip = st.integers(0, 30).map(lambda number: number == 0)
    for key, attribute in shape.attributes.items():
        if attribute.required != draw(slip):
            element.set(key, draw(st.sampled_from([*attribute.values, "n", "m"])))
    if (shape.text is not TextShape.NONE) != draw(slip):
        element.text = draw(st.sampled_from([*shape.values, "word"] if draw(slip) else WORDS))
        if shape.values and not draw(slip):
            element.text = draw(st.sampled_from(shape.values))
    wanted = [child for child in shape.required if not draw(slip)]
    if depth and shape.children:
        more = st.lists(st.sampled_from(shape.children), max_size=2, unique=not shape.repeated)
        wanted += [child for child in draw(more) if shape.repeated or child not in wanted]
    if draw(slip):
        wanted.append(draw(st.sampled_from(NAMES)))
    element.extend([draw(trees(child, max(depth - 1, 0))) for child in wanted])
    return element


def beyond_the_schema(code: str) -> bool:
    """Whether a code is about two values at once, which XSD 1.0 cannot say."""
    kind, _, name = code.partition(":")
    child_tasks = {child for names in CHILD_TASKS.values() for child in names}
    return (
        kind in {"exclusive", "not_applicable"}
        or (kind == "unknown_operator" and name.partition(".")[0] in SUBTYPES)
        or (kind == "unknown_element" and name in child_tasks)
    )


@given(trees())
@settings(max_examples=300, deadline=None)
def test_loader_and_schema_judge_alike(tree: ET.Element) -> None:
    told = [error.code for error in load_template(ET.tostring(tree)).errors]
    if follows_schema(tree, "task"):
        assert [code for code in told if not beyond_the_schema(code)] == []
    else:
        assert told


# What is shipped


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_shipped_template_is_valid_without_a_warning(file: Path) -> None:
    loaded = load_template(file.read_bytes())
    assert (loaded.errors, loaded.warnings) == ((), ())
    assert follows_schema(ET.parse(file).getroot(), "task")


def test_the_shipped_operators_keep_developer_and_reviewer_apart() -> None:
    assert {name: shipped_templates()[name].template.operator for name in SHIPPED} == {
        "loop": Operator.SEQUENTIAL,
        "developer": Operator.ATOMIC,
        "gates": Operator.SCRIPT,
        "reviewer": Operator.SUBTASK,
        "decomposition": Operator.REDUCE,
    }
    assert {file.stem for file in FOLDER.glob("*.xml")} == set(SHIPPED)
    for name in SHIPPED:
        template = shipped_templates()[name].template
        for _, task in (("", template), *template.descendants()):
            assert task.settings == effective(task.operator, {}).effective


def test_the_steps_of_the_loop_are_the_templates_of_their_roles() -> None:
    steps = shipped_templates()["loop"].template.children
    assert [step.role for step in steps] == ["developer", "gates", "reviewer"]
    for step in steps:
        template = shipped_templates()[str(step.role)].template
        assert (step.role, step.operator, step.settings, step.description) == (
            template.role,
            template.operator,
            template.settings,
            template.description,
        )


def test_the_developer_is_not_told_the_rules() -> None:
    developer = shipped_templates()["developer"].template
    assert [each.name for each in developer.inputs] == [
        "plan",
        "task",
        "criteria",
        "constraints",
        "gates",
        "feedback",
    ]
    told = " ".join(part.text for part in developer.prompt).lower()
    assert not re.search(r"\b(sops?|rules?|rubric|review(er)?)\b", told)


def test_each_example_overrides_something() -> None:
    examples = sorted(FOLDER.glob("examples/*.xml"))
    assert len(examples) == 4
    for file in examples:
        template = load_template(file.read_bytes()).template
        assert template is not None
        assert template.settings != effective(template.operator, {}).effective
