import { createServer } from 'node:http';
import { listeningPort } from '../../test/limits/listening-port.ts';
import type { GatewayProcess } from '../../scripts/gateway-process.ts';
import type { Bench } from './bench.ts';
import { residentMiBOf } from './process-usage.ts';
import type { Section } from './results.ts';
import { figure, median, ratioRow } from './row.ts';
import { burst } from './run-works.ts';
import { makeSite, startGateway, untilReady, type Site } from './start-gateway.ts';
import { works, type Work } from './workload.ts';

interface Side {
  name: string;
  /** How much more a request may cost. */
  maxRatio: number;
  site: Site;
  gateway: GatewayProcess;
}

const connections = 16;
const measured = ['chat JSON', 'chat SSE, one chunk', 'MCP get_balance'];

/** Takes whatever is sent, as a collector would, on the client's core. */
const startCollector = async () => {
  const server = createServer((request, response) => request.resume().on('end', () => response.end('{}')));
  const port = await listeningPort(server.listen(0, '127.0.0.1'));
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
};

/** Compares gateways with telemetry with one without, in turns and on the same core. */
export const measureTelemetry = async (bench: Bench): Promise<Section> => {
  const collector = await startCollector();
  const traced = { METRICS_LISTEN: '0', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  const settings: [name: string, maxRatio: number, more: Record<string, string>][] = [
    ['off', 1, {}],
    ['metrics', 1.15, { METRICS_LISTEN: '0' }],
    [
      'metrics, 1 % of traces',
      1.25,
      { ...traced, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' },
    ],
    ['metrics, all traces', 1.75, traced],
  ];
  const sides: Side[] = [];
  try {
    for (const [name, maxRatio, more] of settings) {
      const site = await makeSite(bench.upstreamPort, { X402_NETWORKS: 'none', ...more });
      const gateway = await startGateway(site.environment);
      sides.push({ name, maxRatio, site, gateway });
      await untilReady(gateway.url);
    }
    const rows = [];
    for (const work of works.filter(({ name }) => measured.includes(name)))
      rows.push(...(await compare(bench, work, sides)));
    const memory = await Promise.all(
      sides.map(async ({ name, gateway }) => [name, `${figure(await residentMiBOf(gateway.pid))} MiB`]),
    );
    return { rows, tables: [{ title: 'Resident memory then', head: ['telemetry', ''], rows: memory }] };
  } finally {
    for (const { gateway, site } of sides) {
      await gateway.stop();
      await site.remove();
    }
    collector.close();
  }
};

/** A neighbour's load that comes and goes with the same period would otherwise favour one of them. */
const inTurns = (sides: readonly Side[], round: number): [number, Side][] =>
  round % 2 === 0 ? [...sides.entries()] : [...sides.entries()].toReversed();

const compare = async ({ rounds, seconds, say }: Bench, work: Work, sides: readonly Side[]) => {
  const costs = sides.map((): number[] => []);
  // The first round warms up.
  for (let round = 0; round <= rounds; round += 1)
    for (const [index, { gateway, site }] of inTurns(sides, round)) {
      const { cpuUs } = await burst(gateway, work, { keys: [site.apiKey], connections, seconds, least: 200 });
      if (round > 0) costs[index]?.push(cpuUs);
    }
  const [off = Number.NaN, ...on] = costs.map(median);
  say(`${work.name}: ${[off, ...on].map(figure).join(', ')} µs`);
  return on.map((cost, index) =>
    ratioRow({
      work: `${work.name}, ${connections} connections: ${sides[index + 1]?.name}`,
      unit: 'µs CPU',
      limit: off,
      measured: cost,
      most: sides[index + 1]?.maxRatio ?? 1,
    }),
  );
};
