"""Tells the engine, without loading it, that a run may go on."""

from hornbook.execute.engine.runs import Runs
from hornbook.execute.engine.tables import FILE, connect, database_url
from hornbook.workspace.places import Places
from hornbook.workspace.settings import Settings


def wake(places: Places, settings: Settings, run_id: str) -> bool:
    """Have a living worker go on with a run that was answered; False if the engine has none such.

    Where nobody works, `resume` and `execute` go on with it.
    """
    database = settings.engine.database
    if not database and not (places.state / FILE).exists():
        return False
    engine = connect(database_url(places.state, database))
    try:
        return Runs(engine).answered(run_id)
    finally:
        engine.dispose()
