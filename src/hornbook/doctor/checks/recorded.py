"""What recorded reviews say about rules: some are never answered, some always violated."""

from collections import Counter
from collections.abc import Iterator

from hornbook.doctor.finding import Finding, NotJudged
from hornbook.doctor.rule_set import RuleSet
from hornbook.review.review_history import bad_records, of_canaries, read_records
from hornbook.settings.places import Places

FEWEST_REVIEWS = 5
FEWEST_ANSWERS = 3


def from_records(rules: RuleSet, places: Places) -> Iterator[Finding | NotJudged]:
    """The findings that follow from the records; too few of them say nothing."""
    records = read_records(places)
    aside = {each.id for each in bad_records(records)} | set(of_canaries(records))
    believed = [record for name, record in records.items() if record and name not in aside]
    if not believed:
        for code in ("never_cited", "always_violated"):
            yield NotJudged(code, "There are no recorded reviews.")
        return
    answers: dict[str, Counter[str]] = {}
    for record in believed:
        listed = record.get("rules")
        for rule in listed if isinstance(listed, list) else ():
            answers.setdefault(str(rule.get("id")), Counter()).update(
                map(str, rule.get("statuses", ()))
            )
    if len(believed) < FEWEST_REVIEWS:
        reason = f"There are {len(believed)} recorded reviews, too few to tell ({FEWEST_REVIEWS})."
        yield NotJudged("never_cited", reason)
    yield from _findings(rules, answers, len(believed))


def _findings(rules: RuleSet, answers: dict[str, Counter[str]], reviews: int) -> Iterator[Finding]:
    answered = {rule.entry.text_and_place for rule in rules.rules if answers.get(rule.id)}
    for rule in rules.rules:
        counted = answers.get(rule.id, Counter())
        violated, judged = counted["violated"], counted["violated"] + counted["passed"]
        if violated >= FEWEST_ANSWERS and violated == judged:
            message = f"All {violated} recorded reviews that judged the rule say it is violated."
            remedy = "Correct the code, or the rule if nobody means to follow it."
            yield Finding("always_violated", rule.path, None, rule.id, message, remedy)
        elif (
            rule.entry.text_and_place not in answered
            and reviews >= FEWEST_REVIEWS
            and rule.entry.activation.enforced
        ):
            message = f"None of the {reviews} recorded reviews answers the rule."
            remedy = "Check with `hornbook why FILE` whether it binds what it is meant for."
            yield Finding("never_cited", rule.path, None, rule.id, message, remedy)
