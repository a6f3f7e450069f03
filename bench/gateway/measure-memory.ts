import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { withBench, type BenchOptions } from './bench.ts';
import { runLoad } from './load.ts';
import { drawPlot } from './plot.ts';
import { residentMiBOf } from './process-usage.ts';
import type { Section } from './results.ts';
import { boundRow, median } from './row.ts';
import { withKey } from './run-works.ts';
import { startGateway, untilReady } from './start-gateway.ts';
import { works } from './workload.ts';

const mostIdleMiB = 130;
const mostLoadedMiB = 250;
/** Growth over the second half of the load that still counts as flat. */
const mostGrowthPercent = 5;
const settleMs = 5_000;
const connections = 16;

/** The memory of a Node that does nothing. */
const measureNode = async (): Promise<number> => {
  const node = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' });
  await delay(500);
  const resident = await residentMiBOf(node.pid ?? 0);
  node.kill();
  await once(node, 'exit');
  return resident;
};

/** The memory of a gateway with default settings on a new folder, some seconds after it is ready. */
const measureIdle = async (): Promise<number> => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-bench-idle-'));
  const gateway = await startGateway({ DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'info' });
  try {
    await untilReady(gateway.url);
    await delay(settleMs);
    return await residentMiBOf(gateway.pid);
  } finally {
    await gateway.stop();
    await rm(folder, { recursive: true, force: true });
  }
};

/** Memory every second under a load of all works in turns, for so many seconds. */
const measureLoaded = (options: BenchOptions, seconds: number): Promise<{ x: number; y: number }[]> =>
  withBench(options, async ({ gateway, site }) => {
    const samples = [{ x: 0, y: await residentMiBOf(gateway.pid) }];
    const startedMs = performance.now();
    const mixed = works.filter(({ answersEach }) => answersEach === undefined);
    const load = runLoad({
      url: gateway.url,
      connections,
      seconds,
      next: (turn) => {
        const { request, expected } = mixed[turn % mixed.length]!;
        return { request: withKey(request, site.apiKey), expected };
      },
    });
    let isOver = false;
    const over = load.finally(() => (isOver = true));
    while (!isOver) {
      await Promise.race([delay(1_000), over]);
      samples.push({ x: (performance.now() - startedMs) / 1000, y: await residentMiBOf(gateway.pid) });
    }
    await over;
    return samples;
  });

/** Resident memory: idle, and while a mixed load runs for `minutes`. */
export const measureMemory = async (options: BenchOptions & { minutes: number }): Promise<Section> => {
  const limit = await measureNode();
  const idle = await measureIdle();
  options.say(`idle: ${idle.toFixed(0)} MiB`);
  const samples = await measureLoaded(options, options.minutes * 60);
  const second = samples.slice(Math.floor(samples.length / 2)).map(({ y }) => y);
  const tenth = Math.max(Math.ceil(second.length / 5), 1);
  const [before, after] = [median(second.slice(0, tenth)), median(second.slice(-tenth))];
  const most = Math.max(...second);
  options.say(`under load: ${most.toFixed(0)} MiB`);
  const minutes = `${options.minutes} minutes of mixed load`;
  return {
    rows: [
      boundRow({ work: 'idle', unit: 'MiB', limit, measured: idle, most: mostIdleMiB }),
      boundRow({
        work: `${minutes}, most in the second half`,
        unit: 'MiB',
        limit,
        measured: most,
        most: mostLoadedMiB,
      }),
      boundRow({
        work: `${minutes}, growth over the second half`,
        unit: '%',
        measured: ((after - before) / before) * 100,
        most: mostGrowthPercent,
      }),
    ],
    lines: [
      `The limit is a Node that does nothing. The load is all kinds of requests in turns on ${connections} connections.`,
    ],
    plot: {
      name: 'memory',
      svg: drawPlot({
        title: `Resident memory under ${minutes}`,
        x: { label: 'seconds' },
        y: { label: 'MiB' },
        series: [{ name: 'gateway', points: samples }],
      }),
    },
  };
};
