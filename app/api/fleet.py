"""Presets, nodes and toolchains over REST."""

from __future__ import annotations

from fastapi import APIRouter

from app.api.bodies import PageBody, PresetBody, ToolchainBody
from app.http.access import CanRead
from app.http.checked_route import CheckedRoute
from app.http.problems import problem_responses
from app.http.state import BrokerDep, SessionDep, SettingsDep
from app.runs.rows.nodes import NodeSummary, list_nodes, list_nodes_and_figures
from app.runs.rows.presets import known_presets

router = APIRouter(tags=["fleet"], route_class=CheckedRoute)


@router.get("/presets", operation_id="list_presets", responses=problem_responses(401))
def get_presets(settings: SettingsDep, _may: CanRead) -> PageBody[PresetBody]:
    """The presets: the built-in ones first, then those of the operator."""
    return PageBody(items=[PresetBody.of(preset) for preset in known_presets(settings).values()])


@router.get("/nodes", operation_id="list_nodes", responses=problem_responses(401))
def get_nodes(session: SessionDep, broker: BrokerDep, _may: CanRead) -> PageBody[NodeSummary]:
    """The nodes, which are the machines that run scripts."""
    return PageBody(items=list_nodes_and_figures(session, broker))


@router.get("/toolchains", operation_id="list_toolchains", responses=problem_responses(401))
def get_toolchains(session: SessionDep, broker: BrokerDep, _may: CanRead) -> PageBody[ToolchainBody]:
    """The toolchains of all nodes."""
    toolchains: dict[str, ToolchainBody] = {}
    for node in list_nodes(session, broker):
        for facts in node.toolchains:
            toolchain = toolchains.setdefault(
                facts.name, ToolchainBody(name=facts.name, nodes=[], facts=facts)
            )
            toolchain.nodes.append(node.name)
    return PageBody(items=[toolchains[name] for name in sorted(toolchains)])
