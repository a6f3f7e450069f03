import type { Attributes, Meter, Observable } from '@opentelemetry/api';
import { parseKeyPairsIntoRecord } from '@opentelemetry/core';
import type { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import type { Resource } from '@opentelemetry/resources';
import { eventMetrics, readMetrics, type MetricDefinition } from './names.ts';
import type { TelemetrySettings } from './telemetry-settings.ts';

export type Metering = Awaited<ReturnType<typeof createMetering>>;
type EventName = keyof typeof eventMetrics;
export type ReadName = keyof typeof readMetrics;
/** Writes one value. */
export type Observe = (name: ReadName, value: number, attributes?: Attributes) => void;

/** Loads the SDK of metrics and what reads them: Prometheus, or a sender to the collector. */
export const createMetering = async (
  { listen, metricsUrl, metricsEveryMs, headers }: TelemetrySettings,
  resource: Resource,
) => {
  const { MeterProvider, PeriodicExportingMetricReader } = await import('@opentelemetry/sdk-metrics');
  const scraped = listen === null ? null : await openScraped();
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
    readers: [...(scraped === null ? [] : [scraped]), ...(await sent())],
  });
  const meter = provider.getMeter('causeway');
  const events = mapValues(eventMetrics, (definition) => toRecorder(meter, definition));
  const reads = mapValues(readMetrics, (definition) => toObservable(meter, definition));
  return {
    scraped,
    /** Records one event. */
    record: (name: EventName, value: number, attributes: Attributes): void => events[name](value, attributes),
    /** Calls `read` whenever metrics are asked for. */
    readBy: (read: (observe: Observe) => Promise<void>): void =>
      meter.addBatchObservableCallback(
        (result) => read((name, value, attributes) => result.observe(reads[name], value, attributes)),
        Object.values(reads),
      ),
    close: () => provider.shutdown(),
  };
};

const longestExportMs = 30_000;

const openScraped = async (): Promise<PrometheusExporter> => {
  const { PrometheusExporter } = await import('@opentelemetry/exporter-prometheus');
  return new PrometheusExporter({ preventServerStart: true });
};

const mapValues = <Key extends string, From, To>(
  table: Readonly<Record<Key, From>>,
  map: (value: From) => To,
): Record<Key, To> =>
  // The keys are those of the table.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  Object.fromEntries(Object.entries<From>(table).map(([key, value]) => [key, map(value)])) as Record<Key, To>;

const toRecorder = (
  meter: Meter,
  { name, kind, unit, text: description, buckets = [] }: MetricDefinition,
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
