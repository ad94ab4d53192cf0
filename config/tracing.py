"""Traces of requests and of the jobs that they start, to what takes OpenTelemetry's protocol. Used only where
OTEL_EXPORTER_OTLP_ENDPOINT is set.

A span leaves with its times, its ids and what is known to name nobody: the route, the job, the table. Addresses,
headers, statements, parameters and messages of errors may hold tokens, workers' ids and passages, so a span is made
anew without them.
"""

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.propagate import set_global_textmap
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from core.logs import REQUEST_ID

KEPT = {"request_id", "http.method", "http.route", "http.status_code", "celery.task_name", "celery.state"}
BEHIND = "whitenoise.middleware.WhiteNoiseMiddleware"  # static files, and /metrics, are no part of any trace
_STATEMENT = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE)\b(?:.*?\b(?:FROM|INTO|UPDATE))?\s+\"(\w+)\"", re.DOTALL)


def install() -> None:
    """Trace what this process does. Django's applications are loaded by now, and its middleware is not."""
    os.environ.setdefault("OTEL_SERVICE_NAME", "bestknown")
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(BareSpans(OTLPSpanExporter())))
    trace.set_tracer_provider(provider)
    set_global_textmap(TraceContextTextMapPropagator())  # what else a client sends with a trace is not passed on
    DjangoInstrumentor().instrument(
        excluded_urls="healthz",
        middleware_position=settings.MIDDLEWARE.index(BEHIND) + 1,
        request_hook=lambda span, _request: span.set_attribute("request_id", REQUEST_ID.get()),
    )
    CeleryInstrumentor().instrument()  # type: ignore[no-untyped-call]
    connection_created.connect(_trace_statements)


class BareSpans(SpanExporter):
    """Hands on spans that have nothing but kinds, places and times."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._exporter.export([_bare(span) for span in spans])

    def shutdown(self) -> None:
        """Take no more."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Send what waits."""
        return self._exporter.force_flush(timeout_millis)


def _bare(span: ReadableSpan) -> ReadableSpan:
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes={name: value for name, value in (span.attributes or {}).items() if name in KEPT},
        kind=span.kind,
        instrumentation_scope=span.instrumentation_scope,
        status=trace.Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
    )


def _trace_statements(connection: BaseDatabaseWrapper, **_named: object) -> None:
    """Have its statements traced. OpenTelemetry's package for psycopg2 cannot: core/database.py has its own cursors."""
    if _traced not in connection.execute_wrappers:
        connection.execute_wrappers.append(_traced)


def _traced(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
    if not trace.get_current_span().is_recording():  # nobody's request or job
        return execute(sql, params, many, context)
    match = _STATEMENT.match(str(sql))
    with trace.get_tracer(__name__).start_as_current_span(
        f"{match[1]} {match[2]}" if match else "SQL", kind=trace.SpanKind.CLIENT
    ):
        return execute(sql, params, many, context)
