"""The certificate inside a schedule file: bounds, claims and refutations, as they stand in `twill.schedule`."""

from __future__ import annotations

from twill.frontends.graph_json.document import Item
from twill.schedule import Bound, Certificate, Claim, Probe, Refutation

STATUSES = ("optimal", "feasible", "infeasible", "unknown")
READINGS = ("steady state", "published")
OBJECTIVES = ("ii", "length", "crossing_bytes", "groups", "warps", "edges", "registers", "lifetime", "canonical")
# Bytes that cross and lengths of far-apart ops may exceed a single cost.
_MAX_TOTAL = 2**53 - 1


def certificate_from_item(item: Item) -> Certificate:
    """The certificate; BadInput where it does not follow the format."""
    fields = item.fields("status", "bounds", "modulo", "claims", "refuted", "engines", "checked", "reason", "reading", "probes")
    modulo = fields.required("modulo").fields("ii", "length") if "modulo" in fields else None
    return Certificate(
        status=fields.required("status").choice(*STATUSES),
        bounds=tuple(_bound(entry) for entry in fields.array("bounds")),
        modulo=None if modulo is None else (_total(modulo.required("ii")), _total(modulo.required("length"))),
        claims=tuple(_claim(entry) for entry in fields.array("claims")),
        refuted=tuple(_refutation(entry) for entry in fields.array("refuted")),
        engines=fields.texts("engines"),
        checked=fields.boolean("checked"),
        reason=fields.text("reason"),
        reading=fields.required("reading").choice(*READINGS) if "reading" in fields else READINGS[0],
        probes=tuple(_probe(entry) for entry in fields.array("probes")),
    )


def _total(item: Item) -> int:
    return item.integer(0, _MAX_TOTAL)


def _bound(item: Item) -> Bound:
    fields = item.fields("kind", "value", "subject", "ops", "detail")
    return Bound(
        kind=fields.required("kind").name(),
        value=_total(fields.required("value")),
        subject=fields.text("subject"),
        ops=fields.texts("ops"),
        detail=fields.text("detail"),
    )


def _claim(item: Item) -> Claim:
    fields = item.fields("objective", "value", "lower_bound", "proved", "evidence")
    value = fields.required("value")
    return Claim(
        objective=fields.required("objective").choice(*OBJECTIVES),
        value=None if value.value is None else _total(value),
        lower_bound=_total(fields.required("lower_bound")),
        proved=fields.required("proved").boolean(),
        evidence=fields.text("evidence"),
    )


def _refutation(item: Item) -> Refutation:
    fields = item.fields("ii", "length", "through", "detail")
    length = fields.required("length")
    return Refutation(
        ii=_total(fields.required("ii")),
        length=None if length.value is None else _total(length),
        through=fields.required("through").text(),
        detail=fields.text("detail"),
    )


def _probe(item: Item) -> Probe:
    fields = item.fields("ii", "length", "verdict", "how")
    return Probe(
        ii=_total(fields.required("ii")),
        length=_total(fields.required("length")),
        verdict=fields.required("verdict").choice("sat", "unsat"),
        how=fields.required("how").choice("asked", "implied"),
    )


def certificate_to_dict(certificate: Certificate) -> dict[str, object]:
    """The certificate as JSON values, fields in a fixed order."""
    document: dict[str, object] = {"status": certificate.status, "checked": certificate.checked}
    if certificate.reading != READINGS[0]:
        document["reading"] = certificate.reading
    if certificate.reason:
        document["reason"] = certificate.reason
    if certificate.modulo is not None:
        document["modulo"] = {"ii": certificate.modulo[0], "length": certificate.modulo[1]}
    document["bounds"] = [
        {"kind": b.kind, "value": b.value, "subject": b.subject, "ops": list(b.ops), "detail": b.detail} for b in certificate.bounds
    ]
    document["claims"] = [
        {"objective": c.objective, "value": c.value, "lower_bound": c.lower_bound, "proved": c.proved, "evidence": c.evidence}
        for c in certificate.claims
    ]
    document["refuted"] = [{"ii": r.ii, "length": r.length, "through": r.through, "detail": r.detail} for r in certificate.refuted]
    if certificate.probes:
        document["probes"] = [{"ii": p.ii, "length": p.length, "verdict": p.verdict, "how": p.how} for p in certificate.probes]
    document["engines"] = list(certificate.engines)
    return document
