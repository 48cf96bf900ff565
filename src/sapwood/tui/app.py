"""The application: themes, keys, and the conversation on top of them."""

from textual.app import App

from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.core.ids import AgentId
from sapwood.tui.conversation import Conversation
from sapwood.tui.desk import Desk
from sapwood.tui.themes import DARK, THEMES

__all__ = ["SapwoodApp"]


class SapwoodApp(App[None]):
    """Sapwood on the whole screen."""

    TITLE = "sapwood"

    def __init__(
        self,
        connection: Connection,
        config: Config,
        keys: dict[str, str],
        folder: str,
        agent: AgentId | None = None,
    ) -> None:
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = DARK
        self.desk = Desk(connection, config, keys, folder)
        self.desk.agent = agent
        self.conversation = Conversation(self.desk)

    async def on_mount(self) -> None:
        """Opens the conversation."""
        self.desk.front = self.conversation
        await self.push_screen(self.conversation)
