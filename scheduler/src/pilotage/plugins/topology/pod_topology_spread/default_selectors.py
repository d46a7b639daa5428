"""The default selectors of spread constraints: pods of the same services and controller."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from pilotage.framework.api.objects import Objects
from pilotage.framework.api.spreading import with_labels
from pilotage.kinds.workloads import (
    ExactSelectorSpec,
    LabelSelectorSpec,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from pilotage.model.excess import selector_size
from pilotage.model.limits import MOST_POD_CONDITIONS
from pilotage.model.metadata import OwnerReference
from pilotage.model.pod import Pod
from pilotage.model.selectors import (
    EVERYTHING,
    InvalidSelector,
    LabelMatcher,
    Labels,
    compile_label_selector,
    compile_labels,
)

Label = tuple[str, str]
Controller = type[ReplicationController] | type[ReplicaSet] | type[StatefulSet]
ControllerSpec = ExactSelectorSpec | LabelSelectorSpec
Question = tuple[str, OwnerReference | None, tuple[Label, ...]]

CONTROLLERS: dict[tuple[str, str], Controller] = {
    ("v1", "ReplicationController"): ReplicationController,
    ("apps/v1", "ReplicaSet"): ReplicaSet,
    ("apps/v1", "StatefulSet"): StatefulSet,
}
SOURCES = (Service, ReplicationController, ReplicaSet, StatefulSet)
MOST_ANSWERS = 2048  # pods with unique labels need theirs only once


class ServiceIndex:
    """The services of one namespace, indexed by their labels."""

    __slots__ = ("_by_label",)

    def __init__(self, services: Iterable[Service]) -> None:
        # An absent selector matches no pod; an empty one matches every pod, but adds no requirement.
        selectors = [service.spec.selector for service in services if service.spec.selector]
        uses = Counter(label for selector in selectors for label in selector.items())
        self._by_label: dict[Label, list[dict[str, str]]] = {}
        for selector in selectors:
            rarest = min(selector.items(), key=lambda label: uses[label])
            self._by_label.setdefault(rarest, []).append(selector)

    def selected(self, labels: Labels) -> dict[str, str]:
        """Return the union of the selectors of services that select a pod with these labels."""
        found: dict[str, str] = {}
        for label in labels.items():
            for selector in self._by_label.get(label, ()):
                if selector.items() <= labels.items():
                    found |= selector
        return found


class Answer(NamedTuple):
    """A selector, and the controller's part of it at that time."""

    controller: ControllerSpec | None
    selector: LabelMatcher


class DefaultSelectors:
    """Determines the default selectors of pods, and caches them while services and controllers do not change."""

    __slots__ = ("_answers", "_indexes", "_objects", "_version")

    def __init__(self) -> None:
        self._objects: Objects | None = None
        self._version = -1
        self._indexes: dict[str, ServiceIndex] = {}
        self._answers: dict[Question, Answer] = {}

    def of(self, objects: Objects, pod: Pod) -> LabelMatcher:
        """Return the selector of a pod's services and controller; empty if it has neither."""
        self._forget_the_past(objects)
        owner = pod.metadata.controller
        controller = None if owner is None else _controller_spec(objects, owner, pod.namespace)
        question = pod.namespace, owner, tuple(pod.labels.items())
        answer = self._answers.get(question)
        # The status of controllers changes all the time, so the spec is compared instead of a version.
        if answer is None or answer.controller != controller:
            selected = self._index(objects, pod.namespace).selected(pod.labels)
            answer = self._answers[question] = Answer(controller, _selector(selected, controller))
        return answer.selector

    def _index(self, objects: Objects, namespace: str) -> ServiceIndex:
        index = self._indexes.get(namespace)
        if index is None:
            index = self._indexes[namespace] = ServiceIndex(objects.all(Service, namespace))
        return index

    def _forget_the_past(self, objects: Objects) -> None:
        version = objects.version(Service)
        if objects is not self._objects or version != self._version:
            self._objects, self._version = objects, version
            self._indexes.clear()
            self._answers.clear()
        elif len(self._answers) > MOST_ANSWERS:
            self._answers.clear()


def _controller_spec(objects: Objects, owner: OwnerReference, namespace: str) -> ControllerSpec | None:
    kind = CONTROLLERS.get((owner.api_version, owner.kind))
    found = None if kind is None else objects.get(kind, owner.name, namespace)
    return None if found is None else found.spec


def _selector(selected: Labels, controller: ControllerSpec | None) -> LabelMatcher:
    if controller is None or controller.selector is None:
        return compile_labels(selected)
    if _size(controller) > MOST_POD_CONDITIONS:
        return EVERYTHING  # longer selectors are too expensive to evaluate for every pod of the namespace
    if isinstance(controller, ExactSelectorSpec):
        return compile_labels({**selected, **controller.selector})
    try:
        return with_labels(compile_label_selector(controller.selector), selected)
    except InvalidSelector:
        return compile_labels(selected)


def _size(controller: ControllerSpec) -> int:
    if isinstance(controller, ExactSelectorSpec):
        return len(controller.selector or ())
    return selector_size(controller.selector)
