import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Attributes, Meter, Observable } from '@opentelemetry/api';
import { parseKeyPairsIntoRecord } from '@opentelemetry/core';
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import type { Resource } from '@opentelemetry/resources';
import {
  MeterProvider,
  PeriodicExportingMetricReader,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import { ConfigError } from '../kit/errors.ts';
import type { Log } from '../kit/log.ts';
import {
  allMetrics,
  eventMetrics,
  mapValues,
  prometheusName,
  readMetrics,
  spanAttributes,
  type MetricDefinition,
} from './names.ts';
import type { TelemetrySettings } from './telemetry-settings.ts';
import type { OpenSpan, Tracing } from './tracing.ts';

const { createServer } = process.getBuiltinModule('node:http');

export type Metering = Awaited<ReturnType<typeof createMetering>>;

/** What records of the gateway are made with. */
export interface Watching {
  tracing: Tracing;
  metering: Metering;
}

type EventName = keyof typeof eventMetrics;
type ReadName = keyof typeof readMetrics;
export type Observe = (name: ReadName, value: number, attributes?: Attributes) => void;

/** Records metrics for Prometheus or a collector. Rejects with ConfigError if METRICS_LISTEN is in use. */
export const createMetering = async (
  { listen, metricsUrl, metricsEveryMs, headers }: TelemetrySettings,
  { resource, log }: { resource: Resource; log: () => Log },
) => {
  const scraped = listen && {
    address: listen,
    exporter: new PrometheusExporter({ preventServerStart: true }),
  };
  const sent = async () => {
    if (metricsUrl === null) return [];
    const { OTLPMetricExporter } = await import('@opentelemetry/exporter-metrics-otlp-http');
    const exporter = new OTLPMetricExporter({ url: metricsUrl, headers: parseKeyPairsIntoRecord(headers) });
    const exportTimeoutMillis = Math.min(metricsEveryMs, longestExportMs);
    return [
      new PeriodicExportingMetricReader({
        exporter,
        exportIntervalMillis: metricsEveryMs,
        exportTimeoutMillis,
      }),
    ];
  };
  const provider = new MeterProvider({
    resource,
    readers: [...(scraped === null ? [] : [scraped.exporter]), ...(await sent())],
  });
  const meter = provider.getMeter('causeway');
  const events = mapValues(eventMetrics, (definition) => toRecorder(meter, definition));
  const reads = mapValues(readMetrics, (definition) => toObservable(meter, definition));
  const record = (name: EventName, value: number, attributes: Attributes): void =>
    events[name](value, attributes);
  const listener = scraped && (await listenForScrapes(scraped, log));
  return {
    /** The address of `/metrics`; null: it is not served. */
    url: listener?.url ?? null,
    record,
    /** Returns what records the time until its call, and ends the span. `more` are labels that are known only then. */
    time: (name: EventName, { span, labels = {} }: { span: OpenSpan | null; labels?: Attributes }) => {
      const startedAt = performance.now();
      return (errorType?: string, more: Attributes = {}): void => {
        span?.end(errorType);
        record(name, (performance.now() - startedAt) / 1_000, {
          ...labels,
          ...more,
          ...(errorType === undefined ? {} : { [spanAttributes.errorType]: errorType }),
        });
      };
    },
    /** Calls `read` whenever metrics are asked for. */
    readBy: (read: (observe: Observe) => Promise<void>): void =>
      meter.addBatchObservableCallback(
        (result) => read((name, value, attributes) => result.observe(reads[name], value, attributes)),
        Object.values(reads),
      ),
    stopListening: async () => listener?.close(),
    close: () => provider.shutdown(),
  };
};

const longestExportMs = 30_000;

const toRecorder = (
  meter: Meter,
  { name, kind, unit, text: description, buckets }: MetricDefinition,
): ((value: number, attributes: Attributes) => void) => {
  if (kind === 'counter') {
    const counter = meter.createCounter(name, { unit, description });
    return (value, attributes) => counter.add(value, attributes);
  }
  const histogram = meter.createHistogram(name, {
    unit,
    description,
    advice: { explicitBucketBoundaries: [...buckets] },
  });
  return (value, attributes) => histogram.record(value, attributes);
};

const toObservable = (meter: Meter, { name, kind, unit, text: description }: MetricDefinition): Observable =>
  kind === 'counter'
    ? meter.createObservableCounter(name, { unit, description })
    : meter.createObservableGauge(name, { unit, description });

/** A scrape that waits for nobody. */
const requestTimeoutMs = 10_000;

/** Serves `/metrics` on an address of its own, apart from customers. Rejects with ConfigError if it is in use. */
const listenForScrapes = async (
  {
    exporter,
    address: { host, port },
  }: { exporter: PrometheusExporter; address: { host: string; port: number } },
  log: () => Log,
) => {
  const serializer = new PrometheusSerializer('', false, undefined, false, true);
  const scrape = async (response: ServerResponse): Promise<void> => {
    try {
      const { resourceMetrics, errors } = await exporter.collect();
      if (errors.length > 0) log().warn({ err: errors[0] }, 'some metrics could not be read');
      response.setHeader('content-type', 'text/plain; version=0.0.4; charset=utf-8');
      response.end(serializer.serialize(withPrometheusNames(resourceMetrics)));
    } catch (error) {
      log().error({ err: error }, 'metrics could not be read');
      response.writeHead(500).end();
    }
  };
  const server = createServer({ requestTimeout: requestTimeoutMs }, ({ url = '', method }, response) => {
    if (method === 'GET' && url.replace(/\?.*/, '') === '/metrics') void scrape(response);
    else response.writeHead(404, { 'content-type': 'text/plain' }).end('Metrics are at /metrics.\n');
  });
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    throw new ConfigError(`METRICS_LISTEN: cannot listen on ${host}:${port} (${why})`, { cause });
  }
  const { port: actual } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${actual}/metrics`,
    close: async (): Promise<void> => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
};

const definitions = new Map(allMetrics.map((metric) => [metric.name, metric]));

/** The exporter leaves out units, which Prometheus wants as a part of names. */
const withPrometheusNames = (metrics: ResourceMetrics): ResourceMetrics => ({
  ...metrics,
  scopeMetrics: metrics.scopeMetrics.map((scope) => ({
    ...scope,
    metrics: scope.metrics.map((metric) => {
      const definition = definitions.get(metric.descriptor.name);
      const name = definition === undefined ? metric.descriptor.name : prometheusName(definition);
      return { ...metric, descriptor: { ...metric.descriptor, name } };
    }),
  })),
});
