import { AsyncLocalStorage } from 'node:async_hooks';
import {
  defaultTextMapGetter,
  defaultTextMapSetter,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type SpanOptions,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator, parseKeyPairsIntoRecord } from '@opentelemetry/core';
import type { Resource } from '@opentelemetry/resources';
import { spanAttributes } from './names.ts';
import type { TelemetrySettings } from './telemetry-settings.ts';

export type Tracing = Awaited<ReturnType<typeof createTracing>>;

/** The headers of a request, or the `_meta` of a message. */
export type TraceCarrier = Readonly<Record<string, unknown>>;

/** A span that may be ended once. */
export interface OpenSpan {
  /** The span and all that a call of `run` begins. */
  readonly context: Context;
  set(attributes: Attributes): void;
  /** Ends it. An error type marks it as failed. */
  end(errorType?: string): void;
}

/** Makes spans. Without a collector they are empty and go nowhere. Nothing is kept in globals of the process. */
export const createTracing = async (settings: TelemetrySettings, resource: Resource) => {
  const contexts = new AsyncLocalStorage<Context>();
  const propagator = new W3CTraceContextPropagator();
  const provider =
    settings.tracesUrl === null ? null : await openProvider(settings, settings.tracesUrl, resource);
  const tracer = (provider ?? new ProxyTracerProvider()).getTracer('causeway');
  const active = (): Context => contexts.getStore() ?? ROOT_CONTEXT;

  const start = (name: string, options: SpanOptions, parent = active()): OpenSpan => {
    const span = tracer.startSpan(name, options, parent);
    return {
      context: trace.setSpan(parent, span),
      set: (attributes) => void span.setAttributes(attributes),
      end: (errorType) => {
        if (errorType !== undefined)
          span.setAttribute(spanAttributes.errorType, errorType).setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
  };

  return {
    isOn: provider !== null,
    start,
    run: <T>(context: Context, work: () => T): T => contexts.run(context, work),
    activeSpan: (): Span | undefined => trace.getSpan(active()),
    /** The context that a caller sent; the root where there is none, or it is malformed. */
    parentOf: ({ traceparent, tracestate }: TraceCarrier): Context =>
      typeof traceparent === 'string'
        ? propagator.extract(ROOT_CONTEXT, { traceparent, tracestate }, defaultTextMapGetter)
        : ROOT_CONTEXT,
    /** The headers that make an upstream's spans children of the active one. */
    headers: (): Record<string, string> => {
      const headers: Record<string, string> = {};
      if (provider !== null) propagator.inject(active(), headers, defaultTextMapSetter);
      return headers;
    },
    /** The ids of the active span, as fields of a log line. */
    ids: (): Record<string, string> => {
      const span = provider === null ? undefined : trace.getSpanContext(active());
      return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId };
    },
    close: () => provider?.shutdown(),
  };
};

/** Loads the SDK, which samples spans and sends them in batches. */
const openProvider = async (
  { sampler, sampledShare, headers }: TelemetrySettings,
  url: string,
  resource: Resource,
) => {
  const sdk = await import('@opentelemetry/sdk-trace');
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
  const roots = {
    always_on: () => new sdk.AlwaysOnSampler(),
    always_off: () => new sdk.AlwaysOffSampler(),
    traceidratio: () => new sdk.TraceIdRatioBasedSampler(sampledShare),
  };
  const name = sampler.replace('parentbased_', '') as keyof typeof roots;
  const root = roots[name]();
  return new sdk.TracerProvider({
    resource,
    sampler: sampler.startsWith('parentbased_') ? new sdk.ParentBasedSampler({ root }) : root,
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter: new OTLPTraceExporter({ url, headers: parseKeyPairsIntoRecord(headers) }),
      }),
    ],
  });
};
