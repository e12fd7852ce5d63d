"""What a wheel holds beside the package: the start-up hook and, unless editable, the tasks."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HOOK = "lm_microbench_autoload.pth"


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            build_data["force_include_editable"] = {HOOK: HOOK}
        else:
            build_data["force_include"] |= {HOOK: HOOK, "tasks": "lm_microbench/tasks"}
