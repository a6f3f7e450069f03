import { z } from 'zod';
import {
  httpUrl,
  oneOf,
  secret,
  toggle,
  type VariableValues,
  wholeNumber,
  withoutTrailingSlash,
} from '../kit/settings.ts';

const listenAddress = z
  .string()
  .regex(/^(?:(?:[\w.-]+|\[[\da-f:]+\]):)?\d{1,5}$/i, 'must be HOST:PORT, or a port of this machine alone')
  .refine((text) => Number(/\d+$/.exec(text)?.[0]) <= 65_535, 'must have a port up to 65535')
  .transform((text) => {
    const [, host = '127.0.0.1', port] = /^(?:\[?(.*?)\]?:)?(\d+)$/.exec(text) ?? [];
    return { host, port: Number(port) };
  });

/** `name=value` pairs, separated by commas, as OpenTelemetry writes them. */
const pairs = z
  .string()
  .regex(/^\s*[^=,\s]+\s*=[^,]*(?:,\s*[^=,\s]+\s*=[^,]*)*$/, 'must be NAME=VALUE, divided by commas')
  .optional();

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

export const telemetryVariables = {
  METRICS_LISTEN: listenAddress
    .optional()
    .describe(
      'serves `/metrics` to [Prometheus](operators-telemetry.md) on a port of its own: `9464` for this machine alone, or `HOST:PORT`',
    ),
  OTEL_EXPORTER_OTLP_ENDPOINT: secret(httpUrl.transform(withoutTrailingSlash))
    .optional()
    .describe('sends traces and metrics to this OTLP collector, such as `http://localhost:4318`'),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: secret(httpUrl).optional().describe('the whole address for traces'),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: secret(httpUrl).optional().describe('the whole address for metrics'),
  OTEL_EXPORTER_OTLP_HEADERS: secret(pairs).describe('headers for the collector, `name=value,…`'),
  OTEL_EXPORTER_OTLP_PROTOCOL: oneOf('http/json', 'http/protobuf')
    .default('http/json')
    .describe('or `http/protobuf`; both are sent as JSON'),
  OTEL_TRACES_EXPORTER: oneOf('otlp', 'none').default('otlp').describe('`none` sends no traces'),
  OTEL_METRICS_EXPORTER: oneOf('otlp', 'none').default('otlp').describe('`none` sends no metrics'),
  OTEL_METRIC_EXPORT_INTERVAL: wholeNumber(1_000, 3_600_000, 60_000).describe(
    'milliseconds between two sendings of metrics',
  ),
  OTEL_SERVICE_NAME: z.string().default('causeway').describe('name of this service'),
  OTEL_RESOURCE_ATTRIBUTES: pairs.describe('further attributes of this service, `name=value,…`'),
  OTEL_TRACES_SAMPLER: oneOf(...samplers)
    .default('parentbased_always_on')
    .describe('which traces are kept; `traceidratio` does not follow callers'),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(?:0|1|0?\.\d+|1\.0+|0\.\d*)$/, 'must be a number from 0 to 1')
    .transform(Number)
    .prefault('1')
    .describe('part of the traces that a sampler by ratio keeps, 0 to 1'),
  OTEL_SDK_DISABLED: toggle('true', 'false', 'false').describe('`true` switches all telemetry off'),
};

export type TelemetrySettings = ReturnType<typeof readTelemetrySettings>;

export const readTelemetrySettings = (values: VariableValues<typeof telemetryVariables>) => {
  const isOff = values.OTEL_SDK_DISABLED;
  const endpoint = values.OTEL_EXPORTER_OTLP_ENDPOINT;
  const toCollector = (kind: 'otlp' | 'none', whole: string | undefined, path: string): string | null =>
    isOff || kind === 'none' ? null : (whole ?? (endpoint === undefined ? null : endpoint + path));
  return {
    /** The address of `/metrics`; null: it is not served. */
    listen: isOff ? null : (values.METRICS_LISTEN ?? null),
    /** The addresses that traces and metrics are sent to; null: they are not sent. */
    tracesUrl: toCollector(
      values.OTEL_TRACES_EXPORTER,
      values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
      '/v1/traces',
    ),
    metricsUrl: toCollector(
      values.OTEL_METRICS_EXPORTER,
      values.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT,
      '/v1/metrics',
    ),
    headers: values.OTEL_EXPORTER_OTLP_HEADERS ?? '',
    metricsEveryMs: values.OTEL_METRIC_EXPORT_INTERVAL,
    serviceName: values.OTEL_SERVICE_NAME,
    attributes: values.OTEL_RESOURCE_ATTRIBUTES ?? '',
    sampler: values.OTEL_TRACES_SAMPLER,
    sampledShare: values.OTEL_TRACES_SAMPLER_ARG,
  };
};
