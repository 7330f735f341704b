"""What becomes of independent tasks of a plan that change the same lines."""

from pathlib import Path

from hornbook import Workspace
from hornbook.loop.engine.plan_engine import PlanEngine
from tests.kit.git import git, start
from tests.kit.tax_plan import FILES, PLAN

BOTH = """\
1. Triple the price
   - Files: `shop/price.py`
   - Criteria: price is three times
2. Quadruple the price
   - Files: `shop/price.py`
   - Criteria: price is four times

## Constraints
"""
SCRIPT = """\
developer:
  - task: "1"
    do: [{write: {path: shop/price.py, text: "def price(n):\\n    return n * 3\\n"}}]
  - task: "2"
    do: [{write: {path: shop/price.py, text: "def price(n):\\n    return n * 4\\n"}}]
"""


def test_later_work_that_conflicts_stays_off_the_branch_and_a_person_is_asked(
    tmp_path: Path,
) -> None:
    start(tmp_path, FILES)
    (tmp_path / ".hornbook/scripted.yaml").write_text(SCRIPT)
    plan = PLAN.partition("1. Add")[0] + BOTH + PLAN.partition("## Constraints\n")[2]
    with Workspace.open(tmp_path) as work:
        work.ingest()
        work.plan_book().commit("Add tax", plan)
        work.plan_book().tasks("add-tax")
        ended = PlanEngine(work).execute("add-tax", agent="scripted")
    (asking,) = ended.asking
    (done,) = [each.run for each in ended.runs if each.run.status == "approved"]
    assert "both change shop/price.py" in asking.message
    kept = {"add-tax-t1-1": "n * 3", "add-tax-t2-1": "n * 4"}[done.run]
    assert kept in git(tmp_path, "show", "hornbook/add-tax:shop/price.py")
