import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PrometheusSerializer, type PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { ConfigError } from '../kit/errors.ts';
import type { Log } from '../kit/log.ts';
import { allMetrics, prometheusName } from './names.ts';

const { createServer } = process.getBuiltinModule('node:http');

export interface MetricsListener {
  url: string;
  close(): Promise<void>;
}

/** A scrape that waits for nobody. */
const requestTimeoutMs = 10_000;

/** Serves `/metrics` on an address of its own, apart from customers. Rejects with ConfigError if it is in use. */
export const listenForScrapes = async (
  exporter: PrometheusExporter,
  { host, port }: { host: string; port: number },
  log: () => Log,
): Promise<MetricsListener> => {
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
    close: async () => {
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
