import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BaseChain } from '../../test/chains/base-chain.ts';
import type { Bench } from './bench.ts';
import { onCore } from './cores.ts';
import { searchOnce, signSearches } from './measure-paid.ts';
import type { Section } from './results.ts';
import { boundRow, median } from './row.ts';
import { startGateway } from './start-gateway.ts';

/** Starts a gateway and returns the seconds until it listens, and until `work` with it has ended. */
const timeStart = async (
  environment: Record<string, string>,
  work: (url: string) => Promise<void> = () => Promise.resolve(),
): Promise<{ listening: number; done: number }> => {
  const startedMs = performance.now();
  const gateway = await startGateway(environment);
  const listening = (performance.now() - startedMs) / 1000;
  try {
    await work(gateway.url);
    return { listening, done: (performance.now() - startedMs) / 1000 };
  } finally {
    await gateway.stop();
  }
};

/** The seconds that a Node without work takes. */
const timeNode = (): number => {
  const [command, ...words] = [...onCore('gateway'), process.execPath, '-e', '0'];
  const startedMs = performance.now();
  execFileSync(command, words);
  return (performance.now() - startedMs) / 1000;
};

/**
 * Times starts: with default settings on a new folder and again on the same, and on the folder of `bench` until the first
 * search is paid. Stops the gateway of `bench`, so that its folder is free.
 */
export const measureStart = async (
  { gateway, site, rounds, say }: Bench,
  chain: BaseChain,
): Promise<Section> => {
  const proofs = await signSearches(gateway.url, chain, rounds);
  await gateway.stop();
  const limits: number[] = [];
  const empty: number[] = [];
  const used: number[] = [];
  const paid: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const folder = await mkdtemp(join(tmpdir(), 'causeway-bench-start-'));
    const environment = { DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'info' };
    limits.push(timeNode());
    empty.push((await timeStart(environment)).listening);
    used.push((await timeStart(environment)).listening);
    const proof = proofs[round]?.header ?? '';
    paid.push((await timeStart(site.environment, (url) => searchOnce(url, proof))).done);
    await rm(folder, { recursive: true, force: true });
    say(`start: ${[limits, empty, used, paid].map((times) => times.at(-1)?.toFixed(2)).join(', ')} s`);
  }
  const row = (work: string, times: readonly number[], most: number) =>
    boundRow({ work, unit: 's', limit: median(limits), measured: median(times), most });
  return {
    rows: [
      row('listening, an empty folder', empty, 0.7),
      row('listening, a used folder', used, 0.5),
      row('first paid search after the start', paid, 3),
    ],
    lines: ['The limit is the start and end of `node -e 0`.'],
  };
};
