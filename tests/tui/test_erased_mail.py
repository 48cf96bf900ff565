"""A screen that shows a receiver of mail draws it anew when the sender is erased elsewhere."""

from sapwood.api import Sapwood
from sapwood.app.connection import connect
from tests.tui.stage import on_stage, until


async def test_erased_mail_leaves_the_screen() -> None:
    connection = await connect(":memory:")
    db = Sapwood(connection)
    sender, receiver = await db.start("sender"), await db.start("receiver")
    await sender.run_command(f"/send {receiver.id} The heron nests in the reeds.")
    async with on_stage(receiver.id, connection=connection) as stage:
        await stage.sees("heron nests")
        await sender.erase()
        await stage.sees("was erased")
        await until(lambda: "heron" not in stage.screen(), shown=stage.screen)
        assert "[erased]" in stage.screen()
    await connection.close()
