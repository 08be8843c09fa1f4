"""``mswb cache``: one table of its sub-commands, each imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = {
    "list": ("mswb.cli.cache_list:list_", "All caches, data files and leftovers here, with size and status."),
    "info": ("mswb.cli.cache_list:info", "All that is known of one cache: load times, hits, source, holders."),
    "verify": ("mswb.cli.cache_verify:verify", "Read every record; say what is damaged, and at which byte."),
    "repair": ("mswb.cli.cache_verify:repair", "Save what is whole into new files; rebuild lost indexes."),
    "baseline": ("mswb.cli.cache_verify:baseline", "Record checksums of good files, to see later what has changed."),
    "clean": ("mswb.cli.cache_clean:clean", "Show what would go, ask, and move it to the trash."),
    "undo": ("mswb.cli.cache_clean:undo", "Bring back what was cleaned or replaced last."),
    "trash": ("mswb.cli.cache_clean:trash", "List or empty the trash."),
    "server": ("mswb.cli.cache_server:server", "MindSpore's dataset cache server: start, stop, sessions, leftovers."),
    "triage": ("mswb.cli.cache_triage:triage", "From an error text or a failed run to the guilty file and record."),
}
"""Where each sub-command's code is, and what ``--help`` says of it."""


class CacheGroup(click.Group):
    """A group that loads only the sub-command it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry[0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(cls=CacheGroup)
def cache() -> None:
    """See, verify, repair and clean what MindSpore trains from."""
