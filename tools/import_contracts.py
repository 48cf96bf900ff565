"""A kind of import contract: the exact list of modules that a distribution uses of another one.

It fails if the distribution imports a module that is not listed, and if a listed one is no longer
imported. So a plug-in cannot come to need more of Sapwood without a change of the list.
"""

from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class UsedModules(Contract):
    """The modules of `root` that modules of `package` import are those in `used`."""

    package: Any = fields.StringField()
    root: Any = fields.StringField()
    used: Any = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Compares the list with the imports."""
        inside = {self.package, *graph.find_descendants(self.package)}
        found = {
            (imported, importer)
            for importer in inside
            for imported in graph.find_modules_directly_imported_by(importer)
            if imported == self.root or imported.startswith(f"{self.root}.")
        }
        unlisted = sorted((one, by) for one, by in found if one not in self.used)
        unused = sorted(set(self.used) - {one for one, _ in found})
        return ContractCheck(
            kept=not unlisted and not unused, metadata={"unlisted": unlisted, "unused": unused}
        )

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Prints what is not listed, and what is listed in vain."""
        for imported, importer in check.metadata["unlisted"]:
            output.print_error(f"{importer} imports {imported}, which is not listed.", bold=False)
        for name in check.metadata["unused"]:
            output.print_error(f"{name} is listed and not imported.", bold=False)
