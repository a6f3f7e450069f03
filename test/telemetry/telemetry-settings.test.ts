import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { ConfigError } from '../../src/kit/errors.ts';

import { isLoopback, openTelemetry, telemetryNotices } from '../../src/telemetry/telemetry.ts';
import { listeningPort } from '../limits/listening-port.ts';

const settingsOf = (environment: Record<string, string>) => readConfig(environment, null).telemetry;

describe('telemetry', () => {
  it('is off unless a setting asks for it', async () => {
    expect(await openTelemetry(settingsOf({}))).toBeNull();
    expect(
      await openTelemetry(settingsOf({ OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'always_on' })),
    ).toBeNull();
  });

  it('is off by the usual switch, whatever else is set', () => {
    const environment = { METRICS_LISTEN: '9464', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
    expect(settingsOf({ ...environment, OTEL_SDK_DISABLED: 'true' })).toMatchObject({
      listen: null,
      tracesUrl: null,
      metricsUrl: null,
    });
  });

  it('sends to the usual paths of the collector, or to whole addresses', () => {
    const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://collector:4318/';
    expect(settingsOf({ OTEL_EXPORTER_OTLP_ENDPOINT })).toMatchObject({
      tracesUrl: 'http://collector:4318/v1/traces',
      metricsUrl: 'http://collector:4318/v1/metrics',
    });
    const OTEL_EXPORTER_OTLP_TRACES_ENDPOINT = 'http://tempo/otlp';
    expect(settingsOf({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT })).toMatchObject({
      tracesUrl: 'http://tempo/otlp',
      metricsUrl: null,
    });
    expect(settingsOf({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_METRICS_EXPORTER: 'none' }).metricsUrl).toBeNull();
  });

  it.each([
    ['OTEL_TRACES_SAMPLER_ARG', '1.5', 'must be a number from 0 to 1'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'http/json'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'no pairs', 'must be NAME=VALUE'],
    ['METRICS_LISTEN', '0.0.0.0', 'must be HOST:PORT'],
    ['METRICS_LISTEN', '99999', 'port up to 65535'],
  ])('refuses %s=%s', (name, value, why) => {
    expect(() => settingsOf({ [name]: value })).toThrow(new RegExp(`^${name}: .*${why}`));
  });

  it("refuses a misspelt name, and leaves OpenTelemetry's other names alone", () => {
    expect(() => settingsOf({ OTEL_TRACE_SAMPLER: 'always_on' })).toThrow('rename it to OTEL_TRACES_SAMPLER');
    const { unknownVariables } = readConfig({ OTEL_BSP_MAX_QUEUE_SIZE: '1', OTEL_LOG_LEVEL: 'info' }, null);
    expect(unknownVariables).toEqual([]);
  });
});

describe('METRICS_LISTEN', () => {
  it.each([
    ['9464', '127.0.0.1', 9464],
    ['0.0.0.0:9464', '0.0.0.0', 9464],
    ['[::1]:9464', '::1', 9464],
    ['metrics.internal:80', 'metrics.internal', 80],
  ])('reads %s', (METRICS_LISTEN, host, port) => {
    expect(settingsOf({ METRICS_LISTEN }).listen).toEqual({ host, port });
  });

  it('is named at the start, and that others reach it', async () => {
    const settings = settingsOf({ METRICS_LISTEN: '0.0.0.0:0' });
    const telemetry = await openTelemetry(settings);
    onTestFinished(() => telemetry?.close());
    expect(telemetryNotices(settings, telemetry)).toEqual([
      expect.stringMatching(
        /^Metrics are served at http:\/\/0\.0\.0\.0:\d+\/metrics, for everybody who reaches/,
      ),
    ]);
    expect([isLoopback('127.0.0.1'), isLoopback('::1'), isLoopback('10.0.0.1')]).toEqual([true, true, false]);
  });

  it('in use ends the start with one line', async () => {
    const server = createServer();
    onTestFinished(() => void server.close());
    const port = await listeningPort(server.listen(0, '127.0.0.1'));
    const opening = openTelemetry(settingsOf({ METRICS_LISTEN: String(port) }));
    await expect(opening).rejects.toThrow(ConfigError);
    await expect(opening).rejects.toThrow(`METRICS_LISTEN: cannot listen on 127.0.0.1:${port} (EADDRINUSE)`);
  });
});
