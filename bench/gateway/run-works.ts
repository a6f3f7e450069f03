import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { request as sendRequest } from 'undici';
import { embeddedStoreFile } from '../../src/store/open-store.ts';
import { spreadOf } from '../leads/measure/statistics.ts';
import type { Bench } from './bench.ts';
import { drawPlot } from './plot.ts';
import { runLoad, type LoadRequest } from './load.ts';
import { cpuMsOf } from './process-usage.ts';
import type { Section } from './results.ts';
import { boundRow, figure, median, ratioRow, type Row } from './row.ts';
import { chargeOf } from './start-gateway.ts';
import { startProcess } from './start-process.ts';
import { tokensOfPrompt, works, type Work } from './workload.ts';

/** A process that is asked, and its address. */
interface Side {
  pid: number;
  url: string;
}

interface Sample {
  /** Processor time of a part of an answer, in microseconds. */
  cpuUs: number;
  p50: number;
  p99: number;
}

/** The figures of one work at one number of connections: medians of the rounds. */
export interface Point {
  work: Work;
  connections: number;
  limit: Sample;
  gateway: Sample;
}

const warmUp = { seconds: 0.3, least: 500 };
/** Before the first burst of a work: until V8 has compiled what is busy, which costs more than the requests themselves. */
const firstWarmUp = { seconds: 4, least: 8_000 };
/** No burst is judged by fewer answers. */
const leastAnswers = 200;
const longSeconds = 600;
/** The processor time of work that goes on after the last answer belongs to the burst. */
const afterMs = 50;

export const withKey = (request: LoadRequest, apiKey: string): LoadRequest => ({
  ...request,
  headers: { ...request.headers, authorization: `Bearer ${apiKey}` },
});

interface Burst {
  /** Callers use them in turns. */
  keys: readonly string[];
  connections: number;
  seconds: number;
  /** The least number of parts that are answered, however long it takes; default 0. */
  least?: number;
}

/** Runs one burst and returns its figures with the number of answers. */
export const burst = async (
  side: Side,
  work: Work,
  { keys, connections, seconds, least = 0 }: Burst,
): Promise<Sample & { answers: number }> => {
  const requests = keys.map((key) => ({ request: withKey(work.request, key), expected: work.expected }));
  const next = (turn: number) => requests[turn % requests.length]!;
  const end =
    work.answersEach === undefined
      ? { seconds, least: Math.ceil(least / work.parts) }
      : { seconds: longSeconds, most: connections * work.answersEach };
  const before = await cpuMsOf(side.pid);
  const { timesMs } = await runLoad({ url: side.url, connections, next, ...end });
  await delay(afterMs);
  const spentMs = (await cpuMsOf(side.pid)) - before;
  const spread = spreadOf(timesMs);
  if (spread === null) throw new Error(`Nothing was answered: ${work.name}`);
  const { count: answers, p50, p99 } = spread;
  return { cpuUs: (spentMs * 1000) / (answers * work.parts), p50, p99, answers };
};

const middleOf = (samples: readonly Sample[]): Sample => {
  const middle = (key: keyof Sample): number => median(samples.map((sample) => sample[key]));
  return { cpuUs: middle('cpuUs'), p50: middle('p50'), p99: middle('p99') };
};

/** These are written anew for each answer. */
const ownHeaders = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding', 'content-length']);

const healthCheck: LoadRequest = { method: 'GET', path: '/health/live', headers: {} };

/** Starts the process of the limits, and returns how to prepare it for a work. */
const startLimits = async ({ gateway, upstreamPort, site }: Bench) => {
  const limits = startProcess('limit', 'gateway');
  const prepare = async (work: Work): Promise<Side> => {
    // The proxy has no use for an answer, and a chat would be charged.
    const request = work.limit === 'proxy' ? healthCheck : withKey(work.request, site.apiKey);
    const { path, ...asked } = request;
    const { statusCode: status, headers, body } = await sendRequest(gateway.url + path, asked);
    const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => !ownHeaders.has(name)));
    const answer = { status, headers: kept, body: await body.text() };
    const [proxy, handler] = await limits.ask<[number, number]>({ upstreamPort, answer });
    return { pid: limits.pid, url: `http://127.0.0.1:${work.limit === 'proxy' ? proxy : handler}` };
  };
  return { prepare, stop: () => limits.stop() };
};

/** A proxy passes a chat on for every work. The upstream's texts differ from the gateway's. */
const atLimit = (work: Work): Work =>
  work.limit === 'proxy'
    ? { ...work, request: work.limitRequest ?? work.request, expected: { status: 200, text: 'word9' } }
    : work;

/** Measures limit and gateway in turns. */
const measurePoint = async (
  bench: Bench,
  { work, connections, limit }: { work: Work; connections: number; limit: Side },
): Promise<Point> => {
  const keys = [bench.site.apiKey];
  const usual = { seconds: bench.seconds, least: leastAnswers };
  const onLimit = (end = usual) => burst(limit, atLimit(work), { keys, connections, ...end });
  const onGateway = async (end = usual) => {
    const sample = await burst(bench.gateway, work, { keys, connections, ...end });
    if (work.chargedTokens !== undefined) {
      bench.charged.jobs += sample.answers;
      bench.charged.nano += sample.answers * chargeOf(tokensOfPrompt, work.chargedTokens);
    }
    return sample;
  };
  const warming = connections === work.connections[0] ? firstWarmUp : warmUp;
  await onLimit(warmUp);
  await onGateway(warming);
  const samples: { limit: Sample; gateway: Sample }[] = [];
  for (let round = 0; round < bench.rounds; round += 1)
    samples.push({ limit: await onLimit(), gateway: await onGateway() });
  const point = {
    work,
    connections,
    limit: middleOf(samples.map(({ limit }) => limit)),
    gateway: middleOf(samples.map(({ gateway }) => gateway)),
  };
  bench.say(
    `${work.name}, ${connections}: ${figure(point.gateway.cpuUs)} µs beside ${figure(point.limit.cpuUs)} µs`,
  );
  return point;
};

const mostAddedMs = 0.8;
/** The slowest hundredth, in multiples of the median. */
const mostTail = 5;

const rowsOf = ({ work, connections, limit, gateway }: Point): Row[] => {
  const name = `${work.name}, ${connections} connection${connections === 1 ? '' : 's'}`;
  const cpu = { unit: 'µs CPU', limit: limit.cpuUs, measured: gateway.cpuUs };
  const rows = [ratioRow({ work: name, ...cpu, most: work.maxRatio })];
  const added = { unit: 'ms', limit: limit.p50, measured: gateway.p50 - limit.p50 };
  if (work.limit === 'proxy' && connections === 1)
    rows.push(boundRow({ work: `${name}: p50 added`, ...added, most: mostAddedMs }));
  const tail = { unit: 'ms', limit: gateway.p50, measured: gateway.p99 };
  if (work.judgesTail === true && connections === 16)
    rows.push(
      ratioRow({
        work: `${name}: p99 beside p50 (of the limit: ${figure(limit.p99 / limit.p50)}×)`,
        ...tail,
        most: mostTail,
      }),
    );
  return rows;
};

/** Measures the works of a section, and returns a row for each goal. */
export const runWorks = async (bench: Bench, section: Work['section']): Promise<Section> => {
  const limits = await startLimits(bench);
  const points: Point[] = [];
  try {
    for (const work of works.filter((one) => one.section === section)) {
      const limit = await limits.prepare(work);
      for (const connections of work.connections)
        points.push(await measurePoint(bench, { work, connections, limit }));
    }
  } finally {
    await limits.stop();
  }
  const seen = points.filter(({ work }) => work.connections.length > 2);
  const plot = { name: `cpu-${section}`, svg: plotConnections(seen) };
  return { rows: points.flatMap(rowsOf), ...(seen.length === 0 ? {} : { plot }) };
};

/** Processor time of an answer by the number of connections, on both sides. */
const plotConnections = (points: readonly Point[]): string =>
  drawPlot({
    title: `Processor time of ${points[0]?.work.name ?? ''}`,
    x: { label: 'connections', isLogarithmic: true },
    y: { label: 'µs', isLogarithmic: true },
    series: (['gateway', 'limit'] as const).map((side) => ({
      name: side,
      points: points.map((point) => ({ x: point.connections, y: point[side].cpuUs })),
    })),
  });

/** Throws unless the ledger has exactly the charges of the answers that were counted. */
export const checkCharges = ({ site, charged }: Bench): string => {
  const store = new DatabaseSync(embeddedStoreFile(site.dataDir), { readOnly: true });
  const found = store
    .prepare(
      `select count(*) as debits, coalesce(-sum(amount), 0) as nano,
        (select count(*) from jobs where status = 'done') as jobs
      from ledger_entries where type = 'debit'`,
    )
    .get();
  store.close();
  const wanted = { debits: charged.jobs, nano: charged.nano, jobs: charged.jobs };
  if (!isDeepStrictEqual({ ...found }, wanted))
    throw new Error(`The ledger has ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}.`);
  return `The ledger has a debit for each of ${charged.jobs} jobs, and the right sum.`;
};
