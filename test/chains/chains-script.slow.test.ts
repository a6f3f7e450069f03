import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readConfig } from '../../src/config/config.ts';

const script = fileURLToPath(new URL('../../scripts/chains.ts', import.meta.url));

const lineSchema = z.object({
  warning: z.string(),
  base: z.object({ pid: z.int(), rpcUrl: z.url(), buyer: z.object({ privateKey: z.string() }) }),
  solana: z.object({ rpcUrl: z.url(), buyer: z.object({ secretKeyBase58: z.string() }) }),
  environment: z.record(z.string(), z.string()),
  envFile: z.string(),
});

const firstLine = async (child: ChildProcess): Promise<string> => {
  if (child.stdout === null) throw new Error('The script was started without pipes');
  const lines = createInterface({ input: child.stdout });
  const [line]: unknown[] = await once(lines, 'line', { signal: AbortSignal.timeout(60_000) });
  return String(line);
};

describe('npm run chains', () => {
  let folder: string;
  let child: ChildProcess;
  let envFile: string;

  const start = (...options: string[]): ChildProcess =>
    spawn(process.execPath, [script, ...options], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const isReachable = async (url: string): Promise<boolean> =>
    fetch(url).then(
      () => true,
      () => false,
    );

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'causeway-chains-'));
    envFile = join(folder, 'nested', 'chains.env');
  });
  afterEach(async () => {
    child.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  it('says in one line what it runs, and stops with it on SIGTERM', async () => {
    child = start('--env-out', envFile);
    const line = lineSchema.parse(JSON.parse(await firstLine(child)));
    const furtherOutput = text(child.stdout!);
    expect(line.warning).toContain('WELL-KNOWN LOCAL TEST KEYS');
    expect(line.envFile).toBe(envFile);
    expect(await Promise.all([line.base.rpcUrl, line.solana.rpcUrl].map(isReachable))).toEqual([true, true]);

    const exited = once(child, 'exit');
    child.kill('SIGTERM');

    expect(await exited).toEqual([0, null]);
    expect(await furtherOutput).toBe('');
    expect(await Promise.all([line.base.rpcUrl, line.solana.rpcUrl].map(isReachable))).toEqual([
      false,
      false,
    ]);
  });

  it("writes settings that a gateway accepts, with the buyer's keys, for its owner's eyes only", async () => {
    child = start('--env-out', envFile);
    const line = lineSchema.parse(JSON.parse(await firstLine(child)));
    const written = parseEnv(await readFile(envFile, 'utf8'));
    expect(written).toEqual({
      ...line.environment,
      BUYER_EVM_PRIVATE_KEY: line.base.buyer.privateKey,
      BUYER_SOLANA_SECRET_KEY: line.solana.buyer.secretKeyBase58,
    });
    expect(readConfig(written, null).x402.networks.map((each) => each.facilitator.kind)).toEqual([
      'local',
      'local',
    ]);
    expect(((await stat(envFile)).mode & 0o777).toString(8)).toBe('600');
  });

  it('refuses a port that is none', async () => {
    child = start('--base-port', '70000');
    const complaint = text(child.stderr!);
    expect(await once(child, 'exit')).toEqual([1, null]);
    expect(await complaint).toContain("'--base-port <port>' argument '70000' is invalid");
  });
});
